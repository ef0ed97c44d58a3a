"""The wheel, away from the checkout: configs and data are in it, and the benchmark alone needs no torch."""

import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
PLACES = {"masgym": "masgym", "mastrain": "mastrain", "configs": "mastrain/_configs", "envs_data": "masgym/_data"}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(out), str(ROOT)], check=True)
    return next(out.glob("*.whl"))


def environment(folder, requirement):
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", requirement], check=True)
    return python


def run(python, folder, *words):
    done = subprocess.run([python, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_the_packages_read_is_in_the_wheel(wheel):
    """Pages of the viewer, schemas, suites, presets: every file that git holds under a packaged folder."""
    listed = subprocess.run(["git", "ls-files", *PLACES], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    folders = [path.partition("/") for path in listed.splitlines()]
    expected = {f"{PLACES[top]}/{rest}" for top, _, rest in folders}
    for name in ("masgym/viewer/page/main.js", "masgym/report.schema.json", "masgym/_data/suites/v1.json"):
        assert name in expected
    assert expected <= set(ZipFile(wheel).namelist())


def test_the_benchmark_alone_has_no_torch(wheel, tmp_path):
    python = environment(tmp_path / "bare", str(wheel))
    assert "sokoban" in run(python, tmp_path, "-c", "import masgym; print(masgym.make('sokoban'))")
    code = "import masgym; print([masgym.game(n).domain.tasks.get('test', 0).id for n in masgym.list_domains()])"
    for name in ("sokoban", "plan_path", "sudoku", "code", "math", "search"):
        assert name in run(python, tmp_path, "-c", code)
    listed = run(python, tmp_path, "-m", "pip", "list")
    assert "torch" not in listed


def test_the_trainer_runs_from_the_wheel(wheel, tmp_path):
    python = environment(tmp_path / "train", f"{wheel}[train]")
    out = run(python, tmp_path, "-m", "mastrain", "env=sokoban", "experiment=smoke", "run_dir=run")
    assert "after, sampled" in out
    assert (tmp_path / "run" / "metrics.jsonl").exists()
