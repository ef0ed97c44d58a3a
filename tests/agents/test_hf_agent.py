"""`hf:PATH`: transformers folders and mastrain's checkpoints, through the trainer's engine."""

import asyncio
import json

import pytest

import masgym
from masgym.agents.base import Reply
from masgym.agents.names import Options, make_agent
from masgym.cli import main
from masgym.errors import BadFile, BadValue
from masgym.evaluate import evaluate
from mastrain import checkpoint
from mastrain.hf_agent import _room
from mastrain.nano import Nano, nano_model, nano_tokenizer
from mastrain.players import reply_of
from mastrain.types import Completion, Prompt

SHAPE = Nano(hidden=32, layers=1, heads=2, feed_forward=32, context=256)
GAME = masgym.game("sokoban", "pair", T=2, style="compact")


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A run of mastrain with one checkpoint of two policies."""
    folder = tmp_path_factory.mktemp("run")
    parts = {role: (nano_model(SHAPE, seed), nano_tokenizer(), {}) for seed, role in enumerate(("tool", "actor"))}
    identity = {"game": GAME.spec(), "policies": {"tool": "tool", "actor": "actor"}}
    checkpoint.save(folder / "checkpoints", checkpoint.Manifest(step=3, identity=identity), parts, keep=1)
    return folder


def played(path, tasks=6, workers=None, **options):
    agent = make_agent(f"hf:{path}", Options(**{"max_tokens": 8, **options}))
    batches = []
    generate = agent._engine.generate

    def counted(requests):
        batches.append(len(requests))
        return generate(requests)

    agent._engine.generate = counted
    return asyncio.run(evaluate(GAME, {"*": agent}, tasks=tasks, workers=workers)), batches


def test_a_run_plays_its_roles_with_their_policies_in_the_style_that_they_learned(run_folder):
    agent = make_agent(f"hf:{run_folder}")
    assert agent.style == "compact"
    assert set(agent._models) == {"tool", "actor"}
    assert make_agent(f"hf:{run_folder}/checkpoints/step_000003/actor").style == "compact"


def test_episodes_are_sampled_together_and_workers_change_nothing(run_folder):
    records, batches = played(run_folder)
    assert max(batches) == 6
    assert sum(batches) == sum(record.replies for record in records) == 24
    assert all(record.tokens > 0 and record.prompt_tokens > 0 for record in records)
    alone, ones = played(run_folder, workers=1)
    assert max(ones) == 1
    assert alone == records


def test_a_reply_without_an_end_token_was_cut(run_folder):
    records, _ = played(run_folder, max_tokens=1)
    assert all(0 <= record.cut <= record.replies == record.tokens for record in records)
    assert sum(record.cut for record in records) > 12  # of 24: one of 100 tokens is the end
    made = {"text": "U", "ids": (5,), "logps": (0.0,), "policy": "actor", "version": 0}
    prompt = Prompt(agent="actor_0", messages=(), ids=(1, 2))
    cut = [reply_of(Completion(finish=finish, **made), prompt).cut for finish in ("length", "stop")]
    assert cut == [True, False]


def test_temperature_0_is_greedy(run_folder):
    game = [played(run_folder, tasks=2, temperature=0)[0] for _ in range(2)]
    assert game[0] == game[1]
    assert make_agent(f"hf:{run_folder}", Options(temperature=0))._sampling.greedy


def test_what_does_not_fit_into_the_context_is_a_named_outcome(run_folder):
    game = masgym.game("sokoban", "solo", style="full")  # a prompt of more than 256 characters
    (record,) = asyncio.run(evaluate(game, {"*": make_agent(f"hf:{run_folder}")}, tasks=1))
    assert record.ended == "context_overflow"


def test_a_reply_gets_the_room_that_is_left():
    model = nano_model(SHAPE, 0)
    assert [_room(model, prompt, 100) for prompt in (10, 156, 157, 192, 255, 256, 900)] == [100, 100, 64, 64, 1, 0, 0]


def test_one_model_for_everybody_from_a_plain_folder(run_folder, tmp_path, capsys):
    nano_model(SHAPE, 0).save_pretrained(tmp_path / "model")
    nano_tokenizer().save_pretrained(tmp_path / "model")
    words = ["--tasks", "2", "--turns", "3", "--style", "compact", "--max-tokens", "4", "--json"]
    assert main(["eval", "plan_path", "--agent", f"hf:{tmp_path / 'model'}", *words]) == 0
    assert json.loads(capsys.readouterr().out)["failures"] == {}


def test_the_command_takes_the_style_from_the_checkpoint(run_folder, capsys):
    words = ["--tasks", "2", "--turns", "2", "--max-tokens", "4", "--json"]
    assert main(["eval", "sokoban", "--agent", f"hf:{run_folder}", *words]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["game"]["style"] == "compact"


def test_errors(run_folder, tmp_path):
    with pytest.raises(BadFile, match=r"no causal language model|does not exist"):
        make_agent(f"hf:{tmp_path}")
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(BadFile, match="no checkpoint"):
        make_agent(f"hf:{tmp_path}")


def test_a_role_that_the_checkpoint_lacks_is_told_before_anything_begins(run_folder, tmp_path, capsys):
    agent = make_agent(f"hf:{run_folder}")
    assert agent.roles == {"tool", "actor"}
    game, says = masgym.game("sokoban", "verify", style="compact"), "made for the roles actor, tool alone"
    with pytest.raises(BadValue, match=f"solver_0 .* {says}; give solver an agent of its own"):
        asyncio.run(evaluate(game, {"*": agent}, tasks=1))
    words = ["--agent", f"hf:{run_folder}", "--out", str(tmp_path / "out")]
    for kind in (["sokoban", "--workflow", "verify"], ["--suite", "v1", "--only", "sokoban-easy-ensemble3"]):
        assert main(["eval", *kind, *words]) == 2
        assert says in capsys.readouterr().err
    assert main(["play", "sokoban", "--workflow", "verify", "--role", "solver", *words[:2]]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert asyncio.run(evaluate(GAME, {"tool": agent, "actor": Says()}, tasks=1))
    whole = {"solver": Says(), "verifier": Says()}
    assert asyncio.run(evaluate(game, whole, tasks=1))


def test_what_the_engine_raises_is_raised_in_every_episode_that_waits(run_folder):
    agent = make_agent(f"hf:{run_folder}")

    def fails(requests):
        raise MemoryError("no room")

    agent._engine.generate = fails
    with pytest.raises(MemoryError, match="no room"):
        asyncio.run(evaluate(GAME, {"tool": agent, "actor": Says()}, tasks=3))


class Says:
    async def act(self, request):
        return Reply(text="U")
