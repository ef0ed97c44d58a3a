"""verify: a solver drafts, then a verifier, who sees the draft, decides whether it is done (the verifier loop of SRPO,
arXiv 2609.08452, section 4).

verdict := word | text with exactly one <verify>word</verify>
word    := approve | reject      (either case)

A malformed verdict is penalised and counts as a rejection: nothing is done, except in the last turn.
"""

from collections.abc import Mapping

from masgym.tags import Malformed, inside
from masgym.types import Effect, Entry, Slot, State, value
from masgym.workflows.memory import this_turn

SOLVER, VERIFIER = "solver_0", "verifier_0"
APPROVE, REJECT = VERDICTS = ("approve", "reject")
WEIGHTS: Mapping[str, float] = {"format": 0.2, "verdict": 0.8}  # ours
GRAMMAR = (
    "Reply with <verify>approve</verify> or <verify>reject</verify>. You may think first; there must be exactly one "
    "<verify>."
)
FORM = "Reply with <verify>approve</verify> or <verify>reject</verify>."


@value
class Verify:
    """{draft} then {judge}"""

    @property
    def name(self) -> str:
        return "verify"

    @property
    def agents(self) -> tuple[str, ...]:
        return (SOLVER, VERIFIER)

    def slot(self, agent: str) -> Slot:
        return "draft" if agent == SOLVER else "judge"

    def active(self, state: State) -> tuple[str, ...]:
        return (self.agents[state.phase],)

    def visible(self, state: State, agent: str) -> tuple[Entry, ...]:
        """The solver is shown its last draft and the verdict as well, if nothing was done."""
        if agent == VERIFIER:
            return this_turn(state, agent)
        last = tuple(entry for entry in state.memory if entry.turn == state.turn - 1)
        return (*(() if _committed(last) else last), *(e for e in state.memory if e.turn == state.turn))

    def brief(self, agent: str, titles: Mapping[str, str]) -> str:
        if agent == SOLVER:
            return (
                f"You are the {titles['draft']} of a team of two. What you reply is done if the verifier approves it; "
                "otherwise you draft again. In the last turn it is done whatever the verifier says."
            )
        return (
            f"You are the verifier of a team of two: the {titles['draft']} drafts, you judge. What you approve is "
            "done; what you reject is not, and costs a turn, but in the last turn it is done whatever you say. Approve "
            f"what is right or leads nearer to the solution; reject the rest.\n{GRAMMAR}"
        )

    def effect(self, state: State, agent: str, reply: str) -> Effect:
        return judged(state, reply, _truth(state))

    def form(self, agent: str) -> str:
        return FORM

    def weights(self, slot: Slot) -> Mapping[str, float]:
        return WEIGHTS

    def legal(self, state: State, agent: str) -> tuple[str, ...]:
        return VERDICTS

    def oracle(self, state: State, agent: str) -> str:
        return _truth(state)

    def advance(self, state: State, effects: Mapping[str, Effect], last_turn: bool) -> tuple[Effect | None, int | None]:
        if state.phase == 0:
            return None, 1
        draft = state.memory[-1].effect
        done = last_turn or effects[VERIFIER].note == APPROVE
        return (draft if done and not draft.malformed else None), None


def parse_verdict(reply: str) -> str | Malformed:
    """One of VERDICTS, or why it is none."""
    text = inside(reply, "verify")
    if isinstance(text, Malformed):
        return text
    word = text.lower()
    return word if word in VERDICTS else Malformed(reason="the verdict is neither approve nor reject")


def judged(state: State, reply: str, truth: str) -> Effect:
    """What a verifier's reply amounts to where `truth` is the right verdict."""
    verdict = parse_verdict(reply)
    if isinstance(verdict, Malformed):
        return Effect(world=state.world, terms=dict.fromkeys(WEIGHTS, 0.0), note=verdict.reason, malformed=True)
    agrees = verdict == truth
    terms = {"format": 1.0, "verdict": float(agrees)}
    return Effect(world=state.world, terms=terms, note=verdict, brief=verdict, right=agrees)


def _truth(state: State) -> str:
    """The verdict on the last draft: whether acting on it would be right (`Effect.right`)."""
    drafts = [entry.effect for entry in state.memory if entry.slot == "draft"]
    return APPROVE if drafts and drafts[-1].right else REJECT


def _committed(turn: tuple[Entry, ...]) -> bool:
    """Whether the draft of this turn, not the last one, was done."""
    return any(e.effect.note == APPROVE for e in turn if e.agent == VERIFIER) and not any(
        e.effect.malformed for e in turn if e.agent == SOLVER
    )
