"""Any single-turn data set of reasoning-gym as a domain: one question, one answer, scored by the set's own scorer.

    reply  := text with exactly one <answer>text</answer> | text            (the answer as it stands)

Phi = the score of the team's answer; right is what scores 1. The game ends with the first answer that is acted on.
"""

import json
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from masgym.domains.programs import BLOCKS, Printed, noted, printed, program_of
from masgym.errors import BadValue, UnknownName
from masgym.foreign.reasoning_gym_source import TOOL, Items, check, item
from masgym.tags import Malformed, inside, printable
from masgym.tools.python import program_call
from masgym.types import JSON, Effect, Slot, Style, Task, ToolCall, ToolResult, value

_ACT = {"format": 0.2, "score": 0.8}
_WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "act": _ACT,
    "draft": _ACT,
    "tool": {"format": 0.1, "runs": 0.1, "score": 0.8},
}
_MOST = 4000  # characters of an answer
_RULES = "Answer a question. There is one answer to give, in the form that the question asks for."
_GRAMMAR = (
    "You may think first. Put the answer between <answer> and </answer>, exactly once; a reply without these tags is "
    "the answer as a whole."
)
_TASKS: Mapping[str, str] = {
    "act": f"Give the answer. {_GRAMMAR}",
    "draft": f"Propose the answer. {_GRAMMAR}",
    "tool": (
        f"Propose the answer. {_GRAMMAR} Or write a Python program in one fenced block (```python): all that it prints "
        f"is the answer. {BLOCKS}"
    ),
}


@value
class World:
    """A question and the team's current answer to it."""

    question: str
    expected: str  # the data set's own answer, never shown
    number: int  # of the item
    answer: str = ""  # as it is shown; "": none yet
    score: float = 0.0


@value
class ReasoningGym:
    """`config` holds fields of the data set's configuration, but for its seed and its size."""

    dataset: str
    config: Mapping[str, JSON] = field(default_factory=dict)
    seed: int = 0  # of the collection

    def __post_init__(self) -> None:
        """Raises UnknownName and BadValue for what is no data set, or cannot be played."""
        given: Any = self.seed
        if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given < 2**63:
            raise BadValue(f"seed is {given!r}; a whole number of at least 0 was expected.")
        check(self.dataset, self._config)

    @property
    def name(self) -> str:
        return f"reasoning_gym/{self.dataset}"

    @property
    def titles(self) -> Mapping[str, str]:
        return {"draft": "solver", "tool": "tool user", "act": "solver"}

    @property
    def tasks(self) -> Items:
        return Items(domain=self.name, dataset=self.dataset, config=self._config, seed=self.seed)

    def initial(self, task: Task) -> World:
        """Raises BadValue where the reasoning-gym that is installed makes another question of the task's number."""
        number = task.params.get("item")
        found = item(self.dataset, self._config, number) if isinstance(number, int) else None
        if not isinstance(number, int) or found is None or found.question != task.content.get("question"):
            raise BadValue(
                f"task {task.id} was made by reasoning-gym {task.params.get('reasoning_gym')} with config "
                f"{task.params.get('config')}; here its number gives another question."
            )
        return World(question=found.question, expected=found.answer, number=number)

    def render(self, world: World, style: Style) -> str:
        if style == "compact":
            return f"{world.question}\n{world.answer}".rstrip("\n")
        known = f"\n\nThe answer so far: {world.answer}" if world.answer else ""
        return f"{world.question}{known}"

    def brief(self, slot: Slot) -> str:
        return f"{_RULES}\n{_TASKS[_known(slot)]}"

    def form(self, slot: Slot, world: World) -> str:
        return "Reply like <answer>only the answer</answer>."

    def calls(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> tuple[ToolCall, ...]:
        """At most one at a time: the program, then the scorer."""
        said = _read(slot, reply, results)
        if isinstance(said, ToolCall):
            return (said,)
        if isinstance(said, Malformed) or len(results) > (said.program is not None):
            return ()
        asked = {"dataset": self.dataset, "config": dict(self.config), "item": world.number, "answer": said.answer}
        return (ToolCall(tool=TOOL, arguments=asked),)

    def effect(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        """A score that could not be had is 0. Raises BadValue when `results` are not those of `calls`."""
        if self.calls(slot, world, reply, results):
            raise BadValue("a reply was judged without the results of its calls; run `calls` first.")
        said = _read(slot, reply, results)
        if not isinstance(said, _Said):
            reason = said.reason if isinstance(said, Malformed) else ""
            return Effect(world=world, terms=dict.fromkeys(self.weights(slot), 0.0), note=reason, malformed=True)
        scored = results[-1]
        score = float(scored.value) if scored.outcome == "ok" else 0.0
        runs = said.program is None or not said.program.failure
        values = {"format": 1.0, "runs": float(runs), "score": score}
        shown = printable(said.answer, keep="\n").strip() or "?"
        note = noted(f"answers {_barred(shown)}" if said.program is None else "its program is its answer", said.program)
        return Effect(
            world=replace(world, answer=shown, score=score),
            terms={name: values[name] for name in self.weights(slot)},
            note=note,
            brief=shown,
            right=score == 1,
            done=True,
        )

    def weights(self, slot: Slot) -> Mapping[str, float]:
        return _WEIGHTS[_known(slot)]

    def team(self, before: World, after: World) -> float:
        """The score of the team's answer."""
        return after.score

    def potential(self, world: World) -> float:
        return world.score

    def legal(self, world: World, slot: Slot) -> tuple[str, ...]:
        return ()

    def oracle(self, world: World, slot: Slot) -> str:
        """The data set's own answer, in tags where it could be read otherwise."""
        tagged = slot == "tool" or "<answer>" in world.expected or world.expected != world.expected.strip()
        return f"<answer>{world.expected}</answer>" if tagged else world.expected

    @property
    def _config(self) -> str:
        return json.dumps(dict(self.config), sort_keys=True)


@value
class _Said:
    """What a well-formed reply comes to."""

    answer: str
    program: Printed | None  # None: it holds no program


def _read(slot: Slot, reply: str, results: tuple[ToolResult, ...]) -> _Said | Malformed | ToolCall:
    """The reply's answer, or the call of the program that gives it."""
    program = program_of(reply) if slot == "tool" and "<answer>" not in reply else None
    if isinstance(program, Malformed):
        return program
    if program is None:
        answer = inside(reply, "answer")
        return answer if isinstance(answer, Malformed) else _said(answer, None)
    if not results:
        return program_call(program, "")
    return _said(results[0].value["stdout"].strip(), printed(results[0]))


def _said(answer: str, program: Printed | None) -> _Said | Malformed:
    if not answer:
        return Malformed(reason="its answer is empty" if program is None else "no line was printed")
    if len(answer) > _MOST:
        return Malformed(reason=f"its answer is longer than {_MOST} characters")
    return _Said(answer=answer, program=program)


def _barred(text: str) -> str:
    """With a bar before every line of several, so that none can pass for another line of a prompt."""
    return text if "\n" not in text else "".join(f"\n| {line}" for line in text.split("\n"))


def _known(slot: Slot) -> Slot:
    if slot not in _WEIGHTS:
        raise UnknownName("slot of reasoning_gym", slot, _WEIGHTS)
    return slot
