"""With which trigger the next driver runs. Pure."""

from datetime import datetime

from streamops.control.state import LogState
from streamops.spec import StreamSpec, TriggerKind


def next_trigger(state: LogState, spec: StreamSpec, *, now: datetime) -> TriggerKind:
    """That of the claim which waits for its driver, else of the run that somebody has asked for, else of the declaration."""
    newest, asked = state.newest, state.maintenance
    if newest and newest.is_open and newest.submission is None:
        return spec.as_run(newest.claim.mode).trigger.kind
    if asked and asked.run and asked.until > now:
        return spec.as_run(asked.run).trigger.kind
    return spec.trigger.kind
