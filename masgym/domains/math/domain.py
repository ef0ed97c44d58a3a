r"""Mathematics (STRONGER-MAS, arXiv 2510.11062): exact answers in \boxed{}. Phi = 1 if the answer is right.

Under `pair` the game ends when the actor's answer agrees with the tool user's of the same turn; under `solo`, and
wherever nobody offered anything, after the answer; under `verify` by approval. What agrees is either both right or,
as far as reading tells, the same (`answers.same`).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from masgym.domains.choice import chosen_families
from masgym.domains.math import taskfile
from masgym.domains.math.answers import box, near, plain, read, same, settle, upright
from masgym.domains.math.generator import FAMILIES, LEVELS, draw
from masgym.domains.math.program import LIMITS, printed, run
from masgym.domains.programs import BLOCKS, program_of
from masgym.errors import BadValue, UnknownName
from masgym.tags import Malformed
from masgym.tasks import Procedural, TaskSource
from masgym.types import Effect, Slot, Style, Task, ToolCall, ToolResult, value

_ACT = {"format": 0.2, "correct": 0.8}
_WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "act": _ACT,
    "draft": _ACT,
    "tool": {"code_found": 0.1, "runs": 0.1, "correct": 0.8},
}
_RULES = (
    "Solve a problem of mathematics. Its answer is worked out, with no computation left in it, and exact unless the "
    "problem says otherwise: an integer, a fraction in lowest terms or a closed form in LaTeX."
)
_GRAMMAR = (
    r"You may think first. Put the answer into a box, for example \boxed{42} or \boxed{\frac{3}{4}}; several boxes "
    "with different contents are malformed. A reply that is nothing but a number needs no box."
)
_TASKS: Mapping[str, str] = {
    "act": f"Give the answer: that ends the game. {_GRAMMAR}",
    "draft": f"Propose the answer. {_GRAMMAR}",
    "tool": (
        "Write a Python program in one fenced block (```python); the last line that it prints must be the answer "
        f"alone, a number or LaTeX; the team is shown all that it prints. {BLOCKS} It has {LIMITS.cpu} seconds and "
        "Python's standard library, numpy and sympy, no input, no files and no network. A reply without a program is a "
        f"plain proposal. {_GRAMMAR}"
    ),
}
_OFFERS = (
    "But in a turn in which teammates made proposals it only ends the game if it agrees with one of them; else the "
    "game goes on."
)
_GUESSES = tuple(str(number) for number in range(30))


@value
class World:
    """A problem and the team's current answer to it."""

    question: str
    expected: str  # never shown
    tolerance: float = 0.0  # how far a right number may be from it; 0: answers are exact
    answer: str = ""  # "": none yet
    right: bool = False
    offers: tuple[tuple[str, bool], ...] | None = None  # (answer, right) of teammates in this turn; None: no teammate


@value
class Math:
    """Generated problems of `families`, or with `file` those of a file of JSON lines (taskfile.py)."""

    families: tuple[str, ...] = LEVELS["easy"]["families"]  # of generator.FAMILIES; a list will do
    seed: int = 0  # of the collection
    file: str | None = None

    def __post_init__(self) -> None:
        """Raises UnknownName or BadValue for arguments that do not exist, BadFile for a file that cannot be read."""
        object.__setattr__(self, "families", chosen_families(self.name, self.families, FAMILIES))
        seed: Any = self.seed
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
            raise BadValue(f"seed is {seed!r}; a whole number of at least 0 was expected.")
        if self.file is not None:
            taskfile.load(self.file)

    @property
    def name(self) -> str:
        return "math"

    @property
    def titles(self) -> Mapping[str, str]:
        return {"draft": "solver", "tool": "tool user", "act": "solver"}

    @property
    def tasks(self) -> TaskSource:
        if self.file is not None:
            return taskfile.load(self.file)
        params = {"families": list(self.families)}
        return Procedural(domain="math", params=params, generate=partial(draw, families=self.families), seed=self.seed)

    def initial(self, task: Task) -> World:
        """Raises BadValue when the content is no problem with an answer that can stand in a box."""
        question, answer = task.content.get("question"), task.content.get("answer")
        tolerance = task.content.get("tolerance", 0.0)
        if not isinstance(question, str) or not isinstance(answer, str) or read(box(answer)) != answer:
            raise BadValue(f"task {task.id} holds {dict(task.content)!r}; texts 'question' and 'answer' were expected.")
        if not taskfile.is_tolerance(tolerance, answer):
            raise BadValue(f"task {task.id} has tolerance {tolerance!r}; that of a number was expected, from 0 on.")
        return World(question=question, expected=answer, tolerance=float(tolerance))

    def render(self, world: World, style: Style) -> str:
        """With how far from it a right answer may be, where it need not be exact."""
        within = f"{world.tolerance:g}" if world.tolerance else ""
        if style == "compact":
            return "\n".join(filter(None, [world.question, within and f"+-{within}", world.answer]))
        near = f"\n\nThe answer is a number in digits. It need not be exact: up to {within} more or less is right."
        known = f"\n\nThe answer so far: {world.answer}" if world.answer else ""
        return f"Problem: {world.question}{near if within else ''}{known}"

    def brief(self, slot: Slot) -> str:
        return f"{_RULES}\n{_TASKS[_known(slot)]}"

    def attend(self, world: World, offers: tuple[Effect, ...]) -> World:
        """Keeps what teammates answered in this turn: `effect` compares with it."""
        answers = tuple((e.world.answer, e.world.right) for e in offers if not e.malformed and e.world.answer)
        return replace(world, offers=answers if offers else None)

    def told_of_offers(self, slot: Slot) -> str:
        return _OFFERS if slot == "act" else ""

    def form(self, slot: Slot, world: World) -> str:
        return r"Reply like \boxed{42}."

    def calls(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> tuple[ToolCall, ...]:
        """At most one at a time: the program, then math-verify where reading settles nothing."""
        found = _judge(slot, world, reply, results)
        return (found,) if isinstance(found, ToolCall) else ()

    def effect(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        """Raises BadValue when `results` are not those of `calls`."""
        weights = self.weights(slot)
        found = _judge(slot, world, reply, results)
        if isinstance(found, ToolCall):
            raise BadValue(f"a reply was judged without the result of its call of {found.tool!r}; run `calls` first.")
        if isinstance(found, Malformed):
            return Effect(world=world, terms=dict.fromkeys(weights, 0.0), note=found.reason, malformed=True)
        values = {"format": 1.0, "code_found": found.code, "runs": found.runs, "correct": found.right}
        return Effect(
            world=replace(world, answer=found.answer, right=found.right, offers=None),
            terms={name: float(values[name]) for name in weights},
            note=found.note,
            brief=found.answer or "?",
            right=found.right,
            done=slot != "act" or world.offers is None or _agrees(found, world.offers),
        )

    def weights(self, slot: Slot) -> Mapping[str, float]:
        return _WEIGHTS[_known(slot)]

    def team(self, before: World, after: World) -> float:
        """1 if the team's answer is right."""
        return float(after.right)

    def potential(self, world: World) -> float:
        return float(world.right)

    def legal(self, world: World, slot: Slot) -> tuple[str, ...]:
        """Some guesses, which random players and corrupted demonstrations need; () where a number cannot be right."""
        return _GUESSES if plain(world.expected) else ()

    def oracle(self, world: World, slot: Slot) -> str:
        """The expected answer, without a box where it is a plain number. For the tool too: it needs no sandbox then."""
        return world.expected if plain(world.expected) else box(world.expected)


@value
class _Said:
    """What a well-formed reply comes to."""

    answer: str  # "": its program gave none
    right: bool
    note: str
    code: bool  # it holds a program
    runs: bool  # an answer could be had: the program ran, or the proposal needs none


def _judge(slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> _Said | Malformed | ToolCall:
    """The reply's meaning, or the call that it still needs. Pure: `results` are the answers to the calls so far."""
    program = program_of(reply) if slot == "tool" else None
    if isinstance(program, Malformed):
        return program
    if program is None:
        answer = read(reply)
        return answer if isinstance(answer, Malformed) else _weigh(world, answer, f"answers {answer}", False, results)
    if not results:
        return run(program)
    out = printed(results[0])
    if out.answer is None:
        return _Said(answer="", right=False, note=out.note, code=True, runs=out.runs)
    return _weigh(world, out.answer, out.note, True, results[1:])


def _weigh(world: World, answer: str, note: str, code: bool, results: tuple[ToolResult, ...]) -> _Said | ToolCall:
    expected, tolerance = world.expected, world.tolerance
    right = near(expected, answer, tolerance) if tolerance else settle(expected, answer)
    if right is None:
        if not results:
            texts = {"expected": upright(expected), "answer": upright(answer)}
            return ToolCall(tool="math_verify", arguments=texts)
        right = results[0].outcome == "ok" and results[0].value is True  # what took too long is not right
    return _Said(answer=answer, right=right, note=note, code=code, runs=True)


def _agrees(said: _Said, offers: tuple[tuple[str, bool], ...]) -> bool:
    return any((said.right and right) or same(answer, said.answer) for answer, right in offers)


def _known(slot: Slot) -> Slot:
    if slot not in _WEIGHTS:
        raise UnknownName("slot of math", slot, _WEIGHTS)
    return slot
