r"""Sets of mathematics: AIME, MATH-500, AMC, Minerva, Polaris, DAPO-Math, OlympiadBench (arXiv 2402.14008).

An answer becomes what a single \boxed{} can hold; several equally wanted ones become a set, \{1, 2\}.
"""

import re
from collections.abc import Callable
from math import inf

from masgym.domains.math.answers import box, checked, near, read
from masgym.importers.rows import Row, Unfit
from masgym.tags import Malformed
from masgym.types import JSON

_ASK = re.compile(r"\s*Solve the following math problem\b[^\n]*\n")  # DAPO-Math's frame: another grammar of answers
_REMIND = re.compile(r"\n\s*Remember to put your answer\b[^\n]*\s*\Z")
_FLOAT = re.compile(r"([+-]?\d+(?:\.\d+)?)[eE]([+-]?\d+)", re.ASCII)
_ALL = "Give all answers in one box, separated by a comma and a space."


def problems(name: str) -> Callable[[Row], dict[str, JSON]]:
    """The reader of a set whose rows are a problem and its answer."""

    def reader(row: Row) -> dict[str, JSON]:
        question = row.text(row.first("problem", "Problem", "question"))
        answer = _answer(row, row.first("answer", "Answer"))
        level = row.fields.get("level", row.fields.get("difficulty"))
        return _task(name, question, answer, str(level) if isinstance(level, str | int) else name)

    return reader


def dapo(row: Row) -> dict[str, JSON]:
    """The last message of `prompt` without its frame; `reward_model.ground_truth`."""
    messages = row.items("prompt")
    if not messages or not isinstance(messages[-1], dict):
        raise row.bad("prompt", "a list of messages")
    asked = Row(where=row.where, fields=messages[-1], path="prompt.").text("content")
    question = _REMIND.sub("", _ASK.sub("", asked, count=1))
    return _task("dapo_math", question, _answer(row.inside("reward_model"), "ground_truth"), "dapo_math")


def olympiad(row: Row) -> dict[str, JSON]:
    """question (after its `context`), final_answer, answer_type, unit, error (a tolerance, of answers that are a
    number). Left out are rows that no answer can judge: proofs, pictures."""
    answers = row.strings("final_answer") if row.fields.get("final_answer") is not None else []
    question = "\n\n".join(text.strip() for text in (row.string("context"), row.text("question")) if text.strip())
    if not answers or row.string("answer_type") == "Need_human_evaluate":
        raise Unfit("it has no final answer that can be compared")
    if "<image_" in question:
        raise Unfit("it needs a picture")
    answer, several = _together(row, answers)
    tolerance = _tolerance(row.string("error").strip(), answer)
    unit = row.string("unit").strip()
    question += f"\nGive the answer in {unit}, without the unit." if unit else ""
    question += f"\n{_ALL}" if several else "\nGive the answer as a decimal number." if tolerance else ""
    level = row.string("difficulty") or row.string("subfield") or "olympiadbench"
    return _task("olympiadbench", question, answer, level) | ({"tolerance": tolerance} if tolerance else {})


def _tolerance(error: str, answer: str) -> float:
    """How far from the answer a right one may be; 0: answers are exact."""
    try:
        found = float(error or 0)
    except ValueError:  # a list of them, for several answers
        found = inf
    if not 0 <= found < inf or (found and not near(answer, answer, found)):
        raise Unfit("its tolerance is not that of a single number")
    return found


def _together(row: Row, answers: list[str]) -> tuple[str, bool]:
    """(the answer, whether it is a set of several)."""
    plain = [re.sub(r"(?<!\\)\$", "", text).strip() for text in answers]
    if len(plain) > 1 or row.fields.get("is_multiple_answer") is True:
        return _fit(rf"\{{{', '.join(plain)}\}}"), True
    return _fit(plain[0]), False


def _answer(row: Row, name: str) -> str:
    found = row.fields.get(name)
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        raise row.bad(name, "a text or a number")
    return _fit(str(int(found)) if isinstance(found, float) and found.is_integer() else str(found))


def _fit(text: str) -> str:
    """The text as the content of a box. Raises Unfit where it cannot be."""
    found = read(text) if "\\boxed" in text else checked(text)
    if isinstance(found, Malformed):
        raise Unfit(f"its answer cannot be put in a box: {found.reason}")
    answer = _FLOAT.sub(lambda number: rf"{number[1]} \times 10^{{{int(number[2])}}}", found)
    if read(box(answer)) != answer:
        raise Unfit("its answer cannot be put in a box: its braces do not match")
    return answer


def _task(name: str, question: str, answer: str, level: str) -> dict[str, JSON]:
    return {"question": question.strip(), "answer": answer, "level": level, "source": name}
