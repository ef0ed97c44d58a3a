"""kill -9 at random moments of a run; resumed, it reports what an uninterrupted run reports."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("kind", [(), ("outage",)])
def test_a_run_that_was_killed_ten_times_reports_the_same(tmp_path, kind):
    program = Path(__file__).with_name("killed_runs.py")
    done = subprocess.run([sys.executable, program, tmp_path, "10", *kind], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["parted"] == []
    assert any(0 < count < 18 for count in found["there"]), "no kill came in the middle of a run"
