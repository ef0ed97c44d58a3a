"""All solutions of a grid by search, and the hardest technique that a person needs for it.

Candidate sets are bit masks over the digits: digit d is bit d - 1.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice

from masgym.domains.sudoku.grid import EMPTY, Shape, shape_of

TECHNIQUES = ("naked_single", "hidden_single", "pair", "search")  # from the easiest to the hardest


def solutions(cells: str, order: Sequence[Sequence[int]] | None = None) -> Iterator[str]:
    """The solutions of `cells`, which break no rule; (size ** 2, size) `order`: the digits of each cell as tried."""
    shape = shape_of(cells)
    masks, digits = candidates(cells, shape), list(cells)
    open_cells = [cell for cell, digit in enumerate(cells) if digit == EMPTY]
    tried = order if order is not None else [range(shape.size)] * len(cells)

    def search() -> Iterator[str]:
        if not open_cells:
            yield "".join(digits)
            return
        cell = _fewest(open_cells, masks)
        mask, at = masks[cell], open_cells.index(cell)
        del open_cells[at]
        for d in tried[cell]:
            if bit := mask & 1 << d:
                cleared = [peer for peer in shape.peers[cell] if masks[peer] & bit]
                digits[cell] = shape.digits[d]
                for peer in cleared:
                    masks[peer] ^= bit
                yield from search()
                for peer in cleared:
                    masks[peer] ^= bit
        open_cells.insert(at, cell)

    yield from search()


def solve(cells: str) -> tuple[str, ...]:
    """Up to two solutions: one says that it is the only one."""
    return tuple(islice(solutions(cells), 2))


def candidates(cells: str, shape: Shape) -> list[int]:
    """For each empty cell the digits that no peer holds; 0 for the others."""
    bits = [0 if digit == EMPTY else 1 << int(digit) - 1 for digit in cells]
    masks = [0 if bit else (1 << shape.size) - 1 for bit in bits]
    for unit in shape.units:
        seen = 0
        for cell in unit:
            seen |= bits[cell]
        for cell in unit:
            masks[cell] &= ~seen
    return masks


def _fewest(open_cells: Sequence[int], masks: Sequence[int]) -> int:
    """The cell with the fewest candidates; the first that has at most one."""
    best, fewest = open_cells[0], 99
    for cell in open_cells:
        count = masks[cell].bit_count()
        if count < fewest:
            best, fewest = cell, count
            if count <= 1:
                break
    return best


def hardest_technique(cells: str) -> str:
    """The hardest of TECHNIQUES that is needed when an easier one is always preferred.

    naked_single: one digit fits a cell. hidden_single: one cell of a unit takes a digit. pair: two cells of a unit
    share their only two candidates (naked pair), or all the cells of a unit that take a digit see a cell outside it,
    which therefore does not (locked candidates). search: none of these goes on.
    """
    shape, needed = shape_of(cells), 0
    masks = candidates(cells, shape)
    while any(masks):
        steps = (_naked_single, _hidden_single, _pairs)
        found = next((rank for rank, step in enumerate(steps) if step(masks, shape)), len(steps))
        needed = max(needed, found)
        if found == len(steps):
            break
    return TECHNIQUES[needed]


def _naked_single(masks: list[int], shape: Shape) -> bool:
    """Fills every cell with one candidate; whether there was one."""
    found = [cell for cell, mask in enumerate(masks) if mask.bit_count() == 1]
    for cell in found:
        _fill(masks, shape, cell, masks[cell])
    return bool(found)


def _hidden_single(masks: list[int], shape: Shape) -> bool:
    """Fills the first cell that alone takes a digit of its unit."""
    for unit in shape.units:
        once = twice = 0
        for cell in unit:
            twice |= once & masks[cell]
            once |= masks[cell]
        if alone := once & ~twice:
            bit = alone & -alone
            _fill(masks, shape, next(cell for cell in unit if masks[cell] & bit), bit)
            return True
    return False


def _pairs(masks: list[int], shape: Shape) -> bool:
    """Removes what one naked pair or one locked candidate excludes; whether there was one."""
    for unit in shape.units:
        places = [cell for cell in unit if masks[cell]]
        for one, other in combinations([cell for cell in places if masks[cell].bit_count() == 2], 2):
            if masks[one] == masks[other] and _remove(masks, set(places) - {one, other}, masks[one]):
                return True
        if any(_locked(masks, shape, places, 1 << d) for d in range(shape.size)):
            return True
    return False


def _locked(masks: list[int], shape: Shape, places: Sequence[int], bit: int) -> bool:
    """Takes `bit` from the cells that see every one of `places` that has it."""
    holders = [shape.peers[cell] for cell in places if masks[cell] & bit]
    return bool(holders) and _remove(masks, set(holders[0]).intersection(*holders[1:]), bit)


def _remove(masks: list[int], cells: Iterable[int], bits: int) -> bool:
    hit = [cell for cell in cells if masks[cell] & bits]
    for cell in hit:
        masks[cell] &= ~bits
    return bool(hit)


def _fill(masks: list[int], shape: Shape, cell: int, bit: int) -> None:
    masks[cell] = 0
    _remove(masks, shape.peers[cell], bit)
