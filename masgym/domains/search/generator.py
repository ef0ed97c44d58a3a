"""Questions with one exact answer: a chain of facts from a named entity to what its last fact names.

All splits ask about one corpus, as open-domain question answering does; they share facts and no question.
"""

from collections.abc import Sequence

import numpy as np

from masgym.domains.search.grammar import mentions
from masgym.domains.search.knowledge import RELATIONS, Knowledge, Relation, knowledge, spec
from masgym.domains.search.world import passages_of
from masgym.tasks import Instance
from masgym.tools.retrieval import Spec, retriever
from masgym.types import JSON

MOST_HOPS = 4
LEVEL_NAMES = ("easy", "medium", "hard", "expert")  # of 1 to 4 hops

# Presets: fields of Search. In `nano` prompts and replies are short enough for a character-level model.
LEVELS: dict[str, dict[str, JSON]] = {
    "nano": {"hops": 1, "terse": True, "top_k": 1, "searches": 3},
    "easy": {"hops": 1},
    "medium": {"hops": 2},
    "hard": {"hops": 3},
    "expert": {"hops": 4},
}

Chain = Sequence[tuple[int, Relation]]  # (subject, relation) of each hop; each object is the next subject


def draw(rng: np.random.Generator, *, seed: int, entities: int, terse: bool, hops: int, top_k: int) -> Instance | None:
    """One chain of `hops` facts. None when it is no chain for a searcher: a hop's search does not find its passage or
    finds one of a later hop, or the answer stands in the question or on the way."""
    known = knowledge(seed, entities, terse)
    chain = _walk(rng, known, hops)
    names = [known.entities[subject].name for subject, _ in chain]
    last, relation = chain[-1]
    answer = known.name(known.facts[last, relation.word])
    gold = [known.title(subject, hop.word) for subject, hop in chain]
    queries = [f"{name} {hop.word}" for name, (_, hop) in zip(names, chain, strict=True)]
    question = _question(known, chain, relation.object == "person")
    way = _way(queries, gold, spec(seed, entities, terse), top_k)
    if way is None or len(set(names)) < hops or any(mentions(text, [answer]) for text in [question, *way]):
        return None
    content: dict[str, JSON] = {
        "question": question,
        "terse": f"{names[0]} {' '.join(hop.word for _, hop in chain)}?",
        "golden_answers": [answer],
        "gold": gold,
        "queries": queries,
    }
    return Instance(content=content, level=LEVEL_NAMES[hops - 1], optimum=None)


def _walk(rng: np.random.Generator, known: Knowledge, hops: int) -> Chain:
    """A random chain: a kind, an entity of it, then a relation at each hop; years only come last."""
    kinds = list(RELATIONS)
    kind = kinds[int(rng.integers(len(kinds)))]
    of = [number for number, entity in enumerate(known.entities) if entity.kind == kind]
    chain, subject = list[tuple[int, Relation]](), of[int(rng.integers(len(of)))]
    for hop in range(hops):
        usable = [r for r in RELATIONS[known.entities[subject].kind] if r.object != "year" or hop == hops - 1]
        relation = usable[int(rng.integers(len(usable)))]
        chain.append((subject, relation))
        reached = known.facts[subject, relation.word]
        subject = reached if isinstance(reached, int) else subject
    return chain


def _way(queries: Sequence[str], gold: Sequence[str], corpus: Spec, top_k: int) -> list[str] | None:
    """The passages of all hops but the last; None where the search for a hop does not find its own, or a later one."""
    search, way = retriever(corpus).search, list[str]()
    for hop, query in enumerate(queries):
        found = {passage.title: str(passage) for passage in passages_of(search(query, top_k).value)}
        if gold[hop] not in found or any(title in found for title in gold[hop + 1 :]):
            return None
        way.append(found[gold[hop]])
    return way[:-1]


def _question(known: Knowledge, chain: Chain, person: bool) -> str:
    """ "Who is the founder of the birthplace of NAME?": the last relation is named first."""
    parts = [f"the {hop.phrase} of" for _, hop in reversed(chain)]
    return f"{'Who' if person else 'What'} is {' '.join(parts)} {known.entities[chain[0][0]].name}?"
