"""Whether topics keep their records for as long as a stream may be away. Pure."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from streamops.kafka import TopicFacts

_MILLISECOND = timedelta(milliseconds=1)


def shortfalls(topics: Iterable[TopicFacts], *, tolerated: timedelta, restart: timedelta) -> Iterator[str]:
    """For each topic that keeps its records too short: what it keeps, and what it would have to.

    Of `retention.ms` alone: how long a limit of size lasts depends on what is written.
    """
    needed = tolerated + restart
    for topic in topics:
        kept = topic.retention.time if topic.retention and topic.retention.is_deleting else None
        if kept is not None and kept < needed:
            yield (
                f"{topic.topic}: an outage of {_hours(tolerated)} is said to be tolerated, and records are kept for"
                f" {_hours(kept)} (retention.ms {kept // _MILLISECOND}): the outage and the restart after it need"
                f" retention.ms {needed // _MILLISECOND}"
            )


def _hours(duration: timedelta) -> str:
    return f"{duration / timedelta(hours=1):g} h"
