"""Whether a file asks about the generated world: anybody else's questions have no answer in its passages."""

from masgym.domains.search.grammar import normalise
from masgym.domains.search.knowledge import knowledge
from masgym.domains.search.world import passage_of
from masgym.errors import BadValue
from masgym.tasks import SPLITS, Listed, Task
from masgym.tools.retrieval import Shared


def check_told(file: str, asked: Listed, world: tuple[int, int, bool]) -> None:
    """world: the arguments of `knowledge`.

    Raises BadValue unless its passages tell of every question in `file`: they have all its gold titles, or where it
    names none, one of its answers is a name or a year of that world.
    """
    titles, names = _TOLD.get(world)
    for task in (asked.get(split, i) for split in SPLITS for i in range(asked.size(split) or 0)):
        if not _is_told(task, titles, names):
            raise BadValue(
                f"{file} asks {task.content['question'][:80]!r}, of which the generated passages tell nothing. Give "
                "the passages that its questions are about: corpus= a JSONL file of passages or the http(s) URL of a "
                "retrieval server. Without corpus= only questions about the generated world are asked."
            )


def _is_told(task: Task, titles: frozenset[str], names: frozenset[str]) -> bool:
    gold = task.content["gold"]
    return titles.issuperset(map(normalise, gold)) if gold else not names.isdisjoint(_normalised(task))


def _normalised(task: Task) -> list[str]:
    return [normalise(answer) for answer in task.content["golden_answers"]]


def _told(world: tuple[int, int, bool]) -> tuple[frozenset[str], frozenset[str]]:
    """(titles of passages, names and years), normalised."""
    known = knowledge(*world)
    titles = frozenset(normalise(passage_of(text).title) for text in known.passages)
    return titles, frozenset(normalise(known.name(thing)) for thing in known.facts.values())


_TOLD = Shared(_told)
