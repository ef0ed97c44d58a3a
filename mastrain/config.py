"""The run's schema: Hydra's composed config -> one frozen value, checked once, before time is spent."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from masgym.errors import BadValue
from masgym.tools.sandbox import Sandbox
from masgym.types import JSON, Style, value
from mastrain.schema import build
from mastrain.types import Credit
from mastrain.update_settings import UpdateSettings

NANO_REPLY = 1024  # tokens: half of nano's context
BIG = 1e9
MOST_EPISODES = 2**17  # of a step, tasks * branches: all of them are held at once
MOST_SYMBOLS = 16  # that are read in pairs: each pair is a token
UNTRAINED = ("best_of_k", "warm")  # values of algo.name that make no step
RANGES: Mapping[str, tuple[float, float]] = {  # both ends belong to it
    "seed": (0, 2**31 - 1),
    "torch_threads": (1, 1024),
    "env.T": (1, BIG),
    "env.alpha": (0, BIG),
    "env.malformed": (-BIG, 0),
    "env.compact_reply_tokens": (1, BIG),
    "model.hidden": (0, 4096),
    "model.layers": (0, 64),
    "model.heads": (0, 1024),
    "model.max_new_tokens": (1, BIG),
    "model.warmstart.steps": (0, BIG),
    "model.warmstart.batch": (1, 65536),
    "model.warmstart.lr": (1e-12, 10),
    "model.warmstart.corrupt": (0, 0.99),
    "model.warmstart.seed": (0, 2**31 - 1),
    "model.warmstart.threads": (1, 1024),
    "algo.alpha": (0, BIG),
    "algo.branches": (2, 1024),  # candidates are compared with each other
    "algo.greedy_fraction": (0, 1),
    "algo.temperature": (0.01, 100),
    "algo.lr": (1e-12, 10),
    "algo.warmup_steps": (0, BIG),
    "algo.clip": (1e-9, 0.999),
    "algo.set_power": (0, 1),
    "algo.length_power": (0, 1),
    "algo.kl": (0, BIG),
    "algo.entropy": (0, BIG),
    "algo.entropy_target": (0, 100),
    "algo.guide": (0, BIG),
    "algo.lost": (-BIG, 0),
    "algo.turns": (0, BIG),
    "algo.epochs": (1, BIG),
    "algo.mini_batches": (1, BIG),
    "algo.micro_batch_tokens": (1, BIG),
    "algo.max_grad_norm": (1e-9, BIG),
    "algo.weight_decay": (0, BIG),
    "budget.sampled_tokens": (0, 1e15),
    "log_rollouts_every": (0, BIG),
    "engine.workers": (1, 1024),
    "engine.max_tokens": (1, BIG),
    "train.steps": (1, BIG),
    "train.tasks": (1, BIG),
    "train.eval_tasks": (1, BIG),
    "train.validate_every": (0, BIG),
    "train.validate_tasks": (1, BIG),
    "train.checkpoint_every": (1, BIG),
    "train.keep_checkpoints": (1, BIG),
}


@value
class EnvConfig:
    """Arguments of `masgym.game`; `params` are the domain's own fields."""

    name: str
    T: int
    style: Style
    alpha: float
    malformed: float
    outcome_only: bool
    level: str | None
    compact_reply_tokens: int  # what a reply in the compact style may take of the small model's tokens
    compact_pairs: str  # symbols of a board of which the small model reads two at a time; "" = each alone
    params: Mapping[str, JSON]


@value
class WorkflowConfig:
    """A workflow by name, with its arguments."""

    name: str
    params: Mapping[str, JSON]


@value
class WarmstartConfig:
    """Supervised start of the small model; `steps` is the knob for how good it starts."""

    steps: int  # optimiser steps over all policies together: every workflow gets the same budget
    batch: int
    lr: float
    corrupt: float  # share of demonstrations in which an adviser's proposal is corrupted
    seed: int  # of first weights and demonstrations: runs with other seeds start from the same model
    threads: int  # of torch, while it lasts: nothing else runs then


@value
class ModelConfig:
    """`nano` is made here; `pretrained` is a local folder or a hub id."""

    kind: Literal["nano", "pretrained"]
    path: str | None
    gguf_file: str | None
    dtype: Literal["float32", "bfloat16", "float16"]
    hidden: int
    layers: int
    heads: int
    max_new_tokens: int
    style: Style  # what the env's style defaults to
    warmstart: WarmstartConfig


@value
class PoliciesConfig:
    """Who shares a model with whom: role -> policy."""

    kind: Literal["shared", "per_role", "map"]
    map: Mapping[str, str] | None  # for `map`: roles to policies' names of your choice
    frozen: Sequence[str] = ()  # policies that sample and are not updated
    init_from: Mapping[str, str] | None = None  # policy -> RUN, RUN:POLICY, a checkpoint or a folder of save_pretrained


@value
class AlgoConfig:
    """How candidates are sampled, scored and learned from. Methods: STRONGER-MAS (arXiv 2510.11062), SRPO (arXiv
    2609.08452)."""

    name: str
    alpha: float  # weight of the team term (Eq. 3); env.alpha follows it
    branches: int  # candidates an event gets (tree), episodes a task gets (flat)
    greedy_fraction: float
    credit: Credit  # of events in which somebody acts
    advice_credit: Credit  # of all others
    stop_hopeless: bool  # end a training episode where its task is lost (a dead position)
    normalise: bool  # divide advantages by the group's standard deviation
    drop_zero_variance: bool
    temperature: float
    lr: float
    schedule: Literal["constant", "linear", "cosine"]
    warmup_steps: int
    clip: float
    kl: float
    entropy: float
    loss: Literal["group", "grpo", "dapo", "bnpo", "dr_grpo"]
    epochs: int
    mini_batches: int  # optimiser steps per epoch; split between groups, never inside one
    micro_batch_tokens: int
    max_grad_norm: float
    weight_decay: float
    shared_prefix: bool
    entropy_target: float = 0.0  # nats a token; `entropy` is then only where the bonus starts. 0 = the bonus is fixed
    # shaping, of trees and of flat episodes
    guide: float = 0.0  # weight of `Game.progress`: what a candidate gains in moves, where the domain can tell
    lost: float = 0.0  # added to the scores of a candidate that loses the task for good: what is forgone, roughly
    turns: int = 0  # of a tree, which ends there; 0 = all T
    # read by srpo and srpo_tree alone, so presets of others leave them out
    set_power: float = 0.5  # a in rho = exp(K^-a sum_j T_j^-b l_j)
    length_power: float = 0.0  # b
    reduction: Literal["event", "row", "token"] = (
        "event"  # what a set counts as in the mean: 1, its members, its tokens
    )


@value
class BudgetConfig:
    """What a run may cost."""

    sampled_tokens: int = 0  # training ends with the step that reaches it; playouts count, evaluation does not. 0 = any


@value
class EngineConfig:
    """Where tokens are sampled."""

    kind: Literal["transformers"]
    workers: int  # threads that sample at once
    max_tokens: int  # prompt and reply tokens computed at once: bounds memory


@value
class TrainConfig:
    """How long, and how often to look. All in steps: nothing depends on a clock."""

    steps: int
    tasks: int  # per step
    eval_tasks: int  # held-out test tasks, before and after
    validate_every: int  # steps between looks at validation tasks; 0 = never
    validate_tasks: int
    checkpoint_every: int
    keep_checkpoints: int


@value
class RunConfig:
    """One run."""

    seed: int  # of training tasks and of all that is sampled
    run_dir: str
    resume: str | None
    torch_threads: int
    sandbox: Sandbox
    env: EnvConfig
    workflow: WorkflowConfig
    model: ModelConfig
    policies: PoliciesConfig
    algo: AlgoConfig
    engine: EngineConfig
    train: TrainConfig
    budget: BudgetConfig = BudgetConfig()
    log_rollouts_every: int = 50  # steps between those whose replies go to rollouts.jsonl; 0 = none


def parse(data: Mapping[str, Any]) -> RunConfig:
    """A plain mapping -> RunConfig. Raises UnknownName for a key that does not exist, BadValue for a bad value."""
    config = build(RunConfig, data)
    check(config)
    return config


def check(config: RunConfig) -> None:
    """What types cannot say. Raises BadValue."""
    _check_ranges(config)
    _check_steps(config)
    model = config.model
    if model.kind == "pretrained" and not model.path:
        raise BadValue("model.path is missing; name a local folder or a hub id, e.g. model.path=Qwen/Qwen3-1.7B.")
    if model.kind == "nano":
        _check_nano(model)
    _check_pairs(config.env.compact_pairs)
    if config.policies.kind != "map" and config.policies.map is not None:
        raise BadValue(f"policies.map is read by policies=map only; this run has policies={config.policies.kind}.")
    if not config.run_dir.strip() or config.resume == "":
        raise BadValue("run_dir and resume name folders; one of them is empty.")
    update_settings(config)


def _check_ranges(config: RunConfig) -> None:
    for name, (low, high) in RANGES.items():
        number: Any = config
        for part in name.split("."):
            number = getattr(number, part)
        if not low <= number <= high:  # NaN is in no range
            raise BadValue(f"{name} is {number}; a number from {low:g} to {high:g} was expected.")


def _check_steps(config: RunConfig) -> None:
    """Who is trained, with how much in a step and how many of them."""
    algo, train = config.algo, config.train
    if train.tasks * algo.branches > MOST_EPISODES:
        raise BadValue(
            f"train.tasks={train.tasks} with algo.branches={algo.branches}: a step holds "
            f"{train.tasks * algo.branches:,} episodes or branches at once; at most {MOST_EPISODES:,} were expected. "
            "Make more steps of fewer tasks."
        )
    if algo.name == "grpo" and config.workflow.name != "solo":
        raise BadValue(
            f"algo=grpo trains a single agent, this team is workflow={config.workflow.name}; "
            "use workflow=solo, or algo=team_grpo."
        )
    if algo.mini_batches > train.tasks:
        raise BadValue(f"algo.mini_batches is {algo.mini_batches}, more than train.tasks = {train.tasks}.")
    updates = train.steps * algo.epochs * algo.mini_batches
    if algo.schedule != "constant" and algo.warmup_steps >= updates:
        raise BadValue(
            f"algo.warmup_steps is {algo.warmup_steps} of {updates} optimiser steps in all; it must be fewer. "
            "Set algo.warmup_steps=0, or more train.steps."
        )


def update_settings(config: RunConfig) -> UpdateSettings:
    """How its policies are updated. Raises BadValue for settings that exclude each other."""
    algo = config.algo
    return UpdateSettings(
        learning_rate=algo.lr,
        schedule=algo.schedule,
        warmup_steps=algo.warmup_steps,
        total_steps=config.train.steps * algo.epochs * algo.mini_batches,
        temperature=algo.temperature,
        kl_beta=algo.kl,
        entropy_coefficient=algo.entropy,
        entropy_target=algo.entropy_target,
        loss=algo.loss,
        clip_low=algo.clip,
        clip_high=algo.clip,
        max_completion_tokens=config.model.max_new_tokens,
        max_grad_norm=algo.max_grad_norm,
        weight_decay=algo.weight_decay,
        shared_prefix=algo.shared_prefix,
    )


def _check_nano(model: ModelConfig) -> None:
    if model.path is not None or model.gguf_file is not None:
        raise BadValue("model.path and model.gguf_file are read by model=pretrained only; this run has model=nano.")
    if not (model.hidden and model.heads and model.layers) or model.hidden % (2 * model.heads):
        raise BadValue(
            f"model.hidden={model.hidden}, model.heads={model.heads}, model.layers={model.layers}: at least 1 layer "
            "and 1 head, and hidden a multiple of 2 * heads, were expected."
        )
    if model.max_new_tokens > NANO_REPLY:
        raise BadValue(f"model.max_new_tokens is {model.max_new_tokens}; nano's context leaves room for {NANO_REPLY}.")


def _check_pairs(symbols: str) -> None:
    """A board's: none is a small letter, so that words stay whole."""
    good = all("!" <= symbol <= "~" and not symbol.islower() for symbol in symbols)
    if not good or len(symbols) > MOST_SYMBOLS or len(set(symbols)) < len(symbols):
        raise BadValue(
            f"env.compact_pairs is {symbols!r}; the symbols of a board were expected, each once, at most "
            f"{MOST_SYMBOLS}, printable ASCII without spaces and small letters, as in '.#@G'."
        )
