"""Sudoku, 4x4 and 9x9 (STRONGER-MAS, arXiv 2510.11062): prompts, rewards. Phi = right fills / blanks, ours."""

from collections.abc import Mapping
from functools import partial

from masgym.domains.programs import BRIEF, noted, program_calls, propose
from masgym.domains.sudoku.generator import draw
from masgym.domains.sudoku.grammar import Body, form, grammar, parse, spell
from masgym.domains.sudoku.grid import (
    EMPTY,
    SHAPES,
    Placement,
    Puzzle,
    World,
    changes,
    name,
    parse_rows,
    play,
    rows_of,
    shape_of,
    spell_out,
)
from masgym.domains.sudoku.solver import TECHNIQUES, candidates, solve
from masgym.errors import BadValue, UnknownName
from masgym.tags import Malformed
from masgym.tasks import Procedural
from masgym.types import Effect, Slot, Style, Task, ToolCall, ToolResult, value

_ACT = {"format": 0.1, "legal": 0.1, "progress": 0.8}
_WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "act": _ACT,
    "draft": _ACT,
    "tool": {"format": 0.1, "runs": 0.1, "legal": 0.8},
}
_RULES = (
    "Sudoku, {size}x{size}: fill the grid so that every row, every column and every {box}x{box} box holds each of the "
    "digits 1 to {size} once. '{empty}' is an empty cell. The given digits cannot be changed.\n"
    "Digits are written in order, and stay, until one is not allowed; at least the first must be. A digit may not "
    "repeat a given, or another digit of the same reply, in its row, column or box. It may replace a digit that was "
    "written in an earlier turn; where it repeats such a digit, that one is taken away."
)
_TASKS: Mapping[str, str] = {
    "act": "Give the next digits.",
    "draft": "Propose the next digits.",
    "tool": "Work out the next digits; your list is a proposal to the solver, who sees which of them are allowed.",
}
_FEWEST_GIVENS = {4: 4, 9: 17}  # fewer never leave one solution
_OWN = dict(zip("123456789", "abcdefghi", strict=True))  # how the compact style shows a digit that is no given


@value
class Sudoku:
    """Puzzles with one solution and exactly `givens` given digits.

    A puzzle can be solved in T = `turns` turns: its blanks are at most `turns * moves_per_turn`. Splits share no
    puzzle, but there are only 288 full 4x4 grids: a test puzzle may be a training puzzle with its digits renamed.
    """

    size: int = 4  # rows, columns and digits: 4 or 9
    givens: int = 6
    min_technique: str = TECHNIQUES[0]  # the hardest that a puzzle needs (solver.py) is at least this,
    max_technique: str = TECHNIQUES[-1]  # and at most this
    moves_per_turn: int | None = None  # the most cells that one reply may change, in either form; None: any number
    turns: int = 8  # the game's T
    seed: int = 0  # the collection's

    def __post_init__(self) -> None:
        """Raises BadValue or UnknownName for arguments that no puzzle can meet."""
        if type(self.size) is not int or self.size not in tuple(SHAPES):  # 4.0 is 4
            raise BadValue(f"size is {self.size!r}; {' or '.join(map(str, SHAPES))} was expected.")
        _check_whole("givens", self.givens, _FEWEST_GIVENS[self.size], self.size**2 - 1)
        _check_whole("turns", self.turns, 1, 2**31)
        _check_whole("seed", self.seed, 0, 2**63 - 1)
        if self.moves_per_turn is not None:
            _check_whole("moves_per_turn", self.moves_per_turn, 1, 2**31)
        _check_techniques(self.size, self.min_technique, self.max_technique)
        blanks = self.size**2 - self.givens
        if blanks > self.turns * self.most:
            raise BadValue(f"{self.givens} givens leave {blanks} blanks; {self.turns} x {self.most} digits fill fewer.")

    @property
    def name(self) -> str:
        return "sudoku"

    @property
    def titles(self) -> Mapping[str, str]:
        return {"draft": "solver", "tool": "reasoner", "act": "solver"}

    @property
    def most(self) -> int:
        """The most cells that one reply may change."""
        return self.moves_per_turn or self.size**2

    @property
    def tasks(self) -> Procedural:
        params = {field: getattr(self, field) for field in ("size", "givens", "min_technique", "max_technique")}
        return Procedural(domain=self.name, params=params, generate=partial(draw, **params), seed=self.seed)

    def initial(self, task: Task) -> World:
        """Raises BadValue for a content that is no puzzle with exactly one solution."""
        try:
            givens = parse_rows(task.content.get("givens"))
        except BadValue as error:
            raise BadValue(f"task {task.id}: {error}") from error
        found = solve(givens)
        if len(found) != 1 or EMPTY not in givens:
            what = "nothing to fill" if EMPTY not in givens else "no solution" if not found else "several solutions"
            raise BadValue(f"task {task.id} has {what}; a puzzle has blanks and exactly one solution.")
        return World(puzzle=Puzzle(shape=shape_of(givens), givens=givens, solution=found[0]), cells=givens)

    def render(self, world: World, style: Style) -> str:
        """A line per row. compact: a to i stand for 1 to 9 where the team wrote them; full: those are listed."""
        own = [(c, d) for c, d in enumerate(world.cells) if d != EMPTY and world.puzzle.givens[c] == EMPTY]
        if style == "compact":
            cells = list(world.cells)
            for cell, digit in own:
                cells[cell] = _OWN[digit]
            return "\n".join(rows_of("".join(cells)))
        rows = "\n".join(" ".join(row) for row in rows_of(world.cells))
        return f"{rows}\n\nWritten so far: {spell_out(own, world.puzzle.shape) or 'nothing'}."

    def brief(self, slot: Slot) -> str:
        rules = _RULES.format(size=self.size, box=round(self.size**0.5), empty=EMPTY)
        stdin = f"the grid, a line per row, with {EMPTY} for an empty cell"
        program = "\n" + BRIEF.format(stdin=stdin, last="the digits in one of these forms") if slot == "tool" else ""
        return f"{rules}\n{_TASKS[_known(slot)]}\n{grammar(self.size**2, self.moves_per_turn)}{program}"

    def form(self, slot: Slot, world: World) -> str:
        return form(self.moves_per_turn)

    def calls(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> tuple[ToolCall, ...]:
        return program_calls(slot, reply, results, "\n".join(rows_of(world.cells)))

    def effect(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        body, program = propose(slot, reply, results, partial(parse, shape=world.puzzle.shape))
        fault = body.reason if isinstance(body, Malformed) else self._fault(world, body)
        if fault or isinstance(body, Malformed):
            return _malformed(slot, world, noted(fault, program))
        after, made, refused = play(world, body.placements)
        shape, solution, whole = world.puzzle.shape, world.puzzle.solution, float(refused is None)
        if refused and not made:
            fault = f"its first digit, {spell_out([refused], shape)}, is not allowed"
            return _malformed(slot, world, noted(fault, program))
        runs = whole if program is None or not program.failure else 0.0
        values = {"format": 1.0, "legal": whole, "runs": runs, "progress": self._progress(world, after)}
        note = spell_out(made, shape) + (f" (then {spell_out([refused], shape)} was not allowed)" if refused else "")
        return Effect(
            world=after,
            terms={term: values[term] for term in self.weights(slot)},
            note=noted(note, program),
            brief=spell(made, shape),
            right=all(solution[cell] == digit for cell, digit in made),
            done=after.solved,
        )

    def weights(self, slot: Slot) -> Mapping[str, float]:
        return _WEIGHTS[_known(slot)]

    def team(self, before: World, after: World) -> float:
        """1 when solved, else 0."""
        return float(after.solved)

    def potential(self, world: World) -> float:
        return 1.0 - len(world.wanting) / world.puzzle.blanks

    def legal(self, world: World, slot: Slot) -> tuple[str, ...]:
        """Every single placement that changes a cell and contradicts no given."""
        shape, givens = world.puzzle.shape, world.puzzle.givens
        free = candidates(givens, shape)
        return tuple(
            spell([(cell, digit)], shape)
            for cell in range(len(givens))
            for d, digit in enumerate(shape.digits)
            if free[cell] >> d & 1 and world.cells[cell] != digit
        )

    def oracle(self, world: World, slot: Slot) -> str:
        """As many right digits as a turn takes, next the one with the fewest alternatives; if solved, written ones."""
        puzzle = world.puzzle
        wanting = set(world.wanting) or {cell for cell, digit in enumerate(puzzle.givens) if digit == EMPTY}
        listed = list[Placement]()
        while wanting and len(listed) < self.most:
            right = "".join(EMPTY if c in wanting else digit for c, digit in enumerate(puzzle.solution))
            free = candidates(right, puzzle.shape)
            cell = min(sorted(wanting), key=lambda c: free[c].bit_count())
            listed.append((cell, puzzle.solution[cell]))
            wanting.remove(cell)
        return spell(listed, puzzle.shape)

    def _fault(self, world: World, body: Body) -> str:
        """Why what was read cannot be acted on at all; "" if it can."""
        new = changes(world, body.placements)[0]
        if body.full and (altered := [cell for cell, _ in new if world.puzzle.givens[cell] != EMPTY]):
            return f"the grid changes the given digit of {name(altered[0], world.puzzle.shape)}"
        if not new:
            return "it changes nothing"
        if len(new) > self.most:
            return f"it changes {len(new)} cells; at most {self.most} are allowed in a turn"
        return ""

    def _progress(self, before: World, after: World) -> float:
        """Right digits gained, as a share of the most that one reply could gain; at least -1 (ours)."""
        gained = len(before.wanting) - len(after.wanting)
        return max(-1.0, gained / max(1, min(self.most, len(before.wanting))))


def _malformed(slot: Slot, world: World, reason: str) -> Effect:
    return Effect(world=world, terms=dict.fromkeys(_WEIGHTS[_known(slot)], 0.0), note=reason, malformed=True)


def _known(slot: Slot) -> Slot:
    if slot not in _WEIGHTS:
        raise UnknownName("slot of sudoku", slot, _WEIGHTS)
    return slot


def _check_whole(field: str, given: object, least: int, most: int) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise BadValue(f"{field} is {given!r}; a whole number from {least} to {most} was expected.")


def _check_techniques(size: int, least: str, most: str) -> None:
    for technique in (least, most):
        if technique not in TECHNIQUES:
            raise UnknownName("technique", technique, TECHNIQUES)
    if TECHNIQUES.index(least) > TECHNIQUES.index(most):
        raise BadValue(f"min_technique {least!r} is harder than max_technique {most!r}.")
    if size == 4 and least != TECHNIQUES[0]:
        raise BadValue(f"min_technique is {least!r}; no 4x4 puzzle needs more than {TECHNIQUES[0]!r}.")
