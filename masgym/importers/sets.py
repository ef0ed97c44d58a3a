"""The data sets that can be imported, by name."""

from collections.abc import Callable, Iterator, Mapping

from masgym.domains.code import taskfile as code
from masgym.domains.math import taskfile as math
from masgym.domains.search import files as search
from masgym.domains.sokoban import boxoban as sokoban
from masgym.importers import apps, code_contests, human_eval, levels, live_code_bench, sources
from masgym.importers.problems import dapo, olympiad, problems
from masgym.importers.questions import questions
from masgym.importers.rows import Row
from masgym.importers.sources import Hub
from masgym.tasks import Instance
from masgym.types import JSON, Split, value

_READERS: Mapping[str, Callable[[Mapping[str, JSON], str], Instance]] = {  # how a domain reads a line of its own
    "code": code.instance_of,
    "math": math.instance_of,
    "search": search.instance_of,
    "sokoban": sokoban.instance_of,
}


@value
class ImportSet:
    """How rows of a set become tasks of a domain."""

    domain: str
    read: Callable[[Row], dict[str, JSON]]  # a row -> a line; raises BadFile, and Unfit where no task can be had
    split: Split | None = None  # of all its tasks: evaluation sets are "test"; None: by content
    rows: Callable[[str, Hub], Iterator[Row]] = sources.rows

    def instance(self, line: Mapping[str, JSON], where: str) -> Instance:
        """The task that the domain reads in a line. Raises BadFile."""
        return _READERS[self.domain](line, where)


def _evaluation(domain: str, read: Callable[[Row], dict[str, JSON]]) -> ImportSet:
    return ImportSet(domain=domain, read=read, split="test")


SETS: Mapping[str, ImportSet] = {
    "apps": ImportSet(domain="code", read=apps.read),
    "codecontests": ImportSet(domain="code", read=code_contests.read),
    "livecodebench": _evaluation("code", live_code_bench.read),
    "humaneval": _evaluation("code", human_eval.read),
    **{name: _evaluation("math", problems(name)) for name in ("aime24", "aime25", "math500", "amc", "minerva")},
    "olympiadbench": _evaluation("math", olympiad),
    "polaris": ImportSet(domain="math", read=problems("polaris")),
    "dapo_math": ImportSet(domain="math", read=dapo),
    "hotpotqa": ImportSet(domain="search", read=questions),
    **{
        name: _evaluation("search", questions)
        for name in ("nq", "triviaqa", "popqa", "2wikimultihopqa", "musique", "bamboogle")
    },
    "boxoban": ImportSet(domain="sokoban", read=levels.read, rows=levels.rows),
}
