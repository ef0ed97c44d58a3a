"""The grammar of Sudoku's replies. What a model writes is data; parsing never raises.

reply       := body | text with exactly one <answer>body</answer>
body        := placements | grid
placements  := placement ((space | comma)* placement)*       in either case, ASCII only
placement   := "r" row "c" column "=" digit | row column "=" digit      a space may stand on either side of the "="
grid        := every digit of the grid, row by row; spaces, commas and "|" between them do not matter

Only placements hold a "=", so the two forms cannot be mistaken for each other.
"""

import re
from collections.abc import Sequence

from masgym.domains.sudoku.grid import Placement, Shape, name
from masgym.tags import Malformed, inside
from masgym.types import value

_PLACEMENT = re.compile(r"(?:r([1-9])c|([1-9]))([1-9]) ?= ?([1-9])", re.IGNORECASE | re.ASCII)
_SEPARATORS = " ,\t\n\r\f\v"
_LAYOUT = str.maketrans("", "", _SEPARATORS + "|")


def grammar(cells: int, limit: int | None) -> str:
    """What prompts say of a reply to a grid of `cells` that may change at most `limit` of them (None: all)."""
    one = limit == 1
    meaning = f"a 3 in row 1, column 2{'' if one else ' and a 1 in row 2, column 4'}"
    most = f"At most {limit} cell{'' if one else 's'} may change in a turn. " if limit else ""
    return (
        f"Reply with digits to write, for example {_example(limit)} for {meaning} (in short: "
        f"{'12=3' if one else '12=3 24=1'}), or with the full grid, all {cells} digits row by row. {most}You may think "
        "first; there must be exactly one <answer>."
    )


def form(limit: int | None) -> str:
    """What whoever's reply was malformed is told once more."""
    return f"Reply like {_example(limit)}."


def _example(limit: int | None) -> str:
    return f"<answer>{'r1c2=3' if limit == 1 else 'r1c2=3 r2c4=1'}</answer>"


@value
class Body:
    """What a reply lists."""

    placements: tuple[Placement, ...]
    full: bool  # it is a full grid


def parse(reply: str, shape: Shape) -> Body | Malformed:
    """The placements of a reply, those of a full grid in the order of its cells, or why there are none."""
    text = inside(reply, "answer")
    if isinstance(text, Malformed):
        return text
    return _placements(text, shape) if "=" in text else _grid(text, shape)


def spell(placements: Sequence[Placement], shape: Shape) -> str:
    """The short form, for compact prompts and the oracle: `12=3 24=1`."""
    return " ".join(f"{name(cell, shape)[1::2]}={digit}" for cell, digit in placements)


def _placements(text: str, shape: Shape) -> Body | Malformed:
    found = _PLACEMENT.findall(text)
    if not found or _PLACEMENT.sub("", text).strip(_SEPARATORS):
        return Malformed(reason="it is no list of placements such as r1c2=3")
    numbers = [(int(row or short), int(column), digit) for row, short, column, digit in found]
    if any(max(row, column, int(digit)) > shape.size for row, column, digit in numbers):
        return Malformed(reason=f"rows, columns and digits go from 1 to {shape.size}")
    cells = tuple(((row - 1) * shape.size + column - 1, digit) for row, column, digit in numbers)
    return Body(placements=cells, full=False)


def _grid(text: str, shape: Shape) -> Body | Malformed:
    digits = text.translate(_LAYOUT)
    if len(digits) != shape.size**2 or set(digits) - set(shape.digits):
        wanted = f"a list of placements such as r1c2=3 nor {shape.size**2} digits from 1 to {shape.size}"
        return Malformed(reason=f"it is neither {wanted}")
    return Body(placements=tuple(enumerate(digits)), full=True)
