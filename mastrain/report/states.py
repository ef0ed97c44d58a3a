"""In which states training trains, and in which ones the policy alone finds itself."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from masgym.types import value
from mastrain.report.finding import Finding, percent
from mastrain.report.reading import RunFolder

Cells: TypeAlias = Mapping[tuple[int, str], float]  # (turn from 1, stage) -> decision events; mastrain.visits
DEAD, MANY_DEAD = 0.2, 0.4  # share of episodes that meet a state from which the task cannot be solved
AWAY, FAR = 0.15, 0.35  # of one side's decisions would have to move, beyond what chance explains
TOO_FEW = 0.3  # expected by chance: so few episodes tell nothing
UNSEEN = 0.1  # share of the decisions alone in states that training leaves out on purpose
CHANCE = math.sqrt(2 / math.pi)  # mean absolute value of a standard normal


@value
class Visits:
    """Decision events near the end of a run, in training and of the policy alone."""

    training: Cells
    alone: Cells
    episodes: tuple[float, float]  # how many each side stands for: events of one episode are not independent


def visits_of(run: RunFolder) -> Visits | None:
    """Of the last window of validations, and of the training steps from the first of them on."""
    history = run.history
    steps = [step for step, row in history.rows.items() if any(n.startswith("validation/visits/") for n in row)]
    if not steps:
        return None
    window = steps[-max(1, min(3, len(steps) // 2)) :]
    since = steps[-len(window) - 1] if len(steps) > len(window) else 0
    trained = [row for step, row in history.rows.items() if since < step <= window[-1]]
    training = _cells(trained, "visits/")
    alone = _cells([history.rows[step] for step in window], "validation/visits/")
    tasks = run.number("train.tasks", 1) * len(trained), run.number("train.validate_tasks", 1)
    return Visits(training=training, alone=alone, episodes=tasks) if training and alone else None


def dead_states(run: RunFolder) -> Sequence[Finding]:
    """The share of episodes that lose their task for good."""
    about, history = "dead states", run.history
    training, alone = history.late("sample/lost"), history.late("validation/lost")
    share = training if alone is None else alone
    if share is None:
        title = "Not known: the domain cannot tell, or the run did not log it"
        return [Finding(about=about, severity="unknown", title=title)] if run.trains else []
    parts = [f"{percent(training)} of the training episodes end dead"] if training is not None else []
    parts += [f"{percent(alone)} of the validation episodes come to a dead state"] if alone is not None else []
    seen = f"At the end {', '.join(parts)}."
    if share <= DEAD:
        return [
            Finding(
                about=about,
                severity="good",
                title="Few episodes come to a dead state" if share else "No episode comes to a dead state",
                seen=seen,
            )
        ]
    return [
        Finding(
            about=about,
            severity="fault" if share > MANY_DEAD else "warning",
            title=f"{percent(share)} of the episodes are lost for good",
            seen=seen,
            why="After a move that cannot be undone nothing that follows can solve the task, nor teach how to.",
            advice=(
                "`algo.lost` lower: what losing the task costs",
                "`algo.stop_hopeless=true`: no tokens for what follows",
                "`algo.guide` up: moves towards a solution count",
                "`env.level`: easier tasks first",
            ),
        )
    ]


def distance(run: RunFolder) -> Sequence[Finding]:
    """How far the states of training are from those of the policy alone: total variation distance, with what training
    leaves out on purpose told apart."""
    about, visits = "states in training and alone", visits_of(run)
    if visits is None:
        title = "Not known: no validation counted states (train.validate_every)"
        return [Finding(about=about, severity="unknown", title=title)] if run.trains else []
    reach = reached(run, visits.alone)
    unseen = 1 - sum(reach.values()) / sum(visits.alone.values())
    found = list[Finding]()
    if unseen > UNSEEN:
        found.append(_left_out(run, unseen))
    if not reach:
        return found
    inside = reached(run, visits.training)
    far, chance = total_variation(inside, reach), expected_by_chance(inside, reach, visits.episodes)
    seen = f"{percent(far)} of the decisions would have to move to another turn or stage for the two to agree"
    seen += f"; by chance alone samples of this size differ by up to about {percent(chance)}. "
    seen += _most_apart(inside, reach)
    beyond = far - chance
    if beyond <= AWAY and chance > TOO_FEW:
        few = "Too few episodes to tell"
        return [
            *found,
            Finding(about=about, severity="unknown", title=few, seen=seen, advice=("`train.validate_tasks` up",)),
        ]
    if beyond <= AWAY:
        title = f"Training sees the states that the policy meets alone ({percent(far)} apart)"
        return [*found, Finding(about=about, severity="good", title=title, seen=seen)]
    return [*found, _apart(far, beyond, seen)]


def reached(run: RunFolder, cells: Cells) -> dict[tuple[int, str], float]:
    """Those of the turns that training plays, and not lost where its episodes end there."""
    turns, ends = run.number("algo.turns", 0) or math.inf, bool(run.setting("algo.stop_hopeless", False))
    return {(turn, stage): n for (turn, stage), n in cells.items() if turn <= turns and not (ends and stage == "lost")}


def total_variation(one: Cells, other: Cells) -> float:
    """Half the sum of |p - q|: the share that would have to move. In [0, 1]."""
    p, q = _shares(one), _shares(other)
    return sum(abs(p.get(cell, 0) - q.get(cell, 0)) for cell in {*p, *q}) / 2


def expected_by_chance(one: Cells, other: Cells, episodes: tuple[float, float]) -> float:
    """About what `total_variation` comes to between samples of so many episodes from one distribution: for each cell
    the mean absolute difference of two shares, as if an episode stood for one event of its own."""
    p, q = _shares(one), _shares(other)
    size = sum(1 / n for n in episodes)
    means = [(p.get(cell, 0) + q.get(cell, 0)) / 2 for cell in {*p, *q}]
    return min(1.0, sum(CHANCE * math.sqrt(m * (1 - m) * size) for m in means) / 2)


def _left_out(run: RunFolder, unseen: float) -> Finding:
    turns, ends = run.number("algo.turns", 0), run.setting("algo.stop_hopeless", False)
    why = [f"algo.turns = {turns:g} ends its trees"] if turns else []
    why += ["algo.stop_hopeless ends lost episodes"] if ends else []
    return Finding(
        about="states in training and alone",
        severity="note",
        title=f"{percent(unseen)} of the policy's decisions alone are in states that training leaves out",
        seen=f"On purpose: {', '.join(why)}.",
        why="Cheap where those states teach little; but what to do in them is not learned.",
        advice=("`algo.turns` up, or 0 for all", "`algo.stop_hopeless=false`"),
    )


def _apart(far: float, beyond: float, seen: str) -> Finding:
    return Finding(
        about="states in training and alone",
        severity="fault" if beyond > FAR else "warning",
        title=f"Training sees other states than the policy meets alone ({percent(far)} apart)",
        seen=seen,
        why="A tree that goes on along the best of many candidates visits what a policy with one reply a turn seldom "
        "reaches; it is trained there, and judged elsewhere.",
        advice=(
            "`algo.greedy_fraction` down: go on along any candidate",
            "`algo=team_grpo` or `algo=srpo`: flat episodes visit what the policy visits",
            "`algo.temperature` nearer 1, at which it plays alone",
        ),
    )


def _most_apart(training: Cells, alone: Cells) -> str:
    """The cell that differs most."""
    p, q = _shares(training), _shares(alone)
    turn, stage = max(sorted({*p, *q}), key=lambda cell: abs(p.get(cell, 0) - q.get(cell, 0)))
    there, here = p.get((turn, stage), 0), q.get((turn, stage), 0)
    return f"Most apart: turn {turn}, {told(stage)}: {percent(there)} in training, {percent(here)} alone."


def told(stage: str) -> str:
    """A stage in words."""
    return {"lost": "lost for good", "behind": "behind the start"}.get(stage, f"from {stage} % of the way")


def _cells(rows: Sequence[Mapping[str, float]], prefix: str) -> dict[tuple[int, str], float]:
    found: dict[tuple[int, str], float] = {}
    for row in rows:
        for name, count in row.items():
            turn, slash, stage = name.removeprefix(f"{prefix}turn").partition("/")
            if name.startswith(f"{prefix}turn") and slash and turn.isdecimal():
                found[int(turn), stage] = found.get((int(turn), stage), 0) + count
    return found


def _shares(cells: Cells) -> dict[tuple[int, str], float]:
    total = sum(cells.values())
    return {cell: count / total for cell, count in cells.items()} if total else {}
