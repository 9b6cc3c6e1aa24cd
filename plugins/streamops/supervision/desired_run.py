"""What a stream is to run now, with which trigger, and by which clockwork its driver is judged. Pure."""

from dataclasses import replace
from datetime import datetime

from streamops.control.records import ClaimMode, Outcome
from streamops.control.state import Epoch, LogState
from streamops.spec import Mode, StreamSpec, TriggerKind
from streamops.spec.stream import Timings
from streamops.spec.wire import timings_in


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


def next_trigger(state: LogState, spec: StreamSpec, *, now: datetime) -> TriggerKind:
    """That of the run that somebody has asked for, else of the declaration. A claim for anything else is not submitted."""
    return as_asked(state, spec, wanted_run(state, spec, now=now) or spec.own_run).trigger.kind


def as_asked(state: LogState, spec: StreamSpec, run: ClaimMode) -> StreamSpec:
    """What a driver with such a claim is given, by what was asked of the run that is open."""
    asked = state.maintenance
    return spec.as_run(run, is_once=asked is not None and asked.is_once and asked.run is run)


def timings_of(epoch: Epoch, declared: Timings) -> Timings:
    """The declared timings, nowhere shorter than those its driver was given.

    A driver that was told to halt after 120 s is not gone after 30 s because somebody has changed the YAML since, and a
    supervisor that has 60 s from claim to submit is not given up after 30 s.
    """
    given = timings_in(epoch.claim.spec)
    if given is None:
        return declared
    return replace(
        declared,
        halt=max(declared.halt, given.halt),
        takeover=max(declared.takeover, given.takeover),
        start=max(declared.start, given.start),
        claim=max(declared.claim, given.claim),
        stop=max(declared.stop, given.stop),
    )
