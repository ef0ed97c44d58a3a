r"""How answers are judged with math-verify, in a process of `worker_main.py`: an expression may never end, and only
killing it helps. It imports nothing of masgym.

{"expected", "answer"} -> are they equal? The answers' text is parsed by a grammar (latex2sympy), not evaluated as
Python. math-verify's own time-outs are off.
"""

from typing import Any

from math_verify import LatexExtractionConfig, parse, verify

_LATEX = (LatexExtractionConfig(boxed_match_priority=0, try_extract_without_anchor=False),)


def prepare() -> None:
    judge("1", "1")  # builds the grammar's tables


def answered(asked: dict[str, str]) -> bool:
    return judge(asked["expected"], asked["answer"])


def judge(expected: str, answer: str) -> bool:
    """Is `answer` mathematically equal to `expected`? What cannot be parsed is equal to nothing."""
    sides = [_parse(text) for text in (expected, answer)]
    return all(sides) and bool(verify(*sides, timeout_seconds=None))


def _parse(text: str) -> Any:
    return parse(rf"\boxed{{{text}}}", _LATEX, fallback_mode="no_fallback", parsing_timeout=None)  # pyright: ignore[reportArgumentType]
