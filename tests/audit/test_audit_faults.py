"""`masgym.audit`: each fault, forged, is seen by its number with an example row."""

import json
import re

import pytest
from forged_rollouts import (
    FORGED,
    a_term_never_set,
    last_turns_only,
    later_prompts_from_another_copy,
    mixed_agents,
    one_reward_for_the_tool,
    only_the_counter_moves,
)
from rollout_files import faults, flat, sets, tree, written

from masgym.audit import audit, text, to_json


@pytest.mark.parametrize(("forge", "numbers"), FORGED, ids=lambda given: getattr(given, "__name__", ""))
def test_a_forged_fault_is_seen_and_no_other(tmp_path, forge, numbers):
    path = written(tmp_path, forge(tree()))
    found = audit(path)
    assert faults(found) == numbers, text(found)
    rows = path.read_text().splitlines()
    for finding in found.findings:
        assert finding.lines
        assert all(1 <= line <= len(rows) for line in finding.lines)
        assert finding.name in text(found)
        assert finding.says in text(found)
    assert json.loads(json.dumps(to_json(found)))["ok"] is False


def test_what_was_sampled_must_go_with_the_log_probs(tmp_path):
    """Sampled among the two likeliest tokens, while log-probs are those of all four."""
    found = audit(written(tmp_path, tree(sampled={"L": 0.625, "R": 0.375})))
    assert faults(found) == {6}
    assert re.search(r"choose the same next token in \d\d % of cases, by their log-probs in \d\d %", text(found))


def test_a_later_speaker_that_is_told_nothing_is_seen(tmp_path):
    def blind(rows):
        for row in rows:
            if row["agent"] == "actor_0" and row["turn"] == 0:
                row["prompt"] = [{"role": "user", "content": f"start {row['task']}"}]
            yield row

    found = audit(written(tmp_path, blind(flat())))
    assert faults(found) == {2}
    assert "whatever was said before" in text(found)


def test_members_of_a_set_share_their_reward(tmp_path):
    rows = sets()
    rows[0]["reward"] += 1
    assert faults(audit(written(tmp_path, rows))) == {None}
    assert "members of 1 actions" in text(audit(written(tmp_path, rows)))


def test_among_malformed_replies_faults_of_the_others_are_seen(tmp_path):
    """A quarter of the replies is malformed, among them no last one of a turn."""

    def some(rows):
        return [row | {"malformed": row["agent"] == "tool_0" and row["line"] % 2 == 0} for row in rows]

    for forge, numbers in ((one_reward_for_the_tool, {2}), (only_the_counter_moves, {5}), (a_term_never_set, {9})):
        rows = [row | {"line": line} for line, row in enumerate(forge(tree()))]
        assert faults(audit(written(tmp_path, some(rows)))) == numbers


def test_prompts_of_one_event_must_not_differ_though_no_episode_is_given(tmp_path):
    rows = [row | {"episode": None} for row in later_prompts_from_another_copy(tree())]
    assert faults(audit(written(tmp_path, rows))) == {1}


def test_a_title_names_its_one_fault(tmp_path):
    for forge, title in (
        (mixed_agents, "groups mix agents"),
        (last_turns_only, "only last turns are kept"),
        (one_reward_for_the_tool, "tool_0's rewards never vary"),
    ):
        found = audit(written(tmp_path, forge(tree())))
        assert [finding.name for finding in found.findings] == [title]
        assert f"\nfault: {title}\n" in text(found)
