"""Runs and what they came to, as JSON: `run.json` and `report.json` (report.schema.json says what the latter means)."""

from collections.abc import Mapping
from typing import Any

from masgym.episodes import plain
from masgym.errors import BadFile
from masgym.game import MOST_REWARD, MOST_TURNS
from masgym.report import to_json
from masgym.runs import Run, RunReport
from masgym.types import JSON

FORMAT = 1
_OF_GAME: Mapping[str, tuple[Any, float, float]] = {  # kind, least and most, as `Game` takes them
    "T": (int, 1, MOST_TURNS),
    "alpha": (int | float, 0, MOST_REWARD),
    "malformed": (int | float, -MOST_REWARD, 0),
    "outcome_only": (bool, False, True),
}


def report_json(out: RunReport) -> dict[str, JSON]:
    """What `report.json` holds; report.schema.json says what it means. Only "latency" depends on a clock."""
    return {"format": FORMAT, **to_json(out.report), "run": run_json(out.run), "latency": plain(out.latency)}


def run_json(run: Run) -> dict[str, JSON]:
    """What `run.json` holds."""
    return {"format": FORMAT, **plain(run)}


def run_from_json(data: Mapping[str, JSON], where: str) -> Run:
    """What `run_json` made. Raises BadFile, which names `where`."""
    known: set[str] = set(Run.__slots__)  # type: ignore[attr-defined]
    if repr(data.get("format")) != repr(FORMAT):  # true and 1.0 equal 1
        raise BadFile(f"{where}: format {repr(data.get('format'))[:80]}; this version of masgym reads format {FORMAT}.")
    if wrong := known ^ (set(data) - {"format"}):
        raise BadFile(f"{where}: the keys {', '.join(sorted(wrong))[:200]} are missing or unknown.")
    own: dict[str, Any] = {name: data[name] for name in known}
    _check_kinds(own, where)
    _check_game(own["game"], where)
    return Run(**own)


def _check_kinds(own: Mapping[str, Any], where: str) -> None:
    for name, least in (("tasks", 1), ("samples", 1), ("seed", 0)):
        if not isinstance(own[name], int) or isinstance(own[name], bool) or own[name] < least:
            raise BadFile(f"{where}, key {name!r}: {repr(own[name])[:80]}; a whole number from {least} was expected.")
    for names, kind, wanted in (
        (("masgym", "environment", "fingerprint", "split", "task_hash", "sandbox"), str, "a text"),
        (("game", "agents", "settings"), dict, "an object"),
    ):
        for name in names:
            if not isinstance(own[name], kind):
                raise BadFile(f"{where}, key {name!r}: {repr(own[name])[:80]}; {wanted} was expected.")
    for who, name in own["agents"].items():
        if not isinstance(name, str):
            raise BadFile(f"{where}, key 'agents', {who[:80]!r}: {repr(name)[:80]}; an agent's name was expected.")


def _check_game(game: Mapping[str, Any], where: str) -> None:
    for part in ("domain", "workflow"):
        if not isinstance(game.get(part), dict) or not isinstance(game[part].get("name"), str):
            raise BadFile(f"{where}, key 'game': it names no {part}.")
    for name, (kind, least, most) in _OF_GAME.items():
        found: Any = game.get(name)
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool) or not least <= found <= most:
            raise BadFile(f"{where}, key 'game', {name!r}: {repr(found)[:80]}; no game has that.")
