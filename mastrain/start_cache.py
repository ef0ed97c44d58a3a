"""Where supervised starts are kept, by a hash of all that shapes their weights; one process makes each, others wait."""

import fcntl
import hashlib
import json
import os
import platform
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

import masgym
import mastrain
from masgym.errors import BadFile
from masgym.files import whole_file
from masgym.game import Game
from masgym.paths import regular
from mastrain.config import WarmstartConfig

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_SOURCES = (  # files whose content shapes the weights
    (masgym, ("domains/**/*.py", "foreign/reasoning_gym*.py", "workflows/*.py", "tools/*.py")),
    (masgym, ("game.py", "registry.py", "rng.py", "tags.py", "tasks.py", "theirs.py", "types.py")),
    (mastrain, ("nano.py", "chat.py", "demonstrations.py", "warmstart.py")),
)
_LIBRARIES = ("torch", "trl", "transformers", "tokenizers", "numpy", "reasoning-gym")
_REWARDS = ("alpha", "malformed", "outcome_only")  # fields of a Game that demonstrations never look at

Say: TypeAlias = Callable[[str], None]
Weights: TypeAlias = dict[str, Tensor]


def kept(path: Path, make: Callable[[], Weights], say: Say) -> Weights:
    """The weights that the cache has at `path`; where it has none, or damaged ones, those that are made now."""
    with _alone(path, say):
        weights = _read(path, say)
        if weights is None:
            weights = make()
            _write(path, weights, say)
        return weights


@contextmanager
def _alone(path: Path, say: Say) -> Generator[None]:
    """Until the end of the block no other process makes `path`. Where nothing can be locked, each makes its own."""
    with ExitStack() as held:
        with suppress(OSError):
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                file = held.enter_context(regular(lock := path.with_suffix(".lock")).open("a"))
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    say(f"supervised start: another process is making it; waiting for its end ({lock})")
                    fcntl.lockf(file, fcntl.LOCK_EX)
        yield


def path_of(game: Game, model: nn.Module, tokenizer: "PreTrainedTokenizerBase", settings: WarmstartConfig) -> Path:
    """The file that holds, or is to hold, the weights that `model` starts with."""
    return cache_folder() / f"warmstart-{fingerprint(game, model, tokenizer, settings)}.safetensors"


def cache_folder() -> Path:
    """`MASGYM_CACHE`, or ~/.cache/masgym."""
    return Path(os.environ.get("MASGYM_CACHE") or Path.home() / ".cache" / "masgym")


def fingerprint(game: Game, model: nn.Module, tokenizer: "PreTrainedTokenizerBase", settings: WarmstartConfig) -> str:
    """A hash of all that shapes the weights: game, its files' contents, settings, first weights, vocabulary, libraries,
    machine, our sources."""
    shaping = {
        "game": {name: part for name, part in game.spec().items() if name not in _REWARDS},
        "tasks": dict(getattr(game.domain.tasks, "params", {})),
        "settings": asdict(settings),
        "weights": _digest_of(model.state_dict()),
        "libraries": {name: _version(name) for name in _LIBRARIES},
        "machine": [platform.machine(), torch.get_num_threads()],
        "vocabulary": tokenizer.get_vocab(),
        "sources": {name: _digest(path.read_bytes()) for name, path in sources().items()},
    }
    return _digest(json.dumps(shaping, sort_keys=True).encode())[:24]


def sources() -> dict[str, Path]:
    """The files whose content shapes the weights, by package and path in it: many are called domain.py."""
    roots = [(Path(str(package.__file__)).parent, patterns) for package, patterns in _SOURCES]
    found = [(root, path) for root, patterns in roots for pattern in patterns for path in sorted(root.glob(pattern))]
    return {path.relative_to(root.parent).as_posix(): path for root, path in found}


def _version(name: str) -> str | None:
    """None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest_of(weights: Mapping[str, Tensor]) -> str:
    return _digest("".join(f"{name} {_digest(weights[name].numpy().tobytes())}\n" for name in sorted(weights)).encode())


def _read(path: Path, say: Say) -> Weights | None:
    """The cached weights, or None where there are none, or not those that were written."""
    try:
        if not path.exists():
            return None
        with safe_open(regular(path), "pt") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            written = (file.metadata() or {}).get("sha256")
    except (SafetensorError, OSError) as error:
        say(f"supervised start: the cached one cannot be read and is made anew ({path}: {error})")
        return None
    if _digest_of(weights) != written:
        say(f"supervised start: the cached one is damaged and is made anew ({path})")
        return None
    say(f"supervised start: from the cache ({path})")
    return weights


def _write(path: Path, weights: Weights, say: Say) -> None:
    """A cache that cannot be written is said, no more."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.buffer.write(save(weights, {"sha256": _digest_of(weights)}))
    except (OSError, BadFile) as error:
        say(f"supervised start: not kept for the next run ({error}); set MASGYM_CACHE")
