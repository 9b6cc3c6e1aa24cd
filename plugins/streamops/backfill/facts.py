"""What is known of the backfills of a stream without a look at their data: log, driver, signs. Reads only; no opinion."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from streamops.backfill import BackfillProgress, progress_of
from streamops.control.attendance import Attendance, read_attendance
from streamops.control.backfill_plan import derived_name
from streamops.control.backfill_store import backfill_ids, read_plan
from streamops.control.drivers import DriverTraces, read_traces
from streamops.control.layout import backfill_checkpoint, control_folder
from streamops.control.log import read_record
from streamops.control.snapshot import load_state
from streamops.control.state import LogState
from streamops.diagnosis.companions import read_checkpoints
from streamops.errors import StreamOpsError
from streamops.launch import DriverState, DriverStatus, Launcher, why_unseen
from streamops.storage import ReadableStorage, Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillFacts:
    """One backfill of a declared stream."""

    stream: str
    """The declared one."""
    id: str
    state: LogState = field(default_factory=LogState)
    """What its own control log says."""
    progress: BackfillProgress | None = None
    """None where it can't be read."""
    driver: DriverStatus | None = None
    """The launcher's word on its newest driver; None where the end of that is on record, or none was ever started."""
    attendance: Attendance | None = None
    """The newest sign of whoever supervises it."""
    moved_at: datetime | None = None
    """When its log grew, or its newest driver wrote something: the later of the two, by their own clocks."""
    trouble: str = ""
    """Why the rest can't be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPorts:
    """What backfills are read with."""

    storage_for: Callable[[str], Storage]
    launcher: Launcher
    state_root: str


def read_backfills(stream: str, checkpoint: str, doors: BackfillPorts) -> tuple[BackfillFacts, ...]:
    """All backfills of the declared stream with that checkpoint, by id; trouble with one is told of that one.

    StorageError where nobody can tell which there are.
    """
    ids = backfill_ids(doors.storage_for(checkpoint), checkpoint)
    return tuple(_facts(stream, checkpoint, backfill, doors) for backfill in ids)


def _facts(stream: str, checkpoint: str, backfill: str, doors: BackfillPorts) -> BackfillFacts:
    try:
        return _read(stream, checkpoint, backfill, doors)
    except StreamOpsError as error:
        return BackfillFacts(stream=stream, id=backfill, trouble=str(error))


def _read(stream: str, checkpoint: str, backfill: str, doors: BackfillPorts) -> BackfillFacts:
    """The driver is asked for after the log was read: what lives then is no thing of the past."""
    storage, address = doors.storage_for(checkpoint), backfill_checkpoint(checkpoint, backfill)
    control = control_folder(address)
    state = load_state(storage, control)
    newest = state.newest
    traces = read_traces(storage, control, newest.number) if newest and newest.is_open else ()
    driver = _driver(state, traces, doors.launcher)
    plan = read_plan(storage, checkpoint, backfill)
    own, companions = read_checkpoints(storage, address)
    root = doors.storage_for(doors.state_root)
    return BackfillFacts(
        stream=stream,
        id=backfill,
        state=state,
        progress=progress_of(plan, [facts.last_commit for facts in (own, *companions)]),
        driver=driver,
        attendance=read_attendance(root, doors.state_root, derived_name(stream, backfill)),
        moved_at=_moved_at(storage, control, state, traces),
    )


def _driver(state: LogState, traces: tuple[DriverTraces, ...], launcher: Launcher) -> DriverStatus | None:
    newest = state.newest
    if newest is None or not newest.is_open:
        return None
    if newest.submission:
        return launcher.poll(newest.submission.handle)
    if launcher.find(newest.claim.token):
        return DriverStatus(state=DriverState.RUNNING, evidence="a driver with its token lives")
    unseen = why_unseen(launcher, traces)
    return DriverStatus(state=DriverState.UNKNOWN, evidence=unseen) if unseen else None


def _moved_at(
    storage: ReadableStorage, control: str, state: LogState, traces: tuple[DriverTraces, ...]
) -> datetime | None:
    if state.is_empty:
        return None
    return max([read_record(storage, control, state.next_number - 1).at, *_moments(traces)])


def _moments(traces: Iterable[DriverTraces]) -> Iterable[datetime]:
    """When drivers wrote last; a stamp that is none is left out."""
    for sign in (sign for trace in traces for sign in (trace.heartbeat, trace.exit) if sign):
        try:
            moment = datetime.fromisoformat(sign.at)
        except ValueError:
            continue
        if moment.tzinfo:
            yield moment
