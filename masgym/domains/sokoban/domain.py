"""Sokoban: push every box onto a goal. Rewards as in STRONGER-MAS (arXiv 2510.11062); the potential is ours."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from masgym.domains.moves import form, grammar, parse_moves
from masgym.domains.programs import BRIEF, noted, program_calls, propose
from masgym.domains.sokoban import boxoban
from masgym.domains.sokoban.board import MOST_BOXES, Position, fault, move, parse, play, text_rows
from masgym.domains.sokoban.generator import generate
from masgym.domains.sokoban.solver import fewest_moves, is_small, moves_left, next_push, pushes_left
from masgym.errors import BadValue, UnknownName
from masgym.tags import Malformed
from masgym.tasks import Procedural, TaskSource
from masgym.types import Effect, Slot, Style, Task, ToolCall, ToolResult, value

# Presets: fields of Sokoban. Random replies solve less than 5 % of each; of levels of 2 pushes they solve far more.
LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"size": 6, "boxes": 1, "min_pushes": 3, "max_pushes": 3},
    "medium": {"size": 7, "boxes": 2, "min_pushes": 4, "max_pushes": 7},
    "hard": {"size": 7, "boxes": 3, "min_pushes": 8, "max_pushes": None},
}

_RANGES = {  # field -> (least, most)
    "size": (5, 20),
    "boxes": (1, MOST_BOXES),
    "min_pushes": (1, 10**6),
    "moves_per_turn": (1, 1000),
    "turns": (1, 10**6),
    "seed": (0, 2**63 - 1),
}
_ACT = {"format": 0.1, "legal": 0.1, "no_deadlock": 0.8}
_WEIGHTS: dict[str, dict[str, float]] = {
    "act": _ACT,
    "draft": _ACT,
    "tool": {"format": 0.1, "runs": 0.1, "potential": 0.8},
}
_TITLES = {"act": "planner", "tool": "reasoner", "draft": "planner"}
_RULES = (
    "Sokoban. # is a wall, - floor, $ a box, . a goal, * a box on a goal, @ you, + you on a goal.\n"
    "U moves up a row, D down a row, L left, R right. Walking into a box pushes it one cell on, if the cell behind it "
    "is neither wall nor box. Boxes cannot be pulled: a box in a corner that is no goal is lost. "
    "The level is solved when every box is on a goal.\n"
    "Moves are made in order until one is blocked; at least the first must be possible."
)


@value
class World:
    """A position, and the fewest pushes that the task took at its start."""

    position: Position
    pushes_at_start: int


@value
class Sokoban:
    """Drawn levels, or with `file` those of a Boxoban level file (a path, or the name of a shipped one).

    The other parameters of generation do not matter to a file; `moves_per_turn` does.
    """

    size: int = 6  # rows and columns, the border of walls included
    boxes: int = 1
    walls: float = 0.2  # probability that an inner cell is a wall
    min_pushes: int = 2  # fewest pushes of a solution
    max_pushes: int | None = None
    moves_per_turn: int = 4
    turns: int = 8  # the game's T: drawn levels can be solved in turns * moves_per_turn moves
    seed: int = 0  # of the collection
    file: str | None = None

    def __post_init__(self) -> None:
        """Raises BadValue for arguments that no level can meet, BadFile for a file that is no level file."""
        for name, (least, most) in _RANGES.items():
            _check_whole(name, getattr(self, name), least, most)
        walls: Any = self.walls
        if not isinstance(walls, int | float) or isinstance(walls, bool) or not 0 <= walls <= 0.5:
            raise BadValue(f"walls is {walls!r}; a probability between 0 and 0.5 was expected.")
        room = round((self.size - 2) ** 2 * (1 - self.walls))
        if 3 * self.boxes > room:
            raise BadValue(f"{self.boxes} boxes do not fit: size {self.size} with walls {self.walls} has {room} cells.")
        if self.max_pushes is not None:
            _check_whole("max_pushes", self.max_pushes, self.min_pushes, 10**6)
        if self.min_pushes > self.turns * self.moves_per_turn:
            raise BadValue(f"min_pushes is {self.min_pushes}; {self.turns} turns of {self.moves_per_turn} are fewer.")
        if self.file is not None:
            boxoban.load(self.file)

    @property
    def name(self) -> str:
        return "sokoban"

    @property
    def titles(self) -> Mapping[str, str]:
        return _TITLES

    @property
    def tasks(self) -> TaskSource:
        if self.file is not None:
            return boxoban.load(self.file)
        asked = {name: getattr(self, name) for name in ("size", "boxes", "walls", "min_pushes", "max_pushes")}
        moves = self.turns * self.moves_per_turn
        draw = partial(generate, moves=moves, **asked)
        return Procedural(domain="sokoban", params={**asked, "moves": moves}, generate=draw, seed=self.seed)

    def initial(self, task: Task) -> World:
        """Raises BadValue when the content is no solvable level, or takes other than its `pushes`."""
        position = _position(task)
        pushes = pushes_left(position)
        stamped = task.content.get("pushes", pushes)
        if pushes is None:
            raise BadValue(f"task {task.id} cannot be solved.")
        if stamped != pushes:
            raise BadValue(f"task {task.id} is stamped with {stamped!r} pushes; it takes {pushes}.")
        return World(position=position, pushes_at_start=pushes)

    def render(self, world: World, style: Style) -> str:
        """The board as XSB rows; compact: without its border, which is all wall."""
        rows = text_rows(world.position)
        return "\n".join(row[1:-1] for row in rows[1:-1]) if style == "compact" else "\n".join(rows)

    def brief(self, slot: Slot) -> str:
        moves = grammar(self.moves_per_turn)
        if slot != "tool":
            return f"{_RULES}\n{moves}"
        advice = "Your moves are a proposal to the planner; it sees which of them can be made."
        return f"{_RULES}\n{advice}\n{moves}\n{BRIEF.format(stdin='the level, a line per row', last='the moves')}"

    def form(self, slot: Slot, world: World) -> str:
        return form(self.moves_per_turn)

    def calls(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> tuple[ToolCall, ...]:
        return program_calls(slot, reply, results, self.render(world, "full"))

    def effect(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        moves, program = propose(slot, reply, results, partial(parse_moves, limit=self.moves_per_turn))
        if isinstance(moves, Malformed):
            return self._malformed(slot, world, noted(moves.reason, program))
        position, made = play(world.position, moves)
        if not made:
            return self._malformed(slot, world, noted(f"the first move, {moves[0]}, is blocked", program))
        after = World(position=position, pushes_at_start=world.pushes_at_start)
        whole = position.solved or made == moves  # what follows the solving move does not matter
        gain = self.potential(after) - self.potential(world)
        legal, alive = float(whole), float(_alive(position))
        runs = legal if program is None or not program.failure else 0.0
        values = {"format": 1.0, "legal": legal, "runs": runs, "no_deadlock": alive, "potential": gain}
        return Effect(
            world=after,
            terms={name: values[name] for name in self.weights(slot)},
            note=noted(" ".join(made) + ("" if whole else f" (then {moves[len(made)]} was blocked)"), program),
            brief=made,
            right=gain > 0 or (slot == "draft" and _nearer(world.position, position)),
            done=position.solved,
        )

    def weights(self, slot: Slot) -> Mapping[str, float]:
        if slot not in _WEIGHTS:
            raise UnknownName("slot", slot, _WEIGHTS)
        return _WEIGHTS[slot]

    def team(self, before: World, after: World) -> float:
        """1 when solved, else boxes on goals / boxes."""
        position = after.position
        return (position.boxes & position.layout.goals).bit_count() / position.boxes.bit_count()

    def potential(self, world: World) -> float:
        """Phi = 1 - pushes_left / pushes_at_start, 0 when dead and, ours, at least 0: else dying would be a gain
        wherever a box is farther from its goal than at the start, and a policy learns to die."""
        left = pushes_left(world.position)
        return 0.0 if left is None else max(0.0, 1.0 - left / world.pushes_at_start)

    def remaining(self, world: World) -> int | None:
        """Fewest moves to a solution, None when dead. On layouts that are not small (solver.py): of a solution with the
        fewest pushes, or the lower bound of its pushes where A* gave up."""
        return moves_left(world.position)

    def legal(self, world: World, slot: Slot) -> tuple[str, ...]:
        return tuple(step for step in "UDLR" if move(world.position, step))

    def oracle(self, world: World, slot: Slot) -> str:
        """The next moves of a solution with the fewest moves.

        On layouts that are not small (solver.py): of one with the fewest pushes and the shortest walks between them.
        From a dead or solved world, or where A* gave up: one legal move.
        """
        position = world.position
        moves = fewest_moves(position) if is_small(position.layout) else next_push(position)
        return moves[: self.moves_per_turn] if moves else self.legal(world, slot)[0]

    def _malformed(self, slot: Slot, world: World, reason: str) -> Effect:
        return Effect(world=world, terms=dict.fromkeys(self.weights(slot), 0.0), note=reason, malformed=True)


def _nearer(before: Position, after: Position) -> bool:
    """Whether fewer moves are left: a long walk to the next push is right, though Phi only counts pushes."""
    solve = fewest_moves if is_small(before.layout) else next_push
    now, then = solve(before), solve(after)
    return now is not None and then is not None and len(then) < len(now)


def _alive(position: Position) -> bool:
    return pushes_left(position) is not None


def _check_whole(name: str, given: object, least: int, most: int) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise BadValue(f"{name} is {given!r}; a whole number from {least} to {most} was expected.")


def _position(task: Task) -> Position:
    """The position in a task's content, checked."""
    rows: Any = task.content.get("board")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, str) and row for row in rows):
        raise BadValue(f"task {task.id} holds no board; content['board'] is {rows!r}, a list of rows was expected.")
    if found := fault(rows):
        raise BadValue(f"task {task.id}, row {found[0]}: {found[1]}.")
    return parse(rows)
