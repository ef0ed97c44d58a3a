"""Two processes that want the same supervised start at once: it is made once, and both begin with it."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys, time
import masgym
from mastrain import warmstart
from mastrain.config import WarmstartConfig
from mastrain.nano import Nano, nano_model, nano_tokenizer

teach, made = warmstart.teach, []
def slowly(*arguments):
    made.append(1)
    print("making", flush=True)
    sys.stdin.readline()  # until the other one waits
    return teach(*arguments)
warmstart.teach = slowly
models = {p: nano_model(Nano(hidden=16, layers=1, heads=2, feed_forward=24), 0) for p in ("tool", "actor")}
settings = WarmstartConfig(steps=0, batch=8, lr=1e-2, corrupt=0.3, seed=0, threads=1)
tokenizers = dict.fromkeys(models, nano_tokenizer())
game = masgym.game("sokoban", style="compact")
warmstart.warm_start(game, models, tokenizers, settings, lambda line: print(line, flush=True))
print(len(made), flush=True)
"""


def begin(cache: Path):
    environment = {"MASGYM_CACHE": str(cache), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


@pytest.mark.parametrize("killed", [False, True])
def test_the_second_waits_for_the_first(tmp_path, killed):
    """And makes it itself where the first has died."""
    with begin(tmp_path) as first:
        assert first.stdout.readline() == "making\n"
        with begin(tmp_path) as second:
            assert "another process is making it" in second.stdout.readline()
            if killed:
                first.kill()
            else:
                assert first.communicate("\n")[0] == "1\n"
            told = second.communicate("\n", timeout=60)[0].splitlines()
    assert told[-1] == ("1" if killed else "0")
    assert ("making" in told) == killed
    assert second.returncode == 0


def test_a_cache_that_cannot_be_locked_keeps_nobody(tmp_path):
    (tmp_path / "cache").write_text("a file is in the way")
    with begin(tmp_path / "cache") as only:
        assert only.communicate("\n", timeout=60)[0].splitlines()[-1] == "1"
