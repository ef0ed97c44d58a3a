r"""The grammar of answers, and what can be judged of them by reading alone.

reply   := text that holds one or more \boxed{answer}, all of them with the same answer | number
number  := [+|-] digits [. digits | / digits]          (ASCII; the whole reply, for the small model)

Reading takes time linear in the reply. Reasons never quote it, because they go to shared memory.
"""

import re
from collections import Counter
from fractions import Fraction
from math import gcd

from masgym.tags import Malformed, printable

MOST = 500  # characters of an answer
_BARE = re.compile(r"[+-]?\d+(?:[./]\d+)?", re.ASCII)
_BRACE = re.compile(r"\\boxed\s*\{|\\.|[{}]", re.DOTALL)
_SYMBOLS = str.maketrans({"π": r"\pi ", "−": "-", "×": r"\times ", "·": r"\cdot ", "°": r"^\circ "})

_MARKS = re.compile(r"\\(?:[lcvd]?dots[bcmio]?|text|textrm|textbf|mathrm|mbox)(?![A-Za-z])")
_HOLDS = re.compile(r"[^\W_]|[\u2205\u221e]|\\\{")  # a letter, a digit, the empty set in either form, infinity
_PLACEHOLDER = re.compile(r"\W*(?:(?:your|the)\W+)?(?:final\W+)?(?:answer|result)(?:\W+here)?\W*", re.IGNORECASE)

_INTEGER = r"\d{1,3}(?:(?:,|\{,\})\d{3})+|\d+"
_NUMBER = re.compile(rf"([+-]?)(?:({_INTEGER})(\.\d+)?|(\.\d+))", re.ASCII)
_PART = r"(?:\{([+-]?\d+)\}|(\d))"
_FRACTION = re.compile(rf"([+-]?)(?:\\frac{_PART}{_PART}|(\d+)/(\d+))", re.ASCII)
_CONSTANT = re.compile(r"(?:[-+*/^(){}\d.,]|\\(?:frac|sqrt|pi|cdot|times)(?![A-Za-z]))+", re.ASCII)
# Constants and vectors, and no units: i, e, j, k.
_UPRIGHT = re.compile(r"(?<!\\)\\(?:text|textrm|textbf|mathrm|mbox)\{\s*([eijk])\s*\}")
_RATIO = re.compile(r"\d+(?:\.\d+)?(?::\d+(?:\.\d+)?)+", re.ASCII)  # or a time
_WORDS = re.compile(r"(?<!\\)\\(?:text|textrm|textbf|mathrm|mbox)\{[^{}\d]*\}")
_SPACES = re.compile(r"\s+|~|(?<!\\)\\(?:[,;:! ]|(?:q?quad|left|right)(?![A-Za-z]))")
_SYMBOL_IS = re.compile(r"[A-Za-z](?:_\{?\w\}?)?=", re.ASCII)
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\.\d+|\S", re.ASCII | re.DOTALL)
_SIGN = re.compile(r"(?<![\d)}A-Za-z])[+-]")
_STYLE = {r"\frac", r"\text", r"\mathrm", r"\circ", r"\degree", r"\$", r"\%"}
_PRODUCTS = {r"\cdot", r"\times"}


def read(reply: str) -> str | Malformed:
    """The one answer of a reply, white space squeezed. Several different ones are ambiguous: malformed, not guessed."""
    if not reply.strip():
        return Malformed(reason="the reply was empty")
    found = _boxes(reply)
    if isinstance(found, Malformed):
        return found
    if not found:
        bare = reply.strip(" \t\r\n")
        return bare if len(bare) <= MOST and _BARE.fullmatch(bare) else Malformed(reason=r"it holds no \boxed{} answer")
    if len(found) > 1:
        return Malformed(reason=f"it holds {len(found)} different answers in boxes; exactly one was expected")
    return checked(found[0])


def checked(text: str) -> str | Malformed:
    """`text` as an answer: one line of at most MOST characters that are printed, ASCII numerals only."""
    answer = " ".join(printable(text.translate(_SYMBOLS)).split())
    answer = answer[1:-1].strip() if re.fullmatch(r"\$[^$]*[^$\\]\$", answer) else answer
    if not answer:
        return Malformed(reason="its box was empty")
    if len(answer) > MOST:
        return Malformed(reason=f"its answer is longer than {MOST} characters")
    if _is_placeholder(answer):
        return Malformed(reason="its box holds no answer, but dots or a placeholder")
    if any(c.isnumeric() and not c.isascii() for c in answer):
        return Malformed(reason="its answer holds numerals other than 0-9")
    if re.search(r"(?<!\\)\$|\\[(\[]", answer):
        return Malformed(reason="its answer holds $ or the marks of a formula; the box alone is enough")
    return answer


def _is_placeholder(answer: str) -> bool:
    """Whether it only repeats a form, as in \\boxed{...} or \\boxed{answer}."""
    bare = _MARKS.sub("", answer)
    return not _HOLDS.search(bare) or _PLACEHOLDER.fullmatch(bare) is not None


def box(answer: str) -> str:
    return rf"\boxed{{{answer}}}"


def plain(text: str) -> bool:
    """May `text` be an answer without a box?"""
    return len(text) <= MOST and _BARE.fullmatch(text) is not None


def settle(expected: str, answer: str) -> bool | None:
    """Is `answer` right? None: only math-verify can tell.

    Equal texts are; numbers are compared exactly. Where a number or a closed form in roots and pi is expected, an
    answer with work left in it (3+4 for 7, 14/2, a sum, a factorial) is wrong: the question is no answer. A ratio or a
    time (2:3, 10:30) is no fraction, and equal to none but itself.
    """
    gold_text, text = _tidy(expected), _tidy(answer)
    if gold_text == text:
        return True
    if _RATIO.fullmatch(gold_text):
        return gold_text.lstrip("0") == text.lstrip("0")
    if not _CONSTANT.fullmatch(gold_text):
        return None
    gold, given = _number(gold_text), _number(text)
    if gold is None or given is None:
        return False if _work_left(gold_text, text, plain=gold is not None) else None
    if "." in text and gold.denominator > 1 and gold != given:
        return None  # rounded: how far that may go is math-verify's business
    return gold == given and not _reducible(text)


def near(expected: str, answer: str, tolerance: float) -> bool:
    """Are both numbers in digits, and no farther apart than `tolerance`? What is still to be worked out is none."""
    gold, given = _number(_tidy(expected)), _number(_tidy(answer))
    return gold is not None and given is not None and abs(gold - given) <= Fraction(str(tolerance))


def upright(text: str) -> str:
    """With `i` for `\\mathrm{i}`, which is a number and no unit to be left out; so for e, and the vectors i, j, k."""
    return _UPRIGHT.sub(_letter, text)


def _letter(found: re.Match[str]) -> str:
    """Apart from a command before it: \\pi i."""
    return f" {found[1]}" if found.string[: found.start()].strip()[-1:].isalpha() else found[1]


def same(one: str, other: str) -> bool:
    """Are two answers the same, as far as reading tells?"""
    return settle(one, other) is True


def _boxes(reply: str) -> list[str] | Malformed:
    """The different contents of the boxes, in order."""
    found: dict[str, None] = {}
    depth, start = 0, -1  # braces open within the present box; where its content begins, -1 outside of boxes
    for mark in _BRACE.finditer(reply):
        if mark[0].startswith("\\boxed"):
            if start >= 0:
                return Malformed(reason=r"a \boxed{} stands inside another, or was not closed")
            depth, start = 0, mark.end()
        elif start >= 0 and mark[0] in "{}":
            depth += 1 if mark[0] == "{" else -1
            if depth < 0:
                found[" ".join(reply[start : mark.start()].split())] = None
                start = -1
    return Malformed(reason=r"a \boxed{} was not closed") if start >= 0 else list(found)


def _tidy(text: str) -> str:
    """Without spaces, sizes, words in \\text{} and a leading `x =`; one kind of fraction."""
    text = re.sub(r"(?<!\\)\\[dt]frac(?![A-Za-z])", r"\\frac", text)
    text = re.sub(r"(?<!\\)(?:\{:\}|\\colon(?![A-Za-z]))", ":", upright(text))
    bare = _joined(_WORDS.sub(" ", text))
    joined = bare if any(map(str.isalnum, bare)) else _joined(text)  # of nothing but words, all are the answer
    named = _SYMBOL_IS.match(joined)
    return joined[named.end() :] if named else joined


def _joined(text: str) -> str:
    text = _SPACES.sub(" ", text)
    return re.sub(r"(?<![0-9A-Za-z]) +| +(?![0-9A-Za-z])", "", text)  # not between two digits: 1 2 is not 12


def _number(text: str) -> Fraction | None:
    """The value of an integer, a decimal or a fraction of integers."""
    if found := _NUMBER.fullmatch(text):
        sign, whole, decimals, only = found.groups()
        digits = re.sub(r"[,{}]", "", whole or "0") + (decimals or only or "")
        return Fraction(f"{sign}{digits}")
    parts = _parts(text)
    return Fraction(*parts) if parts and parts[1] else None


def _parts(text: str) -> tuple[int, int] | None:
    """Numerator and denominator of a fraction of integers."""
    found = _FRACTION.fullmatch(text)
    if not found:
        return None
    sign, *groups = found.groups()
    above, below = (int(group) for group in groups if group is not None)
    return (-above if sign == "-" else above), below


def _reducible(text: str) -> bool:
    parts = _parts(text)
    return parts is not None and (gcd(*parts) > 1 or abs(parts[1]) == 1)


def _work_left(expected: str, answer: str, plain: bool) -> bool:
    """Has `answer` more numerals or operations than the closed form that is expected, or not the one of a plain number?

    A fraction's numerator 1 is not counted: half a root is as good as a root over 2. Nor, where a sum is expected, is
    a numeral that recurs: its terms may each have the denominator.
    """
    commands, numerals, operators = _tally(answer)
    allowed, most, expected_operators = _tally(expected)
    if not commands <= allowed | _STYLE | _PRODUCTS or operators - expected_operators:
        return True
    if plain:
        return len(numerals) != 1
    units = len(re.findall(r"\\frac\{?1(?!\d)|(?<!\d)1/", answer))
    count = len(set(numerals)) if expected_operators["+"] else len(numerals)
    return count > len(most) + units


def _tally(text: str) -> tuple[set[str], list[str], Counter[str]]:
    """(commands, numerals, how often which operator occurs); signs and degrees are no operators."""
    text = _SIGN.sub("", text.replace(r"^\circ", "").replace(r"^{\circ}", ""))
    tokens = _TOKEN.findall(text)
    commands = {token for token in tokens if token.startswith("\\")}
    numerals = [token for token in tokens if token[0].isdigit() or (token[0] == "." and len(token) > 1)]
    operators = Counter("+" if token == "-" else token for token in tokens if token in set("+-*^!=,;|<>%&_[]"))
    return commands, numerals, operators
