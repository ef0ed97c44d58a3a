"""The commands list, show, play and eval, and how all of them fail."""

import asyncio
import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import masgym
from masgym.agents.human import HumanAgent
from masgym.agents.oracle import OracleAgent
from masgym.cli import main
from masgym.cli.arguments import workflow_of
from masgym.cli.commands import COMMANDS, parser
from masgym.cli.progress import Progress
from masgym.errors import UnknownName
from masgym.evaluate import evaluate

NAMES = ("list", "show", "play", "eval", "compare", "view", "validate", "audit", "verify", "import")


def run(capsys, *words):
    """(status, standard output, standard error)"""
    try:
        status = main(words)
    except SystemExit as error:
        status = error.code
    told = capsys.readouterr()
    return status, told.out, told.err


def as_json(capsys, *words):
    status, out, err = run(capsys, *words, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


class TestHelp:
    @pytest.mark.parametrize("name", NAMES)
    def test_every_command_has_an_example_that_its_parser_takes(self, capsys, name):
        status, out, _ = run(capsys, name, "--help")
        assert status == 0
        examples = [line.split() for line in out.split("examples:")[1].splitlines() if line.strip()]
        assert examples
        for example in examples:
            assert example[:2] == ["masgym", name]
            assert parser().parse_args(example[1:])

    def test_all_commands_are_listed(self, capsys):
        assert len(COMMANDS) == len(NAMES)
        _, out, _ = run(capsys, "--help")
        assert all(f"  {name} " in out for name in NAMES)


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


class TestWorkflows:
    @pytest.mark.parametrize(
        ("text", "events"),
        [
            ("pair", None),
            ("ensemble(n=2, tools=1)", (("worker_0", "tool_0"), ("aggregator_0",))),
            ("ensemble(n=2,schedule=[[tool_0],[worker_0]])", (("tool_0",), ("worker_0",), ("aggregator_0",))),
            ('ensemble(schedule=[["tool_0"], ["worker_0"]], n=2)', (("tool_0",), ("worker_0",), ("aggregator_0",))),
            ("ensemble(n=2, schedule=[[tool_0, worker_0]])", (("worker_0", "tool_0"), ("aggregator_0",))),
        ],
    )
    def test_arguments_may_be_lists(self, text, events):
        assert getattr(workflow_of(text), "events", None) == events


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


class TestListAndShow:
    def test_list(self, capsys):
        found = as_json(capsys, "list")
        assert tuple(found["domains"]) == masgym.list_domains()
        assert found["domains"]["sokoban"]["levels"] == ["easy", "medium", "hard"]
        assert found["workflows"]["pair"]["roles"] == ["tool", "actor"]
        _, out, _ = run(capsys, "list")
        assert all(word in out for word in ("sokoban", "verifier", "openai:MODEL", "expert"))

    @pytest.mark.parametrize("workflow", masgym.list_workflows())
    def test_show(self, capsys, workflow):
        found = as_json(capsys, "show", "masgym/plan_path_v0", "--workflow", workflow, "--level", "easy")
        game = masgym.game("plan_path", workflow, level="easy")
        assert tuple(found["agents"]) == game.agents
        assert found["task"]["id"] == game.domain.tasks.get("test", 0).id
        for agent, told in found["agents"].items():
            assert set(told["prompts"]) == {"full", "compact"}
            assert "Reply with" in told["prompts"]["full"]
            assert told["slot"] == game.slot(agent)
            assert told["oracle"]

    def test_an_agent_is_shown_what_it_sees_when_it_first_speaks(self, capsys):
        found = as_json(capsys, "show", "sokoban", "--workflow", "verify", "--style", "compact")
        assert "draft:" in found["agents"]["verifier_0"]["prompts"]["compact"]
        assert found["agents"]["verifier_0"]["oracle"] == "approve"

    def test_as_text(self, capsys):
        status, out, _ = run(
            capsys, "show", "sudoku", "--set", "size=4", "--workflow", "ensemble(n=2, tools=0)", "--turns", "3"
        )
        assert status == 0
        assert "at most 3 turns" in out
        assert "--- aggregator_0 (act), full style ---" in out

    def test_one_turn_is_one_turn(self, capsys):
        status, out, _ = run(capsys, "show", "math", "--turns", "1")
        assert status == 0
        assert "; at most 1 turn\n" in out


class TestPlay:
    def play(self, capsys, monkeypatch, lines, *words):
        rest = iter(lines)

        def line(prompt):
            try:
                return next(rest)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", line)
        status, out, err = run(capsys, "play", *words)
        assert (status, err) == (0, "")
        return out

    @staticmethod
    def solution():
        """The oracle's replies to the first task."""
        game = masgym.game("sokoban", "solo")
        state, replies = game.initial(game.domain.tasks.get("test", 0)), []
        while game.active(state):
            replies.append(game.oracle(state, "actor_0"))
            state = game.apply(state, {"actor_0": replies[-1]}, {}).state
        return replies

    def test_to_the_end(self, capsys, monkeypatch):
        out = self.play(capsys, monkeypatch, self.solution(), "sokoban", "--workflow", "solo")
        assert f"solved in {len(self.solution())} of 8 turns; return 2" in out

    def test_hints_are_the_oracles_and_undo_restores_also_after_the_end(self, capsys, monkeypatch):
        lines = ["/hint", "L R", "/undo", *self.solution(), "/undo", self.solution()[-1]]
        out = self.play(capsys, monkeypatch, lines, "sokoban", "--workflow", "solo")
        assert self.solution()[0] in out
        assert out.count("back to before your last reply") == 2
        assert out.count(f"solved in {len(self.solution())} of 8 turns; return 2") == 2

    def test_one_role_and_the_others_by_agents(self, capsys, monkeypatch):
        lines = ["/legal", "/prompt", "/nothing", "/undo", "U", "/undo", "/quit"]
        words = ["sokoban", "--role", "actor", "--agent", "tool=oracle", "--style", "compact"]
        out = self.play(capsys, monkeypatch, lines, *words)
        assert out.count("tool_0 replies:") == 2  # the undo goes back to before the reply, not to before the tool's
        assert out.count("\nact\n") == 4
        assert "no reply of yours" in out
        assert "/hint" in out

    def test_the_end_of_the_input_leaves(self, capsys, monkeypatch):
        assert "sokoban:pair" in self.play(capsys, monkeypatch, [], "sokoban")


class TestEval:
    def test_a_run_folder_and_its_report(self, capsys, tmp_path):
        words = ["sokoban", "--agent", "tool=oracle", "--agent", "actor_0=random", "--tasks", "4", "--samples", "2"]
        words += ["--temperature", "0.5", "--level", "easy", "--turns", "5", "--out", str(tmp_path / "run")]
        report = as_json(capsys, "eval", *words)
        assert set(report["success"]) == {"mean", "low", "high"}
        assert (report["tasks"], report["episodes"]) == (4, 8)
        assert report["run"]["agents"] == {"tool": "oracle", "actor_0": "random"}
        assert report["run"]["settings"] == {"temperature": 0.5}
        assert report["run"]["game"]["T"] == 5
        assert report == json.loads((tmp_path / "run" / "report.json").read_text())
        status, out, err = run(capsys, "eval", *words)
        assert (status, out) == (2, "")
        assert "resume" in err
        assert as_json(capsys, "eval", *words, "--resume") == report

    def test_the_oracle_solves_and_the_screen_says_so(self, capsys):
        status, out, err = run(capsys, "eval", "sokoban", "--agent", "oracle", "--tasks", "5")
        assert (status, err) == (0, "")
        assert "100.0 [56.6, 100.0] %" in out

    def test_workers_change_nothing(self, capsys):
        one, many = (
            as_json(capsys, "eval", "plan_path", "--agent", "random", "--tasks", "6", "--workers", workers)
            for workers in ("1", "6")
        )
        assert one | {"latency": 0} == many | {"latency": 0}

    def test_what_their_class_raises_is_one_line_and_how_to_go_on(self, capsys, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "failing.py").write_text("class Team:\n    def act(self, observation):\n        return {}[0]\n")
        words = ["eval", "sokoban", "--agent", "python:failing:Team", "--tasks", "2", "--out", "run"]
        status, _, err = run(capsys, *words)
        assert status == 2
        assert err.count("\n") == 1
        assert "KeyError: 0 (failing.py, line 3)" in err
        assert f"masgym {' '.join(words)} --resume" in err


SLOW = """
import time
class Team:
    def act(self, observation):
        time.sleep(0.2)
        return "U"
"""


def heeds_ctrl_c():
    """A background shell starts its commands with SIGINT ignored, and the tests with them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def command(*words, **given):
    given |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": heeds_ctrl_c}
    return subprocess.Popen([sys.executable, "-m", "masgym", *words], **given)


def test_ctrl_c_says_how_to_resume_and_resuming_gives_the_whole_report(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    words = ["eval", "sokoban", "--agent", "python:slow:Team", "--tasks", "12", "--turns", "2", "--workers", "1"]
    words += ["--workflow", "solo", "--out", "run"]
    process = command(*words, cwd=tmp_path)
    file = tmp_path / "run" / "episodes.jsonl"
    while not (file.exists() and file.read_text().count("\n") >= 2):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    way = f"masgym {' '.join(words)} --resume"
    assert way in err
    kept = file.read_text().splitlines()
    assert 2 <= len(kept) < 12
    again = command(*way.split()[1:], cwd=tmp_path)
    assert again.wait(120) == 0
    assert file.read_text().splitlines()[: len(kept)] == kept
    assert json.loads((tmp_path / "run" / "report.json").read_text())["episodes"] == 12


def test_a_reader_that_has_seen_enough():
    process = command("list", "--json", env={**os.environ, "PYTHONUNBUFFERED": "1"})
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == ""


def test_a_terminal_that_knows_ascii_only(tmp_path):
    task = tmp_path / "tasks.jsonl"
    task.write_text(json.dumps({"problem": "Was ist 1 + 1? \u00e9\u4e2d", "answer": "2"}) + "\n")
    process = command("import", "aime24", str(task), "--out", str(tmp_path / "t.jsonl"))
    assert process.wait(60) == 0
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    process = command("show", "math", "--task-file", str(tmp_path / "t.jsonl"), env=environment)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "Was ist 1 + 1? ??" in out


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("terminal", "agents", "shown"),
    [(Terminal, (), True), (io.StringIO, (), False), (Terminal, (HumanAgent(),), False)],
)
def test_progress_with_the_running_success(monkeypatch, terminal, agents, shown):
    monkeypatch.setattr(sys, "stderr", stream := terminal())
    game = masgym.game("sokoban", "solo")
    records = asyncio.run(evaluate(game, {"*": OracleAgent()}, tasks=3))
    with Progress(agents) as progress:
        progress.start(records[:1], 3)
        progress.episode(dataclasses.replace(records[1], success=False, ended="timeout"))
        progress.episode(records[2])
        assert progress.text == "2 of 3 solved, 66.7 %, 1 cut short"
    assert ("2 of 3 solved" in stream.getvalue()) == shown
