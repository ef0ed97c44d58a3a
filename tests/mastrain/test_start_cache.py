"""Two processes that want the same supervised start at once: it is made once, and both begin with it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import masgym
from mastrain import start_cache
from mastrain.config import WarmstartConfig
from mastrain.nano import Nano, nano_model, nano_tokenizer

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
            told = second.stdout.readline()
            (lock,) = tmp_path.glob("*.lock")
            assert told == f"supervised start: another process is making it; waiting for its end ({lock})\n"
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


@pytest.mark.parametrize("suffix", [".lock", ".safetensors"])
def test_a_pipe_in_the_cache_keeps_nobody(tmp_path, suffix):
    with begin(tmp_path) as first:
        assert first.communicate("\n", timeout=60)[0].endswith("1\n")
    (weights,) = tmp_path.glob("*.safetensors")
    for path in (weights, weights.with_suffix(".lock")):
        path.unlink()
    os.mkfifo(weights.with_suffix(suffix))
    with begin(tmp_path) as second:
        assert second.communicate("\n", timeout=60)[0].endswith("1\n")
    assert weights.with_suffix(suffix).is_fifo()


DEMONSTRATE = """
import sys
import masgym
from mastrain.demonstrations import demonstrations
from mastrain.start_cache import sources
for name in masgym.list_domains():
    demonstrations(masgym.game(name), 2, 0.3, 0, "unsafe")
root = masgym.__file__.removesuffix("masgym/__init__.py")
found = [str(getattr(module, "__file__", "")) for name, module in sys.modules.items() if name.startswith("masgym")]
print(*sorted({path.removeprefix(root) for path in found} - {*sources()}))
"""
UNREAD = {  # what demonstrations import and are not shaped by: files, errors, ways to play a game
    *("__init__", "errors", "files", "interrupts", "paths", "snapshot"),
    *(f"faces/{name}" for name in ("__init__", "aec", "base", "catalogue", "parallel", "single", "spaces")),
}


def test_every_module_that_demonstrations_import_shapes_the_fingerprint():
    found = subprocess.run([sys.executable, "-c", DEMONSTRATE], capture_output=True, text=True, check=True).stdout
    assert set(found.split()) == {f"masgym/{name}.py" for name in UNREAD}
    ours = ("reasoning_gym.py", "reasoning_gym_source.py", "reasoning_gym_worker.py")  # a family, not in list_domains
    assert {f"masgym/foreign/{name}" for name in ours} <= set(start_cache.sources())


def test_the_fingerprint_is_of_reasoning_gym_where_it_is_installed(monkeypatch):
    asked = []
    monkeypatch.setattr(start_cache, "version", lambda name: asked.append(name) or "1")
    game, model = masgym.game("sokoban", style="compact"), nano_model(Nano(hidden=16, layers=1, heads=2), 0)
    settings = WarmstartConfig(steps=0, batch=8, lr=1e-2, corrupt=0.3, seed=0, threads=1)
    start_cache.fingerprint(game, model, nano_tokenizer(), settings)
    assert "reasoning-gym" in asked
