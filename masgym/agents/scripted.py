"""`scripted:FILE`: replies from a file, by agent or role. Two forms of the file:

    {"tool": "U R", "actor": ["<answer>U R</answer>", "<answer>L</answer>"]}                              JSON
    {"agent": "actor_0", "reply": "<answer>U R</answer>", "task": "sokoban/test/0/55685f15b224"}          JSONL

An agent id goes before its role, the role before "*". An agent's n-th reply in an episode is the n-th of its list, and
the last of it again when the list is used up. `task` may be left out; lines that name a task are for that task alone,
in which the others are not used.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from masgym.agents.base import Reply, Request
from masgym.agents.names import Options
from masgym.errors import BadFile
from masgym.game import role_of
from masgym.paths import regular

Scripts: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]  # (task id or "", agent, role or "*") -> replies


class ScriptedAgent:
    """Replies what its file says. Raises BadFile at an agent that the file has no reply for."""

    def __init__(self, scripts: Scripts, source: str) -> None:
        self._scripts, self._source = scripts, source

    async def act(self, request: Request) -> Reply:
        agent = request.observation.agent
        task, said = request.state.task.id, sum(entry.agent == agent for entry in request.state.memory)
        for where in (task, ""):
            for who in (agent, role_of(agent), "*"):
                if replies := self._scripts.get((where, who)):
                    return Reply(text=replies[min(said, len(replies) - 1)])
        known = ", ".join(sorted({who for _, who in self._scripts}))
        raise BadFile(f"{self._source} has no reply for {agent} in task {task}; it has replies for {known}.")


def make(argument: str, options: Options) -> ScriptedAgent:
    """See `masgym.agents.names`. Raises BadFile for a file of another form."""
    try:
        text = regular(Path(argument)).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadFile(f"the script {argument!r} cannot be read: {error}.") from error
    scripts = read_scripts(text, argument)
    if not scripts:
        raise BadFile(f"the script {argument!r} holds no reply.")
    return ScriptedAgent(scripts, argument)


def read_scripts(text: str, source: str) -> Scripts:
    """Either form. Raises BadFile, which names file and line."""
    lines = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
    whole = _json(text)
    if isinstance(whole, dict) and not (len(lines) == 1 and "agent" in whole):
        return {("", str(who)): _replies(given, f"{source}, replies of {who!r}") for who, given in whole.items()}
    return _by_line(((f"{source}, line {n}", _json(line)) for n, line in lines))


def _by_line(rows: Iterable[tuple[str, Any]]) -> Scripts:
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for where, row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("agent"), str):
            raise BadFile(f'{where}: {{"agent": ..., "reply": ...}} was expected, both texts.')
        task = row.get("task", "")
        if not isinstance(task, str):
            raise BadFile(f"{where}, field 'task': {task!r} instead of the id of a task.")
        key = (task, row["agent"])
        found[key] = found.get(key, ()) + _replies(row.get("reply"), f"{where}, field 'reply'")
    return found


def _replies(given: Any, where: str) -> tuple[str, ...]:
    replies = [given] if isinstance(given, str) else given
    if not isinstance(replies, list) or not replies or not all(isinstance(reply, str) for reply in replies):
        raise BadFile(f"{where}: {str(given)[:80]!r} instead of a text or a list of texts.")
    return tuple(replies)


def _json(text: str) -> Any:
    """What the text says, or None where it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
