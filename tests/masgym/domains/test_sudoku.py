"""The game of Sudoku: replies, rewards, prompts, worked by hand on one puzzle."""

import pickle

import pytest

import masgym
from masgym.agents.random import random_reply
from masgym.domains.sudoku import LEVELS, Sudoku
from masgym.domains.sudoku.grammar import parse
from masgym.domains.sudoku.grid import SHAPES
from masgym.errors import BadValue, UnknownName
from masgym.rng import keyed
from masgym.tags import Malformed
from masgym.types import Task

#            . 2 | . 4         1 2 | 3 4
#            3 . | 1 .         3 4 | 1 2
#            ----+----         ----+----
#            . 1 | . 3         2 1 | 4 3
#            4 . | 2 .         4 3 | 2 1
GIVENS = [".2.4", "3.1.", ".1.3", "4.2."]  # 8 blanks
SOLUTION = "1234341221434321"
OPEN = ["...4", "3...", "2...", "...1"]  # the same solution, 12 blanks
DOMAIN = Sudoku(givens=8)


def task_of(rows):
    return Task(
        domain="sudoku",
        params={},
        seed=0,
        split="train",
        index=0,
        content={"givens": rows},
        content_hash="0" * 64,
        level="easy",
        optimum=None,
    )


START = DOMAIN.initial(task_of(GIVENS))
WIDE = DOMAIN.initial(task_of(OPEN))


def act(reply, world=START, domain=DOMAIN, slot="act"):
    return domain.effect(slot, world, reply, ())


class TestGrammar:
    @pytest.mark.parametrize(
        "reply",
        [
            "r1c1=1 r2c4=2",
            "R1C1=1, r2c4 = 2",
            "11=1 24=2",
            "11=124=2",
            "r1c1=1\n24=2\n",
            "I think.\n<answer>\nr1c1=1 r2c4=2\n</answer> Done.",
        ],
    )
    def test_placements(self, reply):
        body = parse(reply, SHAPES[4])
        assert (body.placements, body.full) == (((0, "1"), (7, "2")), False)

    @pytest.mark.parametrize(
        "reply",
        [
            SOLUTION,
            "1234\n3412\n2143\n4321",
            "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\n",
            "1,2,3,4,3,4,1,2,2,1,4,3,4,3,2,1",
            "<answer>|12|34|\n|34|12|\n\n|21|43|\n|43|21|</answer>",
        ],
    )
    def test_a_full_grid(self, reply):
        body = parse(reply, SHAPES[4])
        assert ("".join(digit for _, digit in body.placements), body.full) == (SOLUTION, True)

    @pytest.mark.parametrize(
        ("reply", "says"),
        [
            ("", "empty"),
            (" \n", "empty"),
            ("<answer></answer>", "neither"),
            ("<answer>11=1", "1 <answer> and 0"),
            ("<answer>11=1</answer><answer>11=2</answer>", "2 <answer>"),
            ("<answer><answer>11=1</answer></answer>", "2 <answer>"),
            ("</answer>11=1<answer>", "exactly one pair"),
            ("11=5", "from 1 to 4"),
            ("r5c1=1", "from 1 to 4"),
            ("11=1 r1c9=2", "from 1 to 4"),
            ("01=1", "no list"),
            ("11=0", "no list"),
            ("11=", "no list"),
            ("=", "no list"),
            ("11=12", "no list"),
            ("111=1", "no list"),
            ("11==1", "no list"),
            ("11=1 or 11=2", "no list"),
            ("11=1 1234341221434321", "no list"),
            ("r\u0661c1=1", "no list"),
            ("1\u00b2=1", "no list"),
            (SOLUTION[:-1], "neither"),
            (SOLUTION + "1", "neither"),
            (SOLUTION.replace("1", "."), "neither"),
            (SOLUTION.replace("1", "\u0661"), "neither"),
            (SOLUTION.replace("1", "5"), "neither"),
            ("9" * 100_000, "neither"),
            ("```python\nprint('11=1')\n```", "no list"),
        ],
    )
    def test_anything_else_is_malformed_and_says_why(self, reply, says):
        found = parse(reply, SHAPES[4])
        assert isinstance(found, Malformed)
        assert says in found.reason

    def test_nine_by_nine(self):
        assert parse("r9c9=9 11=5", SHAPES[9]).placements == ((80, "9"), (0, "5"))
        assert len(parse("123456789" * 9, SHAPES[9]).placements) == 81
        assert isinstance(parse("123 456 789", SHAPES[9]), Malformed)


class TestEffect:
    """From START: 8 cells are wanting, so one right digit is an eighth of Phi and, without a limit, of progress."""

    @pytest.mark.parametrize(
        ("reply", "terms", "note", "brief", "right"),
        [
            ("11=1", (1, 1, 1 / 8), "r1c1=1", "11=1", True),
            ("r1c1=1 r1c3=3", (1, 1, 2 / 8), "r1c1=1 r1c3=3", "11=1 13=3", True),
            # the 4 given in r1c4 is in the same column as r2c4
            ("33=4 24=4 11=1", (1, 0, 1 / 8), "r3c3=4 (then r2c4=4 was not allowed)", "33=4", True),
            # a cell that this reply has filled
            ("24=2 11=1 24=2", (1, 0, 2 / 8), "r2c4=2 r1c1=1 (then r2c4=2 was not allowed)", "24=2 11=1", True),
            ("1234341221434321", (1, 1, 1), "r1c1=1 r1c3=3 r2c2=4 r2c4=2 r3c1=2 r3c3=4 r4c2=3 r4c4=1", None, True),
        ],
    )
    def test_act_terms_worked_by_hand(self, reply, terms, note, brief, right):
        effect = act(reply)
        assert tuple(effect.terms[name] for name in ("format", "legal", "progress")) == terms
        assert (effect.note, effect.right, effect.malformed) == (note, right, False)
        assert brief in (None, effect.brief)
        assert act(reply, slot="draft") == effect

    def test_a_wrong_but_legal_digit_stays_and_can_be_mended(self):
        wrong = act("13=2", WIDE)  # right is 3
        assert (wrong.terms["legal"], wrong.terms["progress"], wrong.right) == (1, 0, False)
        later = act("11=1", wrong.world)
        assert later.world.cells[:4] == "1.24"
        mended = act("13=3", later.world)
        assert mended.world.cells[:4] == "1.34"
        assert (mended.terms["progress"], mended.right) == (pytest.approx(1 / 11), True)

    def test_an_older_digit_gives_way_to_a_new_one_that_clashes(self):
        after = act("12=2", act("13=2", WIDE).world)
        assert (after.world.cells[:4], after.terms["legal"], after.right) == (".2.4", 1, True)

    def test_taking_a_right_digit_away_is_a_loss(self):
        two_right = act("12=2 33=4", WIDE).world
        worse = act("13=2", two_right)
        assert worse.world.cells[:4] == "..24"
        assert worse.terms["progress"] == pytest.approx(-1 / 10)
        assert DOMAIN.potential(worse.world) - DOMAIN.potential(two_right) == pytest.approx(-1 / 12)

    def test_one_reply_may_not_contradict_itself(self):
        effect = act("13=2 12=2", WIDE)
        assert (effect.world.cells[:4], effect.terms["legal"]) == ("..24", 0)
        again = act("13=2 12=2", effect.world)  # what it repeats is part of it
        assert (again.malformed, again.note) == (True, "its first digit, r1c2=2, is not allowed")

    def test_a_full_grid_is_written_up_to_its_first_clash(self):
        effect = act("1224341221434321", WIDE)  # r1c2=2, then r1c3=2
        assert (effect.note, effect.terms["legal"]) == ("r1c1=1 r1c2=2 (then r1c3=2 was not allowed)", 0)

    @pytest.mark.parametrize(
        ("reply", "says"),
        [
            ("12=3", "r1c2=3, is not allowed"),  # over a given
            ("11=2", "r1c1=2, is not allowed"),  # a 2 in the row
            ("12=2", "changes nothing"),  # the given itself
        ],
    )
    def test_malformed(self, reply, says):
        effect = act(reply)
        assert effect.malformed
        assert effect.world == START
        assert says in effect.note
        assert set(effect.terms.values()) == {0.0}

    def test_repeating_old_digits_is_no_move(self):
        after = act("11=1").world
        assert act("11=1", after).malformed
        both = act("11=1 13=3", after)
        assert (both.note, both.terms["legal"], both.terms["progress"]) == ("r1c3=3", 1, pytest.approx(1 / 7))

    def test_a_tool_proposal(self):
        assert dict(act("11=1 13=3", slot="tool").terms) == {"format": 1, "runs": 1, "legal": 1}
        assert dict(act("11=1 13=1", slot="tool").terms) == {"format": 1, "runs": 0, "legal": 0}

    def test_nothing_counts_after_the_solving_digit(self):
        almost = act("11=1 13=3 22=4 24=2 31=2 33=4 42=3").world
        effect = act("44=1 11=4", almost)
        assert effect.done
        assert effect.terms == {"format": 1, "legal": 1, "progress": 1}
        assert DOMAIN.team(almost, effect.world) == 1
        assert DOMAIN.team(START, almost) == 0
        assert DOMAIN.potential(effect.world) == 1

    def test_a_limit_on_what_a_turn_changes(self):
        domain = Sudoku(givens=8, moves_per_turn=4)
        assert act("11=1 13=3 22=4 24=2", domain=domain).terms["progress"] == 1
        assert "changes 5 cells; at most 4" in act("11=1 13=3 22=4 24=2 31=2", domain=domain).note
        assert "at most 4" in act(SOLUTION, domain=domain).note
        half = act("11=1 13=3 22=4 24=2", domain=domain).world
        assert act(SOLUTION, half, domain).done  # the grid changes 4 cells
        assert len(domain.oracle(START, "act").split()) == 4


class TestFault4:
    """Fault 4: a full grid overwrote the givens; most puzzles had no solution; test puzzles were training puzzles.

    That puzzles have exactly one solution, and that splits differ: test_sudoku_puzzles.py.
    """

    def test_a_full_grid_that_alters_a_given_is_malformed(self):
        other = "2134341221434321"
        effect = act(other)
        assert effect.malformed
        assert effect.note == "the grid changes the given digit of r1c2"
        assert effect.world == START

    def test_no_fixed_grid_solves_two_puzzles(self):
        tasks = [DOMAIN.tasks.get("test", index) for index in range(40)]
        worlds = [DOMAIN.initial(task) for task in tasks]
        grid = worlds[0].puzzle.solution
        assert act(grid, worlds[0]).done
        for world in worlds[1:]:
            assert act(grid, world).done == (world.puzzle.solution == grid)
            if world.puzzle.solution != grid:
                assert DOMAIN.team(world, act(grid, world).world) == 0

    def test_givens_are_never_changed(self):
        rng = keyed("givens")
        for index in range(20):
            world = DOMAIN.initial(DOMAIN.tasks.get("train", index))
            givens = world.puzzle.givens
            for _ in range(30):
                cells, digits = rng.integers(1, 5, (6, 2)), rng.integers(1, 5, 6)
                reply = " ".join(f"{r}{c}={d}" for (r, c), d in zip(cells, digits, strict=True))
                world = act(reply, world).world
                assert all(given in (".", cell) for given, cell in zip(givens, world.cells, strict=True))


class TestPrompts:
    def test_compact_shows_the_present_grid_and_whose_digits_they_are(self):
        assert DOMAIN.render(START, "compact") == ".2.4\n3.1.\n.1.3\n4.2."
        assert DOMAIN.render(act("11=1 24=2").world, "compact") == "a2.4\n3.1b\n.1.3\n4.2."

    def test_full_lists_the_teams_digits(self):
        assert "so far: nothing." in DOMAIN.render(START, "full")
        text = DOMAIN.render(act("11=1 24=2").world, "full")
        assert text.startswith("1 2 . 4\n3 . 1 2\n")
        assert "so far: r1c1=1 r2c4=2." in text

    def test_briefs_say_the_rules_and_the_limit(self):
        for slot in ("act", "draft", "tool"):
            assert "At most 3 cells" in Sudoku(givens=8, moves_per_turn=3).brief(slot)
            assert "2x2 box" in DOMAIN.brief(slot)
            assert "At most" not in DOMAIN.brief(slot)
        assert "3x3 box" in Sudoku(size=9, givens=40).brief("act")
        with pytest.raises(UnknownName, match="route"):
            DOMAIN.brief("route")

    def test_the_example_of_the_brief_parses(self):
        text = DOMAIN.brief("act").split("<answer>")[1].split("</answer>")[0]
        assert parse(text, SHAPES[4]) == parse("12=3 24=1", SHAPES[4])

    def test_worlds_are_values(self):
        other = DOMAIN.initial(task_of(GIVENS))
        assert (other, hash(other)) == (START, hash(START))
        assert pickle.loads(pickle.dumps(START)) == START  # noqa: S301 - made on the line before
        assert act("11=1").world != START


class TestArguments:
    @pytest.mark.parametrize(
        ("rows", "says"),
        [
            (None, "list of rows"),
            (["1234", 3, "", ""], "list of rows"),
            (["12", "21"], "4x4 or 9x9"),
            (["123.", "....", "....", "..."], "4x4 or 9x9"),
            (["12x.", "....", "....", "...."], "'x'"),
            (["1250", "....", "....", "...."], "'0'"),
            (["11..", "....", "....", "...."], "twice"),
            (["1...", "....", "1...", "...."], "twice"),
            (["1...", ".1..", "....", "...."], "twice"),
            (["123.", "...4", "....", "...."], "no solution"),
            (["1234", "....", "....", "...."], "several solutions"),
            (["1234", "3412", "2143", "4321"], "nothing to fill"),
        ],
    )
    def test_a_content_that_is_no_puzzle_is_a_clear_error(self, rows, says):
        with pytest.raises(BadValue, match=says) as caught:
            DOMAIN.initial(task_of(rows))
        assert "sudoku/train/0" in str(caught.value)

    @pytest.mark.parametrize(
        ("fields", "error", "says"),
        [
            ({"size": 6}, BadValue, "4 or 9"),
            ({"size": "4"}, BadValue, "4 or 9"),
            ({"size": 4.0}, BadValue, "4 or 9"),
            ({"givens": 3}, BadValue, "from 4 to 15"),
            ({"givens": 16}, BadValue, "from 4 to 15"),
            ({"size": 9, "givens": 16}, BadValue, "from 17 to 80"),
            ({"givens": 6.5}, BadValue, "whole number"),
            ({"moves_per_turn": 0}, BadValue, "moves_per_turn"),
            ({"moves_per_turn": True}, BadValue, "moves_per_turn"),
            ({"moves_per_turn": 1, "turns": 4}, BadValue, "10 blanks"),
            ({"seed": -1}, BadValue, "seed"),
            ({"min_technique": "guess"}, UnknownName, "naked_single"),
            ({"min_technique": "pair"}, BadValue, "no 4x4"),
            ({"size": 9, "givens": 30, "min_technique": "pair", "max_technique": "naked_single"}, BadValue, "harder"),
        ],
    )
    def test_a_bad_argument_is_a_clear_error(self, fields, error, says):
        with pytest.raises(error, match=says):
            Sudoku(**fields)


class TestPlay:
    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize("workflow", ["solo", "pair", "verify"])
    def test_the_oracle_solves_as_fast_as_the_limit_allows(self, level, workflow):
        game = masgym.game("sudoku", workflow, level=level, moves_per_turn=8)
        for index in range(10 if LEVELS[level]["size"] == 4 else 2):
            task = game.domain.tasks.get("test", index)
            assert task.level == level
            final = oracle_play(game, game.initial(task))
            assert final.success
            assert final.turn == -(-task.optimum // 8)

    def test_the_oracle_mends_any_world(self):
        game = masgym.game("sudoku", "solo", T=30, moves_per_turn=3)
        for index in range(30):
            state = game.initial(game.domain.tasks.get("train", index))
            for turn in range(6):
                reply = random_reply(game, state, "actor_0", keyed("mend", index, turn))
                state = game.apply(state, {"actor_0": reply}, {}).state
            if not state.ended:
                wanting = len(state.world.wanting)
                final = oracle_play(game, state)
                assert final.success
                assert final.turn - state.turn == -(-wanting // 3)

    def test_random_replies_hardly_ever_solve(self):
        for level in ("easy", "medium"):
            game = masgym.game("sudoku", "solo", level=level)
            won = 0
            for index in range(150):
                state = game.initial(game.domain.tasks.get("test", index))
                while game.active(state):
                    reply = random_reply(game, state, "actor_0", keyed("floor", index, state.turn))
                    state = game.apply(state, {"actor_0": reply}, {}).state
                won += state.success
            assert won < 0.05 * 150

    def test_legal_replies_are_all_that_one_digit_can_do(self):
        for world in (START, act("11=1 33=4").world):
            legal = set(DOMAIN.legal(world, "act"))
            every = {f"{r}{c}={d}" for r in range(1, 5) for c in range(1, 5) for d in range(1, 5)}
            assert legal == {reply for reply in every if not act(reply, world).malformed}


def oracle_play(game, state):
    while members := game.active(state):
        state = game.apply(state, {agent: game.oracle(state, agent) for agent in members}, {}).state
    return state
