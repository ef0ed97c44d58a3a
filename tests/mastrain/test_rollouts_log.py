"""rollouts.jsonl: what is written is what was sampled; the auditor reads it, and would see faults of the trainer."""

import json

import pytest
from scripted_teams import play_tree, team_of

import masgym
from masgym.audit import audit, text
from masgym.rng import keyed
from mastrain import rollouts_log
from mastrain.algorithms import per_member, standardise
from mastrain.types import Action, Group


def some_moves(request, c):
    rng = keyed(*request.key, request.prompt.agent, c)
    return "".join(rng.choice(list("UDLR"), size=int(rng.integers(0, 4))))


def member_groups(episode):
    found = {}
    for event in episode.events:
        for key, action in per_member(event):
            found.setdefault(key, []).append(action)
    return [Group(key=key, actions=tuple(actions)) for key, actions in found.items()]


def set_groups(episode):
    def action(event, candidate):
        reward = sum(candidate.scores.values()) / len(candidate.scores)
        return Action(event=event, candidate=candidate, members=event.members, reward=reward)

    return [Group(key=e.key, actions=tuple(action(e, c) for c in e.candidates)) for e in episode.events]


def sampled(workflow, groups):
    game = masgym.game("sokoban", workflow, T=3)
    episode = play_tree(team_of(game, some_moves), game.domain.tasks.get("train", 0))
    made = groups(episode)
    return episode, made, list(rollouts_log.rows(1, made, standardise, game))


def audited(folder, rows):
    path = folder / "rollouts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return audit(path)


@pytest.mark.parametrize(
    ("workflow", "groups"), [("pair", member_groups), ("ensemble", member_groups), ("ensemble", set_groups)]
)
def test_what_is_written_is_clean_and_complete(tmp_path, workflow, groups):
    episode, made, rows = sampled(workflow, groups)
    found = audited(tmp_path, rows)
    assert found.ok, text(found)
    assert all("are needed" in why for why in found.unchecked)  # no field is missing; the file is short
    assert found.groups == len(made)
    assert found.episodes == 1
    assert found.rows == sum(len(event.candidates) * len(event.members) for event in episode.events)
    assert ("action" in rows[0]) == (groups is set_groups)


def test_a_team_that_only_says_malformed_things_is_clean(tmp_path):
    """As an untrained router does: what its routes earn cannot differ, and nobody else speaks."""

    def noise(request, c):
        return "".join(keyed(*request.key, request.prompt.agent, c).choice(list("xyz!"), size=3))

    for workflow, spoke in (("pair", ("tool_0", "actor_0")), ("routed", ("router_0",))):
        game, rows = masgym.game("plan_path", workflow, T=4), []
        for n in range(30):
            episode = play_tree(team_of(game, noise), game.domain.tasks.get("train", n), key=(0, 1, n, 0))
            rows += rollouts_log.rows(1, member_groups(episode), standardise, game)
        found = audited(tmp_path, rows)
        assert found.agents == spoke
        assert {finding.fault for finding in found.findings} <= {6}, text(found)  # the script's log-probs are made up


def test_rows_are_what_was_sampled():
    episode, _, rows = sampled("pair", member_groups)
    replies = iter(rows)
    for event in episode.events:
        for agent in event.members:
            for at, candidate in enumerate(event.candidates):
                row, completion = next(replies), candidate.completions[agent]
                assert row["reply"] == completion.text
                assert (row["tokens"], row["logps"]) == (list(completion.ids), list(completion.logps))
                assert row["reward"] == candidate.scores[agent]
                assert row["chosen"] == (at == event.chosen)
                assert row["prompt"][-1]["content"] == event.prompts[agent].messages[-1].content
                assert row["turn"] == event.turn
                assert row["terms"].keys() == candidate.transition.rewards[agent].local.keys()
                assert sum(row["terms"].values()) + row["penalty"] + row["team"] == pytest.approx(row["reward"])
    assert any(row["malformed"] for row in rows)
    assert next(replies, None) is None


def test_terms_that_weigh_nothing_are_left_out():
    game = masgym.game("search", "pair", T=2, level="nano")
    episode = play_tree(team_of(game, lambda request, c: "?x" if c else "=x"), game.domain.tasks.get("train", 0))
    rows = list(rollouts_log.rows(1, member_groups(episode), standardise, game))
    assert all(
        set(row["terms"]) == ({"format", "correct"} if row["agent"] == "actor_0" else {"format", "found"})
        for row in rows
    )
    assert any(row.get("tools") for row in rows)


def test_a_fault_of_the_trainer_would_be_seen(tmp_path):
    """Groups by turn alone put the tool and the actor together."""
    _, made, _ = sampled("pair", member_groups)
    by_turn = {}
    for group in made:
        by_turn.setdefault(group.actions[0].event.turn, []).extend(group.actions)
    mixed = [Group(key=("turn", turn), actions=tuple(actions)) for turn, actions in by_turn.items()]
    rows = rollouts_log.rows(1, mixed, standardise, masgym.game("sokoban", "pair", T=3))
    assert {finding.fault for finding in audited(tmp_path, rows).findings} == {13}
