"""Episodes that were lost: an endpoint gave no reply for good. Success counts them as not solved, and a resumed run
plays them again, since they say nothing of who plays.

Lost are the outcomes of `masgym.agents.openai` that are the server's or the way to it, under whatever agent reports
them by that name. A request that the server refused for what was in it (context_overflow, bad_request) is not: it would
be refused again. Nor is a timeout where no `openai:` agent plays: `python:` that takes too long is itself too slow, and
to play such an episode again until it is quick enough would be to choose among results.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from masgym.agents.names import parts_of
from masgym.episodes import EpisodeRecord
from masgym.runs import Run

OF_ENDPOINT = frozenset(("bad_response", "connection", "not_found", "rate_limited", "server_error", "unauthorized"))


def is_lost(record: EpisodeRecord, run: Run) -> bool:
    """Whether a resumed run plays it again."""
    return record.ended in OF_ENDPOINT or (record.ended == "timeout" and _asks_endpoint(run))


def lost_of(run: Run, records: Iterable[EpisodeRecord]) -> Mapping[str, int]:
    """Outcome -> how many episodes were lost to it."""
    return dict(sorted(Counter(record.ended for record in records if is_lost(record, run)).items()))


def _asks_endpoint(run: Run) -> bool:
    return any(parts_of(name)[0] == "openai" for name in run.agents.values())
