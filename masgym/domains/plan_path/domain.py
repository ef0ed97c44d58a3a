"""Plan-Path (STRONGER-MAS, arXiv 2510.11062): rules, prompts, rewards. Phi = (d_0 - d) / d_0, d = moves to the goal."""

from collections.abc import Mapping
from functools import partial

from masgym.domains.moves import form, grammar, parse_moves
from masgym.domains.plan_path.generator import draw
from masgym.domains.plan_path.grid import World, legal_steps, parse_level, walk
from masgym.domains.programs import BRIEF, noted, program_calls, propose
from masgym.errors import BadValue, UnknownName
from masgym.tags import Malformed
from masgym.tasks import Procedural
from masgym.types import Effect, Slot, Style, Task, ToolCall, ToolResult, value

_ACT = {"format": 0.1, "legal": 0.1, "on_shortest": 0.8}
_WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "act": _ACT,
    "draft": _ACT,
    "tool": {"format": 0.1, "runs": 0.1, "potential": 0.8},
}
_LARGEST = 100  # rows and columns
_RULES = (
    "A grid shows free cells '.', walls '#', the agent '@' and its goal 'G'. Each move takes the agent one cell up, "
    "down, left or right. It cannot enter a wall or leave the grid: the first move that tries to ends the list, and "
    "nothing is done if that is its first move. Lead the agent to the goal in as few moves as you can."
)
_TASKS: Mapping[str, str] = {
    "act": "Give the next moves; they are made from where the agent is now.",
    "draft": "Propose the next moves from where the agent is now.",
    "tool": "Work out the next moves from where the agent is now; your list is a proposal to the planner.",
}


@value
class PlanPath:
    """A `size` x `size` grid in which each cell is a wall with chance `wall_ratio`.

    The shortest path has at least `min_path` and at most `turns * moves_per_turn` moves, so an optimal team succeeds.
    """

    size: int = 10
    wall_ratio: float = 0.22
    min_path: int = 6
    moves_per_turn: int = 4
    turns: int = 8  # the game's T
    seed: int = 0  # the collection's

    def __post_init__(self) -> None:
        for name, least in (("size", 2), ("min_path", 1), ("moves_per_turn", 1), ("turns", 1), ("seed", 0)):
            _check_whole(name, getattr(self, name), least)
        if self.size > _LARGEST:
            raise BadValue(f"size is {self.size}; at most {_LARGEST} was expected.")
        _check_share("wall_ratio", self.wall_ratio)
        if self.min_path > self.max_path:
            raise BadValue(
                f"min_path is {self.min_path}, but {self.turns} turns of {self.moves_per_turn} moves reach only "
                f"{self.max_path}; lower min_path or raise turns (T) or moves_per_turn."
            )
        if self.min_path >= self.size**2:
            raise BadValue(f"min_path is {self.min_path}; no shortest path on {self.size}x{self.size} is that long.")

    @property
    def name(self) -> str:
        return "plan_path"

    @property
    def titles(self) -> Mapping[str, str]:
        return {"draft": "planner", "tool": "reasoner", "act": "planner"}

    @property
    def max_path(self) -> int:
        """The most moves that an episode can make."""
        return self.turns * self.moves_per_turn

    @property
    def tasks(self) -> Procedural:
        params = {
            "size": self.size,
            "wall_ratio": self.wall_ratio,
            "min_path": self.min_path,
            "max_path": self.max_path,
        }
        return Procedural(domain=self.name, params=params, generate=partial(draw, **params), seed=self.seed)

    def initial(self, task: Task) -> World:
        level = parse_level(task.content["grid"])
        return World(level=level, at=level.start)

    def render(self, world: World, style: Style) -> str:
        """compact: the grid alone, a line per row; full: the agent's and the goal's place as well."""
        if style == "compact":
            return world.rows
        places = [divmod(cell, world.level.stride) for cell in (world.at, world.level.goal)]
        agent, goal = (f"row {row + 1}, column {column + 1}" for row, column in places)
        return f"{world.rows}\n\nThe agent is at {agent}; the goal at {goal} (counted from the top left)."

    def brief(self, slot: Slot) -> str:
        program = "\n" + BRIEF.format(stdin="the grid, a line per row", last="the moves") if slot == "tool" else ""
        return f"{_RULES}\n{_TASKS[_known(slot)]}\n{grammar(self.moves_per_turn)}{program}"

    def form(self, slot: Slot, world: World) -> str:
        return form(self.moves_per_turn)

    def calls(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> tuple[ToolCall, ...]:
        return program_calls(slot, reply, results, self.render(world, "compact"))

    def effect(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        moves, program = propose(slot, reply, results, partial(parse_moves, limit=self.moves_per_turn))
        if isinstance(moves, Malformed):
            return _malformed(slot, world, noted(moves.reason, program))
        after, made = walk(world, moves)
        if not made:
            return _malformed(slot, world, noted(f"its first move, {moves[0]}, was blocked", program))
        done = after.at == after.level.goal
        return Effect(
            world=after,
            terms=_terms(
                slot, world, after, made, whole=done or made == moves, failed=bool(program and program.failure)
            ),
            note=noted(_note(made, moves, done), program),
            brief=made,
            right=after.distance < world.distance,
            done=done,
        )

    def weights(self, slot: Slot) -> Mapping[str, float]:
        return _WEIGHTS[_known(slot)]

    def team(self, before: World, after: World) -> float:
        """1 at the goal, else the share of the way gained, cut at 0 (arXiv 2510.11062, Plan-Path)."""
        return 1.0 if after.distance == 0 else max(0.0, _gained(before, after))

    def potential(self, world: World) -> float:
        return 1.0 - world.distance / world.level.optimum

    def remaining(self, world: World) -> int:
        """Moves of a shortest path to the goal."""
        return world.distance

    def legal(self, world: World, slot: Slot) -> tuple[str, ...]:
        return tuple(legal_steps(world))

    def oracle(self, world: World, slot: Slot) -> str:
        """A shortest path, as far as one turn goes; at the goal (where nothing is left to do) any legal move."""
        moves, distances = "", world.level.distances
        while True:
            steps = legal_steps(world)
            move = min(steps, key=lambda name: distances[steps[name]])
            world, moves = World(level=world.level, at=steps[move]), moves + move
            if world.distance == 0 or len(moves) == self.moves_per_turn:
                return moves


def _gained(before: World, after: World) -> float:
    """The change of Phi."""
    return (before.distance - after.distance) / before.level.optimum


def _terms(slot: Slot, before: World, after: World, made: str, whole: bool, failed: bool) -> Mapping[str, float]:
    """Local terms; `made` decreases the distance at every move exactly if it does so by its length."""
    if slot == "tool":
        return {"format": 1.0, "runs": float(whole and not failed), "potential": max(-1.0, _gained(before, after))}
    shortest = before.distance - after.distance == len(made)
    return {"format": 1.0, "legal": float(whole), "on_shortest": float(shortest)}


def _malformed(slot: Slot, world: World, reason: str) -> Effect:
    return Effect(world=world, terms=dict.fromkeys(_WEIGHTS[_known(slot)], 0.0), note=reason, malformed=True)


def _note(made: str, moves: str, done: bool) -> str:
    tail = " (the goal)" if done else "" if made == moves else f" (then {moves[len(made)]} was blocked)"
    return " ".join(made) + tail


def _known(slot: Slot) -> Slot:
    if slot not in _WEIGHTS:
        raise UnknownName("slot of plan_path", slot, _WEIGHTS)
    return slot


def _check_whole(name: str, given: object, least: int) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise BadValue(f"{name} is {given!r}; a whole number of at least {least} was expected.")


def _check_share(name: str, given: object) -> None:
    if not isinstance(given, int | float) or isinstance(given, bool) or not 0 <= given < 1:
        raise BadValue(f"{name} is {given!r}; a number in [0, 1) was expected.")
