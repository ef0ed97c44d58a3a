"""The episodes of a folder that `masgym eval` wrote."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from masgym.errors import BadFile
from masgym.files import read_lines
from masgym.game import role_of
from masgym.paths import regular
from masgym.records import record_of
from masgym.tasks import object_of
from masgym.types import JSON
from masgym.viewer.episodes import Episode, Texts, summary

EPISODES, RUN = "episodes.jsonl", "run.json"
ABOUT = ("environment", "agents", "split", "tasks", "samples", "seed", "task_hash", "sandbox", "masgym", "settings")


def read(folder: Path, texts: Texts) -> Iterator[Episode]:
    """Nothing where there is no such file. Raises BadFile."""
    for where, row in read_lines(folder / EPISODES):
        record = record_of(row, where)
        events: list[Any] = row.get("events", [])
        try:
            detail = [_event(event, texts) for event in events]
            roles = [role_of(member["agent"]) for event in events for member in event["members"]]
            malformed = Counter(
                role_of(agent) for e in events for agent, judged in e["judged"].items() if judged["malformed"]
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise BadFile(f"{where}, field 'events': {error!r}; play it again, or remove the line.") from error
        yield Episode(
            summary=summary(
                kind="played",
                task=record.task,
                level=record.level,
                run=record.sample,
                success=record.success,
                ended=record.ended,
                turns=record.turns,
                returns=record.returns,
                roles=roles,
                malformed=malformed,
                reasons=record.malformed,
                cut=record.cut,
                tokens=record.tokens,
            ),
            detail={"events": detail, "optimum": record.optimum, "latency": record.latency},
        )


def _event(event: Mapping[str, Any], texts: Texts) -> dict[str, JSON]:
    members = [{**member, "messages": texts.messages(member["messages"])} for member in event["members"]]
    return {**event, "members": members}


def about(folder: Path) -> dict[str, JSON]:
    """What run.json says of the run; {} where there is none, or none that can be read: the page is of the episodes."""
    try:
        run = object_of(regular(folder / RUN).read_text(encoding="utf-8"), RUN)
    except (OSError, ValueError):
        return {}
    return {name: run[name] for name in ABOUT if run.get(name)}
