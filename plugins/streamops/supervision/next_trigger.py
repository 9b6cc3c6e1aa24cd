"""With which trigger the next driver runs. Pure."""

from datetime import datetime

from streamops.control.records import ClaimMode
from streamops.control.state import LogState
from streamops.spec import StreamSpec, TriggerKind
from streamops.supervision.desired_run import wanted_run


def next_trigger(state: LogState, spec: StreamSpec, *, now: datetime) -> TriggerKind:
    """That of the run that somebody has asked for, else of the declaration. A claim for anything else is not submitted."""
    return as_asked(state, spec, wanted_run(state, spec, now=now) or spec.own_run).trigger.kind


def as_asked(state: LogState, spec: StreamSpec, run: ClaimMode) -> StreamSpec:
    """What a driver with such a claim is given, by what was asked of the run that is open."""
    asked = state.maintenance
    return spec.as_run(run, is_once=asked is not None and asked.is_once and asked.run is run)
