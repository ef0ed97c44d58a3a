"""A package of somebody else's: a domain and a workflow in one file, found by its entry points, used without a change
here. It lies beside the tests as its author would publish it; only its installation is imitated."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "third_party" / "lamps"

CHECKED = """
import asyncio, json
import gymnasium, masgym, pettingzoo
from masgym.agents.oracle import OracleAgent
from masgym.agents.random import RandomAgent
from masgym.evaluate import evaluate
from masgym.report import summarise
from masgym.testing import check_game

for workflow in ("relay", "pair", "verify"):
    check_game(masgym.game("lamps", workflow, level="short"), tasks=1, beam=4, new_process=workflow == "relay")
game = masgym.game("lamps", "relay", level="long")
reports = {
    name: summarise(asyncio.run(evaluate(game, {"first": agent, "second_0": OracleAgent()}, tasks=20)))
    for name, agent in {"oracle": OracleAgent(), "random": RandomAgent()}.items()
}
print(json.dumps({
    "domains": masgym.list_domains(), "workflows": masgym.list_workflows(), "levels": masgym.list_levels("lamps"),
    "faces": [gymnasium.make("masgym/Lamps-v0").reset(seed=1)[0]["text"][-8:],
              pettingzoo.make("aec", "masgym/lamps_v0", workflow="relay").unwrapped.game.name],
    "success": {name: report.success.mean for name, report in reports.items()},
}))
"""


@pytest.fixture(scope="module")
def environ(tmp_path_factory):
    """The environment variables of a process in which the package is installed."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    site = tmp_path_factory.mktemp("site")
    about = site / "{name}-{version}.dist-info".format(**project)
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".format(**project))
    lines = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {entry}" for name, entry in entries.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(site), str(PACKAGE))),
        "MASGYM_CACHE": str(site / "cache"),
        "OMP_NUM_THREADS": "1",
    }


def run(environ, *words):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environ, timeout=900)


def test_it_keeps_the_contract_and_is_evaluated(environ):
    ran = run(environ, "-c", CHECKED)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["domains"][-1] == "lamps"
    assert found["workflows"][-1] == "relay"
    assert found["levels"] == ["short", "long"]
    assert found["faces"] == [found["faces"][0], "lamps:relay"]
    assert set(found["faces"][0]) <= {"o", "."}
    assert found["success"]["oracle"] == 1.0
    assert found["success"]["random"] < 1.0


def test_it_is_trained_from_its_own_configs(environ, tmp_path):
    tiny = [
        "model.hidden=32",
        "model.layers=1",
        "model.heads=2",
        "model.warmstart.steps=4",
        "model.warmstart.threads=1",
    ]
    ran = run(
        environ,
        *("-m", "mastrain", f"hydra.searchpath=[file://{PACKAGE / 'configs'}]", "env=lamps", "workflow=relay"),
        *(
            "experiment=smoke",
            "train.tasks=2",
            "train.eval_tasks=4",
            "train.steps=2",
            f"run_dir={tmp_path / 'run'}",
            *tiny,
        ),
    )
    assert ran.returncode == 0, ran.stderr
    steps = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert len(steps) >= 2
    assert {path.name for path in (tmp_path / "run" / "checkpoints").glob("*/*") if path.is_dir()} == {
        "first",
        "second",
    }


def test_a_package_that_is_broken_breaks_itself_only(environ, tmp_path):
    about = tmp_path / "worse-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: worse\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[masgym.domains]\nNot-A-Name = worse:A\nsokoban = worse:B\ngone = worse:C\n"
    )
    code = (
        "import masgym\nassert masgym.game('sokoban').domain.name == 'sokoban'\n"
        "try:\n    masgym.game('gone')\nexcept masgym.BadValue as error:\n    print(error)\n"
    )
    ran = run({**environ, "PYTHONPATH": str(tmp_path)}, "-c", code)
    assert ran.returncode == 0, ran.stderr
    assert "entry 'worse:C' of gone cannot be imported: ModuleNotFoundError: No module named 'worse'" in ran.stdout
    assert "'Not-A-Name' of masgym.domains was left out" in ran.stderr
    assert "the domain 'sokoban' is already masgym.domains.sokoban:Sokoban" in ran.stderr
