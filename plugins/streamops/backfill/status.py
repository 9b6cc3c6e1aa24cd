"""Where a backfill stands: its log, its driver, its signs, and who carries it on. Reads only."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from streamops.backfill import BackfillProgress, progress_of
from streamops.control.attendance import Attendance, read_attendance
from streamops.control.backfill_plan import backfill_ids, derived_name, read_plan
from streamops.control.drivers import DriverTraces, read_traces
from streamops.control.layout import backfill_checkpoint, control_folder
from streamops.control.log import read_record
from streamops.control.snapshot import load_state
from streamops.control.state import LogState
from streamops.diagnosis.companions import read_checkpoints
from streamops.errors import StreamOpsError
from streamops.launch import DriverState, DriverStatus, Launcher, why_unseen
from streamops.operations.act_effects import nobody_since
from streamops.storage import ReadableStorage, Storage
from streamops.supervision.cli_hints import resume_command


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


class BackfillPhase(StrEnum):
    """Where a backfill stands."""

    PLANNED = "planned"
    """Its plan is kept, and nobody has begun it."""
    RUNNING = "running"
    STOPPING = "stopping"
    """Somebody has ended it, and its driver lives still."""
    WAITING = "waiting"
    """No driver lives, and a supervisor is there to start one."""
    LEFT = "left"
    """It is to run, no driver lives, and nobody is there to start one."""
    PARKED = "parked"
    STOPPED = "stopped"
    """Somebody has ended it, or its time is over; it can be gone on with."""
    FINISHED = "finished"
    UNKNOWN = "unknown"
    """What decides could not be read, or its driver can't be seen from here."""


NEEDS_A_HAND = frozenset({BackfillPhase.LEFT, BackfillPhase.PARKED, BackfillPhase.UNKNOWN})
"""Phases that do not pass without a person."""

_ALIVE = frozenset({DriverState.RUNNING, DriverState.BROKEN})
_OUT_OF_SIGHT = frozenset({DriverState.UNKNOWN, DriverState.GONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillStatus:
    """One backfill at one moment, for people."""

    stream: str
    id: str
    phase: BackfillPhase
    reason: str
    """Why it stands there."""
    percent: int | None = None
    """None where it can't be told."""
    epoch: int | None = None
    driver: DriverState | None = None
    """The launcher's word on its newest driver; None where none lives by the record."""
    attended_by: str = ""
    """Who supervises it; empty for nobody."""
    moved_at: datetime | None = None
    """The last sign of its driver or its log."""

    @property
    def is_unfinished(self) -> bool:
        """Whether anything of its range is left to read, or nobody can tell."""
        return self.phase is not BackfillPhase.FINISHED

    @property
    def needs_a_person(self) -> bool:
        """Whether it gets no further by itself, and nobody has wanted that."""
        return self.phase in NEEDS_A_HAND

    @property
    def line(self) -> str:
        """Where it stands in a sentence."""
        done = "" if self.percent is None else f", {self.percent} % done"
        return f"backfill {self.id} is {self.phase}{done}: {self.reason}"


def standing_of(facts: BackfillFacts, *, now: datetime) -> BackfillStatus:
    """The standing behind the facts."""
    phase, reason = _phase(facts, now)
    sign = facts.attendance
    return BackfillStatus(
        stream=facts.stream,
        id=facts.id,
        phase=phase,
        reason=reason,
        percent=facts.progress.percent if facts.progress else None,
        epoch=facts.state.newest.number if facts.state.newest else None,
        driver=facts.driver.state if facts.driver else None,
        attended_by=sign.by.actor if sign and not sign.is_over(now) else "",
        moved_at=facts.moved_at,
    )


def is_left_alone(facts: BackfillFacts, *, now: datetime, patience: timedelta) -> bool:
    """Whether a backfill that is to run has been without a living driver, and without a sign of anybody, for so long.

    A stamp from the future counts as now: it is of another clock.
    """
    standing = standing_of(facts, now=now)
    if facts.state.maintenance is None or not standing.needs_a_person or facts.trouble:
        return False
    signs = [facts.moved_at, facts.attendance.at if facts.attendance else None]
    newest = max((sign for sign in signs if sign), default=None)
    return newest is None or now - min(newest, now) > patience


def _phase(facts: BackfillFacts, now: datetime) -> tuple[BackfillPhase, str]:
    """What lives comes first, then what is done, then what can't be known, then what a person must settle."""
    state, driver = facts.state, facts.driver
    if facts.trouble:
        return BackfillPhase.UNKNOWN, facts.trouble
    if driver and driver.state in _ALIVE:
        wanted = state.maintenance is not None
        return BackfillPhase.RUNNING if wanted else BackfillPhase.STOPPING, _at_work(facts)
    if facts.progress and facts.progress.is_done:
        return BackfillPhase.FINISHED, "its whole range is read"
    if driver and driver.state in _OUT_OF_SIGHT:
        return BackfillPhase.UNKNOWN, f"its driver can't be seen from here: {driver.evidence}"
    if state.is_empty:
        return BackfillPhase.PLANNED, f"nobody has begun it: `{resume_command(facts.stream, facts.id)}`"
    return _phase_without_driver(facts, now)


def _phase_without_driver(facts: BackfillFacts, now: datetime) -> tuple[BackfillPhase, str]:
    state, sign = facts.state, facts.attendance
    resume = f"`{resume_command(facts.stream, facts.id)}` goes on with it"
    if state.maintenance is None:
        return BackfillPhase.STOPPED, resume
    if state.parked:
        return BackfillPhase.PARKED, f"{state.parked.reason}; when that is mended, {resume}"
    if sign is None or sign.is_over(now):
        return BackfillPhase.LEFT, f"no driver lives, and {nobody_since(sign)}: {resume}"
    return BackfillPhase.WAITING, f"no driver lives, and {sign.by.actor} is there to start one"


def _at_work(facts: BackfillFacts) -> str:
    done = facts.progress
    steps = f"{done.steps_done} of {done.steps} steps are done" if done else "its driver lives"
    return steps if facts.state.maintenance else f"{steps}, and its driver ends between two of them"
