"""What the reconciler compares: how a stream is declared, how it is, and what is overdue. No I/O."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from streamops.backfill.status import BackfillFacts
from streamops.control.attendance import Attendance
from streamops.control.state import Desire, Epoch, LogState
from streamops.launch import DriverState, DriverStatus, FoundDriver
from streamops.spec import StreamSpec
from streamops.supervision.decide import decide
from streamops.supervision.decision import RESTING, Action, Decision
from streamops.supervision.end_rules import record_end
from streamops.supervision.observation import EpochFacts
from streamops.supervision.supervisor import Look
from streamops.verdict import StreamVerdicts

GRACE = timedelta(minutes=5)
"""Longer than a task of Airflow takes to be woken."""
LONG_AGO = timedelta(days=365)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """A decision that was due GRACE ago already."""

    decision: Decision
    waited_for: str = ""
    """What the stream waits or waited for, where its last failure says so: it may answer since a moment ago only."""

    @property
    def is_act(self) -> bool:
        """Whether something should have been done."""
        return self.decision.action not in RESTING

    @property
    def is_endless_wait(self) -> bool:
        """Whether it waits for a person, or for nothing that will come by itself."""
        is_bounded = self.decision.until is not None or bool(self.waited_for)
        return self.decision.action is Action.WAIT and (self.decision.needs_attention or not is_bounded)


def is_recent(moment: datetime | None, now: datetime) -> bool:
    """Whether a stamp is younger than GRACE. One that is further ahead is of a clock that is wrong, and counts as old:
    better told too early than never."""
    return moment is not None and abs(now - moment) < GRACE


def overdue(look: Look, spec: StreamSpec, *, changed_at: datetime | None, now: datetime) -> Overdue | None:
    """The decision of GRACE ago, as for somebody who had looked all the time.

    None where the log has grown or the driver has given a sign since then: whatever is due is not due for long.
    """
    if is_recent(changed_at, now):
        return None
    seen, then = look.observation, now - GRACE
    is_datable = changed_at is not None and changed_at <= then
    unchanged_for = then - changed_at if changed_at and is_datable else LONG_AGO
    past = replace(
        seen,
        now=then,
        unchanged_for=unchanged_for,
        epochs=tuple(_watched(facts, then, unchanged_for) for facts in seen.epochs),
    )
    decision = decide(past, spec, mine=frozenset())
    if is_recent(decision.last_sign_at, now):
        return None
    return Overdue(decision=decision, waited_for=seen.dependency.target if seen.dependency else "")


def _watched(facts: EpochFacts, then: datetime, unchanged_for: timedelta) -> EpochFacts:
    """As seen by somebody who was there all the time: how long nothing moved is told by the stamps."""
    sign = record_end(facts, "").last_sign_at
    stood_still = max(timedelta(0), then - sign) if sign else unchanged_for
    watched = unchanged_for + GRACE  # A claim is submitted in a moment or never.
    return replace(facts, watched=watched, status_for=watched, stood_still=stood_still)


ALIVE = frozenset({DriverState.RUNNING, DriverState.BROKEN})
"""Something of the driver lives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredStreams:
    """What a settings file says, in words that need no settings file."""

    state_root: str
    specs: tuple[StreamSpec, ...]
    wrong: tuple[tuple[str, str], ...] = ()
    """Streams whose declaration is wrong, each with what is wrong about it; a name may come several times, none means the
    file. One that is in `specs` all the same goes on as it was declared last."""
    left: frozenset[str] = frozenset()
    """Of `wrong` those that the file does not name any more and nobody has stopped."""
    changed_at: datetime | None = None
    """When the file was written last; None where that can't be told."""


class DeclarationState(StrEnum):
    """What the settings say about a checkpoint."""

    VALID = "valid"
    WRONG = "wrong"
    """The stream is declared, but nobody can be told how to run it."""
    GONE = "gone"
    """The stream was started once, and no declaration names its checkpoint any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTask:
    """What an orchestrator says about the one that should look after a stream."""

    dag: str
    is_present: bool = True
    is_paused: bool = False
    living_runs: int | None = None
    """Runs that have not ended; None where nobody asked, as the stream is attended to."""
    is_deferred: bool = False
    """Whether the supervising task sleeps and has left the watch to a trigger."""


class OrchestratorFacts(Protocol):
    """Asks the orchestrator, where there is one."""

    def task_of(self, stream: str, *, in_detail: bool) -> StreamTask | None:
        """What looks after the stream; its runs only `in_detail`. None where the orchestrator gives no answer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFacts:
    """One stream, or one checkpoint that was a stream's."""

    stream: str
    declaration: DeclarationState = DeclarationState.VALID
    problems: tuple[str, ...] = ()
    """What is wrong with its declaration. Of a valid one: the last good declaration counts in place of that."""
    has_left: bool = False
    """Whether the settings do not name it any more, though nobody has stopped it: its last declaration counts."""
    checkpoint: str = ""
    """Empty for a wrong declaration of a stream that was never started."""
    is_scheduled: bool = False
    """Whether it runs at set times only, and rests in between."""
    stop_grace: timedelta = timedelta(0)
    """How long a driver may take to obey a stop request."""
    trouble: str = ""
    """Why its facts can't be had; then only the fields above are filled."""
    state: LogState = field(default_factory=LogState)
    statuses: tuple[tuple[int, DriverStatus], ...] = ()
    """The launcher's word on each open epoch that was submitted, or that left a beat where this place can't see."""
    living: tuple[FoundDriver, ...] = ()
    """Drivers that were in the process table before the log was read, and still are after."""
    attendance: Attendance | None = None
    decision: Decision | None = None
    """What a supervisor would do next; asked only where the stream is meant to run and no driver is seen alive."""
    overdue: Overdue | None = None
    """What a supervisor should have done or waited for some time ago; asked where `decision` is."""
    changed_at: datetime | None = None
    """When the log grew last; where there is none, when the settings were written last."""
    task: StreamTask | None = None
    verdicts: StreamVerdicts = field(default_factory=StreamVerdicts)
    """The newest ones, of a stream that is declared."""
    backfills: tuple[BackfillFacts, ...] = ()
    """Of a stream that is declared; each is a stream of its own, which no declaration names."""

    @property
    def live_epochs(self) -> tuple[int, ...]:
        """Epochs of which a driver lives, by the launcher's word or the process table's."""
        polled = {number for number, status in self.statuses if status.state in ALIVE}
        return tuple(sorted(polled | {driver.epoch for driver in self.living}))

    @property
    def newest(self) -> Epoch | None:
        """The newest claim."""
        return self.state.newest

    @property
    def newest_status(self) -> DriverStatus | None:
        """The launcher's word on the newest epoch, if it is open and submitted."""
        newest = self.newest
        return dict(self.statuses).get(newest.number) if newest else None

    @property
    def is_meant_to_run(self) -> bool:
        """Whether a supervisor should keep it running: nobody stopped it, it is not parked, and it is not between two runs."""
        if self.state.desire is not Desire.RUNNING or self.state.parked:
            return False
        return not self.is_scheduled or self.state.maintenance is not None or bool(self.state.open_epochs)

    @property
    def is_down(self) -> bool:
        """Whether its newest driver is proven to have ended, on record or not, and nothing of the stream lives."""
        newest, status = self.newest, self.newest_status
        if newest is None or self.live_epochs:
            return False
        return not newest.is_open or (status is not None and status.state is DriverState.ENDED)

    @property
    def is_unseen(self) -> bool:
        """Whether an open epoch has a driver of which this place can't tell whether it lives."""
        return any(status.state in (DriverState.UNKNOWN, DriverState.GONE) for _, status in self.statuses)

    def has_fallen(self, now: datetime) -> bool:
        """Whether nothing of a stream that is meant to run lives, and the log has been silent about it for a while."""
        return (
            self.is_meant_to_run and not self.live_epochs and not self.is_unseen and not is_recent(self.changed_at, now)
        )

    @property
    def is_begun(self) -> bool:
        """Whether anybody has ever looked after it, or written into its log."""
        return self.attendance is not None or not self.state.is_empty

    def is_attended(self, now: datetime) -> bool:
        """Whether somebody has signed lately."""
        return self.attendance is not None and not self.attendance.is_over(now)

    def overstays(self, now: datetime) -> bool:
        """Whether it was stopped, its grace is over, and a driver still lives."""
        state = self.state
        if state.desire is not Desire.STOPPED or state.desired is None or not self.live_epochs:
            return False
        return now - state.desired.at > self.stop_grace


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFacts:
    """All streams of one state root at about the same moment."""

    at: datetime
    """When the reading began. A large fleet takes a while: to judge early signs by a later clock would miss people who
    are there."""
    streams: tuple[StreamFacts, ...]
    strays: tuple[FoundDriver, ...] = ()
    """Living drivers of this host whose control log is gone and whom no stream of ours claims."""
    troubles: tuple[str, ...] = ()
    """What could not be read for the fleet as a whole."""
    settings_faults: tuple[str, ...] = ()
    """Why the settings file can't be read: all streams go on as they were declared last."""
    settings_age: timedelta | None = None
    """Since the settings were written last."""
    first_seen: tuple[tuple[str, datetime], ...] = ()
    """Of streams that nobody has begun yet: when a reconciler that keeps book saw them first."""
