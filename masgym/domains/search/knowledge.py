"""A world of its own: people, towns, regions, guilds and books that exist nowhere, and passages that tell of them.

Every fact is a function: one object for each (entity, relation), so a chain of relations has one end. Names are drawn
from few parts, so that many passages share words. All of it follows from (seed, entities, terse):

    prose  a passage for each entity, "name\\nsentences", and one letter for every four of them that mentions entities
           and states nothing that is ever asked
    terse  a passage for each fact, "subject relation object", with names of four or six lower-case letters
"""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from operator import getitem

import numpy as np

from masgym.rng import keyed
from masgym.tools.retrieval import Shared, Spec, register_corpus
from masgym.types import value


@value
class Relation:
    """What an entity of a kind has."""

    word: str  # in terse questions and in queries
    phrase: str  # "the {phrase} of ..."
    object: str  # a kind, or "year"


RELATIONS: Mapping[str, tuple[Relation, ...]] = {
    "book": (
        Relation(word="author", phrase="author", object="person"),
        Relation(word="scene", phrase="setting", object="town"),
        Relation(word="year", phrase="year of publication", object="year"),
    ),
    "person": (
        Relation(word="home", phrase="birthplace", object="town"),
        Relation(word="guild", phrase="guild", object="guild"),
    ),
    "town": (
        Relation(word="region", phrase="region", object="region"),
        Relation(word="founder", phrase="founder", object="person"),
        Relation(word="age", phrase="year of foundation", object="year"),
    ),
    "region": (
        Relation(word="capital", phrase="capital", object="town"),
        Relation(word="ruler", phrase="ruler", object="person"),
    ),
    "guild": (
        Relation(word="seat", phrase="seat", object="town"),
        Relation(word="head", phrase="head", object="person"),
    ),
}
_SHARES = {"book": 0.3, "person": 0.36, "town": 0.2, "region": 0.04, "guild": 0.1}
_PAGES = {
    "book": "{0} is a book. It was written by {author}, is set in {scene} and came out in {year}.",
    "person": "{0} was born in {home} and belongs to {guild}.",
    "town": "{0} is a town in {region}. It was founded by {founder} in {age}.",
    "region": "{0} is a region. Its capital is {capital}, and {ruler} rules it.",
    "guild": "{0} are a guild with a seat in {seat}. {head} is their head.",
}
_LETTER = "Letter {0}\n{person} writes from {town} about {book}, and of a meeting with {guild} in {region}."
_NOUNS = "Lantern Orchard Ledger Harbour Winter Mirror Bridge Garden Compass Ferry Loom Tower Candle Well Feast Mill"
_TRADES = "Weavers Glaziers Coopers Chandlers Masons Fullers Scribes Tinkers"
_VOWELS, _MIDDLES, _ENDS = "a e i o u", "b d g k l m n r s t v z", "n r l s m th x"
_PLACES = ("{}", "Upper {}", "Lower {}", "Old {}", "New {}")
_LANDS = ("{} Reach", "Vale of {}", "{} March", "Isle of {}")


@value
class Entity:
    name: str
    kind: str


@value
class Knowledge:
    """facts: (entity's number, relation's word) -> an entity's number, or a year as text."""

    entities: tuple[Entity, ...]
    facts: Mapping[tuple[int, str], int | str]
    passages: tuple[str, ...]
    terse: bool

    def name(self, thing: int | str) -> str:
        return thing if isinstance(thing, str) else self.entities[thing].name

    def title(self, subject: int, word: str) -> str:
        """The first line of the passage that states the fact."""
        name = self.entities[subject].name
        return f"{name} {word} {self.name(self.facts[subject, word])}" if self.terse else name


def knowledge(seed: int, entities: int, terse: bool) -> Knowledge:
    """Built once, then shared."""
    return _KNOWLEDGE.get((seed, entities, terse))


def spec(seed: int, entities: int, terse: bool) -> Spec:
    """The corpus of `knowledge`, for the search tool."""
    return {"kind": "generated", "seed": seed, "entities": entities, "terse": terse}


def _build(key: tuple[int, int, bool]) -> Knowledge:
    seed, count, terse = key
    rng = keyed("search", seed, count, int(terse))
    kinds = _kinds(count)
    named = _terse_names(rng, count) if terse else _names(rng, kinds)
    entities = tuple(Entity(name=name, kind=kind) for name, kind in zip(named, kinds, strict=True))
    facts = _facts(rng, kinds)
    draft = Knowledge(entities=entities, facts=facts, passages=(), terse=terse)
    passages = tuple(_terse_passages(draft)) if terse else tuple(_pages(draft)) + tuple(_letters(rng, draft))
    return Knowledge(entities=entities, facts=facts, passages=passages, terse=terse)


def _kinds(count: int) -> list[str]:
    """`count` kinds by their shares; the rest are books."""
    kinds = [kind for kind, share in _SHARES.items() if kind != "book" for _ in range(max(2, int(share * count)))]
    return [*kinds, *["book"] * (count - len(kinds))]


def _numbers(kinds: Sequence[str]) -> dict[str, list[int]]:
    """Kind -> the numbers of its entities."""
    return {kind: [number for number, found in enumerate(kinds) if found == kind] for kind in _SHARES}


def _facts(rng: np.random.Generator, kinds: Sequence[str]) -> dict[tuple[int, str], int | str]:
    """Drawn; then a capital is moved into its region, and a head into its guild."""
    numbers, facts = _numbers(kinds), dict[tuple[int, str], int | str]()
    for number, kind in enumerate(kinds):
        for relation in RELATIONS[kind]:
            choice = numbers.get(relation.object)
            facts[number, relation.word] = _one(rng, choice) if choice else str(rng.integers(1000, 2000))
    for whole, word, part, back in (("region", "capital", "town", "region"), ("guild", "head", "person", "guild")):
        chosen = rng.permutation(numbers[part])[: len(numbers[whole])].tolist()
        for number, member in zip(numbers[whole], chosen, strict=True):
            facts[number, word], facts[member, back] = member, number
    return facts


def _one(rng: np.random.Generator, of: Sequence[int]) -> int:
    return of[int(rng.integers(len(of)))]


def _terse_names(rng: np.random.Generator, count: int) -> list[str]:
    """Syllables of one consonant and one vowel: two of them, or three where there are too many entities."""
    syllables = [consonant + vowel for consonant in "bdfgjklmnprstvz" for vowel in "aeiou"]
    length = 2 if count <= len(syllables) ** 2 else 3
    codes = rng.permutation(len(syllables) ** length)[:count].tolist()
    return ["".join(syllables[code // len(syllables) ** i % len(syllables)] for i in range(length)) for code in codes]


def _names(rng: np.random.Generator, kinds: Sequence[str]) -> list[str]:
    """Each name is a different pair of parts; places, books and guilds share their rarer part."""
    counts = {kind: len(found) for kind, found in _numbers(kinds).items()}
    words = _words(rng, 64 + sum(counts.values()) // 4)
    given, rare = words[:64], words[64:]
    patterns = {
        "person": [f"{first} {{}}" for first in given],
        "town": list(_PLACES),
        "region": list(_LANDS),
        "guild": [f"{{}} {trade}" for trade in _TRADES.split()],
        "book": [f"The {noun} of {{}}" for noun in _NOUNS.split()],
    }
    named = {kind: iter(_pairs(rng, patterns[kind], rare, counts[kind])) for kind in counts}
    return [next(named[kind]) for kind in kinds]


def _pairs(rng: np.random.Generator, patterns: Sequence[str], words: Sequence[str], count: int) -> list[str]:
    codes: list[int] = rng.permutation(len(patterns) * len(words))[:count].tolist()
    return [patterns[code % len(patterns)].format(words[code // len(patterns)]) for code in codes]


def _words(rng: np.random.Generator, count: int) -> list[str]:
    """Different capitalised words of five sounds, with a beginning that few languages have: nobody's names."""
    sounds = [
        part.split() for part in ("zv kr dr vl thr gv br pl qu sk tv mr fl zh", _VOWELS, _MIDDLES, _VOWELS, _ENDS)
    ]
    sizes = [len(part) for part in sounds]
    codes = rng.permutation(prod(sizes))[:count]
    return ["".join(map(getitem, sounds, at)).capitalize() for at in zip(*np.unravel_index(codes, sizes), strict=True)]


def _terse_passages(known: Knowledge) -> Iterator[str]:
    for subject, word in known.facts:
        yield known.title(subject, word)


def _pages(known: Knowledge) -> Iterator[str]:
    for number, entity in enumerate(known.entities):
        facts = {r.word: known.name(known.facts[number, r.word]) for r in RELATIONS[entity.kind]}
        yield f"{entity.name}\n{_PAGES[entity.kind].format(entity.name, **facts)}"


def _letters(rng: np.random.Generator, known: Knowledge) -> Iterator[str]:
    numbers = _numbers([entity.kind for entity in known.entities])
    for letter in range(len(known.entities) // 4):
        drawn = {kind: known.name(_one(rng, of)) for kind, of in numbers.items()}
        yield _LETTER.format(letter + 1, **drawn)


def _passages(wanted: Spec) -> tuple[str, ...]:
    return knowledge(wanted["seed"], wanted["entities"], wanted["terse"]).passages


_KNOWLEDGE = Shared(_build)
register_corpus("generated", _passages)
