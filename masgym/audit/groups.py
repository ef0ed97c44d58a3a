"""What must hold within a group. Numbers are those of `findings.FAULTS`."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from masgym.audit.advantages import UNKNOWN, forms_of
from masgym.audit.collect import Action, Collected, Group
from masgym.audit.findings import Finding, finding
from masgym.audit.likelihood import MOST_MASS, agreement, mass, parted
from masgym.audit.rows import Row

LEAST_GROUPS = 8  # of an agent whose rewards never vary
ONE_OF = (  # in this order: what mixes tasks mixes prompts, too
    (3, "{} groups hold several tasks", lambda action: action[0].task),
    (13, "{} groups compare different agents with each other", lambda action: _speaker(action)),
    (3, "{} groups compare different turns with each other", lambda action: min(r.turn for r in action)),
)


def one_problem(all_: Collected) -> Iterator[Finding]:
    """Faults 3, 13 and 1: a group has one task, the same repliers and one turn; over one state also one prompt."""
    rest = all_.groups
    for fault, says, key in ONE_OF:
        pairs = [_differing(group, key) for group in rest]
        yield from finding(fault, says, [pair for pair in pairs if pair])
        rest = tuple(group for group, pair in zip(rest, pairs, strict=True) if not pair)
    pairs = [_differing(group, _prompts) for group in rest if not group.flat]
    says = "{} groups hold candidates on different prompts (if they are of several playthroughs, give 'episode')"
    yield from finding(1, says, [pair for pair in pairs if pair])


def rewards_that_vary(all_: Collected) -> Iterator[Finding]:
    """Fault 2, second half: an agent whose different replies, malformed ones aside, never got different rewards."""
    by_agent: dict[str, list[Group]] = defaultdict(list)
    for group in all_.groups:
        if not group.same_reply:
            for agent in group.agents:
                by_agent[agent].append(group)
    for agent, groups in by_agent.items():
        if len(groups) >= LEAST_GROUPS and all(group.same_reward for group in groups):
            says = f"in none of the {{}} groups of {agent} with different replies do rewards differ"
            yield from finding(2, says, [group.rows[:2] for group in groups])


def advantages_that_fit(all_: Collected, form: str) -> Iterator[Finding]:
    """Advantages of the form that the file's advantages mostly have; one reward and advantage for an action."""
    torn = [action for g in all_.groups for action in g.actions if len({(r.reward, r.advantage) for r in action}) > 1]
    yield from finding(None, "the members of {} actions have different rewards or advantages", torn)
    misfits = [group.rows[:1] for group in all_.groups if form not in advantage_forms(group)]
    says = UNKNOWN if form == UNKNOWN else f"not {form}"
    yield from finding(None, f"in {{}} groups advantages are {says}", misfits)


def advantage_forms(group: Group) -> frozenset[str]:
    return forms_of([action[0].reward for action in group.actions], [action[0].advantage for action in group.actions])


def likely(all_: Collected) -> Iterator[Finding]:
    """Fault 6: log-probs that no distribution has, or that what was sampled does not go with."""
    yield from finding(6, "{} replies have impossible log-probs", [(row,) for row in all_.rows if row.flaw], _flaw)
    siblings = [rows for group in all_.groups for rows in _on_one_prompt(group) if not any(row.flaw for row in rows)]
    heavy = [rows for rows in siblings if mass(rows) > MOST_MASS]
    yield from finding(6, "for {} prompts the probabilities of different replies sum to more than 1", heavy)
    found = [(rows, agreed) for rows in siblings if (agreed := agreement(rows))]
    if parted([agreed for _, agreed in found]):
        worst = max(found, key=lambda pair: abs(pair[1].excess))[0]
        excess, chance = sum(a.excess for _, a in found), sum(a.chance for _, a in found)
        how = "more" if excess > 0 else "less"
        says = f"over {len(found)} prompts candidates agree {100 * abs(excess / chance):.0f} % {how} than log-probs say"
        yield from finding(6, f"{says} (top-k, top-p, a penalty, another temperature)", [worst])


def _flaw(rows: Sequence[Row]) -> str:
    return f" ({rows[0].flaw})"


def _on_one_prompt(group: Group) -> list[list[Row]]:
    """Replies that were drawn from one distribution; none where prompts differ that must not (fault 1)."""
    if not group.flat and _differing(group, _prompts):
        return []
    found: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in group.rows:
        found[row.agent, row.prompt].append(row)
    return list(found.values())


def _differing(group: Group, key: Callable[[Action], object]) -> tuple[Row, ...]:
    """A row of the first action and one of the first that differs from it; () where none does."""
    first, *others = group.actions
    wanted = key(first)
    return next(((first[0], other[0]) for other in others if key(other) != wanted), ())


def _speaker(action: Action) -> str:
    """Who a single reply is of; the same for all sets, which may differ in their members (a router chooses them)."""
    return "" if action[0].action is not None else action[0].agent


def _prompts(action: Action) -> dict[str, int]:
    """Agent -> the first prompt that it replied to."""
    return {row.agent: row.prompt for row in sorted(action, key=lambda row: -row.turn)}
