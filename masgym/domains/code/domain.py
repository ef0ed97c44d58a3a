"""Programming (STRONGER-MAS, arXiv 2510.11062): a coder codes, a tester tests. Phi = share of gold tests passed.

A turn's program becomes the team's. The game ends when it passes the statement's examples and the tests that teammates
offered in the turn. Gold tests are never shown, nor how many of them pass. A test is worth what it tells apart: wrong
programs that are nearly right ("mutants") from the reference (CURE's idea); a repeated example tells nothing apart.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from masgym.domains.choice import chosen_families
from masgym.domains.code import taskfile
from masgym.domains.code.checks import answers, replay, run, run_tests, stated
from masgym.domains.code.judging import Report, coded, listing, told_apart
from masgym.domains.code.one_line import NAMES, NANO, draw
from masgym.domains.code.problem import Case, Problem, case_of, problem_of, shown
from masgym.domains.code.replies import (
    CODER,
    CODER_FORM,
    TESTER,
    expression_of,
    fenced,
    good_program,
    good_tests,
    read_program,
    read_tests,
    tests_like,
)
from masgym.errors import BadValue, UnknownName
from masgym.tags import Malformed, printable
from masgym.tasks import Procedural, TaskSource
from masgym.types import JSON, Effect, Slot, Style, Task, ToolCall, ToolResult, value

# Presets: fields of Code.
LEVELS: dict[str, dict[str, JSON]] = {
    "nano": {"families": NANO},
    "easy": {},
    "medium": {"file": taskfile.SHIPPED, "difficulty": "medium"},
    "hard": {"file": taskfile.SHIPPED, "difficulty": "hard"},
}

_ACT = {"compiles": 0.1, "runs": 0.1, "gold": 0.8}
_WEIGHTS: Mapping[str, Mapping[str, float]] = {"act": _ACT, "draft": _ACT, "tool": {"valid": 0.2, "mutants": 0.8}}
_TASKS: Mapping[str, str] = {
    "act": (
        "Write the program, in Python with nothing but its standard library. Hidden tests judge it; the game ends when "
        "it passes the examples."
    ),
    "draft": (
        "Propose the program, in Python with nothing but its standard library. Hidden tests judge the team's program; "
        "the game ends when that passes the examples."
    ),
    "tool": "Write tests for the program that your team is going to write: right ones, which wrong programs fail.",
}
_OFFERS = "Tests that teammates offer in this turn count as examples: the game only ends when it passes those as well."
_BRIEF = 600  # characters of what the compact style shows of a reply


@value
class World:
    """A task and the team's present program."""

    problem: Problem
    program: str = ""  # "": none yet
    gold: float = 0.0  # share of gold tests that it passes; never shown
    report: Report | None = None  # what it did where that may be shown
    tests: tuple[Case, ...] = ()  # what a tester's reply offers; in an attended world the turn's offers


@value
class Code:
    """Drawn one-line functions of `families`, or with `file` the tasks of a file (problem.py: how they are written).

    `file` is a path, or the name of a shipped file; `difficulty` keeps only its tasks of that level.
    """

    file: str | None = None
    difficulty: str | None = None
    families: tuple[str, ...] = NAMES  # of one_line.FAMILIES; a list will do
    most_tests: int = 8  # of a tester's reply
    seed: int = 0  # of the collection

    def __post_init__(self) -> None:
        """Raises BadValue, UnknownName for arguments out of range, BadFile for a file that cannot be read as tasks."""
        object.__setattr__(self, "families", chosen_families(self.name, self.families, NAMES))
        for name, least in (("most_tests", 1), ("seed", 0)):
            given = getattr(self, name)
            if not isinstance(given, int) or isinstance(given, bool) or given < least:
                raise BadValue(f"{name} is {given!r}; a whole number of at least {least} was expected.")
        if self.file is not None:
            taskfile.load(self.file, self.difficulty)
        elif self.difficulty is not None:
            raise BadValue(f"difficulty is {self.difficulty!r}; it chooses among the tasks of a file, so give `file`.")

    @property
    def name(self) -> str:
        return "code"

    @property
    def tasks(self) -> TaskSource:
        if self.file is not None:
            return taskfile.load(self.file, self.difficulty)
        chosen = {} if self.families == NAMES else {"families": list(self.families)}
        return Procedural(domain="code", params=chosen, generate=partial(draw, families=self.families), seed=self.seed)

    @property
    def titles(self) -> Mapping[str, str]:
        return {"draft": "coder", "tool": "tester", "act": "coder"}

    def initial(self, task: Task) -> World:
        """Raises BadValue for a content that is no programming task."""
        try:
            return World(problem=problem_of(task.content))
        except BadValue as error:
            raise BadValue(f"task {task.id}: {error}") from error

    def render(self, world: World, style: Style) -> str:
        """compact: brief, examples, then the present program and its report; an expression where it is one."""
        problem = world.problem
        examples = [shown(case, problem.form, problem.entry_point) for case in problem.examples]
        if style == "compact":
            parts = [problem.brief, *(line.replace(" == ", "==") for line in examples)]
            parts += [f">{expression_of(_shown(world.program))} {world.report.brief}"] if world.report else []
            return "\n".join(parts)
        parts = [problem.statement, _signature(problem)]
        parts += ["Examples:\n" + "\n".join(examples)] if examples else []
        parts += [f"The present program:\n{fenced(_shown(world.program))}\n{world.report.text}"] if world.report else []
        return "\n\n".join(parts)

    def brief(self, slot: Slot) -> str:
        grammar = TESTER.format(most=self.most_tests) if _known(slot) == "tool" else CODER
        return f"{_TASKS[slot]}\n{grammar}"

    def attend(self, world: World, offers: tuple[Effect, ...]) -> World:
        """With the tests that teammates offer in this turn: the coder's program is run on them."""
        offered = [test for effect in offers if not effect.malformed for test in effect.world.tests]
        return replace(world, tests=tuple(dict.fromkeys(offered)))

    def told_of_offers(self, slot: Slot) -> str:
        return _OFFERS if slot == "act" else ""

    def form(self, slot: Slot, world: World) -> str:
        return tests_like(world.problem) if _known(slot) == "tool" else CODER_FORM

    def calls(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> tuple[ToolCall, ...]:
        """tool: reference and mutants on the tests. act, draft: the program on what it is shown and on what is hidden,
        apart; a `check` of the task then judges what came."""
        problem = world.problem
        if _known(slot) == "tool":
            tests = read_tests(reply, problem, self.most_tests)
            if isinstance(tests, Malformed) or not problem.reference or results:
                return ()
            return (run_tests(problem, tests),)
        program = read_program(reply, problem)
        if isinstance(program, Malformed):
            return ()
        if not results:
            public = (*problem.examples, *world.tests)  # a teammate's slow tests take no time from the others
            return run(problem, [program], public, len(public)), run(problem, [program], problem.hidden)
        if problem.check is None or len(results) == 3:
            return ()
        return (replay(problem, problem.check, answers(results[1], len(problem.hidden))),)

    def effect(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        """Raises BadValue when `results` are not those of `calls`."""
        if self.calls(slot, world, reply, results):
            raise BadValue(f"a reply was judged on {len(results)} results; run `calls` until none is left.")
        return self._tested(world, reply, results) if slot == "tool" else self._coded(world, reply, results)

    def foresee(self, slot: Slot, world: World, reply: str) -> tuple[ToolResult, ...]:
        """Of the oracle's replies, as the task has them: its reference passes its cases, its mutants fail its tests."""
        problem = world.problem
        tests = read_tests(reply, problem, self.most_tests) if _known(slot) == "tool" else world.tests
        if isinstance(tests, Malformed) or not {*problem.examples, *problem.tests}.issuperset(tests):
            return ()
        if not problem.reference or reply != self.oracle(world, slot):
            return ()
        if slot == "tool":
            return (stated(tests, len(problem.mutants)),)
        ran = stated((*problem.examples, *tests)), stated(problem.hidden)
        return ran if problem.check is None else (*ran, stated((case_of([], None),)))

    def weights(self, slot: Slot) -> Mapping[str, float]:
        return _WEIGHTS[_known(slot)]

    def team(self, before: World, after: World) -> float:
        """The share of gold tests that the team's program passes."""
        return after.gold

    def potential(self, world: World) -> float:
        return world.gold

    def legal(self, world: World, slot: Slot) -> tuple[str, ...]:
        return ()  # programs and tests cannot be listed

    def oracle(self, world: World, slot: Slot) -> str:
        """The reference, or the tests and examples that the task brings. Where it has no reference any well-formed
        reply; where it brings neither tests nor examples one that offers none."""
        return good_tests(world.problem, self.most_tests) if _known(slot) == "tool" else good_program(world.problem)

    def _coded(self, world: World, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        """act, draft: the program, and what it did where that may be shown."""
        problem, public = world.problem, (*world.problem.examples, *world.tests)
        program = read_program(reply, problem)
        if isinstance(program, Malformed):
            return _malformed("act", world, program.reason)
        seen, hidden = answers(results[0], len(public)), answers(results[1], len(problem.hidden))
        found = coded(problem, public, seen, hidden, answers(results[2], 1)[0] if problem.check else None)
        if isinstance(found, Malformed):
            return _malformed("act", world, found.reason)
        return Effect(
            world=World(problem=problem, program=program, gold=found.gold, report=found.report),
            terms={"compiles": 1.0, "runs": float(found.runs), "gold": found.gold},
            note=f"wrote a program:\n{fenced(_shown(program))}\n{found.report.text}",
            brief=_cut(f"{expression_of(_shown(program))} {found.report.brief}"),
            right=found.gold == 1,
            done=found.report.passed == found.report.total,
        )

    def _tested(self, world: World, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        """tool: the tests. What they are worth is not shown: it would tell which are wrong."""
        problem = world.problem
        tests = read_tests(reply, problem, self.most_tests)
        if isinstance(tests, Malformed):
            return _malformed("tool", world, tests.reason)
        listed = listing(problem, tests)
        made = answers(results[0], len(tests) * (1 + len(problem.mutants))) if results else ()
        return Effect(
            world=replace(world, tests=tests),
            terms={"valid": 1.0, "mutants": told_apart(problem, tests, made) if made else 0.0},
            note="\n".join(["offers tests:", *listed]),
            brief=_cut(";".join(listed).replace(" == ", "==")),
        )


def _shown(program: str) -> str:
    """The program as others read it: it is data that a model wrote, and may hold any character."""
    return printable(program, keep="\n\t")


def _malformed(slot: Slot, world: World, reason: str) -> Effect:
    return Effect(world=world, terms=dict.fromkeys(_WEIGHTS[slot], 0.0), note=reason, malformed=True)


def _signature(problem: Problem) -> str:
    if problem.form == "stdin":
        return "The program is a script: it reads standard input and writes to standard output."
    inside = ", ".join(problem.parameters) if problem.parameters else "..."
    return f"The program defines {problem.entry_point}({inside})."


def _cut(text: str) -> str:
    return text if len(text) <= _BRIEF else f"{text[: _BRIEF - 3]}..."


def _known(slot: Slot) -> Slot:
    if slot not in _WEIGHTS:
        raise UnknownName("slot of code", slot, _WEIGHTS)
    return slot
