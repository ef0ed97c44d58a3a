"""In which states a team speaks: counted alike in training and in played episodes."""

import asyncio

import pytest
from scripted_teams import play_tree, team_of

import masgym
from masgym.agents.base import Reply
from masgym.evaluate import evaluate
from mastrain import visits

GAME = masgym.game("sokoban", "pair", style="compact", T=3)


class Says:
    """Answers with `reply`, and keeps what it was asked."""

    def __init__(self, reply):
        self.reply, self.asked = reply, []

    async def act(self, request):
        self.asked.append(request)
        return Reply(text=self.reply)


def played(game, reply, tasks=5):
    player = Says(reply)
    asyncio.run(evaluate(game, {"*": player}, tasks=tasks, split="validation"))
    return visits.of_validation(game, player.asked, tasks)


def test_the_same_states_give_the_same_counts():
    """A team that never moves: both agents speak in every turn, at the start of the way."""
    expected = {f"visits/turn{turn}/0": 2 for turn in (1, 2, 3)}
    episode = play_tree(team_of(GAME, lambda request, c: "?"), GAME.domain.tasks.get("train", 0))
    assert visits.of_training(GAME, [episode]) == expected | {"sample/lost": 0.0}
    assert played(GAME, "?", tasks=1) == {f"validation/{name}": n for name, n in expected.items()} | {
        "validation/lost": 0.0
    }


def test_a_set_is_one_event():
    game = masgym.game("sokoban", "ensemble", style="compact", T=2)
    assert played(game, "?", tasks=4) == {
        "validation/visits/turn1/0": 8,
        "validation/visits/turn2/0": 8,
        "validation/lost": 0.0,
    }


def test_lost_states_are_counted_in_both():
    task = next(t for i in range(200) if _after(t := GAME.domain.tasks.get("train", i), "R"))
    state = _after(task, "R")
    assert visits.stage(GAME, state) == "lost"
    episode = play_tree(team_of(GAME, lambda request, c: "R"), task)
    found = visits.of_training(GAME, [episode])
    assert found["sample/lost"] == 1.0
    assert found["visits/turn2/lost"] == 2
    assert found["visits/turn1/0"] == 2


@pytest.mark.parametrize(
    ("left", "stage"), [(9, "behind"), (8, "0"), (7, "0"), (6, "25"), (4, "50"), (2, "75"), (0, "75")]
)
def test_stages_are_quarters_of_the_way(monkeypatch, left, stage):
    game = masgym.game("plan_path", "pair")
    state = game.initial(next(t for i in range(999) if (t := game.domain.tasks.get("train", i)).optimum == 8))
    monkeypatch.setattr(type(game.domain), "remaining", lambda self, world: left)
    assert visits.stage(game, state) == stage


def test_a_domain_without_a_map_is_read_by_its_potential():
    found = played(masgym.game("math", "solo", style="compact"), "no answer", tasks=2)
    assert found
    assert "validation/lost" not in found
    assert all(name.endswith("/0") for name in found)


def _after(task, moves):
    """The state after the actor's moves, if they lose the task at once; else None."""
    state = GAME.initial(task)
    for agent in ("tool_0", "actor_0"):
        state = GAME.apply(state, {agent: moves}, {}).state
    return state if GAME.hopeless(state) else None
