"""What a stream is to run now: its live query, a bounded run, or nothing. Pure."""

from datetime import datetime

from streamops.control.records import ClaimMode, Outcome
from streamops.control.state import LogState
from streamops.spec import Mode, StreamSpec


def wanted_run(state: LogState, spec: StreamSpec, *, now: datetime) -> ClaimMode | None:
    """What the next driver is for; None while nothing is to run.

    A bounded run that somebody has asked for comes before the live query, until it has finished or its time is over.
    """
    open_one = state.maintenance
    if open_one and open_one.until > now:
        return None if open_one.run is None or has_finished(state) else open_one.run
    return ClaimMode.LIVE if spec.mode is Mode.LIVE else None


def has_finished(state: LogState) -> bool:
    """Whether the run that somebody has asked for has ended by itself: it has read all that there was."""
    open_one, newest = state.maintenance, state.newest
    if open_one is None or newest is None or not open_one.is_time_of(newest):
        return False
    return newest.end is not None and newest.end.outcome is Outcome.FINISHED
