"""Games of search, played by hand."""

from functools import partial

import masgym
from masgym.tools.driver import default_driver, step_sync

WORKFLOWS = ("solo", "pair", "verify")
REPLIES = (
    "<search>founder</search>",
    "<search>the author of the lantern</search>",
    "<answer>1785</answer>",
    "<answer>nothing known</answer>",
    "?home town",
)
small = partial(masgym.game, "search", entities=200)


def play(game, task, reply=None):
    """(state, outputs, transition) of each event; the oracle's replies where `reply` gives none."""
    state, run = game.initial(task), default_driver().run
    while members := game.active(state):
        outputs = {a: (reply and reply(state, a)) or game.oracle(state, a) for a in members}
        done = step_sync(game, state, outputs, run)
        yield state, outputs, done
        state = done.state


def after(game, state, *replies):
    """The state after each agent in turn has replied."""
    for reply in replies:
        (agent,) = game.active(state)
        state = step_sync(game, state, {agent: reply}, default_driver().run).state
    return state
