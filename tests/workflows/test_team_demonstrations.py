"""Every slot of a team has a demonstrator, and its demonstrations lead on."""

from collections import Counter

import pytest

import masgym
from masgym.game import role_of
from mastrain.demonstrations import demonstrations
from mastrain.nano import nano_tokenizer

DOMAINS = ("sokoban", "plan_path", "sudoku", "math", "search")
TEAMS = [("ensemble", {"verifier": True}), ("routed", {"verifier": True}), ("routed", {"n": 7, "tools": 3})]


def shown_in(domain, workflow, count=300, **options):
    level = {"level": "nano"} if domain == "search" else {}
    game = masgym.game(domain, workflow, style="compact", **level, **options)
    return game, demonstrations(game, count, 0.3, seed=0)


@pytest.mark.parametrize(("workflow", "options"), TEAMS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_role_is_shown(domain, workflow, options):
    game, shown = shown_in(domain, workflow, **options)
    count = Counter(role_of(one.agent) for one in shown)
    assert set(count) == set(game.roles)
    assert min(count.values()) > 20
    assert {one.messages[0].content.split("\n")[0] for one in shown} == {game.slot(agent) for agent in game.agents}


def test_members_that_are_shown_the_same_are_one_demonstration():
    game, shown = shown_in("plan_path", "ensemble", count=3, n=5)
    assert [one.agent for one in shown] == ["worker_0", "tool_0", "aggregator_0"]
    full = demonstrations(masgym.game("plan_path", game.workflow), 6, 0.3, seed=0)
    assert [one.agent for one in full] == list(game.agents)


def test_routes_of_every_size_and_stop():
    _, shown = shown_in("math", "routed", count=1500)
    routes = Counter(one.reply for one in shown if one.agent == "router_0")
    assert set(routes) == {"0", "1", "2", "01", "02", "12", "012", "STOP"}


@pytest.mark.parametrize("verifier", [False, True])
def test_the_longest_reply_of_a_router_or_verifier_is_no_longer_than_the_shortest_budget(verifier):
    """Of the small model's tokens, the end token included: configs/env gives 8 at least."""
    game = masgym.game("sokoban", "routed", n=7, verifier=verifier)
    state = game.initial(game.domain.tasks.get("train", 0))
    replies = [reply for a in game.agents if game.slot(a) in ("route", "judge") for reply in game.legal(state, a)]
    assert max(len(nano_tokenizer().encode(reply, add_special_tokens=False)) for reply in replies) + 1 <= 8
