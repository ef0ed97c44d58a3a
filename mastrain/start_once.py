"""A supervised start that several processes want at once: one makes it, the others wait for it to be in the cache."""

import fcntl
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from masgym.game import Game
from masgym.tools.sandbox import Sandbox
from mastrain.config import WarmstartConfig
from mastrain.warmstart import cache_folder, fingerprint, warm_start

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Say = Callable[[str], None]


def start_once(
    game: Game,
    models: Mapping[str, nn.Module],
    tokenizers: Mapping[str, "PreTrainedTokenizerBase"],
    settings: WarmstartConfig,
    say: Say = lambda line: None,
    sandbox: Sandbox = "auto",
) -> None:
    """`warm_start`, of which no other process makes a part at the same time."""
    wanted = {fingerprint(game, model, tokenizers[policy], settings) for policy, model in models.items()}
    with ExitStack() as held:
        for name in sorted(wanted):  # in one order, so that no two wait for each other
            path = cache_folder() / f"warmstart-{name}.safetensors"
            if not path.exists():
                held.enter_context(_alone(path.with_suffix(".lock"), say))
        warm_start(game, models, tokenizers, settings, say, sandbox)


@contextmanager
def _alone(path: Path, say: Say) -> Generator[None]:
    """Where nothing can be locked, each process makes its own."""
    with ExitStack() as held:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = held.enter_context(path.open("a"))
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("supervised start: another process is making it; waiting")
                fcntl.lockf(file, fcntl.LOCK_EX)
        yield
