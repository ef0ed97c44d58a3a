"""Replies, and how answers are compared.

reply := text with exactly one <search>query</search>  |  text with exactly one <answer>answer</answer>
       | ?query  |  =answer                             the short forms: the whole reply is that line

A reply with both tags, with two of one, or with a tag inside a tag is malformed, not guessed (the grammar of
Search-R1, arXiv 2503.09516, read strictly; the short forms, for small models, are ours). What others wrote, passages
and replies alike, goes through `plain` before it is shown: one line without < and >, so that it can forge neither a
tag nor a line of the prompt.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable
from typing import Literal, TypeAlias

from masgym.tags import Malformed, inside
from masgym.types import value

Kind: TypeAlias = Literal["search", "answer"]

MOST_CHARACTERS = 300  # of a query or an answer

GRAMMAR = (
    "Reply with one search, <search>words to look for</search>, or with the answer, <answer>only the answer</answer>. "
    f"Each holds at most {MOST_CHARACTERS} characters. You may think first; there must be exactly one of the two."
)


def form(searches: int) -> str:
    """What whoever's reply was malformed is told once more; `searches` are left."""
    search = "<search>words to look for</search> or " if searches else ""
    return f"Reply like {search}<answer>only the answer</answer>."


@value
class Said:
    """What a reply says: `text` has a word in it, and no line break and no < or >."""

    kind: Kind
    text: str


def parse(reply: str) -> Said | Malformed:
    """The search or the answer of a reply, or why it has none."""
    if not reply.strip():
        return Malformed(reason="the reply was empty")
    search, answer = (f"<{tag}>" in reply or f"</{tag}>" in reply for tag in ("search", "answer"))
    if search and answer:
        return Malformed(reason="it has both a <search> and an <answer>; exactly one of them was expected")
    if not search and not answer:
        return _short(reply.strip())
    kind: Kind = "search" if search else "answer"
    text = inside(reply, kind)
    return text if isinstance(text, Malformed) else _said(kind, text)


def _short(line: str) -> Said | Malformed:
    if line[0] in _SHORT and line[1:2].isalnum() and len(line.splitlines()) == 1:
        return _said(_SHORT[line[0]], line[1:])
    return Malformed(reason="it has neither a <search> nor an <answer>; exactly one of them was expected")


def _said(kind: Kind, text: str) -> Said | Malformed:
    if len(text) > MOST_CHARACTERS:
        return Malformed(reason=f"its {kind} has {len(text)} characters; at most {MOST_CHARACTERS} are allowed")
    if _TAG.search(text):
        return Malformed(reason=f"its {kind} has a tag inside")
    if not any(character.isalnum() for character in text):
        return Malformed(reason=f"its {kind} holds no word")
    return Said(kind=kind, text=plain(text))


def plain(text: str) -> str:
    """`text` on one line, without control characters, with ‹ › for < >."""
    line = " ".join(text.translate(_BRACKETS).split())
    return line if line.isprintable() else "".join(c for c in line if c.isprintable())


def normalise(text: str) -> str:
    """Lower case, no punctuation, no articles, single spaces: the usual form of open-domain question answering
    (SQuAD, arXiv 1606.05250). Where nothing but articles is left, they stay."""
    bare = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split() or bare.split())


def exact_match(answer: str, golden: Iterable[str]) -> bool:
    """Whether `answer` is one of `golden`, both normalised."""
    return normalise(answer) in {normalise(text) for text in golden}


def f1(answer: str, golden: Iterable[str]) -> float:
    """The best F1 of the words that `answer` and one of `golden` share; 0 where one of them says yes or no and the
    other something else (HotpotQA, arXiv 1809.09600)."""
    return max(_f1(normalise(answer), normalise(text)) for text in golden)


def mentions(text: str, golden: Iterable[str]) -> bool:
    """Whether `text` holds one of `golden` as a run of words, both normalised."""
    return any(f" {normalise(answer)} " in f" {normalise(text)} " for answer in golden)


def _f1(answer: str, golden: str) -> float:
    if answer != golden and {answer, golden} & {"yes", "no", "noanswer"}:
        return 0.0
    one, other = answer.split(), golden.split()
    shared = sum((Counter(one) & Counter(other)).values())
    return 2 * shared / (len(one) + len(other)) if shared else 0.0


_SHORT: dict[str, Kind] = {"?": "search", "=": "answer"}
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_TAG = re.compile(r"</?[A-Za-z]")
_BRACKETS = str.maketrans("<>", "‹›")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation + "‹›")  # as `plain` writes < and >
