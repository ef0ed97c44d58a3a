"""The grammar of the grid games' replies: a list of moves. What a model writes is data; parsing never raises.

reply   := moves | text with exactly one <answer>moves</answer>
moves   := move ((space | comma)* move)*
move    := U | D | L | R | up | down | left | right      (either case, ASCII only)
"""

import re

from masgym.types import value

_MOVE = r"(?:up|down|left|right|[udlr])"
_MOVES = re.compile(rf"[\s,]*{_MOVE}(?:[\s,]*{_MOVE})*[\s,]*", re.IGNORECASE | re.ASCII)
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_PROGRAM = re.compile(r"```")

GRAMMAR = (
    "Reply with a list of moves, each one of U, D, L, R (up, down, left, right), at most {limit} of them, "
    "for example: <answer>R R U</answer>. You may think first; there must be exactly one <answer>."
)


@value
class Malformed:
    """Why a reply holds no moves."""

    reason: str


def parse_moves(reply: str, limit: int) -> str | Malformed:
    """The moves as a string over "UDLR", or why there are none. Ambiguous replies are malformed, not guessed."""
    if not reply.strip():
        return Malformed(reason="the reply was empty")
    tags = reply.count("<answer>"), reply.count("</answer>")
    answers = _ANSWER.findall(reply)
    if tags == (0, 0):
        if _PROGRAM.search(reply):
            return Malformed(reason="it holds a program, and this version has no sandbox to run one; list moves")
        text = reply
    elif tags == (1, 1) and len(answers) == 1:
        text = answers[0]
    else:
        return Malformed(reason=f"it has {tags[0]} <answer> and {tags[1]} </answer>; exactly one pair was expected")
    if not _MOVES.fullmatch(text):
        return Malformed(reason=f"{_shorten(text)!r} is no list of the moves U, D, L, R")
    moves = "".join(found[0].upper() for found in re.findall(_MOVE, text, re.IGNORECASE | re.ASCII))
    if len(moves) > limit:
        return Malformed(reason=f"it lists {len(moves)} moves; at most {limit} are allowed in a turn")
    return moves


def _shorten(text: str, most: int = 40) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 3] + "..."
