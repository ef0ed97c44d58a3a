"""What both kinds of episodes, played and sampled in training, are to the page."""

from collections.abc import Mapping, Sequence
from typing import Any

from masgym.types import JSON, value

_SHARED = 200  # characters; longer system messages are kept once


@value
class Episode:
    """A line of the table, and what is shown when it is opened (parsed only then)."""

    summary: Mapping[str, JSON]
    detail: JSON


class Texts:
    """Long texts that come again and again: kept once, named by their numbers."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def messages(self, prompt: str | Sequence[Mapping[str, Any]]) -> list[JSON]:
        """A prompt for the page: {"role", "content"}, or {"role", "text": number} where the content is kept here."""
        if isinstance(prompt, str):
            return [{"role": "", "content": prompt}]
        return [self._message(str(message.get("role", "")), message["content"]) for message in prompt]

    def _message(self, role: str, content: str) -> JSON:
        if role != "system" or len(content) < _SHARED:
            return {"role": role, "content": content}
        if content not in self._numbers:
            self._numbers[content] = len(self.all)
            self.all.append(content)
        return {"role": role, "text": self._numbers[content]}


def summary(
    *,
    kind: str,
    task: str,
    level: str,
    run: int | None,
    success: bool | None,
    ended: str,
    turns: int,
    returns: float | None,
    roles: Sequence[str],
    malformed: Mapping[str, int],
    reasons: Sequence[str],
    cut: int | None,
    tokens: int | None,
) -> dict[str, JSON]:
    """kind: "played" or "sampled". run: the sample's number, or the training step. malformed: role -> how often. cut:
    replies that the limit of their tokens ended."""
    return {
        "kind": kind,
        "task": task,
        "level": level,
        "run": run,
        "success": success,
        "ended": ended,
        "turns": turns,
        "returns": returns,
        "roles": list(dict.fromkeys(roles)),
        "malformed": dict(malformed),
        "reasons": list(dict.fromkeys(reasons)),
        "cut": cut,
        "tokens": tokens,
    }
