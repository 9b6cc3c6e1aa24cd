"""What an observer sees over time: how long something has not changed, and whether somebody else runs the query.

A driver runs one batch after the other and tells of each at its next beat, so it can have planned one batch more than it
has run. What lies behind that one in the offset log was planned by somebody else (a script that its unit has started
again, a notebook). Spark itself notices only when both plan the same batch.
"""

import json
from datetime import timedelta

from streamops.clock import Clock
from streamops.control.drivers import DriverPhase, Heartbeat, QueryBeat


class Stillness:
    """Remembers when each subject was first seen as it is now. Forgetting it is safe: waiting begins anew."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[str, timedelta]] = {}

    def of(self, subject: str, mark: str) -> timedelta:
        """For how long the subject has carried this mark."""
        now = self._clock.monotonic()
        known = self._seen.get(subject)
        if known is None or known[0] != mark:
            self._seen[subject] = (mark, now)
            return timedelta(0)
        return now - known[1]

    def mark(self, subject: str) -> str:
        """What the subject carried when it was looked at last; empty where it never was."""
        return self._seen.get(subject, ("", timedelta(0)))[0]

    def hand_over(self) -> str:
        """What was seen, for the next process on this stream: it need only confirm that nothing has moved since."""
        now = self._clock.monotonic()
        return json.dumps(
            {subject: [mark, (now - since).total_seconds()] for subject, (mark, since) in self._seen.items()}
        )

    def take_over(self, memory: str) -> None:
        """Go on from another process' memory; the time between the two does not count."""
        now = self._clock.monotonic()
        try:
            seen = {
                str(subject): (str(mark), now - timedelta(seconds=still))
                for subject, (mark, still) in json.loads(memory or "{}").items()
            }
        except (ValueError, TypeError, AttributeError, OverflowError):
            # Written by another release: waiting begins anew.
            return
        self._seen.update(seen)


BEATS_TO_BE_SURE = 3
"""Beats behind the one that was newest when a batch of somebody else was found. The first may have been put together
before, the second tells of a look at the query that may have been taken before."""

COUNTED = 50
"""Batches under one driver up to which their count is believed: Spark keeps a hundred progress events, and a driver that
did not get round to them for long misses some."""


def newest_own_batch(beat: Heartbeat, *, begun_at: int) -> int:
    """The newest batch that a driver can have planned when it looked at its query for this beat.

    `begun_at`: the newest planned batch of the checkpoint when the driver was claimed, -1 for none.
    """
    return max(beat.batch, begun_at) + 1


def tells_of_now(beat: Heartbeat, *, since: int, interval: timedelta) -> bool:
    """Whether a beat tells of the query later than when the beat of the sequence number `since` was the newest."""
    is_fresh = timedelta(seconds=beat.report_age_seconds) <= interval or beat.phase is DriverPhase.STARTING
    return beat.sequence >= since + BEATS_TO_BE_SURE and is_fresh


def batch_left_out(query: QueryBeat, *, begun_at: int) -> int | None:
    """The first batch since the claim that this query has not run, although it has run one behind it; None for none.

    It began behind a batch that somebody else had planned after the claim.
    """
    is_counted = query.is_exact and 0 < query.batches <= COUNTED
    return begun_at + 1 if is_counted and query.batch - query.batches > begun_at else None
