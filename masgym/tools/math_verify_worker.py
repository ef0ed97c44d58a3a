r"""The process that judges answers with math-verify: an expression may never end, and only killing it helps.

One JSON object a line: first out {"outcome": "ready", ...}; then {"expected", "answer"} in, {"outcome", "value"} out.
The answers' text is parsed by a grammar (latex2sympy), not evaluated as Python. math-verify's own time-outs are off:
a profiling timer, whose default action is to end the process, bounds the CPU time of each judgement.

Run by its path with the limits as arguments (CPU seconds, bytes of memory); it imports nothing of masgym.
"""

import json
import logging
import os
import resource
import signal
import sys
from typing import Any

from math_verify import LatexExtractionConfig, parse, verify

_LATEX = (LatexExtractionConfig(boxed_match_priority=0, try_extract_without_anchor=False),)


def judge(expected: str, answer: str) -> bool:
    """Is `answer` mathematically equal to `expected`? What cannot be parsed is equal to nothing."""
    sides = [_parse(text) for text in (expected, answer)]
    return all(sides) and bool(verify(*sides, timeout_seconds=None))


def _parse(text: str) -> Any:
    return parse(rf"\boxed{{{text}}}", _LATEX, fallback_mode="no_fallback", parsing_timeout=None)  # pyright: ignore[reportArgumentType]


def _reply(line: str, cpu: float) -> dict[str, Any]:
    asked = json.loads(line)
    signal.setitimer(signal.ITIMER_PROF, cpu)
    try:
        return {"outcome": "ok", "value": judge(asked["expected"], asked["answer"])}
    except Exception:  # sympy raises nearly everything on nonsense, MemoryError and RecursionError included
        return {"outcome": "error", "value": None}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main(cpu: float, memory: int) -> None:
    """Answers until its input ends, which it does when the parent is gone."""
    logging.disable()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a stray print must not look like an answer
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    judge("1", "1")  # builds the grammar's tables
    print(json.dumps({"outcome": "ready"}), file=out, flush=True)
    os.dup2(1, 2)  # nobody reads warnings
    for line in sys.stdin:
        print(json.dumps(_reply(line, cpu)), file=out, flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
