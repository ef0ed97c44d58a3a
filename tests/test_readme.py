"""The README's Python runs as it stands, one block after the other."""

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_its_python_runs():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 4
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "[" in done.stdout


def test_its_map_names_files_that_exist():
    root = Path(__file__).parent.parent
    block = README.split("## Map")[1].split("```")[1]
    package = ""
    for line in block.splitlines():
        if re.match(r"\w+/$", line):
            package = line.strip()
        for name in re.findall(r"[\w/]+\.py|\w+/(?=\s)", line if package and line.startswith(" ") else ""):
            found = list((root / package).rglob(name.rstrip("/")))
            assert found, f"{package}{name}"
