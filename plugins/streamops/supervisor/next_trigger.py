"""With which trigger the next driver runs. Pure."""

from datetime import datetime

from streamops.control.records import ClaimMode
from streamops.control.state import LogState
from streamops.spec import StreamSpec, TriggerKind


def next_trigger(state: LogState, spec: StreamSpec, *, now: datetime) -> TriggerKind:
    """That of the claim which waits for its driver, else of the run that somebody has asked for, else of the declaration."""
    newest, asked = state.newest, state.maintenance
    if newest and newest.is_open and newest.submission is None:
        return as_asked(state, spec, newest.claim.mode).trigger.kind
    if asked and asked.run and asked.until > now:
        return as_asked(state, spec, asked.run).trigger.kind
    return spec.trigger.kind


def as_asked(state: LogState, spec: StreamSpec, run: ClaimMode) -> StreamSpec:
    """What a driver with such a claim is given, by what was asked of the run that is open."""
    asked = state.maintenance
    return spec.as_run(run, is_once=asked is not None and asked.is_once and asked.run is run)
