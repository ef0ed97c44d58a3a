"""The vocabulary of the one-line tasks: small steps, each as English, as Python text and as a function.

The function computes what the text means, so that tasks are made without running text; that the two agree is tested
in the sandbox. In `code`, {v} is what the step is applied to, {u} the same where brackets enclose it, {k} its constant.
"""

from collections.abc import Callable, Sequence
from typing import Any

from masgym.types import JSON, value


@value
class Piece:
    """One kind of step."""

    words: str
    code: str
    run: Callable[[Any, Any], Any]  # (v, k) -> value
    constants: Sequence[JSON] = (None,)  # what k may be


@value
class Step:
    """A piece with its constant."""

    piece: Piece
    k: JSON

    @property
    def words(self) -> str:
        return self.piece.words.format(k=repr(self.k))

    def code(self, v: str) -> str:
        return self.piece.code.format(u=v, v=v if _is_atom(v) else f"({v})", k=repr(self.k))

    def run(self, v: Any) -> Any:
        return self.piece.run(v, self.k)


def _is_atom(code: str) -> bool:
    """Whether `code` needs no brackets before an operator or a dot: outside of brackets there are only names, dots and
    quoted text."""
    depth, outside = 0, ""
    for char in code:
        depth -= char in ")]"
        outside += char if depth == 0 else ""
        depth += char in "(["
    return not set(outside) & set("+-*/%<>=! ")


def _piece(words: str, code: str, run: Callable[[Any, Any], Any], constants: Sequence[JSON] = (None,)) -> Piece:
    return Piece(words=words, code=code, run=run, constants=constants)


_SMALL, _LARGE, _LETTERS = range(2, 10), range(1, 21), "abcde"

NUMBER = (  # int -> int
    _piece("add {k}", "{v}+{k}", lambda v, k: v + k, _LARGE),
    _piece("subtract {k}", "{v}-{k}", lambda v, k: v - k, _LARGE),
    _piece("multiply by {k}", "{v}*{k}", lambda v, k: v * k, _SMALL),
    _piece("divide by {k} and round down", "{v}//{k}", lambda v, k: v // k, _SMALL),
    _piece("take the remainder by {k}", "{v}%{k}", lambda v, k: v % k, _SMALL),
    _piece("square it", "{v}**2", lambda v, k: v**2),
    _piece("negate it", "-{v}", lambda v, k: -v),
    _piece("take the distance from {k}", "abs({v}-{k})", lambda v, k: abs(v - k), _LARGE),
    _piece("replace it by {k} if it is smaller", "max({u},{k})", lambda v, k: max(v, k), _LARGE),
    _piece("replace it by {k} if it is larger", "min({u},{k})", lambda v, k: min(v, k), _LARGE),
)
SCALE = (
    _piece("{k} times", "{k}*{v}", lambda v, k: k * v, _SMALL),
    _piece("minus {k} times", "-{k}*{v}", lambda v, k: -k * v, _SMALL),
)
CHECK = (  # int -> bool
    _piece("is greater than {k}", "{v}>{k}", lambda v, k: v > k, range(12)),
    _piece("is less than {k}", "{v}<{k}", lambda v, k: v < k, range(1, 13)),
    _piece("is at least {k}", "{v}>={k}", lambda v, k: v >= k, range(1, 13)),
    _piece("is at most {k}", "{v}<={k}", lambda v, k: v <= k, range(12)),
    _piece("is even", "{v}%2==0", lambda v, k: v % 2 == 0),
    _piece("is odd", "{v}%2==1", lambda v, k: v % 2 == 1),
    _piece("is divisible by {k}", "{v}%{k}==0", lambda v, k: v % k == 0, range(3, 6)),
    _piece("is not divisible by {k}", "{v}%{k}!=0", lambda v, k: v % k != 0, range(3, 6)),
)
PAIR = (  # (int, int) -> int, of x and y
    _piece("add x and y", "x+y", lambda v, k: v[0] + v[1]),
    _piece("subtract y from x", "x-y", lambda v, k: v[0] - v[1]),
    _piece("subtract x from y", "y-x", lambda v, k: v[1] - v[0]),
    _piece("multiply x by y", "x*y", lambda v, k: v[0] * v[1]),
    _piece("take the larger of x and y", "max(x,y)", lambda v, k: max(v)),
    _piece("take the smaller of x and y", "min(x,y)", lambda v, k: min(v)),
    _piece("take the distance of x and y", "abs(x-y)", lambda v, k: abs(v[0] - v[1])),
)
DIGITS = (  # int >= 0 -> int
    _piece("the sum of its digits", "sum(int(d) for d in str({u}))", lambda v, k: sum(map(int, str(v)))),
    _piece("its largest digit", "max(int(d) for d in str({u}))", lambda v, k: max(map(int, str(v)))),
    _piece("its smallest digit", "min(int(d) for d in str({u}))", lambda v, k: min(map(int, str(v)))),
    _piece("its first digit", "int(str({u})[0])", lambda v, k: int(str(v)[0])),
    _piece("its number with the digits reversed", "int(str({u})[::-1])", lambda v, k: int(str(v)[::-1])),
    _piece("how often the digit {k} occurs", "str({u}).count(str({k}))", lambda v, k: str(v).count(str(k)), range(10)),
)
TEXT = (  # str -> str
    _piece("make it upper case", "{v}.upper()", lambda v, k: v.upper()),
    _piece("reverse it", "{v}[::-1]", lambda v, k: v[::-1]),
    _piece("keep the first {k} characters", "{v}[:{k}]", lambda v, k: v[:k], range(1, 5)),
    _piece("keep the last {k} characters", "{v}[-{k}:]", lambda v, k: v[-k:], range(1, 5)),
    _piece("drop the first {k} characters", "{v}[{k}:]", lambda v, k: v[k:], range(1, 4)),
    _piece("drop the last {k} characters", "{v}[:-{k}]", lambda v, k: v[:-k], range(1, 4)),
    _piece("keep one character in {k}, from the first on", "{v}[::{k}]", lambda v, k: v[::k], range(2, 4)),
    _piece("repeat it {k} times", "{v}*{k}", lambda v, k: v * k, range(2, 5)),
    _piece("remove every {k}", "{v}.replace({k},'')", lambda v, k: v.replace(k, ""), _LETTERS),
    _piece("double every {k}", "{v}.replace({k},2*{k})", lambda v, k: v.replace(k, 2 * k), _LETTERS),
    _piece("put {k} in front", "{k}+{v}", lambda v, k: k + v, _LETTERS),
    _piece("put {k} at the end", "{v}+{k}", lambda v, k: v + k, _LETTERS),
    _piece("put {k} between the characters", "{k}.join({u})", lambda v, k: k.join(v), "-+. "),
    _piece("sort its characters", "''.join(sorted({u}))", lambda v, k: "".join(sorted(v))),
)
MEASURE = (  # str -> int
    _piece("its length", "len({u})", lambda v, k: len(v)),
    _piece("how often {k} occurs", "{v}.count({k})", lambda v, k: v.count(k), _LETTERS),
    _piece("how many different characters it has", "len(set({u}))", lambda v, k: len(set(v))),
    _piece("the index of the first {k}, or -1", "{v}.find({k})", lambda v, k: v.find(k), _LETTERS),
    _piece("the index of the last {k}, or -1", "{v}.rfind({k})", lambda v, k: v.rfind(k), _LETTERS),
    _piece("how many vowels it has", "sum(c in 'aeiou' for c in {v})", lambda v, k: sum(c in "aeiou" for c in v)),
)
TEXT_CHECK = (  # str -> bool
    _piece("starts with {k}", "{v}.startswith({k})", lambda v, k: v.startswith(k), _LETTERS),
    _piece("ends with {k}", "{v}.endswith({k})", lambda v, k: v.endswith(k), _LETTERS),
    _piece("contains {k}", "{k} in {v}", lambda v, k: k in v, _LETTERS),
    _piece("has no {k}", "{k} not in {v}", lambda v, k: k not in v, _LETTERS),
    _piece("has more than {k} characters", "len({u})>{k}", lambda v, k: len(v) > k, range(3, 7)),
    _piece("has {k} in second place", "{v}[1:2]=={k}", lambda v, k: v[1:2] == k, _LETTERS),
)
WORDS = (  # str of words -> str or int
    _piece("the number of words", "len({v}.split())", lambda v, k: len(v.split())),
    _piece("word number {k}, counted from 0", "{v}.split()[{k}]", lambda v, k: v.split()[k], range(3)),
    _piece("the last word", "{v}.split()[-1]", lambda v, k: v.split()[-1]),
    _piece("the words in reverse order", "' '.join({v}.split()[::-1])", lambda v, k: " ".join(v.split()[::-1])),
    _piece("the words sorted", "' '.join(sorted({v}.split()))", lambda v, k: " ".join(sorted(v.split()))),
    _piece("the words joined by {k}", "{k}.join({v}.split())", lambda v, k: k.join(v.split()), "-_+/"),
    _piece(
        "the first letters of the words",
        "''.join(w[0] for w in {v}.split())",
        lambda v, k: "".join(w[0] for w in v.split()),
    ),
    _piece(
        "the last letters of the words",
        "''.join(w[-1] for w in {v}.split())",
        lambda v, k: "".join(w[-1] for w in v.split()),
    ),
    _piece(
        "the length of the longest word",
        "max(len(w) for w in {v}.split())",
        lambda v, k: max(len(w) for w in v.split()),
    ),
    _piece(
        "the words of more than {k} letters, in a list",
        "[w for w in {v}.split() if len(w)>{k}]",
        lambda v, k: [w for w in v.split() if len(w) > k],
        range(2, 5),
    ),
)
PICK = (  # list of ints, not empty -> int
    _piece("the sum", "sum({u})", lambda v, k: sum(v)),
    _piece("the largest", "max({u})", lambda v, k: max(v)),
    _piece("the smallest", "min({u})", lambda v, k: min(v)),
    _piece("the length", "len({u})", lambda v, k: len(v)),
    _piece("the first", "{v}[0]", lambda v, k: v[0]),
    _piece("the last", "{v}[-1]", lambda v, k: v[-1]),
    _piece("how many different numbers there are", "len(set({u}))", lambda v, k: len(set(v))),
    _piece("how often {k} occurs", "{v}.count({k})", lambda v, k: v.count(k), range(4)),
)
SLICE = (  # list -> list
    _piece("sort it", "sorted({u})", lambda v, k: sorted(v)),
    _piece("sort it from large to small", "sorted({u},reverse=True)", lambda v, k: sorted(v, reverse=True)),
    _piece("reverse it", "{v}[::-1]", lambda v, k: v[::-1]),
    _piece("keep the first {k}", "{v}[:{k}]", lambda v, k: v[:k], range(1, 5)),
    _piece("keep the last {k}", "{v}[-{k}:]", lambda v, k: v[-k:], range(1, 5)),
    _piece("drop the first {k}", "{v}[{k}:]", lambda v, k: v[k:], range(1, 4)),
    _piece("drop the last {k}", "{v}[:-{k}]", lambda v, k: v[:-k], range(1, 4)),
    _piece("keep one in {k}, from the first on", "{v}[::{k}]", lambda v, k: v[::k], range(2, 4)),
    _piece("repeat it {k} times", "{v}*{k}", lambda v, k: v * k, range(2, 4)),
    _piece("put {k} at the end", "{v}+[{k}]", lambda v, k: [*v, k], range(10)),
)
