"""Builders of what a supervisor sees."""

from dataclasses import replace
from datetime import datetime, timedelta

from streamops.checkpoint.facts import CheckpointFacts
from streamops.control.drivers import DriverPhase, DriverTraces, ExitRecord, Heartbeat
from streamops.control.records import DriverHandle, Outcome
from streamops.control.state import LogState
from streamops.launch import DriverState, DriverStatus
from streamops.spec import StreamSpec
from streamops.supervision.observation import EpochFacts, Observation, Reachability
from streamops.supervision.preflight import plans_for
from support.checkpoints import QUERY_ID
from support.clock import START
from support.records import token_of
from support.specs import CHECKPOINT, SUPERVISOR, a_stream

NOW = START + timedelta(hours=1)
INSTANCE = "0123456789abcdef"


def a_beat(epoch: int = 1, *, sequence: int = 7, phase: DriverPhase = DriverPhase.RUNNING) -> DriverTraces:
    """The traces of a driver that has beaten."""
    heartbeat = Heartbeat(
        epoch=epoch,
        instance=INSTANCE,
        token=token_of(epoch),
        sequence=sequence,
        phase=phase,
        at=NOW.isoformat(),
        host="host-1",
        pid=9,
        batch=3,
    )
    return DriverTraces(epoch=epoch, instance=INSTANCE, heartbeat=heartbeat, exit=None)


def an_exit(epoch: int = 1, outcome: Outcome = Outcome.FAILED, *, instance: str = INSTANCE) -> DriverTraces:
    """The traces of a driver that has left its exit record."""
    left = ExitRecord(epoch=epoch, instance=instance, outcome=outcome, at=NOW.isoformat(), text="why")
    return DriverTraces(epoch=epoch, instance=instance, heartbeat=a_beat(epoch).heartbeat, exit=left)


def unreadable_traces(epoch: int = 1) -> DriverTraces:
    """A driver was here; what it says can't be read."""
    return DriverTraces(epoch=epoch, instance=INSTANCE, heartbeat=None, exit=None, is_readable=False)


def seen(
    state: LogState,
    epoch: int = 1,
    *,
    status: DriverState | None = None,
    traces: tuple[DriverTraces, ...] = (),
    found: tuple[DriverHandle, ...] = (),
    still: float = 0,
    watched: float = 0,
    status_for: float = 0,
    unseen: str = "",
) -> EpochFacts:
    """What was seen of one open epoch."""
    return EpochFacts(
        epoch=next(known for known in state.open_epochs if known.number == epoch),
        traces=traces,
        status=DriverStatus(state=status, evidence=f"the driver is {status}") if status else None,
        found=found,
        stood_still=timedelta(seconds=still),
        watched=timedelta(seconds=watched),
        status_for=timedelta(seconds=status_for),
        unseen=unseen,
    )


def a_checkpoint(
    planned: int = -1, committed: int | None = None, *, query_id: str | None = QUERY_ID
) -> CheckpointFacts:
    """A checkpoint whose logs end at these batches; committed as planned unless told otherwise."""
    return CheckpointFacts(
        address=CHECKPOINT,
        query_id=query_id,
        last_offset=planned,
        last_commit=planned if committed is None else committed,
    )


def observed(
    state: LogState,
    *epochs: EpochFacts,
    checkpoint: CheckpointFacts | None = None,
    companions: tuple[CheckpointFacts, ...] = (),
    conflicts: tuple[str, ...] = (),
    now: datetime = NOW,
    unchanged_for: float = 0,
    epochs_ahead: int = 0,
    dependency: Reachability | None = None,
    host: str = SUPERVISOR.host,
    wish_watched: float = 0,
) -> Observation:
    """One look; the checkpoint is read only when no submitted driver may live, and is new unless told otherwise."""
    is_read = not any(facts.status for facts in epochs)
    seen = Observation(
        now=now,
        state=state,
        epochs=epochs,
        checkpoint=(checkpoint or a_checkpoint(query_id=None)) if is_read else None,
        companions=companions,
        registry_conflicts=conflicts,
        unchanged_for=timedelta(seconds=unchanged_for),
        epochs_ahead=epochs_ahead,
        dependency=dependency,
        host=host,
        wish_watched=timedelta(seconds=wish_watched),
    )
    return planned(seen) if is_read else seen


def planned(seen: Observation, spec: StreamSpec | None = None) -> Observation:
    """The same with the plans of its checkpoints, as their logs alone tell."""
    return replace(seen, plans=plans_for(seen, spec or a_stream()))
