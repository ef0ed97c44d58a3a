"""The grammar of the grid games' replies: a list of moves. What a model writes is data; parsing never raises.

reply   := moves | text with exactly one <answer>moves</answer>
moves   := move ((space | comma)* move)*
move    := U | D | L | R | up | down | left | right      (either case, ASCII only)

Parsing takes time linear in the reply: no pattern here can backtrack. Reasons never quote the reply, because they
go to shared memory, which holds no raw text.
"""

import re

from masgym.tags import Malformed, inside

_MOVE = re.compile(r"up|down|left|right|[udlr]", re.IGNORECASE | re.ASCII)
_SEPARATORS = " ,\t\n\r\f\v"


def grammar(limit: int) -> str:
    """What prompts say of a list of at most `limit` moves."""
    return (
        f"Reply with a list of moves, each one of U, D, L, R (up, down, left, right), at most {limit} of them, for "
        f"example: {_example(limit)}. You may think first; there must be exactly one <answer>."
    )


def form(limit: int) -> str:
    """What whoever's reply was malformed is told once more."""
    return f"Reply like {_example(limit)}."


def _example(limit: int) -> str:
    return f"<answer>{' '.join('RRU'[:limit])}</answer>"


def parse_moves(reply: str, limit: int) -> str | Malformed:
    """The moves as a string over "UDLR", or why there are none. Ambiguous replies are malformed, not guessed."""
    text = inside(reply, "answer")
    if isinstance(text, Malformed):
        return text
    moves = "".join(found[0].upper() for found in _MOVE.findall(text))
    if not moves or _MOVE.sub("", text).strip(_SEPARATORS):
        return Malformed(reason="it is no list of the moves U, D, L, R")
    if len(moves) > limit:
        return Malformed(reason=f"it lists {len(moves)} moves; at most {limit} are allowed in a turn")
    return moves
