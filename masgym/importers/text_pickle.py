"""Reads a pickled str, and nothing else, without running the pickle: no object is ever built but the text itself."""

import base64
import binascii
import pickletools
import zlib

from masgym.errors import BadValue

MOST = 2**30  # bytes that a text may unpack to
_TEXT = {"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"}
_BESIDE = {"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"}  # say nothing about the value


def unpack(packed: str) -> str:
    """The text of base64 of zlib of a pickled str. Raises BadValue for anything else."""
    try:
        unpacker = zlib.decompressobj()
        raw = unpacker.decompress(base64.b64decode(packed, validate=True), MOST)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise BadValue(f"no base64 of zlib: {error}") from error
    if not unpacker.eof or unpacker.unused_data:
        raise BadValue(f"no whole zlib stream of at most {MOST} bytes")
    return pickled_text(raw)


def pickled_text(raw: bytes) -> str:
    """The one text of a pickle that holds nothing else: PROTO, at most a FRAME, the text, what stores it, STOP."""
    found: list[str] = []
    try:
        for code, argument, position in pickletools.genops(raw):
            if code.name in _TEXT and not found:
                found.append(str(argument))
            elif code.name == "STOP" and found and position == len(raw) - 1:
                return found[0]
            elif code.name not in _BESIDE:
                raise BadValue(f"a pickle with {code.name} at byte {position}; a single text was expected")
    except (ValueError, IndexError, OverflowError, MemoryError) as error:
        raise BadValue(f"no pickle of a text: {error}") from error
    raise BadValue("no pickle of a text: it does not end")
