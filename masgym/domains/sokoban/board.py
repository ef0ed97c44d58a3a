"""The board as int bitboards: cell (row, column) is bit `row * width + column`. The rules of Sokoban, and XSB text.

Bitboards throughout: `floor`, `goals`, `boxes`, `region`; `player` and `box` are bitboards of one cell.
The floor never touches the edge of the board, so a shift by one cell never wraps onto another row's floor.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from masgym.types import value

FLOOR = "-"  # printed; a space is read as well
_SYMBOLS = "#- .$*@+"
LONGEST_SIDE = 64  # cells; floods take time that grows with the square of the board
MOST_BOXES = 10  # the assignment of boxes to goals (solver.py) takes 2 ** boxes steps


@value
class Layout:
    """What never changes in a level; all that is not floor is wall."""

    width: int
    height: int
    floor: int
    goals: int


@value
class Position:
    """A layout with its boxes and the player (a bitboard of one cell)."""

    layout: Layout
    boxes: int
    player: int

    @property
    def solved(self) -> bool:
        return self.boxes == self.layout.goals


@lru_cache(maxsize=64)
def deltas(width: int) -> dict[str, int]:
    """Move -> how far it shifts a bit."""
    return {"U": -width, "D": width, "L": -1, "R": 1}


def shift(bits: int, delta: int) -> int:
    return bits << delta if delta > 0 else bits >> -delta


def cells(bits: int) -> Iterator[int]:
    """The single-cell bitboards of `bits`, lowest first."""
    while bits:
        yield (cell := bits & -bits)
        bits ^= cell


def flood(start: int, free: int, width: int) -> int:
    """The cells of `free` that can be walked to from `start` (which lies in `free`)."""
    seen, grown = 0, start
    while grown != seen:
        seen = grown
        grown = (seen | seen << 1 | seen >> 1 | seen << width | seen >> width) & free
    return seen


def move(position: Position, step: str) -> Position | None:
    """One move of U, D, L, R; None where a wall or a blocked box stands in the way."""
    layout, boxes = position.layout, position.boxes
    delta = deltas(layout.width)[step]
    to = shift(position.player, delta)
    if not to & layout.floor:
        return None
    if to & boxes:
        beyond = shift(to, delta)
        if not beyond & layout.floor or beyond & boxes:
            return None
        boxes ^= to | beyond
    return Position(layout=layout, boxes=boxes, player=to)


def play(position: Position, moves: str) -> tuple[Position, str]:
    """Moves until one is blocked or the level is solved: (the position reached, the moves made)."""
    for made, step in enumerate(moves):
        after = move(position, step)
        if after is None:
            return position, moves[:made]
        position = after
        if position.solved:
            return position, moves[: made + 1]
    return position, moves


def fault(rows: Sequence[str]) -> tuple[int, str] | None:
    """Why `rows` are no level, with the index of the row at fault (0 for the level as a whole); None if they are."""
    if max(len(rows), len(rows[0])) > LONGEST_SIDE:
        return 0, f"the level is {len(rows[0])} x {len(rows)}; at most {LONGEST_SIDE} x {LONGEST_SIDE} is supported"
    for index, row in enumerate(rows):
        if len(row) != len(rows[0]):
            return index, f"the row has {len(row)} symbols, the first one {len(rows[0])}; rows must be equally long"
        if strange := sorted(set(row) - set(_SYMBOLS)):
            return index, f"unknown symbol {strange[0]!r}; known are # wall, - or space, . $ * @ +"
    text = "".join(rows)
    players, boxes, goals = (sum(map(text.count, symbols)) for symbols in ("@+", "$*", ".*+"))
    if players != 1:
        second = [i for i, row in enumerate(rows) for symbol in row if symbol in "@+"][1:2]
        return (second or [0])[0], f"the level has {players} players; exactly one @ (or + on a goal) is needed"
    if boxes != goals or not boxes:
        return (
            0,
            f"the level has {boxes} boxes and {goals} goals; as many of one as of the other are needed, at least 1",
        )
    if boxes > MOST_BOXES:
        return 0, f"the level has {boxes} boxes; at most {MOST_BOXES} are supported"
    return _fault_of_shape(rows)


def _fault_of_shape(rows: Sequence[str]) -> tuple[int, str] | None:
    width, inside = len(rows[0]), _bits(rows, "- .$*@+")
    edge = _bits(["#" * width, *("#" + "-" * (width - 2) + "#" for _ in rows[2:]), "#" * width], "#")
    region = flood(_bits(rows, "@+"), inside, width)
    if region & edge:
        return _row(region & edge, width), "the player can walk to the edge of the board; walls must enclose it"
    for kind, symbols in (("goal", ".*+"), ("box", "$*")):
        if outside := _bits(rows, symbols) & ~region:
            return _row(outside, width), f"a {kind} lies where the player can never come"
    if _bits(rows, "$*") == _bits(rows, ".*+"):
        return 0, "every box is on a goal already; there is nothing to solve"
    return None


def parse(rows: Sequence[str]) -> Position:
    """The position in `rows`, which have no `fault`. Floor that nobody can reach becomes wall."""
    width, player = len(rows[0]), _bits(rows, "@+")
    floor = flood(player, _bits(rows, "- .$*@+"), width)
    layout = Layout(width=width, height=len(rows), floor=floor, goals=_bits(rows, ".*+"))
    return Position(layout=layout, boxes=_bits(rows, "$*"), player=player)


def text_rows(position: Position) -> tuple[str, ...]:
    """The position as rows of XSB symbols, floor as `FLOOR`."""
    layout, symbols = position.layout, []
    for index in range(layout.width * layout.height):
        bit = 1 << index
        kind = "player" if bit & position.player else "box" if bit & position.boxes else "none"
        plain, on_goal = {"player": "@+", "box": "$*", "none": FLOOR + "."}[kind]
        symbols.append("#" if not bit & layout.floor else on_goal if bit & layout.goals else plain)
    text = "".join(symbols)
    return tuple(text[at : at + layout.width] for at in range(0, len(text), layout.width))


def _bits(rows: Sequence[str], symbols: str) -> int:
    return sum(1 << index for index, symbol in enumerate("".join(rows)) if symbol in symbols)


def _row(bits: int, width: int) -> int:
    return ((bits & -bits).bit_length() - 1) // width
