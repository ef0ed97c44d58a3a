"""Flat episodes: one joint output at each event, played to the end; every event gets the return from there on.

The Episode of a tree with one branch. Nothing is sampled twice, and nothing is thrown away.
"""

from collections.abc import Mapping
from itertools import accumulate

from masgym.rng import Key
from masgym.types import State, Task, Transition, value
from mastrain.rollout import Team, advance, count_tokens, sample_sets, scores, shaping, speakers, state_id
from mastrain.types import Candidate, Completion, Episode, Event, Lost, Prompt


@value
class FlatSettings:
    """All of them ours, as in `TreeSettings`."""

    guide: float = 0.0
    lost: float = 0.0
    stop_hopeless: bool = False


@value
class _Played:
    """One event as it was played."""

    state: State
    prompts: Mapping[str, Prompt]
    outputs: Mapping[str, Completion]
    transition: Transition

    @property
    def gained(self) -> float:
        return self.transition.gain + self.transition.penalty


async def flat(team: Team, task: Task, key: Key, settings: FlatSettings) -> Episode:
    """One episode; candidate 0 of every event is what was played.

    Where a member's reply is missing the episode cannot go on, and no return is known: none of its sets is trained on,
    all of them are counted.
    """
    state, played = team.game.initial(task), list[_Played]()
    while members := speakers(team.game, state, settings.stop_hopeless):
        prompts = {agent: team.prompt(state, agent) for agent in members}
        (outputs,) = await sample_sets(team, prompts, 1, (*key, len(played)))
        if isinstance(outputs, Lost):
            cut = [Lost(outcome=outputs.outcome, tokens=count_tokens(one.outputs.values())) for one in played]
            return Episode(key=key, task=task, events=(), final=state, failure=outputs.outcome, lost=(*cut, outputs))
        transition = await advance(team, state, outputs)
        played.append(_Played(state=state, prompts=prompts, outputs=outputs, transition=transition))
        state = transition.state
    later = list(accumulate((one.gained for one in reversed(played)), initial=0.0))[-2::-1]
    guided = [shaping(team.game, one.state, state, settings.guide, settings.lost) for one in played]
    events = [_event(task, (*key, i), one, later[i] + guided[i]) for i, one in enumerate(played)]
    return Episode(key=key, task=task, events=tuple(events), final=state)


def _event(task: Task, key: Key, played: _Played, later: float) -> Event:
    """`later`: the return of all that came after this event, and shaping."""
    state, transition = played.state, played.transition
    candidate = Candidate(
        index=0,
        completions=played.outputs,
        transition=transition,
        scores=scores(transition, later, "episode"),
        returns=played.gained + later,
        playout_tokens=0,
    )
    return Event(
        key=key,
        task=task,
        episode=int(key[-2]),
        turn=state.turn,
        phase=state.phase,
        state_id=state_id(state),
        members=tuple(played.outputs),
        prompts=played.prompts,
        candidates=(candidate,),
        chosen=0,
    )
