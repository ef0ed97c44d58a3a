"""The commands: their help, list and show, and play."""

import pytest
from commands import as_json, run

import masgym
from masgym.cli.arguments import workflow_of
from masgym.cli.commands import COMMANDS, parser

NAMES = ("list", "show", "play", "eval", "compare", "view", "validate", "audit", "verify", "import")


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
