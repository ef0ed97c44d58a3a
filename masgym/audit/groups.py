"""What must hold within a group. Numbers are those of `findings.FAULTS`."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from masgym.audit.advantages import BATCH, BATCH_DIVIDED, FLIPPED, TOLERANCE, UNKNOWN, ZERO, Finish, Pair, forms_of
from masgym.audit.collect import Action, Collected, Group
from masgym.audit.findings import Finding, finding
from masgym.audit.likelihood import MOST_MASS, Agreement, agreement, mass, parted
from masgym.audit.rows import Row

LEAST_GROUPS = 8  # of an agent whose rewards never vary
ONE_OF = (  # in this order: what mixes tasks mixes prompts, too
    (3, "groups mix different tasks", "{} groups hold several tasks", lambda action: action[0].task),
    (13, "groups mix agents", "{} groups compare different agents with each other", lambda action: _speaker(action)),
    (
        3,
        "groups mix turns",
        "{} groups compare different turns with each other",
        lambda action: min(r.turn for r in action),
    ),
)


def one_problem(all_: Collected) -> Iterator[Finding]:
    """Faults 3, 13 and 1: a group has one task, the same repliers and one turn; over one state also one prompt."""
    rest = all_.groups
    for fault, title, says, key in ONE_OF:
        pairs = [_differing(group, key) for group in rest]
        yield from finding(fault, says, [pair for pair in pairs if pair], title=title)
        rest = tuple(group for group, pair in zip(rest, pairs, strict=True) if not pair)
    pairs = [_differing(group, _prompts) for group in rest if group.of_one_state]
    yield from finding(1, "{} groups hold candidates on different prompts", [pair for pair in pairs if pair])


def of_unknown_states(all_: Collected) -> int:
    """Groups whose prompts differ, and of which the file does not say whether they are of several playthroughs."""
    unknown = [group for group in all_.groups if not (group.flat or group.of_one_state)]
    return sum(bool(_differing(group, _prompts)) for group in unknown)


def rewards_that_vary(all_: Collected) -> Iterator[Finding]:
    """Fault 2, second half: an agent whose different replies, malformed ones aside, never got different rewards."""
    for agent, groups in telling_groups(all_).items():
        if len(groups) >= LEAST_GROUPS and all(group.same_reward for group in groups):
            says = f"in none of the {{}} groups of {agent} with different replies do rewards differ"
            yield from finding(2, says, [group.rows[:2] for group in groups], title=f"{agent}'s rewards never vary")


def telling_groups(all_: Collected) -> dict[str, list[Group]]:
    """Agent -> its groups with different replies."""
    by_agent: dict[str, list[Group]] = {row.agent: [] for row in all_.rows}
    for group in all_.groups:
        if not group.same_reply:
            for agent in group.agents:
                by_agent[agent].append(group)
    return by_agent


def advantages_that_fit(all_: Collected, form: str, finish: Finish) -> Iterator[Finding]:
    """Advantages of the form that the file's advantages mostly have; one reward and advantage for an action."""
    torn = [action for g in all_.groups for action in g.actions if len({(r.reward, r.advantage) for r in action}) > 1]
    yield from finding(None, "the members of {} actions have different rewards or advantages", torn)
    if form in (BATCH, BATCH_DIVIDED):
        return
    misfits = [group for group in all_.groups if form not in forms_of(*pair_of(group), finish)]
    whole = form.startswith(FLIPPED) or form in (UNKNOWN, ZERO)
    flipped, unknown = f"{FLIPPED}they reward what earned less", form if whole else f"not {form}"
    kinds: dict[str, list[tuple[Row, ...]]] = {ZERO: [], flipped: [], unknown: []}
    for group in misfits:
        kinds[_misfit(group, form, finish, flipped, unknown)].append(group.rows[:1])
    for kind, seen in kinds.items():
        yield from finding(None, f"in {{}} groups advantages are {kind}", seen, title=_TITLES.get(kind[:9], ""))


_TITLES = {ZERO[:9]: "advantages are all 0", FLIPPED[:9]: "advantages have the wrong sign"}


def _misfit(group: Group, form: str, finish: Finish, flipped: str, unknown: str) -> str:
    rewards, advantages = pair_of(group)
    if not group.same_reward and max(map(abs, advantages)) <= TOLERANCE:
        return ZERO
    turned = forms_of(rewards, [-a for a in advantages], finish.turned())
    return flipped if form.removeprefix(f"{FLIPPED}-(").removesuffix(")") in turned or form in turned else unknown


def pair_of(group: Group) -> Pair:
    """(rewards, advantages) of its actions."""
    return [action[0].reward for action in group.actions], [action[0].advantage for action in group.actions]


def likely(all_: Collected) -> Iterator[Finding]:
    """Fault 6: log-probs that no distribution has, or that what was sampled does not go with."""
    yield from finding(6, "{} replies have impossible log-probs", [(row,) for row in all_.rows if row.flaw], _flaw)
    siblings = siblings_of(all_)
    heavy = [rows for rows in siblings if mass(rows) > MOST_MASS]
    yield from finding(6, "for {} prompts the probabilities of different replies sum to more than 1", heavy)
    found = agreements(siblings)
    if parted([agreed for _, agreed in found]):
        worst = max(found, key=lambda pair: abs(pair[1].excess))[0]
        excess, chance = sum(a.excess for _, a in found), sum(a.chance for _, a in found)
        all_of = sum(a.prefixes for _, a in found)
        seen, said = (100 * (1 - (chance - e) / all_of) for e in (excess, 0.0))
        says = (
            f"over {len(found)} prompts two candidates choose the same next token in {seen:.0f} % of cases, by their "
            f"log-probs in {said:.0f} %"
        )
        yield from finding(6, f"{says} (top-k, top-p, a penalty, another temperature)", [worst])


def siblings_of(all_: Collected) -> list[list[Row]]:
    """Replies without a flaw that were drawn from one distribution."""
    return [rows for group in all_.groups for rows in _on_one_prompt(group) if not any(row.flaw for row in rows)]


def agreements(siblings: Sequence[Sequence[Row]]) -> list[tuple[Sequence[Row], Agreement]]:
    return [(rows, agreed) for rows in siblings if (agreed := agreement(rows))]


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
