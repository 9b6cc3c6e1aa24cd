"""Whether somebody else runs a query on the checkpoint while a driver of ours does. Pure.

A driver runs one batch after the other and tells of each at its next beat, so it can have planned one batch more than it
has run. What lies behind that one in the offset log was planned by somebody else (a script that its unit has started
again, a notebook). Spark itself notices only when both plan the same batch.
"""

from datetime import timedelta

from streamops.control.drivers import DriverPhase, Heartbeat, QueryBeat

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
