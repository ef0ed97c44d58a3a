"""`pytest` is the one command: format, lint, types and import contracts are tests too."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CHECKS = {
    "format": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
    "types": ["pyright"],
    "import contracts": ["lint-imports"],
}


@pytest.mark.parametrize("name", CHECKS)
def test_check(name):
    command = [str(Path(sys.executable).parent / CHECKS[name][0]), *CHECKS[name][1:]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(CHECKS[name])}\n{done.stdout}\n{done.stderr}"


def test_the_top_level_holds_what_the_readme_says():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    expected = {"pyproject.toml", "README.md", "LICENSE", "masgym", "mastrain", "envs_data", "configs", "tests"}
    top = {path.split("/")[0] for path in tracked}
    assert {name for name in top if not name.startswith(".")} <= expected
