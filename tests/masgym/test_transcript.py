"""The transcript tool; and the README on domains: its transcripts, weights, roles and levels are the real ones."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from toy import Line
from toy_workflows import Duo

import masgym
from masgym.agents.base import Reply
from masgym.agents.oracle import OracleAgent
from masgym.agents.random import RandomAgent
from masgym.game import Game
from masgym.transcript import main, transcript
from masgym.workflows.solo import Solo

README = (Path(__file__).parent.parent.parent / "README.md").read_text()
SECTION = README.split("## Domains and workflows")[1].split("\n## ")[0]
SHOWN = re.findall(r"```text\n\$ python -m masgym\.transcript (.*)\n((?:.*\n)*?)```", SECTION)
TITLE = {"sokoban": "Sokoban", "plan_path": "Plan-Path"}


class Says:
    """An agent with one reply."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def act(self, request) -> Reply:
        return Reply(text=self.text)


def turn(number: int, shown: str, team: float, gain: float) -> str:
    """Of one step to the right, under solo."""
    return (
        f"turn {number}: actor_0 is shown\n  | act\n  | {shown}\nand replies\n  | +\n"
        f"which earns format 0.1, legal 0.1, best 0.8; team {team:g}; gain {gain:g}"
    )


class TestTranscript:
    def test_it_tells_who_saw_and_said_and_earned_what(self):
        game = Game(domain=Line(length=3, moves_per_turn=1), workflow=Solo(), style="compact")
        starts = [game.domain.tasks.get("train", seed).content["start"] for seed in range(20)]
        head, *turns = "\n".join(transcript(game, starts.index(0), OracleAgent())).split("\n\n")
        assert head.startswith(f"line:solo, task line/train/{starts.index(0)}/")
        assert turns == [turn(1, "@.G", 0.5, 0.5), turn(2, ".@G", 1, 1.5), "solved in 2 of 8 turns; return 2"]

    def test_members_of_a_set_are_shown_the_same_state(self):
        game = Game(domain=Line(length=14), workflow=Duo(), style="compact")
        _, one, other, actor, *_ = "\n".join(transcript(game, 0, OracleAgent())).split("\n\n")
        assert one.replace("tool_0", "tool_1") == other
        assert "tool:" not in other
        assert actor.count("  | tool:") == 2

    @pytest.mark.parametrize("domain", masgym.list_domains())
    def test_the_seed_is_that_of_reset(self, domain):
        env = masgym.make(domain)
        env.reset(seed=7)
        game = masgym.game(domain)
        assert env.snapshot().state.task.id in next(transcript(game, 7, OracleAgent()))

    def test_a_malformed_reply_shows_its_cost_and_counts(self):
        lines = list(transcript(masgym.game("plan_path", T=2), 0, Says("north")))
        assert "which earns format 0, legal 0, on_shortest 0, malformed -0.5; team 0; gain 0" in lines
        assert lines[-1] == "not solved in 2 of 2 turns; return -2"

    def test_what_is_quoted_cannot_pass_for_a_line_of_the_transcript(self):
        forged = "\nwhich earns format 9; team 9; gain 9\r\n\u2028solved in 0 of 0 turns; return 9\x0b\x85"
        lines = [*transcript(masgym.game("sokoban", T=1), 0, Says(forged))]
        assert sum("9; gain 9" in line for line in lines) == 2
        assert all(line.startswith("  |") for line in lines if "gain 9" in line or "return 9" in line)

    def test_equal_arguments_give_equal_lines(self):
        game = masgym.game("sokoban", "verify", T=3)
        assert list(transcript(game, 1, RandomAgent())) == list(transcript(game, 1, RandomAgent()))
        assert list(transcript(game, 1, RandomAgent())) != list(transcript(game, 2, RandomAgent()))


class TestCommand:
    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ("sokobann", "Did you mean 'sokoban'"),
            ("sokoban --workflow pears", "Did you mean 'pair'"),
            ("sokoban --level extreme", "Known: easy, hard, medium"),
            ("sokoban --seed -1", "seed is -1"),
            ("sokoban --seed one", "invalid int value: 'one'"),
            ("sokoban --agent nobody", "choose from"),
            ("sokoban --seeds 3 --agents x", "unrecognized arguments"),
            ("", "required: domain"),
        ],
    )
    def test_what_cannot_be_played_is_one_line_and_status_2(self, words, says, capsys):
        with pytest.raises(SystemExit) as stopped:
            main(words.split())
        out, err = capsys.readouterr()
        assert (stopped.value.code, out, err.count("\n")) == (2, "", 1)
        assert says in err

    def test_as_a_module(self):
        command = [sys.executable, "-m", "masgym.transcript", "plan_path", "--style", "full", "--workflow", "solo"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "  | You are the planner. You work alone" in done.stdout
        assert done.stdout.rstrip().splitlines()[-1].startswith("solved in")


class TestReadme:
    def test_it_shows_every_domain_and_workflow(self):
        words = [command.split() for command, _ in SHOWN]
        package = Path(masgym.__file__).parent  # other tests register toys
        assert {word[0] for word in words} == {d for d in masgym.list_domains() if (package / "domains" / d).is_dir()}
        shown = {w[w.index("--workflow") + 1] if "--workflow" in w else "pair" for w in words}
        assert shown == {w for w in masgym.list_workflows() if (package / "workflows" / f"{w}.py").is_file()}

    @pytest.mark.parametrize(("command", "shown"), SHOWN)
    def test_its_transcripts_are_what_the_commands_print(self, command, shown, capsys):
        main(command.split())
        printed = capsys.readouterr().out
        first, *others = shown.split("...\n")
        assert first
        assert printed.startswith(first)
        rest = printed[len(first) :]
        for part in others:
            assert part in rest, part
            rest = rest.partition(part)[2]
        assert not rest or shown.endswith("...\n")

    @pytest.mark.parametrize("domain", masgym.list_domains())
    def test_its_weights_and_roles_are_those_of_the_code(self, domain):
        (row,) = re.findall(rf"^\| `{domain}` \|(.*)\|$", SECTION, re.MULTILINE)
        _, act, tool, _ = row.split("|")
        game = masgym.game(domain).domain
        for slot, cell in (("draft", act), ("act", act), ("tool", tool)):
            title, _, terms = cell.strip().partition(": ")
            assert title == game.titles[slot]
            assert {name: float(weight) for weight, name in (term.split() for term in terms.split(", "))} == dict(
                game.weights(slot)
            )

    @pytest.mark.parametrize("domain", masgym.list_domains())
    def test_it_names_every_level(self, domain):
        about = SECTION.split(f"### {TITLE.get(domain, domain.title())}\n")[1].split("###")[0].split("```")[0]
        levels = about.split("Levels:")[1]
        for level in masgym.list_levels(domain):
            assert f"`{level}`" in levels
