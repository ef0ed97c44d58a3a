"""An OpenAI-compatible endpoint that misbehaves as it is told, on 127.0.0.1, in a thread of its own."""

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import contextmanager

PAUSE = 60.0  # seconds: longer than any client here waits


def completion(content="<answer>U</answer>", **usage):
    counts = usage or {"prompt_tokens": 30, "completion_tokens": 5}
    return {"choices": [{"message": {"role": "assistant", "content": content}}], "usage": counts}


def response(status, body, **headers):
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Said", "content-type: application/json", f"content-length: {len(text)}"]
    lines += [f"{name.replace('_', '-')}: {told}" for name, told in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + text


def says(status, body, **headers):
    async def answer(writer):
        writer.write(response(status, body, **headers))

    return answer


async def slow(writer):
    await asyncio.sleep(PAUSE)


async def drop(writer):
    writer.transport.abort()


async def cut(writer):
    writer.write(response(200, completion())[:-20])
    await writer.drain()
    writer.transport.abort()


async def trickle(writer):
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    while not writer.transport.is_closing():
        writer.write(b"1\r\n \r\n")
        await asyncio.sleep(0.2)


async def flood(writer):
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    while not writer.transport.is_closing():
        writer.write(b"4000\r\n" + b"[" * 0x4000 + b"\r\n")
        await writer.drain()


GOOD = says(200, completion())
BAD = {  # a behaviour -> the outcome that it has to end in
    slow: "timeout",
    trickle: "timeout",
    drop: "connection",
    cut: "connection",
    flood: "bad_response",
    says(429, {"error": {"message": "too many"}}, retry_after="0"): "rate_limited",
    says(429, b"", retry_after="soon"): "rate_limited",
    says(500, {"error": {"message": "oh"}}): "server_error",
    says(503, b"<html>"): "server_error",
    says(401, {"error": {"message": "who?"}}): "unauthorized",
    says(404, {"error": {"message": "no such model"}}): "not_found",
    says(400, {"error": {"message": "maximum context length is 10"}}): "context_overflow",
    says(400, {"error": {"message": "temperature?"}}): "bad_request",
    says(422, []): "bad_request",
    says(200, b"<html>hello"): "bad_response",
    says(200, b""): "bad_response",
    says(200, b"\xff\xfe\x00"): "bad_response",
    says(200, b"[" * 20000): "bad_response",
    says(200, b"1" * 10000): "bad_response",
    says(200, completion(), content_encoding="gzip"): "bad_response",
    says(200, None): "bad_response",
    says(200, []): "bad_response",
    says(200, {}): "bad_response",
    says(200, {"choices": []}): "bad_response",
    says(200, {"choices": {"0": 1}}): "bad_response",
    says(200, {"choices": [None]}): "bad_response",
    says(200, {"choices": [{"message": "hello"}]}): "bad_response",
    says(200, {"choices": [{"message": {"content": 7}}]}): "bad_response",
    says(200, {"choices": [{"message": {"content": [{"type": "text", "text": "U"}]}}]}): "bad_response",
}


@contextmanager
def endpoint(behaviour: Callable):
    """behaviour: the request's JSON -> one of the above. Yields the base URL and the requests as they come in."""
    seen, loop = [], asyncio.new_event_loop()

    async def serve(reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(x.split(b":")[1]) for x in head.lower().split(b"\r\n") if x.startswith(b"content-length")
                )
                seen.append(json.loads(await reader.readexactly(length)))
                await behaviour(seen[-1])(writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def stop():
        server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(asyncio.start_server(serve, "127.0.0.1", 0), loop).result()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", seen
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
