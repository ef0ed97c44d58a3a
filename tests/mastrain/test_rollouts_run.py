"""rollouts.jsonl of a real training run: the auditor finds nothing, the viewer shows it, resuming cuts it."""

import json

import pytest

from masgym.audit import audit, text
from masgym.viewer import write_page
from mastrain import runlog
from mastrain.__main__ import compose_run
from mastrain.config import parse
from mastrain.main import main

pytestmark = pytest.mark.slow

SMALL = ["experiment=smoke", "train.tasks=6", "train.eval_tasks=2", "train.validate_every=0", "train.steps=3"]


def steps_in(path):
    return [json.loads(line)["step"] for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("run") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASGYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        data = compose_run([*SMALL, "log_rollouts_every=2", f"run_dir={made}"])
        assert main(parse(data), data) == 0
    return made


def test_a_real_run_is_clean(folder):
    found = audit(folder / runlog.ROLLOUTS)
    assert found.ok, text(found)
    assert all("are needed" in why for why in found.unchecked)  # no field is missing; the file is short
    assert found.agents == ("tool_0", "actor_0")
    assert found.advantage == "reward - mean"  # at_grpo_explore
    assert set(steps_in(folder / runlog.ROLLOUTS)) == {1, 3}


def test_it_is_shown(folder, tmp_path):
    page = write_page(folder, tmp_path / "run.html").read_text()
    assert page.count('"kind":"sampled"') == 12


def test_resuming_cuts_what_was_logged_beyond(folder):
    log = runlog.RunLog(folder, 2)
    log.close()
    assert set(steps_in(folder / runlog.ROLLOUTS)) == {1}
