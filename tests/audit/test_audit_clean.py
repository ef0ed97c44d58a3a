"""`masgym.audit`: a clean file is clean, and what could not be looked at is said."""

import time

import pytest
from rollout_files import centred, divided, faults, flat, sets, tree, written

from masgym.audit import audit, text


@pytest.mark.parametrize("advantages", [divided, centred])
def test_a_clean_tree_is_clean(tmp_path, advantages):
    found = audit(written(tmp_path, tree(advantages=advantages)))
    assert found.ok, text(found)
    assert (found.rows, found.groups, found.tasks, found.episodes) == (40 * 3 * 2 * 6, 40 * 3 * 2, 40, 40)
    assert ("standard deviation" in found.advantage) == (advantages is divided)
    assert found.unchecked == (
        "whether a later speaker sees an earlier one: 5 tasks played several times, with first replies that differ "
        "are needed, 0 came",
    )
    assert found.agents == ("tool_0", "actor_0")


def test_clean_playthroughs_and_clean_sets_are_clean(tmp_path):
    for rows in (flat(), sets()):
        found = audit(written(tmp_path, rows))
        assert found.ok, text(found)
        assert any("logps" in why for why in found.unchecked)


def test_sets_of_several_playthroughs_may_differ_in_their_members(tmp_path):
    """A router chose them."""
    rows = [row | {"episode": row["action"]} for row in sets() if row["action"] % 2 or row["agent"] == "worker_0"]
    found = audit(written(tmp_path, rows))
    assert found.ok, text(found)


def test_candidates_of_several_playthroughs_need_the_field_episode(tmp_path):
    rows = [{key: x for key, x in row.items() if key != "episode"} for row in flat()]
    found = audit(written(tmp_path, rows))
    assert found.ok, text(found)
    assert "give 'episode'" in text(found)
    assert any("'episode'" in why for why in found.unchecked)


def test_replies_that_are_all_malformed_are_no_fault_of_the_trainer(tmp_path):
    """They rightly earn one reward and no term, and nothing moves; without the field nobody can know."""
    rows = list(tree())
    for row in rows:
        row.update(reward=-0.5, advantage=0.0, terms={"legal": 0.0})
        row["prompt"] = f"Turn {row['turn'] + 1} of 3: task {row['task']} for {row['agent']}"
    assert faults(audit(written(tmp_path, rows))) == {2, 5, 9}
    found = audit(written(tmp_path, [row | {"malformed": True} for row in rows]))
    assert found.ok, text(found)


def test_a_later_speaker_need_not_see_which_malformed_reply_it_was(tmp_path):
    """Nor what the first speaker said where it always says the same, whatever the team earned afterwards."""
    changes = [{"malformed": True}, {"reply": "L"}]
    for change in changes:
        rows = []
        for row in flat(turns=1):
            told = f"start {row['task']} is over" if row["agent"] == "actor_0" else f"start {row['task']}"
            own = change if row["agent"] == "tool_0" else {}
            rows.append(row | {"prompt": told} | own)
        found = audit(written(tmp_path, rows))
        assert found.ok, text(found)


def test_checks_with_too_few_rows_say_so(tmp_path):
    """Every one of these faults is in the file, which is too short to call it one."""
    rows = list(tree(tasks=2, turns=2))
    for row in rows:
        row.update(reward=1.0, advantage=0.0, terms={"legal": 0.0}, prompt=f"task {row['task']} for {row['agent']}")
    found = audit(written(tmp_path, rows))
    assert found.ok
    for why in (
        "whether rewards of tool_0 vary: 8 groups with different replies are needed, 4 came",
        "whether prompts of actor_0 move: 5 later prompts of it are needed, 2 came",
        "whether the term 'legal' of tool_0 is always 0: 100 replies of it are needed, 24 came",
        "whether log-probs go with what was sampled: 30 prompts with several replies are needed, 8 came",
        "whether a later speaker sees an earlier one: 5 tasks",
    ):
        assert any(why in told for told in found.unchecked), (why, found.unchecked)
    assert text(found).endswith("is in it, as far as it could be looked at")
    late = [row for row in tree(tasks=2) if row["turn"] == 2]
    says = "whether all turns are kept: 5 episodes beyond the first turn are needed, 2 came"
    assert says in audit(written(tmp_path, late)).unchecked


def test_a_large_file_takes_seconds(tmp_path):
    block = written(tmp_path, tree()).read_text()
    path = tmp_path / "large.jsonl"
    path.write_text("".join(block.replace('"task/', f'"{copy}/task/') for copy in range(70)))
    started = time.process_time()
    found = audit(path)
    assert found.rows == 100_800
    assert found.ok, text(found)
    assert time.process_time() - started < 20  # about 5 on an idle core
