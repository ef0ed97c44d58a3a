"""The tree over sets of several members: candidate c joins every member's c-th output; only those asked are sampled."""

import pytest
from scripted_teams import play_tree, team_of

import masgym

LINES = {  # (agent, candidate) -> reply
    "worker_0": ("R", "U", "D", "L"),
    "worker_1": ("RR", "UU", "DD", "LL"),
    "tool_0": ("RU", "UR", "DL", "LD"),
    "aggregator_0": ("R", "D", "L", "U"),
    "router_0": ("<route>0,2</route>", "1", "STOP", "whoever"),
    "verifier_0": ("approve", "reject", "approve", "perhaps"),
}


def says(request, candidate):
    return LINES[request.prompt.agent][candidate]


def played(workflow, reply=says, options=None, **settings):
    """(game, a tree on its first task)"""
    game = masgym.game("plan_path", workflow, T=2, **(options or {}))
    return game, play_tree(team_of(game, reply), game.domain.tasks.get("train", 0), **settings)


def test_candidate_c_joins_the_c_th_output_of_every_member():
    _, episode = played("ensemble")
    assert [event.members for event in episode.events] == [("worker_0", "worker_1", "tool_0"), ("aggregator_0",)] * 2
    for event in episode.events:
        for c, candidate in enumerate(event.candidates):
            texts = {agent: completion.text for agent, completion in candidate.completions.items()}
            assert texts == {agent: LINES[agent][c] for agent in event.members}
            assert candidate.transition.state.log[-1][0] == texts


@pytest.mark.parametrize("style", ["full", "compact"])
def test_members_are_asked_in_the_state_before_the_set(style):
    game, episode = played("ensemble", options={"style": style})
    state = game.initial(episode.task)
    for event in episode.events:
        assert {a: p.messages for a, p in event.prompts.items()} == {
            a: game.observe(state, a).messages for a in event.members
        }
        state = event.candidates[event.chosen].transition.state


def test_the_team_term_is_the_candidates_and_local_terms_each_members_own():
    _, episode = played("ensemble", greedy_fraction=0.0)
    for event in episode.events:
        for candidate in event.candidates:
            done = candidate.transition
            assert candidate.scores == pytest.approx(
                {agent: done.team + done.rewards[agent].total for agent in event.members}
            )
        if len(event.members) > 1:
            assert len({tuple(candidate.scores.values()) for candidate in event.candidates}) > 1


def test_under_credit_turn_a_draft_is_worth_what_the_aggregator_makes_of_it():
    _, episode = played("ensemble", credit="turn")
    for candidate in episode.events[0].candidates:
        local = {a: sum(terms.local.values()) for a, terms in candidate.transition.rewards.items()}
        shared = {round(candidate.scores[a] - local[a], 9) for a in local}
        assert len(shared) == 1
        assert candidate.playout_tokens == 2  # the aggregator's move, and the end of its reply


def test_only_who_was_chosen_is_sampled():
    asked = []

    def first(request, candidate):
        asked.append((request.prompt.agent, candidate))
        return LINES[request.prompt.agent][0]

    _, episode = played("routed", first)
    assert [event.members for event in episode.events[:3]] == [("router_0",), ("worker_0", "tool_0"), ("aggregator_0",)]
    assert "worker_1" not in {agent for agent, _ in asked}


def test_the_routers_candidates_are_scored_against_each_other():
    """A malformed route pays and loses the turn; a well-formed one is worth what its turn comes to."""
    _, episode = played("routed", credit="turn", greedy_fraction=0.0)
    router = episode.events[0]
    assert router.members == ("router_0",)
    *formed, lost = router.candidates
    assert lost.scores == {"router_0": -0.5}
    for candidate in formed:
        assert candidate.scores == pytest.approx({"router_0": candidate.returns + 1})  # and its format
    chosen, single, stop, _ = (candidate.playout_tokens for candidate in router.candidates)
    assert chosen > single > stop > 0


def test_a_verifiers_candidates_differ_in_what_follows():
    _, episode = played("ensemble", credit="turn", options={"verifier": True})
    judge = next(event for event in episode.events if event.members == ("verifier_0",))
    turns = [candidate.transition.state.turn - judge.turn for candidate in judge.candidates]
    assert turns == [0, 1, 0, 1]
