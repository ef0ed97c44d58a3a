"""What must hold along an episode, and for all replies. Numbers are those of `findings.FAULTS`."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from masgym.audit.collect import Collected
from masgym.audit.findings import Finding, finding
from masgym.audit.rows import Id, Row

STUCK, LEAST_LATER = 0.95, 5  # share of an agent's later prompts that show the start position; how many it must have
LONE, LEAST_LONG = 0.5, 5  # share of the episodes beyond their first turn that hold one turn; how many there must be
LEAST_TASKS = 5  # in which what an earlier speaker said never reached a later one
LEAST_TERMS = 100  # replies in which a term is always 0


def prompts_that_move(all_: Collected) -> Iterator[Finding]:
    """Fault 5: an agent's later prompts show what its first prompt of the episode showed, though more than malformed
    replies came in between."""
    for agent, pairs in later_prompts(all_).items():
        stuck = [pair for pair in pairs if pair[0].position == pair[1].position]
        if len(pairs) >= LEAST_LATER and len(stuck) >= STUCK * len(pairs):
            says = f"{{}} of {len(pairs)} later prompts of {agent} show the position of its first one"
            yield from finding(5, f"{says} (unless nothing that was done ever had an effect)", stuck)


def later_prompts(all_: Collected) -> dict[str, list[tuple[Row, Row]]]:
    """Agent -> (its first prompt of an episode, a later one that something was done before)."""
    later: dict[str, list[tuple[Row, Row]]] = defaultdict(list)
    for rows in all_.episodes.values():
        starts: dict[str, Row] = {}
        busy = _busy_turns(rows)
        for row in _one_a_turn(rows):
            start = starts.setdefault(row.agent, row)
            if any(start.turn <= turn < row.turn for turn in busy):
                later[row.agent].append((start, row))
    return later


def all_turns(all_: Collected) -> Iterator[Finding]:
    """Fault 13, second half: episodes of which nothing but one late turn is kept."""
    long, lone = late_episodes(all_)
    if len(long) >= LEAST_LONG and len(lone) >= LONE * len(long):
        says = f"{{}} of {len(long)} episodes beyond the first turn hold nothing but their last"
        yield from finding(13, says, lone, title="only last turns are kept")


def late_episodes(all_: Collected) -> tuple[list[Sequence[Row]], list[Sequence[Row]]]:
    """Episodes beyond their first turn, and a row of each of those that hold one turn."""
    turns = [({row.turn for row in rows}, rows) for rows in all_.episodes.values()]
    long = [(kept, rows) for kept, rows in turns if max(kept) > all_.first_turn]
    lone = [rows[:1] for kept, rows in long if len(kept) == 1]
    return [rows for _, rows in long], lone


def one_start(all_: Collected) -> Iterator[Finding]:
    """Fault 10: a task's name with several first prompts of the agent that speaks first."""
    firsts = [rows[0] for rows in all_.episodes.values() if rows[0].turn == all_.first_turn]
    leader = Counter(row.agent for row in firsts).most_common(1)
    starts: dict[Id, dict[int, Row]] = defaultdict(dict)
    for row in firsts:
        if row.agent == leader[0][0]:
            starts[row.task].setdefault(row.prompt, row)
    several = [tuple(found.values())[:2] for found in starts.values() if len(found) > 1]
    yield from finding(10, "{} tasks have several first prompts in different episodes", several)


def earlier_speakers_are_seen(all_: Collected) -> Iterator[Finding]:
    """Fault 2, first half: of playthroughs of a task, the second speaker's prompt is the same whatever the first one
    said, though it earned differently. Needs `event`: members of one event rightly do not see each other."""
    for agent, tasks in seconds(all_).items():
        if len(tasks) >= LEAST_TASKS and all(blind for blind, _ in tasks):
            says = (
                f"in all {{}} tasks that were played several times {agent} is shown the same whatever was said before"
            )
            yield from finding(
                2, says, [pair for _, pair in tasks], title="a later speaker does not see an earlier one"
            )


def seconds(all_: Collected) -> dict[str, list[tuple[bool, tuple[Row, Row]]]]:
    """Second speaker -> of each task in which the first one said and earned different things, whether it saw the same
    all the same, and an example."""
    found: dict[str, list[tuple[bool, tuple[Row, Row]]]] = defaultdict(list)
    plays: dict[tuple[Id, str], list[tuple[Row, Row]]] = defaultdict(list)
    for (task, _), rows in all_.episodes.items():
        first, second = _first_two_events(rows, all_.first_turn)
        if first and second and not first.malformed:
            plays[task, second.agent].append((first, second))
    for (_, agent), pairs in plays.items():
        if len({first.reward for first, _ in pairs}) > 1 and len({first.reply for first, _ in pairs}) > 1:
            blind = len({second.prompt for _, second in pairs}) == 1
            found[agent].append((blind, pairs[0]))
    return found


def no_failures(all_: Collected) -> Iterator[Finding]:
    """Fault 7: replies that were never generated."""
    yield from finding(7, "{} replies are empty, without a single token", [(r,) for r in all_.rows if r.empty])


def terms_that_vary(all_: Collected) -> Iterator[Finding]:
    """Fault 9. A malformed reply earns none of its terms."""
    for (agent, name), said in dead_terms(all_).items():
        if len(said) >= LEAST_TERMS:
            yield from finding(9, f"in all {{}} replies of {agent} the term {name!r} is 0", [(row,) for row in said])


def dead_terms(all_: Collected) -> dict[tuple[str, str], list[Row]]:
    """(agent, a term that is 0 in all its replies) -> those that are not malformed."""
    rows: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in all_.rows:
        for name in row.terms:
            rows[row.agent, name].append(row)
    dead = {key: found for key, found in rows.items() if not any(row.terms[key[1]] for row in found)}
    return {key: [row for row in found if not row.malformed] for key, found in dead.items()}


def _one_a_turn(rows: Sequence[Row]) -> Iterator[Row]:
    """Of each agent the first row of each turn, by turns."""
    seen = dict[tuple[int, str], Row]()
    for row in rows:
        seen.setdefault((row.turn, row.agent), row)
    return (seen[key] for key in sorted(seen))


def _busy_turns(rows: Sequence[Row]) -> set[int]:
    """Those whose last reply, along the path that the episode took, was not malformed: something may have been done."""
    last = {row.turn: row for row in rows if row.chosen is not False}
    return {turn for turn, row in last.items() if not row.malformed}


def _first_two_events(rows: Sequence[Row], turn: int) -> tuple[Row | None, Row | None]:
    """The replies of the first turn's first two events along which the episode went on."""
    events: dict[Id, list[Row]] = defaultdict(list)
    for row in rows:
        if row.turn == turn and row.event is not None:
            events[row.event].append(row)
    first, second, *_ = [*list(events.values())[:2], [], []]
    return _went_on(first), _went_on(second)


def _went_on(rows: Sequence[Row]) -> Row | None:
    """The chosen candidate, or the only one; None where several agents replied at once, or nobody knows."""
    if len({row.agent for row in rows}) != 1:
        return None
    return rows[0] if len(rows) == 1 else next((row for row in rows if row.chosen), None)
