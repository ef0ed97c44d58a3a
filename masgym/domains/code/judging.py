"""What a reply comes to, from what its programs answered: verdicts, terms, notes. Pure."""

from collections.abc import Sequence

from masgym.domains.code.checks import Answer, Failure, failure, passes
from masgym.domains.code.problem import Case, Problem, shown
from masgym.tags import Malformed
from masgym.types import value

_TOLD = 3  # failures that a report tells
_LISTED = 200  # characters of a test in a note


@value
class Report:
    """What a program did on the cases that may be shown: the examples, and the tests of the turn."""

    passed: int
    total: int
    failures: tuple[Failure, ...]  # the first few

    @property
    def text(self) -> str:
        lines = [f"{one.asked} {one.came}, expected {one.expected}" for one in self.failures]
        return "\n".join([f"It passes {self.passed} of {self.total} examples and tests.", *lines])

    @property
    def brief(self) -> str:
        return "\n".join([f"{self.passed}/{self.total}", *(f"{f.asked}:{f.came}!={f.expected}" for f in self.failures)])


@value
class Coded:
    """A program that compiles."""

    runs: bool  # it answers every example and hidden case, rightly or not
    gold: float  # share of the hidden cases that it passes
    report: Report


def coded(
    problem: Problem, public: Sequence[Case], seen: Sequence[Answer], hidden: Sequence[Answer], accepted: Answer | None
) -> Coded | Malformed:
    """`seen` answers the cases of `public`, `hidden` the gold ones. accepted: what the task's `check`, if it has one,
    made of `hidden`."""
    for answer in (*seen, *hidden):
        if answer.kind == "compile":
            return Malformed(reason=f"its program does not compile: {answer.what}")
    right = [passes(problem, case, answer) for case, answer in zip(public, seen, strict=True)]
    failures = [failure(problem, c, a) for c, a, ok in zip(public, seen, right, strict=True) if not ok]
    if accepted is not None:
        gold = float(accepted.kind == "ok")
    else:
        gold = sum(map(passes, [problem] * len(hidden), problem.gold, hidden)) / len(problem.gold)
    return Coded(
        runs=all(answer.kind == "ok" for answer in (*seen[: len(problem.examples)], *hidden)),
        gold=gold,
        report=Report(passed=sum(right), total=len(right), failures=tuple(failures[:_TOLD])),
    )


def told_apart(problem: Problem, tests: Sequence[Case], made: Sequence[Answer]) -> float:
    """0 if the reference fails a test, else the share of mutants that fail one which repeats no example, by an answer
    of their own: not because the run was over before.

    `made` answers `tests` for the reference, then for each mutant. Without mutants (imported tasks) a test that is
    right and new is worth 1.
    """
    count = len(tests)
    rows = [made[start : start + count] for start in range(0, len(made), count)]
    if not all(passes(problem, case, answer) for case, answer in zip(tests, rows[0], strict=True)):
        return 0.0
    new = [case not in problem.examples for case in tests]
    killed = [
        any(
            fresh and answer.own and not passes(problem, case, answer)
            for case, answer, fresh in zip(tests, row, new, strict=True)
        )
        for row in rows[1:]
    ]
    return sum(killed) / len(killed) if killed else float(any(new))


def listing(problem: Problem, tests: Sequence[Case]) -> tuple[str, ...]:
    """The tests as others read them."""
    texts = [shown(test, problem.form, problem.entry_point) for test in tests]
    return tuple(text if len(text) <= _LISTED else f"{text[: _LISTED - 3]}..." for text in texts)
