import itertools
import pickle
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from masgym.domains.plan_path import LEVELS, PlanPath, World, parse_level
from masgym.domains.plan_path.generator import draw, level_name
from masgym.errors import BadValue, UnknownName, UnsolvableTask
from masgym.game import Game
from masgym.tasks import SPLITS
from masgym.types import Task
from masgym.workflows.pair import Pair
from masgym.workflows.solo import Solo

# The wall makes the way round 6 moves long: up, right, right, right, down, and one more down to the goal's row.
DETOUR = ["....", "@##.", "..#G"]
DISTANCES = [[5, 4, 3, 2], [6, -1, -1, 1], [7, 8, -1, 0]]
DOMAIN = PlanPath()


def task_of(rows):
    return Task(
        domain="plan_path",
        params={},
        seed=0,
        split="train",
        index=0,
        content={"grid": rows},
        content_hash="0" * 64,
        level="easy",
        optimum=None,
    )


def world_of(rows):
    return DOMAIN.initial(task_of(rows))


def effect(slot, reply, rows=DETOUR):
    return DOMAIN.effect(slot, world_of(rows), reply, ())


def random_grid(seed, size=6):
    made = None
    rng = np.random.default_rng(seed)
    while made is None:
        made = draw(rng, size=size, wall_ratio=0.3, min_path=1, max_path=99)
    return made


class TestGrid:
    def test_distances_worked_by_hand(self):
        level = parse_level(DETOUR)
        assert [list(level.distances[row * 5 : row * 5 + 4]) for row in range(3)] == DISTANCES
        assert level.optimum == 6

    def test_distances_equal_brute_force_relaxation(self):
        for seed in range(40):
            rows = random_grid(seed).content["grid"]
            level, size = parse_level(rows), len(rows)
            free = {(r, c) for r in range(size) for c in range(size) if rows[r][c] != "#"}
            best = {cell: 0 if rows[cell[0]][cell[1]] == "G" else 10**6 for cell in free}
            for _ in range(len(free)):  # Bellman-Ford
                for r, c in free:
                    beside = [best[b] + 1 for b in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)) if b in free]
                    best[r, c] = min([best[r, c], *beside])
            for r, c in itertools.product(range(size), repeat=2):
                found = level.distances[r * (size + 1) + c]
                assert found == (best[r, c] if best.get((r, c), 10**6) < 10**6 else -1)

    def test_moves_stay_on_the_grid_and_off_the_walls(self):
        for seed in range(20):
            rows = random_grid(seed).content["grid"]
            level, size = parse_level(rows), len(rows)
            for cell, distance in enumerate(level.distances):
                if distance < 0:
                    continue
                r, c = divmod(cell, size + 1)
                beside = {"U": (r - 1, c), "D": (r + 1, c), "L": (r, c - 1), "R": (r, c + 1)}
                expected = {
                    move for move, (y, x) in beside.items() if 0 <= y < size and 0 <= x < size and rows[y][x] != "#"
                }
                assert set(DOMAIN.legal(World(level=level, at=cell), "act")) == expected

    @pytest.mark.parametrize(
        ("rows", "says"),
        [
            ([], "equally many"),
            ([""], "equally many"),
            (["@.", "G"], "equally many"),
            (["@.", ".."], "0 'G'"),
            (["..", ".G"], "0 '@'"),
            (["@@", ".G"], "2 '@'"),
            (["@#", "#G"], "no way"),
            (["@x", ".G"], "'x'"),
        ],
    )
    def test_a_bad_grid_is_a_clear_error(self, rows, says):
        with pytest.raises(BadValue, match=says):
            parse_level(rows)

    def test_worlds_are_values(self):
        one, two = world_of(DETOUR), world_of(DETOUR)
        assert one == two
        assert hash(one) == hash(two)
        assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - made on the line before
        assert world_of(["....", "@##.", "...G"]) != one


class TestRender:
    def test_compact_is_the_current_grid(self):
        assert DOMAIN.render(world_of(DETOUR), "compact") == "....\n@##.\n..#G"
        after = effect("act", "U R").world
        assert DOMAIN.render(after, "compact") == ".@..\n.##.\n..#G"

    def test_full_names_the_places(self):
        assert "agent is at row 1, column 2; the goal at row 3, column 4" in DOMAIN.render(
            effect("act", "U R").world, "full"
        )

    def test_at_the_goal_the_agent_stands_on_it(self):
        assert DOMAIN.render(effect("act", "R", ["@G"]).world, "compact") == ".@"

    def test_briefs_give_rules_and_grammar(self):
        for slot in ("act", "draft", "tool"):
            brief = PlanPath(moves_per_turn=3).brief(slot)
            assert "'#'" in brief
            assert "at most 3 of them" in brief
        with pytest.raises(UnknownName, match="judge"):
            DOMAIN.brief("judge")


class TestEffect:
    """From DETOUR's start, 6 moves from the goal."""

    @pytest.mark.parametrize(
        ("reply", "terms", "note", "brief", "right"),
        [
            ("U R R R", (1, 1, 1), "U R R R", "URRR", True),
            ("U R L R", (1, 1, 0), "U R L R", "URLR", True),
            ("U D", (1, 1, 0), "U D", "UD", False),
            ("D R", (1, 1, 0), "D R", "DR", False),
            ("U U", (1, 0, 1), "U (then U was blocked)", "U", True),
            ("D L", (1, 0, 0), "D (then L was blocked)", "D", False),
        ],
    )
    def test_act_terms_worked_by_hand(self, reply, terms, note, brief, right):
        for slot in ("act", "draft"):
            made = effect(slot, reply)
            assert made.terms == dict(zip(("format", "legal", "on_shortest"), terms, strict=True))
            assert (made.note, made.brief, made.right, made.done, made.malformed) == (note, brief, right, False, False)

    @pytest.mark.parametrize(
        ("reply", "terms"),
        [
            ("U R R R", (1, 1, 4 / 6)),
            ("U U", (1, 0, 1 / 6)),
            ("D R", (1, 1, -2 / 6)),
            ("U D", (1, 1, 0)),
        ],
    )
    def test_tool_terms_worked_by_hand(self, reply, terms):
        assert effect("tool", reply).terms == pytest.approx(
            dict(zip(("format", "runs", "potential"), terms, strict=True))
        )

    def test_a_proposals_potential_term_stays_in_its_range(self):
        assert effect("tool", "L L L", ["...@G"]).terms["potential"] == -1

    @pytest.mark.parametrize("reply", ["", "R", "L U", "hello", "UUUUU", "```x```", "<answer>U"])
    def test_malformed_changes_nothing_and_earns_nothing(self, reply):
        for slot in ("act", "tool", "draft"):
            made = effect(slot, reply)
            assert made.malformed
            assert made.world == world_of(DETOUR)
            assert set(made.terms) == set(DOMAIN.weights(slot))
            assert not any(made.terms.values())
            assert not made.right
            assert not made.done
            assert made.note

    def test_a_blocked_first_move_says_so(self):
        assert effect("act", "R U").note == "its first move, R, was blocked"

    @pytest.mark.parametrize("reply", ["R R", "R R U", "R R D", "R R L L"])  # U is blocked there; D and L are not
    def test_reaching_the_goal_ends_the_list(self, reply):
        made = effect("act", reply, ["@.G", "..."])
        assert made.done
        assert made.right
        assert made.terms == {"format": 1, "legal": 1, "on_shortest": 1}
        assert (made.note, made.brief) == ("R R (the goal)", "RR")

    def test_weights_sum_to_one_and_every_term_takes_two_values(self):
        for slot in ("act", "tool", "draft"):
            assert sum(DOMAIN.weights(slot).values()) == pytest.approx(1)
            seen = {name: set() for name in DOMAIN.weights(slot)}
            for reply in ("", "U", "D", "U U", "U R R R"):
                for name, number in effect(slot, reply).terms.items():
                    seen[name].add(number)
            assert all(len(values) >= 2 for values in seen.values()), seen


class TestRewards:
    def test_team_is_the_share_of_the_way_cut_at_zero(self):
        start = world_of(DETOUR)
        assert DOMAIN.team(start, effect("act", "U R R R").world) == pytest.approx(4 / 6)
        assert DOMAIN.team(start, effect("act", "D R").world) == 0
        assert DOMAIN.team(start, start) == 0
        near = World(level=start.level, at=8)  # the cell above the goal
        assert DOMAIN.team(near, World(level=start.level, at=start.level.goal)) == 1

    def test_potential_runs_from_zero_to_one_and_below(self):
        start = world_of(DETOUR)
        assert DOMAIN.potential(start) == 0
        assert DOMAIN.potential(World(level=start.level, at=start.level.goal)) == 1
        assert DOMAIN.potential(effect("act", "D R").world) == pytest.approx(-2 / 6)

    def test_gains_telescope_over_random_play(self):
        game = Game(domain=DOMAIN, workflow=Pair())
        rng = np.random.default_rng(0)
        for index in range(20):
            state, total = game.initial(DOMAIN.tasks.get("train", index)), 0.0
            while members := game.active(state):
                moves = {a: "".join(rng.choice(list("UDLR"), rng.integers(1, 5))) for a in members}
                move = game.apply(state, moves, {})
                state, total = move.state, total + move.gain
            assert total == pytest.approx(DOMAIN.potential(state.world) + state.success)

    def test_hovering_pays_in_the_published_form_but_not_in_the_return(self):
        game = Game(domain=DOMAIN, workflow=Solo())
        state, team, gain = game.initial(task_of(DETOUR)), 0.0, 0.0
        for reply in ("U", "D") * 4:
            move = game.apply(state, {"actor_0": reply}, {})
            state, team, gain = move.state, team + move.team, gain + move.gain
        assert team == pytest.approx(4 / 6)
        assert gain == pytest.approx(0)

    def test_no_short_sequence_of_replies_earns_more_than_the_oracle(self):
        game = Game(domain=PlanPath(moves_per_turn=2), workflow=Solo(), T=3)
        replies = ["", *"UDLR", *map("".join, itertools.product("UDLR", repeat=2))]
        states = [(game.initial(task_of(DETOUR)), 0.0)]
        totals = []
        while states:
            state, total = states.pop()
            for reply in replies:
                move = game.apply(state, {"actor_0": reply}, {})
                earned = total + move.gain + move.penalty
                (states if game.active(move.state) else totals).append((move.state, earned))
        assert max(total for _, total in totals) == pytest.approx(2)  # the way, and success: what the oracle earns


class TestOracle:
    def test_reaches_the_goal_in_the_stamped_number_of_moves(self):
        for moves_per_turn in (1, 3, 4):
            domain = PlanPath(moves_per_turn=moves_per_turn, turns=32)
            for index in range(30):
                task = domain.tasks.get("validation", index)
                world, made = domain.initial(task), 0
                while world.distance:
                    reply = domain.oracle(world, "act")
                    step = domain.effect("act", world, reply, ())
                    assert step.terms == {"format": 1, "legal": 1, "on_shortest": 1}
                    world, made = step.world, made + len(step.brief)
                assert made == task.optimum

    def test_is_well_formed_from_every_cell(self):
        level = parse_level(DETOUR)
        for cell, distance in enumerate(level.distances):
            if distance >= 0:
                world = World(level=level, at=cell)
                assert not DOMAIN.effect("act", world, DOMAIN.oracle(world, "act"), ()).malformed

    def test_solves_the_defaults_within_T(self):
        game = Game(domain=DOMAIN, workflow=Pair())
        for index in range(50):
            state = game.initial(DOMAIN.tasks.get("test", index))
            while members := game.active(state):
                state = game.apply(state, {a: game.oracle(state, a) for a in members}, {}).state
            assert state.success


class TestTasks:
    def test_equal_arguments_give_equal_tasks_and_the_seed_matters(self):
        for split in SPLITS:
            assert PlanPath().tasks.get(split, 3) == PlanPath().tasks.get(split, 3)
        contents = {str(PlanPath(seed=seed).tasks.get("train", 3).content) for seed in range(5)}
        assert len(contents) == 5

    @pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
    def test_splits_are_disjoint(self, count):
        seen = {split: {DOMAIN.tasks.get(split, i).content_hash for i in range(count)} for split in SPLITS}
        assert sum(map(len, seen.values())) == len(set().union(*seen.values())) == 3 * count

    def test_grids_are_what_was_asked_for(self):
        domain = PlanPath(size=8, wall_ratio=0.25, min_path=5, turns=3, moves_per_turn=3)
        walls = 0
        for index in range(200):
            task = domain.tasks.get("train", index)
            rows = task.content["grid"]
            assert [len(row) for row in rows] == [8] * 8
            assert 5 <= task.optimum <= 9
            assert task.optimum == parse_level(rows).optimum
            assert task.level == level_name(task.optimum)
            walls += "".join(rows).count("#")
        assert 0.2 < walls / (200 * 64) < 0.3

    def test_presets_are_valid_and_grow_harder(self):
        means = []
        for fields in LEVELS.values():
            tasks = [PlanPath(**fields).tasks.get("train", i) for i in range(50)]
            means.append(sum(task.optimum for task in tasks) / 50)
        assert means == sorted(means)
        assert PlanPath(**LEVELS["medium"]) == PlanPath()
        names = Counter(PlanPath(**LEVELS["hard"]).tasks.get("train", i).level for i in range(50))
        assert names == {"hard": 50}

    @pytest.mark.parametrize(
        ("fields", "says"),
        [
            ({"size": 1}, "size is 1"),
            ({"size": "10"}, "size is '10'"),
            ({"size": True}, "size is True"),
            ({"wall_ratio": 1.0}, "wall_ratio is 1.0"),
            ({"wall_ratio": -0.1}, "wall_ratio"),
            ({"wall_ratio": "0.2"}, "wall_ratio"),
            ({"min_path": 0}, "min_path is 0"),
            ({"min_path": 33}, "reach only 32"),
            ({"size": 2, "min_path": 4}, "2x2"),
            ({"moves_per_turn": 0}, "moves_per_turn is 0"),
            ({"turns": 0}, "turns is 0"),
            ({"seed": -1}, "seed is -1"),
        ],
    )
    def test_bad_arguments_are_clear_errors(self, fields, says):
        with pytest.raises(BadValue, match=says):
            PlanPath(**fields)

    def test_what_no_grid_can_be_says_so(self):
        tasks = replace(PlanPath(size=2, wall_ratio=0.0, min_path=3).tasks, attempts=50)
        with pytest.raises(UnsolvableTask, match="min_path"):
            tasks.get("train", 0)
