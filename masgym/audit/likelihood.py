"""Whether log-probs can be those of the distribution that replies were sampled from.

Two properties of any distribution, tried on replies to one prompt:

1. Different replies are different events, so their probabilities sum to 1 at most.
2. Two draws from q agree with probability sum q^2, which is also the mean probability of a draw. So among replies that
   share a prefix, how often the next tokens agree has the same expectation as the mean of their exp(log-prob). Top-k,
   a penalty or another temperature makes them part.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

from masgym.audit.rows import Row
from masgym.types import value

MOST_MASS = 1 + 1e-3
LEAST_GROUPS, SIGMAS, SHARE = 30, 5.0, 0.1  # a finding needs many prompts, a sure difference and a large one


@value
class Agreement:
    """Summed over the prefixes that replies to one prompt share; the expectation of `excess` is 0."""

    excess: float  # how often next tokens agree, minus what their log-probs promise
    chance: float  # how often they should differ
    prefixes: int


def mass(rows: Sequence[Row]) -> float:
    """The probabilities of the different replies to one prompt, summed."""
    different = {row.reply: row.likelihood for row in rows if row.likelihood is not None and not row.empty}
    return math.fsum(math.exp(min(likelihood, 0.0)) for likelihood in different.values())


def agreement(rows: Sequence[Row]) -> Agreement | None:
    """None where fewer than two replies have tokens and log-probs."""
    usable = [row for row in rows if row.tokens and row.logps and not row.flaw]
    found = list(_at_prefixes(usable))
    if not found:
        return None
    return Agreement(excess=math.fsum(e for e, _ in found), chance=math.fsum(c for _, c in found), prefixes=len(found))


def _at_prefixes(rows: Sequence[Row]) -> Iterator[tuple[float, float]]:
    """(excess, chance) of each prefix that two rows or more share and go on from."""
    stack = [(0, rows)]
    while stack:
        depth, alike = stack.pop()
        nexts = [(row, row.tokens[depth], row.logps[depth]) for row in alike if _long(row, depth)]  # type: ignore[index]
        if len(nexts) < 2:
            continue
        counts = Counter(token for _, token, _ in nexts)
        pairs = len(nexts) * (len(nexts) - 1)
        promised = fmean(math.exp(logp) for _, _, logp in nexts)
        yield sum(n * (n - 1) for n in counts.values()) / pairs - promised, 1 - promised
        stack += [(depth + 1, [row for row, own, _ in nexts if own == token]) for token in counts]


def _long(row: Row, depth: int) -> bool:
    return row.tokens is not None and row.logps is not None and depth < len(row.tokens)


def parted(found: Sequence[Agreement]) -> bool:
    """Whether what was sampled surely is not what the log-probs promise."""
    if len(found) < LEAST_GROUPS:
        return False
    excess, chance = math.fsum(a.excess for a in found), math.fsum(a.chance for a in found)
    noise = stdev(a.excess for a in found) * math.sqrt(len(found))
    return abs(excess) > max(SIGMAS * noise, SHARE * chance)
