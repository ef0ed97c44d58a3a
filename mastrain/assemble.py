"""config -> Run: everything that a run is made of, checked in the order of what it costs."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from masgym.game import Game
from masgym.tools.driver import default_driver
from masgym.types import JSON, Observation, value
from mastrain import algorithms, chat
from mastrain.algorithms import Algorithm
from mastrain.config import RunConfig, update_settings
from mastrain.engines.base import Engine
from mastrain.engines.transformers import TransformersEngine
from mastrain.games import make_game
from mastrain.inherit import inherit, source_of
from mastrain.models import ModelSpec, load_model
from mastrain.nano import Nano
from mastrain.policies import policy_map, roles_of
from mastrain.resuming import fixed_settings
from mastrain.rollout import Team
from mastrain.types import Prompt, Sampling
from mastrain.updater import Updater
from mastrain.warmstart import warm_start


@value
class Run:
    """One run, ready to go. Engine and updaters hold the same model objects."""

    config: RunConfig
    folder: Path
    game: Game
    policies: Mapping[str, str]  # role -> policy
    models: Mapping[str, Any]
    tokenizers: Mapping[str, Any]
    engine: Engine
    updaters: Mapping[str, Updater]
    algorithm: Algorithm
    team: Team
    identity: Mapping[str, JSON]


def assemble(config: RunConfig, folder: Path, say: Callable[[str], None], fresh: bool = True) -> Run:
    """Build all parts. `fresh`: models begin with `policies.init_from` or the supervised start; else a checkpoint will
    fill them."""
    game, algorithm = make_game(config), algorithms.make(config.algo)
    policies = policy_map(config.policies, game.roles)
    models, tokenizers = _models(config, game, policies, say, fresh)
    engine = TransformersEngine(models, tokenizers, workers=config.engine.workers, max_tokens=config.engine.max_tokens)
    updaters = {p: Updater(models[p], tokenizers[p], update_settings(config), folder) for p in models}

    def encode(policy: str, observation: Observation) -> Prompt:
        return chat.encode(tokenizers[policy], observation.agent, observation.messages)

    team = Team(
        game=game,
        engine=engine,
        policies=policies,
        encode=encode,
        sampling=Sampling(temperature=config.algo.temperature, max_new_tokens=config.model.max_new_tokens),
        run_calls=default_driver(config.sandbox),
    )
    return Run(
        config=config,
        folder=folder,
        game=game,
        policies=policies,
        models=models,
        tokenizers=tokenizers,
        engine=engine,
        updaters=updaters,
        algorithm=algorithm,
        team=team,
        identity={**identity_of(game, policies, models), "config": fixed_settings(config)},
    )


def _models(
    config: RunConfig, game: Game, policies: Mapping[str, str], say: Callable[[str], None], fresh: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Models and tokenizers by policy."""
    sources = {p: source_of(given, p) for p, given in (config.policies.init_from or {}).items()} if fresh else {}
    loaded = {policy: load_model(model_spec(config)) for policy in roles_of(policies)}
    models: dict[str, Any] = {policy: model for policy, (model, _) in loaded.items()}
    tokenizers = {policy: tokenizer for policy, (_, tokenizer) in loaded.items()}
    inherit(sources, models, tokenizers, config.model.dtype)
    if fresh and config.model.kind == "nano":
        torch.set_num_threads(config.model.warmstart.threads)
        untaught = {policy: model for policy, model in models.items() if policy not in sources}
        warm_start(game, untaught, tokenizers, config.model.warmstart, say, config.sandbox)
        torch.set_num_threads(config.torch_threads)
    return models, tokenizers


def identity_of(game: Game, policies: Mapping[str, str], models: Mapping[str, Any]) -> dict[str, JSON]:
    """What a checkpoint must agree on with the run that loads it."""
    shapes = {
        p: f"{m.config.model_type}, {sum(x.numel() for x in m.parameters())} parameters" for p, m in models.items()
    }
    read = getattr(game.domain.tasks, "params", {})  # of tasks from a file: its name, and the hash of what is in it
    tasks = {"tasks": dict(read)} if "sha256" in read else {}
    return {"game": game.spec(), "policies": dict(policies), "models": shapes, **tasks}


def model_spec(config: RunConfig) -> ModelSpec:
    model = config.model
    return ModelSpec(
        source="nano" if model.kind == "nano" else str(model.path),
        dtype=model.dtype,
        gguf_file=model.gguf_file or "",
        nano=Nano(hidden=model.hidden, layers=model.layers, heads=model.heads, pairs=config.env.compact_pairs),
        seed=model.warmstart.seed,
    )
