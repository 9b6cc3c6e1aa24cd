"""A look at a stream in the words of whoever is on call. Pure; the same for command line, Airflow and page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from streamops.backfill.status import BackfillStatus
from streamops.control.drivers import DriverPhase, QueryBeat
from streamops.control.state import Desire, Epoch, Failure, LogState, UnsafeStart
from streamops.diagnosis.restart_plan import Safety
from streamops.failures.classify import cause_of
from streamops.failures.policy import BUDGET_WINDOW, advise_restart
from streamops.launch import DriverState
from streamops.liveness import Liveness
from streamops.operations.act_effects import nobody_since
from streamops.operations.snapshot import ActContext, Drift, drift_between
from streamops.spec import StreamSpec
from streamops.spec.wire import dag_id_of, spec_fingerprint, spec_text
from streamops.supervision.decision import RESTING, Action, Decision
from streamops.supervision.observation import EpochFacts, Observation, quiet_query
from streamops.supervision.supervisor import Look
from streamops.verdict import DatedVerdict, StreamVerdicts, Verdict


class Phase(StrEnum):
    """Where a stream stands."""

    RUNNING = "running"
    STARTING = "starting"
    """Claimed or submitted, and the query has not reported itself yet."""
    STOPPING = "stopping"
    STOPPED = "stopped"
    """On purpose."""
    IDLE = "idle"
    """Nothing is to run: a scheduled stream between two runs."""
    WAITING = "waiting"
    """It does not run, and a supervisor will start it without a person: back-off, maintenance, an end just seen."""
    NEW = "new"
    """No driver of it was ever claimed."""
    PARKED = "parked"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"
    """What decides could not be read, or its driver can't be seen from here."""


ATTENTION = frozenset({Phase.PARKED, Phase.BLOCKED, Phase.UNKNOWN})
"""Phases that do not pass without a person."""

GETTING_ON = frozenset({Phase.RUNNING, Phase.STARTING, Phase.STOPPING})
"""Phases of a driver that lives and does what it should."""

AS_WANTED = frozenset({Phase.RUNNING, Phase.STARTING, Phase.STOPPING, Phase.STOPPED, Phase.IDLE})
"""Phases in which the stream does what it was asked to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamStatus:
    """One stream at one moment."""

    stream: str
    phase: Phase
    reason: str
    dag: str = ""
    """The Airflow DAG that runs it, where Airflow does."""
    needs_attention: bool = False
    due: Action | None = None
    """What a supervisor has to do next; stays as it is where nobody supervises."""
    is_read: bool = True
    """False where its facts could not be had."""
    epoch: int | None = None
    """The newest one; None before the first claim."""
    claimed_at: datetime | None = None
    """When the newest one was claimed."""
    batch: int | None = None
    """The newest batch that the driver has reported, or else that the control log has seen committed."""
    queries: tuple[QueryBeat, ...] = ()
    """Of the living driver, as it saw them last: the stream's own first, then its companions."""
    beat_at: datetime | None = None
    """By the driver's own clock: for people, never for decisions."""
    beat_age: timedelta | None = None
    driver: DriverState | None = None
    """The launcher's word on the newest epoch's driver; None where there is no submit to ask about."""
    driver_evidence: str = ""
    liveness: Liveness | None = None
    """How a living driver gets on, by its own words; None where it was not judged."""
    host: str = ""
    desire: Desire = Desire.RUNNING
    failures_last_hour: int | None = None
    budget_left: int | None = None
    """Failures that are still restarted within the hour; None where the log could not be read."""
    next_attempt: datetime | None = None
    """When a wait ends by itself."""
    running_spec: str = ""
    """Fingerprint of what the living driver was given; empty where none lives."""
    declared_spec: str = ""
    drift: Drift | None = None
    """Running against declared, where a driver lives and both are known."""
    last_end: str = ""
    """How the newest driver ended; empty while that is not on record."""
    failure_class: str = ""
    """Why it ended, as it was judged then."""
    remedy: str = ""
    """What the policy does about the newest failure."""
    restart_advice: str = ""
    """The policy's own words on when it starts again, and why then; empty without a failure."""
    failures_in_row: int | None = None
    """Without a committed batch, and without a driver that lived long."""
    attended_by: str = ""
    attended_at: datetime | None = None
    """The newest sign of a supervisor, by its own clock."""
    unattended: str = ""
    """Since when nobody looks after the stream; empty while somebody does, or where that was not asked."""
    backfills: tuple[BackfillStatus, ...] = ()
    """Those that are not finished, where that was asked."""
    waits_for: str = ""
    """What does not answer the stream, and how that shows; empty where nothing outside is waited for."""
    dag_trouble: str = ""
    """Why its DAG, paused or missing, keeps nothing running; empty where it does, or where Airflow has not told lately."""
    checkpoint: DatedVerdict | None = None
    """The newest verdict on its checkpoint; None where that was not asked."""
    retention: DatedVerdict | None = None
    """The newest verdict on whether Kafka keeps what it has yet to read; None where that was not asked, or not of Kafka."""
    unsafe_starts: tuple[UnsafeStart, ...] = ()
    """Starts that lost or repeated data by a person's word, and that nobody has acknowledged yet."""
    unknown_records: int = 0
    """Records that only a newer version understands."""
    contradictions: int = 0
    """Records that do not fit the ones before them: the log was damaged or edited."""

    @property
    def quiet(self) -> QueryBeat | None:
        """A query of the living driver that has been planning for a while: what it reads or writes may not answer."""
        return quiet_query(self.queries) if self.phase is Phase.RUNNING else None

    @property
    def verdict(self) -> Verdict | None:
        """The worse one of checkpoint and retention; None where neither was judged."""
        return StreamVerdicts(checkpoint=self.checkpoint, retention=self.retention).worst

    @property
    def is_declared_differently(self) -> bool:
        """Whether a restart would bring something else than what runs."""
        return self.drift is not None and bool(self.drift.marks)

    @property
    def has_odd_records(self) -> bool:
        """Whether the control log holds records that were passed over."""
        return self.unknown_records > 0 or self.contradictions > 0

    def with_verdicts(self, verdicts: StreamVerdicts) -> "StreamStatus":
        """The same with what its checkpoint and its topics were judged to be: what is critical there needs a person, however
        well a driver does for now.
        """
        return replace(
            self,
            checkpoint=verdicts.checkpoint,
            retention=verdicts.retention,
            needs_attention=self.needs_attention or verdicts.worst is Verdict.CRITICAL,
        )

    @classmethod
    def unreachable(cls, spec: StreamSpec, reason: str) -> "StreamStatus":
        """A stream whose facts could not be had."""
        return cls(
            stream=spec.name,
            dag=dag_id_of(spec),
            phase=Phase.UNKNOWN,
            reason=reason,
            needs_attention=True,
            is_read=False,
            declared_spec=spec_fingerprint(spec_text(spec)),
        )


def stream_status(look: Look, spec: StreamSpec, *, around: ActContext | None = None) -> StreamStatus:
    """The status behind one look. A single look can't tell a hung driver: whether a beat moves takes two.

    Without `around`, nothing is said of who looks after the stream, nor of running against declared.
    """
    observation, decision = look.observation, look.decision
    state, now = observation.state, observation.now
    facts = _newest_open(observation)
    beat_at = _moment(facts.heartbeat.at) if facts and facts.heartbeat else None
    phase = _phase(look)
    # A scheduled stream between two runs needs nobody.
    unattended = "" if phase is Phase.IDLE else _unattended(around, state, now)
    is_left = bool(unattended) and not _was_never_begun(phase, around)
    status = StreamStatus(
        stream=spec.name,
        phase=phase,
        reason=decision.reason,
        dag=dag_id_of(spec),
        needs_attention=decision.needs_attention or phase in ATTENTION or is_left,
        due=None if decision.action in RESTING else decision.action,
        epoch=state.newest.number if state.newest else None,
        claimed_at=state.newest.claimed.at if state.newest else None,
        batch=_batch(facts, state),
        queries=facts.heartbeat.queries if facts and facts.heartbeat else (),
        beat_at=beat_at,
        beat_age=now - min(beat_at, now) if beat_at else None,
        driver=facts.status.state if facts and facts.status else None,
        driver_evidence=facts.status.evidence if facts and facts.status else "",
        liveness=decision.liveness,
        host=facts.epoch.submission.handle.host if facts and facts.epoch.submission else "",
        desire=state.desire,
        next_attempt=decision.until,
        waits_for=decision.waits_for,
        running_spec=spec_fingerprint(facts.epoch.claim.spec) if facts else "",
        declared_spec=spec_fingerprint(spec_text(spec)),
        drift=_drift(facts, spec, around),
        attended_by=around.attendance.by.actor if around and around.attendance else "",
        attended_at=around.attendance.at if around and around.attendance else None,
        unattended=unattended,
        unsafe_starts=state.unsafe_starts,
        unknown_records=state.unknown_records,
        contradictions=state.contradictions,
    )
    return _with_failures(status, state, spec, now=now)


def _with_failures(status: StreamStatus, state: LogState, spec: StreamSpec, *, now: datetime) -> StreamStatus:
    """The account of failures, and what the policy makes of it."""
    advice = advise_restart(state.failures, policy=spec.restart, now=now)
    newest = state.failures[-1] if state.failures else None
    return replace(
        status,
        failures_last_hour=_failures_last_hour(state.failures, now),
        budget_left=advice.budget_left,
        failures_in_row=advice.in_a_row,
        restart_advice=advice.reason if newest else "",
        remedy=str(spec.restart.remedy_for(newest)) if newest else "",
        last_end=_last_end(state.newest),
        failure_class=state.newest.end.failure_class if state.newest and state.newest.end else "",
    )


def _unattended(around: ActContext | None, state: LogState, now: datetime) -> str:
    """A stream that is stopped on purpose needs nobody."""
    if around is None or state.desire is Desire.STOPPED or not around.is_unattended(now):
        return ""
    return nobody_since(around.attendance)


def _phase(look: Look) -> Phase:
    """What a person must settle comes first, then what can't be known, then the driver, then what would be done."""
    observation, decision = look.observation, look.decision
    if phase := _SETTLED_BY_PEOPLE.get(decision.action):
        return phase
    is_unseen = any(facts.status and facts.status.state is DriverState.UNKNOWN for facts in observation.epochs)
    if is_unseen or decision.needs_attention:
        return Phase.UNKNOWN
    facts = _newest_open(observation)
    if facts is None or decision.until is not None:
        return _phase_without_driver(decision, observation.state)
    return _phase_of_driver(facts, observation.state)


_SETTLED_BY_PEOPLE = {
    Action.STOPPED: Phase.STOPPED,
    Action.IDLE: Phase.IDLE,
    Action.PARKED: Phase.PARKED,
    # Not on record yet, and nobody but a person can change it.
    Action.PARK: Phase.PARKED,
    Action.BLOCKED: Phase.BLOCKED,
}


def _phase_without_driver(decision: Decision, state: LogState) -> Phase:
    if decision.plan and decision.plan.safety is Safety.UNKNOWN:
        return Phase.UNKNOWN
    if decision.action is Action.CLAIM and state.newest is None:
        return Phase.NEW
    return Phase.WAITING


def _phase_of_driver(facts: EpochFacts, state: LogState) -> Phase:
    is_to_stop = state.desire is Desire.STOPPED
    if facts.status is None:
        return Phase.STOPPING if is_to_stop else Phase.STARTING
    if facts.status.state is DriverState.ENDED:
        return Phase.STOPPED if is_to_stop else Phase.WAITING
    is_yielding = state.maintenance is not None and not state.maintenance.is_time_of(state.newest)
    if is_to_stop or is_yielding:
        return Phase.STOPPING
    if facts.status.state is DriverState.BROKEN:
        return Phase.WAITING
    if any(trace.exit for trace in facts.traces):
        return Phase.STOPPING
    return _BEAT_PHASES[facts.heartbeat.phase] if facts.heartbeat else Phase.STARTING


_BEAT_PHASES = {
    DriverPhase.STARTING: Phase.STARTING,
    DriverPhase.RUNNING: Phase.RUNNING,
    DriverPhase.STOPPING: Phase.STOPPING,
    DriverPhase.ENDED: Phase.STOPPING,
}


def _newest_open(observation: Observation) -> EpochFacts | None:
    """The facts of the newest epoch, unless its end is on record."""
    newest = observation.state.newest
    numbers = {facts.epoch.number: facts for facts in observation.epochs}
    return numbers.get(newest.number) if newest else None


def _drift(facts: EpochFacts | None, spec: StreamSpec, around: ActContext | None) -> Drift | None:
    """A catch-up of a live stream is meant to be run otherwise than declared."""
    if facts is None or around is None or facts.epoch.claim.mode is not spec.own_run:
        return None
    return drift_between(facts.epoch.claim, around.declaration)


def _batch(facts: EpochFacts | None, state: LogState) -> int | None:
    if facts and facts.heartbeat and facts.heartbeat.batch >= 0:
        return facts.heartbeat.batch
    return state.position.commit if state.position and state.position.commit >= 0 else None


def _failures_last_hour(failures: Sequence[Failure], now: datetime) -> int:
    return sum(now - min(failure.at, now) < BUDGET_WINDOW for failure in failures)


def _was_never_begun(phase: Phase, around: ActContext | None) -> bool:
    """A new declaration that no supervisor has come across yet is news, not an alarm."""
    return phase is Phase.NEW and around is not None and around.attendance is None


def _last_end(newest: Epoch | None) -> str:
    """The cause that the ended driver left; its outcome alone where it left none."""
    if newest is None or newest.end is None:
        return ""
    cause = cause_of(newest.end.outcome, newest.end.text, newest.end.error_classes)
    return f"{newest.end.outcome}: {cause}" if cause else str(newest.end.outcome)


def _moment(text: str) -> datetime | None:
    """A beat's wall clock, or None when it is not one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
