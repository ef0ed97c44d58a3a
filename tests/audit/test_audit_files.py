"""`masgym.audit`: what is no file of rollouts is told with line and field; odd values are data."""

import json
import math

import pytest
from rollout_files import faults, written

from masgym.audit import audit, text
from masgym.errors import BadFile

ROW = {"group": 1, "task": 1, "agent": "a", "turn": 0, "prompt": "p", "reply": "r", "reward": 1, "advantage": 0}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("no json", "line 2"),
        ("[1]", "line 2"),
        ('{"group": 1' + "[" * 100_000, "line 2"),
        *((json.dumps({k: x for k, x in ROW.items() if k != name}), f"line 2, field '{name}'") for name in ROW),
        *(
            (json.dumps({**ROW, name: bad}), f"line 2, field '{name}'")
            for name, bad in [
                ("group", 1.5),
                ("group", True),
                ("task", ["a"]),
                ("agent", 3),
                ("turn", -1),
                ("turn", 0.5),
                ("prompt", 3),
                ("prompt", [{"role": "user"}]),
                ("reply", None),
                ("reward", "1"),
                ("reward", math.nan),
                ("reward", 10**400),
                ("advantage", math.inf),
                ("advantage", True),
                ("episode", {}),
                ("action", 0.5),
                ("tokens", ["a"]),
                ("tokens", [2**70]),
                ("logps", "x"),
                ("logps", ["-1"]),
                ("terms", {"a": "b"}),
                ("chosen", 1),
                ("malformed", "no"),
            ]
        ),
    ],
    ids=lambda given: given[:60],
)
def test_a_bad_line_is_told_with_line_and_field(tmp_path, line, says):
    path = tmp_path / "rollouts.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + line + "\n")
    with pytest.raises(BadFile) as told:
        audit(path)
    assert says in str(told.value)
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)


def test_files_that_are_none_are_told(tmp_path):
    for path, content in ((tmp_path / "none", None), (tmp_path / "empty", b""), (tmp_path / "bytes", b"\xff\xfe\n")):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(BadFile) as told:
            audit(path)
        assert str(path) in str(told.value)


def test_odd_values_are_data(tmp_path):
    rows = [
        ROW | {"prompt": "\ud800", "reply": "\u2028</script>", "agent": "\x1b[31ma", "reward": 1e99, "logps": [None]},
        ROW | {"prompt": "\ud800", "reply": "", "reward": -1e99, "advantage": 5, "logps": [10**400], "tokens": [1]},
        ROW | {"group": "other", "x": [], "reply": "\x00"},
    ]
    found = audit(written(tmp_path, rows))
    assert 6 in faults(found)
    assert "\x1b" not in text(found)
