"""Sokoban's domain: levels worked by hand, rewards in both forms, replies as data, the oracle, arguments."""

import dataclasses
import time

import pytest

import masgym
from masgym.domains.sokoban import LEVELS, Sokoban
from masgym.errors import BadValue, UnknownName, UnsolvableTask
from masgym.game import Game
from masgym.rng import keyed
from masgym.tasks import SPLITS, content_hash
from masgym.types import Task
from masgym.workflows.pair import Pair
from masgym.workflows.solo import Solo

DOMAIN = Sokoban()
LINE = ["########", "#@$--.-#", "#------#", "########"]  # 3 pushes to the right
TWO = ["#######", "#.$@--#", "#--$.-#", "#-----#", "#######"]  # one push each: L, and R from the left


def task_of(board, **content):
    content = {"board": board, **content}
    return Task(
        domain="sokoban",
        params={},
        seed=0,
        split="train",
        index=0,
        content=content,
        content_hash=content_hash(content),
        level="hand",
        optimum=None,
    )


def world_of(board, moves=""):
    world = DOMAIN.initial(task_of(board))
    for step in moves:
        world = act(world, step).world
    return world


def act(world, reply, slot="act"):
    return DOMAIN.effect(slot, world, reply, ())


@pytest.mark.parametrize(
    ("board", "moves", "phi"),
    [
        (LINE, "", 0),
        (LINE, "R", 1 / 3),
        (LINE, "RR", 2 / 3),
        (LINE, "RRR", 1),
        (LINE, "D", 0),  # a walk changes nothing
        (TWO, "", 0),
        (TWO, "L", 1 / 2),
        (["######", "#.-$@#", "#----#", "######"], "L", 1 / 2),
        (["#######", "#--@--#", "#-.$--#", "#-----#", "#-----#", "#######"], "RDL", 1),
        (["#######", "#--@--#", "#-.$--#", "#-----#", "#-----#", "#######"], "D", 0),  # 1 push away, then 2: at least 0
        (["#######", "#--@--#", "#-.$--#", "#-----#", "#-----#", "#######"], "DD", 0),  # on the lowest row: dead
    ],
)
def test_potential_by_hand(board, moves, phi):
    assert DOMAIN.potential(world_of(board, moves)) == pytest.approx(phi, abs=1e-12)


def test_team_term_is_the_share_of_boxes_on_goals():
    start = world_of(TWO)
    one = act(start, "L").world
    both = act(one, "DL").world
    solved = world_of(LINE, "RRR")
    assert DOMAIN.team(start, start) == 0
    assert DOMAIN.team(start, one) == DOMAIN.team(one, one) == DOMAIN.team(one, both) == 0.5
    assert DOMAIN.team(start, solved) == 1


def test_effect_of_a_whole_list():
    effect = act(world_of(LINE), "<answer>R, r right</answer>")
    assert effect.world == world_of(LINE, "RRR")
    assert (effect.note, effect.brief, effect.right, effect.done) == ("R R R", "RRR", True, True)
    assert effect.terms == {"format": 1.0, "legal": 1.0, "no_deadlock": 1.0}


def test_effect_of_a_legal_prefix():
    effect = act(world_of(LINE), "D U U R")
    assert (effect.note, effect.brief, effect.right, effect.done) == ("D U (then U was blocked)", "DU", False, False)
    assert effect.world == world_of(LINE, "DU")
    assert effect.terms == {"format": 1.0, "legal": 0.0, "no_deadlock": 1.0}


def test_what_follows_the_solving_move_is_ignored():
    effect = act(world_of(LINE), "RRRR")
    assert effect.done
    assert effect.brief == "RRR"
    assert effect.terms["legal"] == 1


@pytest.mark.parametrize("reply", ["", "U", "LR", "RRRRR", "push it", "<answer>R", "```R", "\ud800"])
@pytest.mark.parametrize("slot", ["act", "draft", "tool"])
def test_malformed_replies_are_data(slot, reply):
    world = world_of(LINE)
    effect = act(world, reply, slot)
    assert effect.malformed
    assert effect.note
    assert effect.world == world
    assert not effect.right
    assert effect.terms == dict.fromkeys(DOMAIN.weights(slot), 0.0)


def test_pushing_a_blocked_box_is_malformed():
    assert act(world_of(["########", *["#------#"] * 2, "#@$$-..#", *["#------#"] * 2, "########"]), "R").malformed


def test_a_dead_position():
    effect = act(world_of(["#######", "#--@--#", "#-.$--#", "#-----#", "#-----#", "#######"]), "DD", "tool")
    assert DOMAIN.potential(effect.world) == 0
    assert not effect.right
    assert act(effect.world, "U").terms["no_deadlock"] == 0
    assert not act(effect.world, DOMAIN.oracle(effect.world, "act")).malformed


@pytest.mark.parametrize("params", [{}, {"size": 10, "boxes": 3}])
def test_remaining_counts_the_oracles_moves(params):
    """On large layouts a solution with the fewest pushes is counted, and after a walk it may be another one."""
    game = masgym.game("sokoban", workflow="solo", T=99, **params)
    for index in range(3):
        state = game.initial(game.domain.tasks.get("test", index))
        if not params:
            assert game.domain.remaining(state.world) == state.task.optimum
            assert game.progress(state) == 0
        while not state.ended:
            left, reply = game.domain.remaining(state.world), game.oracle(state, "actor_0")
            state = game.apply(state, {"actor_0": reply}, {}).state
            assert params or game.domain.remaining(state.world) == left - len(reply)
        assert game.domain.remaining(state.world) == 0
        assert game.progress(state) == 1


def test_progress_of_a_lost_task():
    game = masgym.game("sokoban", workflow="solo")
    state = game.initial(game.domain.tasks.get("test", 0))
    dead = act(world_of(["#######", "#--@--#", "#-.$--#", "#-----#", "#-----#", "#######"], "D"), "D").world
    assert game.progress(dataclasses.replace(state, world=dead)) == 0
    assert game.hopeless(dataclasses.replace(state, world=dead))
    assert not game.hopeless(state)


def test_dying_is_no_gain_even_from_farther_than_the_start():
    far = world_of(["#######", "#--@--#", "#-.$--#", "#-----#", "#-----#", "#######"], "D")
    dead = act(far, "D", "tool")
    assert DOMAIN.potential(far) == DOMAIN.potential(dead.world) == 0
    assert DOMAIN.remaining(dead.world) is None
    assert DOMAIN.remaining(far) is not None
    assert not dead.right
    assert dead.terms["potential"] == 0
    assert act(far, "U", "tool").terms["potential"] == 0  # the box stays
    assert act(world_of(LINE), "RR", "tool").terms["potential"] == pytest.approx(2 / 3)
    assert act(world_of(LINE, "R"), "D", "tool").terms["potential"] == 0


@pytest.mark.parametrize("slot", ["act", "draft", "tool"])
def test_every_local_term_takes_two_values(slot):
    seen = {name: set() for name in DOMAIN.weights(slot)}
    for index in range(20):
        world = DOMAIN.initial(DOMAIN.tasks.get("train", index))
        rng = keyed("sweep", index)
        for _ in range(20):
            effect = act(world, "".join(rng.choice(list("UDLR"), 2)), slot)
            world = effect.world
            for name, got in effect.terms.items():
                assert -1 <= got <= 1
                seen[name].add(got)
    assert set(seen) == set(DOMAIN.weights(slot))
    assert all(len(values) >= 2 for values in seen.values()), seen
    assert sum(DOMAIN.weights(slot).values()) == pytest.approx(1)


@pytest.mark.parametrize("fields", [{}, LEVELS["medium"], {"boxes": 2, "size": 6, "moves_per_turn": 3}])
def test_the_oracle_plays_the_optimum(fields):
    game = Game(domain=Sokoban(**fields), workflow=Solo())
    for index in range(30):
        state = game.initial(game.domain.tasks.get("test", index))
        gain = 0.0
        while game.active(state):
            made = game.apply(state, {"actor_0": game.oracle(state, "actor_0")}, {})
            state, gain = made.state, gain + made.gain
        assert state.success
        assert gain == pytest.approx(2)  # Phi from 0 to 1, and success
        assert sum(len(outputs["actor_0"]) for outputs, _ in state.log) == state.task.optimum
        assert state.turn <= -(-state.task.optimum // game.domain.moves_per_turn) <= game.T


def test_the_oracle_solves_from_any_live_state():
    game = Game(domain=Sokoban(boxes=2), workflow=Solo(), T=40)
    dead = 0
    for index in range(30):
        state, rng = game.initial(game.domain.tasks.get("train", index)), keyed("wander", index)
        for _ in range(6):
            if game.active(state):
                state = game.apply(state, {"actor_0": str(rng.choice(game.domain.legal(state.world, "act")))}, {}).state
        alive = act(state.world, game.oracle(state, "actor_0")).terms["no_deadlock"] == 1
        while game.active(state):
            state = game.apply(state, {"actor_0": game.oracle(state, "actor_0")}, {}).state
        assert state.success == alive
        dead += not alive
    assert 0 < dead < 30


def test_boards_shown_are_the_current_ones():
    game = Game(domain=DOMAIN, workflow=Pair(), style="compact")
    state = game.initial(task_of(LINE))
    assert game.observe(state, "tool_0").text == "tool\n@$--.-\n------"
    state = game.apply(state, {"tool_0": "RR"}, {}).state
    assert game.observe(state, "actor_0").text == "act\n@$--.-\n------\ntool:RR"
    state = game.apply(state, {"actor_0": "RR"}, {}).state
    assert game.observe(state, "tool_0").text == "tool\n--@$.-\n------"
    full = game.domain.render(world_of(LINE, "RRR"), "full")
    assert full == "########\n#---@*-#\n#------#\n########"
    for slot in ("act", "tool", "draft", "judge"):
        assert "at most 4" in game.domain.brief(slot)


def test_default_render_is_four_by_four():
    rows = DOMAIN.render(DOMAIN.initial(DOMAIN.tasks.get("test", 0)), "compact").split("\n")
    assert [len(row) for row in rows] == [4] * 4


def test_equal_arguments_give_equal_tasks_and_seeds_differ():
    for split in SPLITS:
        assert Sokoban().tasks.get(split, 3) == DOMAIN.tasks.get(split, 3)
    contents = {seed: [Sokoban(seed=seed).tasks.get("train", i).content_hash for i in range(10)] for seed in (0, 1)}
    assert contents[0] != contents[1]
    assert len(set(contents[0])) > 5
    assert Sokoban() == DOMAIN
    assert hash(Sokoban(boxes=2)) != hash(DOMAIN)


def test_tasks_keep_to_what_was_asked():
    for name, fields in LEVELS.items():
        domain = Sokoban(**fields)
        for index in range(5):
            task = domain.tasks.get("train", index)
            text = "".join(task.content["board"])
            assert task.level == name
            assert text.count("$") + text.count("*") == domain.boxes
            assert task.content["pushes"] >= domain.min_pushes
            assert task.content["pushes"] <= task.optimum <= domain.turns * domain.moves_per_turn


def test_larger_boards_are_generated_and_solved_without_a_table():
    game = Game(domain=Sokoban(size=10, boxes=3, walls=0.15, min_pushes=4, turns=20), workflow=Solo(), T=40)
    state = game.initial(game.domain.tasks.get("train", 0))
    while game.active(state):
        state = game.apply(state, {"actor_0": game.oracle(state, "actor_0")}, {}).state
    assert state.success


def test_generation_and_play_are_quick():
    began = time.process_time()
    worlds = [DOMAIN.initial(DOMAIN.tasks.get("train", index)) for index in range(200)]
    assert time.process_time() - began < 2  # about 0.3 s
    rng, began = keyed("speed"), time.process_time()
    for world in worlds:
        for step in rng.choice(list("UDLR"), 20):
            world = act(world, str(step)).world
    assert time.process_time() - began < 2  # 4000 steps in about 0.2 s


@pytest.mark.parametrize(
    "fields",
    [
        {"size": 4},
        {"size": 21},
        {"size": "6"},
        {"boxes": 0},
        {"boxes": 5},
        {"boxes": 1.0},
        {"boxes": 11, "size": 20},
        {"walls": 0.6},
        {"walls": -0.1},
        {"min_pushes": 0},
        {"min_pushes": 33},
        {"min_pushes": 3, "max_pushes": 2},
        {"moves_per_turn": 0},
        {"turns": 0},
        {"seed": -1},
    ],
)
def test_bad_arguments(fields):
    with pytest.raises(BadValue, match=str(next(iter(fields.values())))):
        Sokoban(**fields)


def test_what_no_level_meets_is_said():
    source = dataclasses.replace(Sokoban(min_pushes=30).tasks, attempts=50)
    with pytest.raises(UnsolvableTask, match="min_pushes"):
        source.get("train", 0)


def test_slots_it_does_not_have():
    with pytest.raises(UnknownName, match="judge"):
        DOMAIN.weights("judge")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({}, "no board"),
        ({"board": "#####"}, "no board"),
        ({"board": []}, "no board"),
        ({"board": [1, 2]}, "no board"),
        ({"board": ["#####", "#$$.#", "#####"]}, "0 players"),
        ({"board": ["#####", "#@$.#", "######"]}, "row 2"),
        ({"board": ["#####", "#@$x#", "#####"]}, "'x'"),
        ({"board": ["#####", "#@*-#", "#####"]}, "nothing to solve"),
        ({"board": ["#####", "#$@.#", "#####"]}, "cannot be solved"),
        ({"board": ["#####", "#@$.#", "#####"], "pushes": 2}, "it takes 1"),
    ],
)
def test_content_that_is_no_level(content, reason):
    task = dataclasses.replace(task_of([]), content=content)
    with pytest.raises(BadValue, match=reason):
        DOMAIN.initial(task)
