"""What a team knows: the question, and what each search brought to light. Values; `one | other` is both together."""

from collections.abc import Iterator
from dataclasses import field

from masgym.domains.search.grammar import mentions, normalise, plain
from masgym.types import JSON, value

_MOST_CHARACTERS = 1200  # shown of one passage


@value
class Question:
    """What stays the same while a task is played. Only `text` and `terse` are ever shown."""

    text: str
    terse: str  # for the compact style
    answers: tuple[str, ...]  # equally right ones, the oracle's first
    gold: tuple[str, ...]  # normalised titles of the passages that lead to the answer; (): whichever hold an answer
    queries: tuple[str, ...]  # that find them, hop by hop


@value
class Passage:
    """As it is shown: each part on one line, without < and >."""

    title: str
    text: str  # "" where the passage is one line

    def __str__(self) -> str:
        whole = f"{self.title}: {self.text}" if self.text else self.title
        return whole if len(whole) <= _MOST_CHARACTERS else f"{whole[:_MOST_CHARACTERS]}…"


@value
class Lookup:
    """One search that was made."""

    query: str
    passages: tuple[Passage, ...]  # best first


@value
class World:
    """What the team knows now."""

    question: Question = field(repr=False)
    lookups: tuple[Lookup, ...] = ()
    answer: str = ""  # that was given; "" before

    def __or__(self, other: "World") -> "World":
        more = tuple(lookup for lookup in other.lookups if not self.has_asked(lookup.query))
        return World(question=self.question, lookups=self.lookups + more, answer=self.answer or other.answer)

    @property
    def passages(self) -> tuple[Passage, ...]:
        """All that was found, each once."""
        return tuple(dict.fromkeys(passage for lookup in self.lookups for passage in lookup.passages))

    def has_asked(self, query: str) -> bool:
        return normalise(query) in {normalise(lookup.query) for lookup in self.lookups}

    def with_lookup(self, lookup: Lookup) -> "World":
        return World(question=self.question, lookups=(*self.lookups, lookup), answer=self.answer)

    def with_answer(self, answer: str) -> "World":
        return World(question=self.question, lookups=self.lookups, answer=answer)


def news(world: World) -> Iterator[tuple[Lookup, tuple[Passage, ...]]]:
    """(search, what it was the first to find) for each search of `world`."""
    seen = set[Passage]()
    for lookup in world.lookups:
        yield lookup, tuple(passage for passage in lookup.passages if passage not in seen)
        seen.update(lookup.passages)


def gold_found(world: World) -> frozenset[str]:
    """The gold passages among those found: by title, or where the question names none, the passages themselves."""
    question, passages = world.question, world.passages
    if question.gold:
        return frozenset(normalise(passage.title) for passage in passages) & frozenset(question.gold)
    return frozenset(str(passage) for passage in passages if mentions(str(passage), question.answers))


def passage_of(contents: str) -> Passage:
    """`contents`: title, newline, text. The title may stand in double quotes, as in Search-R1's corpora."""
    title, _, text = contents.partition("\n")
    return Passage(title=plain(title.strip().strip('"')), text=plain(text))


def passages_of(result: JSON) -> tuple[Passage, ...]:
    """The passages of an "ok" result of the tool."""
    return tuple(passage_of(found["contents"]) for found in result["passages"])
