"""How all commands fail: one line that says how to mend it."""

from pathlib import Path

import pytest
from commands import run

from masgym.errors import UnknownName


class TestSettings:
    @pytest.mark.parametrize(
        ("taken", "says"),
        [
            ("name=math", "ENV"),
            ("workflow=solo", "--workflow"),
            ("T=3", "--turns"),
            ("max_cycles=3", "--turns"),
            ("style=compact", "--style"),
            ("level=hard", "--level"),
            ("tasks=levels.txt", "--task-file"),
        ],
    )
    @pytest.mark.parametrize("words", [["show"], ["eval", "--agent", "random", "--turns", "5", "--level", "easy"]])
    def test_what_has_an_argument_of_its_own_is_no_field(self, capsys, words, taken, says):
        status, out, err = run(capsys, *words, "sokoban", "--set", taken)
        assert (status, out) == (2, "")
        assert f"--set {taken.partition('=')[0]}: {says} says that" in err

    def test_a_foreign_environment_may_call_its_own_so(self, capsys, monkeypatch):
        monkeypatch.syspath_prepend(Path(__file__).parent.parent / "foreign")
        words = ["show", "pettingzoo:text_envs:Together", "--set"]
        for own in ("max_cycles=3", "level=2"):
            assert f"unexpected keyword argument '{own.partition('=')[0]}'" in run(capsys, *words, own)[2]
        for taken in (["name=x"], ["T=3"], ["level=2", "--level", "3"]):
            assert f"--set {taken[0].partition('=')[0]}: " in run(capsys, *words, *taken)[2]

    def test_nothing_is_set_twice(self, capsys):
        for words in (["--set", "boxes=1", "--set", "boxes=2"], ["--workflow", "ensemble(n=2, n=3)"]):
            status, _, err = run(capsys, "show", "sokoban", *words)
            assert status == 2
            assert "is given twice" in err

    def test_a_workflow_has_no_argument_that_is_its_name(self, capsys):
        status, _, err = run(capsys, "show", "sokoban", "--workflow", "pair(name=3)")
        assert status == 2
        assert "'name'" in err

    def test_a_folder_without_a_name_is_told_before_anything_is_played(self, capsys):
        status, _, err = run(capsys, "eval", "sokoban", "--agent", "random", "--tasks", "1", "--out", "")
        assert status == 2
        assert "--out names a folder" in err


class TestErrors:
    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("", "required"),
            ("lst", "invalid choice: 'lst'"),
            ("show", "required"),
            ("show sokobn", "Did you mean 'sokoban'"),
            ("show sokoban --workflow pear", "Did you mean 'pair'"),
            ("show sokoban --workflow pair(n=1)", "unknown argument of workflow pair 'n'"),
            ("show sokoban --workflow pair(", "is no workflow"),
            ("show sokoban --workflow ensemble(schedule=[[tool_0],[worker_7]])", "'worker_7'"),
            ("show sokoban --level wild", "Known: easy, hard, medium"),
            ("show sokoban --turns 0", "turns is 0"),
            ("show sokoban --turns x", "invalid int value"),
            ("show sokoban --set boxes", "NAME=VALUE"),
            ("show sokoban --set boxen=1", "Did you mean 'boxes'"),
            ("show sokoban --task -1", "negative"),
            ("show sokoban --task-file none.txt", "none.txt"),
            ("show pettingzoo:no_such_module_at_all", "no_such_module_at_all"),
            ("eval sokoban", "--agent"),
            ("eval --agent random", "name what to play"),
            ("eval sokoban --suite v1 --agent random", "name what to play"),
            ("eval sokoban --agent randm", "Did you mean 'random'"),
            ("eval sokoban --agent actr=random", "Did you mean 'actor'"),
            ("eval sokoban --agent actor=random", "nobody is given who plays"),
            ("eval sokoban --agent random --tasks 0", "tasks is 0"),
            ("eval sokoban --agent random --workers 0", "workers is 0"),
            ("eval sokoban --agent random --samples 0", "samples is 0"),
            ("eval sokoban --agent random --set alpha=1e300", "alpha is 1e+300; a number from 0 to 1e+06"),
            ("eval sokoban --agent random --set alpha=-1", "alpha is -1; a number from 0"),
            ("eval sokoban --agent random --set malformed=NaN", "malformed is nan; a number from -1e+06 to 0"),
            ("eval sokoban --agent random --tasks 100000000000", "at most 1e+07 episodes"),
            ("eval sokoban --agent random --tasks 1 --samples 100000000000", "at most 1e+07 episodes"),
            ("validate sokoban --tasks 100000000000", "at most 1e+07 episodes"),
            ("play sokoban --timeout nan", "timeout is nan"),
            ("import aime24 x.jsonl --out y.jsonl --limit 99999999999999999999", "limit is 99999999999999999999"),
            ("show masgym/sokoban_v99", "Did you mean 'masgym/sokoban_v0'? Known: code, masgym/code_v0"),
            ("show sokoban_v0", "Did you mean 'sokoban'"),
            ("eval masgym/sokobn_v0 --agent random", "Did you mean 'masgym/sokoban_v0'"),
            ("eval sokoban --agent random --resume", "--out DIR"),
            ("eval sokoban --agent random --only math", "--suite"),
            ("eval --suite v2 --agent random --out x", "unknown suite 'v2'"),
            ("eval --suite v1 --agent random", "--out DIR"),
            ("eval --suite v1 --agent random --out x --tasks 3", "--tasks itself"),
            ("eval --suite v1 --agent random --out x --only mth", "Did you mean 'math'"),
            ("validate sokobn", "Did you mean 'sokoban'"),
            ("validate sokoban --tasks 0", "tasks is 0"),
            ("eval sokoban --agent random --tem 1", "unrecognized arguments"),
            ("eval sokoban --agent random --temperature -1", "temperature is -1"),
            ("eval sokoban --agent random --out /dev/null/run --tasks 1", "/dev/null/run"),
            ("eval sokoban --agent hf:/no/such/folder --tasks 1", "/no/such/folder"),
            ("play sokoban --role actr", "Did you mean 'actor'"),
            ("play sokoban --agent oracle", "--role"),
            ("compare one", "one is no folder of a run"),
            ("compare no_run_a no_run_b", "no_run_a"),
            ("view no_such_folder", "no_such_folder"),
            ("audit no_such_file", "no_such_file"),
            ("verify", "required"),
            ("verify no_such_file", "no_such_file"),
        ],
    )
    def test_one_line_that_says_how_to_mend_it(self, capsys, words, told):
        status, out, err = run(capsys, *words.split())
        assert status == 2
        assert told in err
        assert err.count("\n") == 1
        assert err.startswith("masgym")
        assert "Traceback" not in out + err

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("--workers 0", "workers is 0"),
            ("--workers -3", "workers is -3"),
            ("--tasks 0", "tasks is 0"),
            ("--samples -1", "samples is -1"),
            ("--seed -1", "seed is -1"),
            ("--turns 0", "turns is 0"),
            ("--turns 100000000", "turns is 100000000"),
            ("--temperature nan", "temperature is nan"),
            ("--temperature inf", "temperature is inf"),
            ("--timeout 0", "timeout is 0"),
            ("--timeout nan", "timeout is nan"),
            ("--retries -1", "retries is -1"),
            ("--concurrency 0", "concurrency is 0"),
            ("--max-tokens 0", "max_tokens is 0"),
        ],
    )
    def test_numbers_out_of_range_are_told_before_anything_is_loaded_or_made(
        self, capsys, tmp_path, monkeypatch, words, told
    ):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "loud.py").write_text("open('loaded', 'w')\n")
        for what in (["sokoban"], ["--suite", "v1"])[: 1 + words.startswith(("--w", "--te", "--ti", "--r", "--c"))]:
            words_ = ["eval", *what, "--agent", "python:loud:Team", "--out", "run", "--resume", *words.split()]
            status, out, err = run(capsys, *words_)
            assert (status, out) == (2, "")
            assert told in err
            assert err.count("\n") == 1
            assert "go on with" not in err
        assert [path.name for path in tmp_path.iterdir()] == ["loud.py"]

    def test_what_a_file_says_does_not_reach_the_terminal_as_it_is(self, capsys):
        assert "\x1b" not in run(capsys, "show", "soko\x1b[31mban")[2]

    def test_a_message_lists_a_hundred_names_at_most(self):
        assert str(UnknownName("game", "x", map(str, range(150)))).endswith(" and 50 more.")
