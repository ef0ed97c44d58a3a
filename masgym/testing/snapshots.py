"""Checks that a snapshot, taken at any point, goes on as if nothing had happened: here, as JSON, in a new process."""

import json
import os
import subprocess
import sys

from masgym.errors import BadSnapshot
from masgym.faces import RawAEC
from masgym.game import Game
from masgym.snapshot import Snapshot
from masgym.testing.child import recipe, shown
from masgym.testing.play import must, players, walk_replies
from masgym.types import JSON, Task


def check_snapshots(game: Game, task: Task) -> None:
    """At every reply of random and oracle plays: restored on a fresh environment, the next step is the same."""
    for name, player in players(game, task).items():
        env = RawAEC(game)
        env.reset(options={"task": task})
        for before, reply in walk_replies(game, task, player):
            must(
                env.snapshot() == before, f"snapshots: the face parts from the game ({name}, turn {before.state.turn})."
            )
            at = f"({name} play, turn {before.state.turn}, {before.selection} next)"
            fresh = RawAEC(game)
            fresh.restore(before)
            must(shown(fresh) == shown(env), f"snapshots: a restored environment shows something else {at}.")
            fresh.step(reply)
            env.step(reply)
            must(shown(fresh) == shown(env), f"snapshots: a restored environment steps differently {at}.")


def check_json(game: Game, task: Task) -> None:
    """The JSON form reads back as the snapshot itself, and not into another game."""
    other = Game(domain=game.domain, workflow=game.workflow, T=game.T + 1)
    for name, player in players(game, task).items():
        for before, _ in walk_replies(game, task, player):
            at = f"({name} play, turn {before.state.turn}, {before.selection} next)"
            must(_read(before, game) == before, f"JSON: what is read back differs from what was written {at}.")
            _must_refuse(before, other)


def check_new_process(game: Game, task: Task) -> None:
    """Each play's snapshots, sent to a new process: it takes the same next step from each of them."""
    for name, player in players(game, task).items():
        here = [(before, reply) for before, reply in walk_replies(game, task, player)]
        work = {"game": recipe(game), "steps": [[before.to_json(), reply] for before, reply in here]}
        answers = _elsewhere(work)
        for (before, reply), there in zip(here, answers, strict=True):
            env = RawAEC(game)
            env.restore(before)
            env.step(reply)
            same = json.loads(json.dumps(shown(env))) == there
            must(same, f"new process: the {name} play goes on differently there (turn {before.state.turn}).")


def _read(snapshot: Snapshot, game: Game) -> Snapshot:
    try:
        return Snapshot.from_json(snapshot.to_json(), game)
    except (BadSnapshot, TypeError, ValueError) as error:
        raise AssertionError(f"JSON: a snapshot cannot be written and read back: {error}") from error


def _must_refuse(snapshot: Snapshot, game: Game) -> None:
    try:
        Snapshot.from_json(snapshot.to_json(), game)
    except BadSnapshot:
        return
    raise AssertionError("JSON: a snapshot was read into a game with another T.")


def _elsewhere(work: JSON) -> list[JSON]:
    """Runs `child.main` in a new interpreter that finds the same modules and hashes strings differently."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PYTHONHASHSEED": "random"}
    code = "from masgym.testing.child import main; main()"
    ran = subprocess.run([sys.executable, "-c", code], input=json.dumps(work), capture_output=True, text=True, env=env)
    must(ran.returncode == 0, f"new process: it failed:\n{ran.stderr[-2000:]}")
    return json.loads(ran.stdout)
