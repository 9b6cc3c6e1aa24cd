from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from streamops.checkpoint.facts import CheckpointFacts
from streamops.control.attendance import Attendance
from streamops.control.drivers import DriverPhase, DriverTraces, ExitRecord, Heartbeat, QueryBeat, QueryStep
from streamops.control.fold import fold
from streamops.control.records import (
    Author,
    Body,
    Claimed,
    ClaimMode,
    DriverEnded,
    DriverHandle,
    MaintenanceBegun,
    Outcome,
    Parked,
    Position,
    Record,
    Released,
    StartRequested,
    StopRequested,
    Submitted,
    UnknownBody,
)
from streamops.control.state import Epoch, LogState
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.policy import RestartPolicy
from streamops.launch import DriverState, DriverStatus
from streamops.liveness import LivenessKind, StallPolicy
from streamops.operations.snapshot import ActContext, Declaration
from streamops.spec import StreamSpec, Trigger
from streamops.spec.wire import spec_text
from streamops.status import Phase, StreamStatus, stream_status
from streamops.supervision.decide import decide
from streamops.supervision.decision import Action
from streamops.supervision.observation import EpochFacts, Observation
from streamops.supervision.supervisor import Look
from support.observations import planned
from support.specs import CHECKPOINT, SUPERVISOR, a_stream, seconds

NOW = datetime.fromisoformat("2026-03-01T12:00:00+00:00")
HANDLE = DriverHandle(launcher="fake", host="host-1", process="1", log="/logs/1.log")
NEW = CheckpointFacts(address=CHECKPOINT, query_id=None, last_offset=-1, last_commit=-1)


def claimed(epoch: int = 1, *, spec: StreamSpec | None = None, position: Position | None = None) -> Claimed:
    return Claimed(
        stream="orders",
        epoch=epoch,
        token=f"token-{epoch}",
        mode=ClaimMode.LIVE,
        position=position or Position(),
        spec=spec_text(spec or a_stream()),
        job_sha256="",
        library_version="0",
    )


def submitted(epoch: int = 1) -> Submitted:
    return Submitted(epoch=epoch, handle=HANDLE)


def ended(outcome: Outcome, *, epoch: int = 1, text: str = "", commit: int = -1) -> DriverEnded:
    position = Position(query_id="q" if commit >= 0 else "", offset=commit, commit=commit)
    return DriverEnded(epoch=epoch, outcome=outcome, position=position, text=text)


def a_state(*bodies: Body, at: datetime = NOW, by: Author = SUPERVISOR) -> LogState:
    return fold(
        Record(number=number, at=at, by=by, reason="because", nonce=str(number), body=body)
        for number, body in enumerate(bodies)
    )


def a_beat(
    phase: DriverPhase = DriverPhase.RUNNING, *, batch: int = 7, at: str = "2026-03-01T11:59:53+00:00"
) -> Heartbeat:
    return Heartbeat(
        epoch=1, instance="0a", token="token-1", sequence=3, phase=phase, at=at, host="host-1", pid=9, batch=batch
    )


def an_exit() -> ExitRecord:
    return ExitRecord(epoch=1, instance="0a", outcome=Outcome.FAILED, at="2026-03-01T11:59:53+00:00")


def facts_of(
    epoch: Epoch, *, driver: DriverState, beat: Heartbeat | None = None, exit_record: ExitRecord | None = None
) -> EpochFacts:
    traces: tuple[DriverTraces, ...] = ()
    if beat or exit_record:
        traces = (DriverTraces(epoch=epoch.number, instance="0a", heartbeat=beat, exit=exit_record),)
    return EpochFacts(
        epoch=epoch,
        traces=traces,
        status=DriverStatus(state=driver, evidence="seen") if epoch.submission else None,
        found=(),
        stood_still=timedelta(0),
        watched=timedelta(0),
    )


def status_of(
    state: LogState,
    *,
    driver: DriverState = DriverState.RUNNING,
    beat: Heartbeat | None = None,
    exit_record: ExitRecord | None = None,
    checkpoint: CheckpointFacts = NEW,
    conflicts: Iterable[str] = (),
    spec: StreamSpec | None = None,
    around: ActContext | None = None,
) -> StreamStatus:
    """The status after one fresh look, as the real table decides it."""
    spec = spec or a_stream()
    epochs = tuple(facts_of(epoch, driver=driver, beat=beat, exit_record=exit_record) for epoch in state.open_epochs)
    observation = Observation(
        now=NOW,
        state=state,
        epochs=epochs,
        checkpoint=None if epochs else checkpoint,
        registry_conflicts=tuple(conflicts),
    )
    if observation.checkpoint:
        observation = planned(observation, spec)
    look = Look(observation=observation, decision=decide(observation, spec, mine=frozenset()))
    return stream_status(look, spec, around=around)


def surroundings(*, signed: float | None = 1, spec: StreamSpec | None = None) -> ActContext:
    """Somebody signed so many seconds ago; the job is the one that runs."""
    attendance = None if signed is None else Attendance(stream="orders", at=NOW - seconds(signed), by=SUPERVISOR)
    declaration = Declaration(spec=spec_text(spec or a_stream()), job_sha256="", library_version="0")
    return ActContext(attendance=attendance, declaration=declaration)


RUNNING = a_state(claimed(), submitted())
STOPPED_WHILE_RUNNING = a_state(claimed(), submitted(), StopRequested(epoch=1))
FAILED_ONCE = a_state(claimed(), submitted(), ended(Outcome.FAILED, text="boom\nat line 1"))


def test_a_stream_without_a_log_is_new_and_a_claim_is_due() -> None:
    status = status_of(LogState())

    assert (status.phase, status.due, status.epoch) == (Phase.NEW, Action.CLAIM, None)
    assert not status.needs_attention


@pytest.mark.parametrize(
    ("beat", "phase"),
    [
        pytest.param(None, Phase.STARTING, id="no beat yet"),
        pytest.param(a_beat(DriverPhase.STARTING), Phase.STARTING, id="beats, no query yet"),
        pytest.param(a_beat(DriverPhase.RUNNING), Phase.RUNNING, id="runs"),
        pytest.param(a_beat(DriverPhase.STOPPING), Phase.STOPPING, id="stops on SIGTERM, without a request"),
        pytest.param(a_beat(DriverPhase.ENDED), Phase.STOPPING, id="its process is about to end"),
    ],
)
def test_a_living_driver_says_itself_how_far_it_is(beat: Heartbeat | None, phase: Phase) -> None:
    assert status_of(RUNNING, beat=beat).phase is phase


@pytest.mark.parametrize(
    ("driver", "phase", "due"),
    [
        pytest.param(DriverState.RUNNING, Phase.RUNNING, None, id="lives"),
        pytest.param(DriverState.ENDED, Phase.WAITING, Action.RECORD_END, id="gone, not on record yet"),
        pytest.param(DriverState.BROKEN, Phase.WAITING, Action.KILL, id="half of it is gone"),
        pytest.param(DriverState.UNKNOWN, Phase.UNKNOWN, None, id="unreachable is not dead"),
    ],
)
def test_the_launcher_is_asked_whether_the_driver_lives(driver: DriverState, phase: Phase, due: Action | None) -> None:
    status = status_of(RUNNING, driver=driver, beat=a_beat())

    assert (status.phase, status.due, status.driver) == (phase, due, driver)


@pytest.mark.parametrize(
    ("driver", "phase"),
    [
        pytest.param(DriverState.RUNNING, Phase.STOPPING, id="still finishing its batch"),
        pytest.param(DriverState.BROKEN, Phase.STOPPING, id="half of it is gone"),
        pytest.param(DriverState.ENDED, Phase.STOPPED, id="gone, not on record yet"),
        pytest.param(DriverState.UNKNOWN, Phase.UNKNOWN, id="unreachable is not stopped"),
    ],
)
def test_a_stop_request_turns_an_end_into_a_purpose(driver: DriverState, phase: Phase) -> None:
    assert status_of(STOPPED_WHILE_RUNNING, driver=driver, beat=a_beat()).phase is phase


def test_a_driver_that_left_its_exit_record_no_longer_runs() -> None:
    assert status_of(RUNNING, beat=a_beat(), exit_record=an_exit()).phase is Phase.STOPPING


def test_a_claim_without_submit_is_a_start() -> None:
    status = status_of(a_state(claimed()))

    assert (status.phase, status.driver, status.driver_evidence) == (Phase.STARTING, None, "")


def test_a_stopped_stream_tells_who_stopped_it() -> None:
    status = status_of(a_state(claimed(), submitted(), StopRequested(epoch=1), ended(Outcome.STOPPED)))

    assert status.phase is Phase.STOPPED
    assert status.reason == "stopped by supervise: because"
    assert not status.needs_attention


def test_a_stream_in_back_off_tells_when_it_is_tried_again_and_why_it_failed() -> None:
    status = status_of(FAILED_ONCE)

    assert status.phase is Phase.WAITING
    assert status.next_attempt == NOW + seconds(15)
    assert (status.failures_last_hour, status.budget_left) == (1, 9)
    assert status.last_end == "failed: boom"
    assert status.due is None


def test_failures_before_the_last_hour_are_not_counted() -> None:
    long_ago = a_state(claimed(), submitted(), ended(Outcome.FAILED), at=NOW - timedelta(hours=2))

    status = status_of(long_ago)

    assert (status.failures_last_hour, status.budget_left) == (0, 10)


def test_a_failure_stamped_in_the_future_counts_as_now() -> None:
    ahead = a_state(claimed(), submitted(), ended(Outcome.FAILED), at=NOW + timedelta(hours=2))

    assert status_of(ahead).failures_last_hour == 1


def test_maintenance_is_a_wait_with_an_end() -> None:
    until = NOW + timedelta(hours=1)
    status = status_of(a_state(claimed(), submitted(), ended(Outcome.STOPPED), MaintenanceBegun(until=until)))

    assert (status.phase, status.next_attempt) == (Phase.WAITING, until)


def test_a_parked_stream_needs_a_person() -> None:
    status = status_of(a_state(claimed(), submitted(), ended(Outcome.FAILED), Parked()))

    assert (status.phase, status.needs_attention, status.reason) == (Phase.PARKED, True, "because")


def test_a_stream_that_can_only_be_parked_needs_a_person_before_that_is_on_record() -> None:
    """Where nobody supervises, nobody writes that record; the stream stands still all the same."""
    history = replace(NEW, query_id="q", last_offset=41, last_commit=41)

    status = status_of(LogState(), checkpoint=history)

    assert (status.phase, status.due, status.needs_attention) == (Phase.PARKED, Action.PARK, True)


def test_a_released_stream_is_due() -> None:
    status = status_of(a_state(claimed(), submitted(), ended(Outcome.FAILED), Parked(), Released()))

    assert (status.phase, status.due, status.failures_last_hour) == (Phase.WAITING, Action.CLAIM, 0)


def test_a_stream_that_was_asked_to_run_again_is_due() -> None:
    stopped = (claimed(), submitted(), StopRequested(epoch=1), ended(Outcome.STOPPED))

    assert status_of(a_state(*stopped, StartRequested())).due is Action.CLAIM


def test_the_log_of_another_stream_blocks() -> None:
    status = status_of(LogState(), conflicts=["orders: checkpoint belongs to stream returns"])

    assert (status.phase, status.needs_attention) == (Phase.BLOCKED, True)


def test_an_older_driver_that_nobody_can_see_makes_the_stream_unknown() -> None:
    state = a_state(claimed(), submitted(), claimed(2))

    assert status_of(state, driver=DriverState.UNKNOWN, beat=a_beat()).phase is Phase.UNKNOWN


def test_the_age_of_a_beat_is_told_by_its_own_clock() -> None:
    status = status_of(RUNNING, beat=a_beat(at="2026-03-01T11:59:53+00:00"))

    assert status.beat_age == seconds(7)


@pytest.mark.parametrize(
    ("at", "age"),
    [
        pytest.param("2026-03-01T12:09:00+00:00", timedelta(0), id="a clock ahead of ours"),
        pytest.param("2026-03-01T11:59:00", seconds(60), id="without a zone: UTC"),
        pytest.param("yesterday", None, id="not a moment"),
    ],
)
def test_an_odd_stamp_of_a_beat_troubles_nobody(at: str, age: timedelta | None) -> None:
    assert status_of(RUNNING, beat=a_beat(at=at)).beat_age == age


def test_the_batch_is_the_drivers_own_or_else_the_last_one_on_record() -> None:
    before_first_batch = a_beat(batch=-1)
    resumed = a_state(claimed(position=Position(query_id="q", offset=5, commit=4)), submitted())

    assert status_of(resumed, beat=a_beat(batch=7)).batch == 7
    assert status_of(resumed, beat=before_first_batch).batch == 4
    assert status_of(RUNNING, beat=before_first_batch).batch is None


def test_how_a_living_driver_gets_on_is_told_with_the_window() -> None:
    query = QueryBeat(query_id="q", name="orders", step=QueryStep.BATCH, step_seconds=90, progress_seconds=90, batch=7)

    liveness = status_of(RUNNING, beat=replace(a_beat(), queries=(query,))).liveness

    assert liveness is not None
    assert (liveness.kind, liveness.since, liveness.advice) == (LivenessKind.WORKING, seconds(90), None)
    assert liveness.window == StallPolicy().first_batch
    assert "the batch after 7" in liveness.reason


def test_a_driver_that_does_not_live_is_not_judged() -> None:
    assert status_of(FAILED_ONCE).liveness is None


def test_a_changed_declaration_shows_while_the_old_one_runs() -> None:
    changed = a_stream(trigger=Trigger(interval=seconds(60)))

    def differs(state: LogState, spec: StreamSpec) -> bool:
        return status_of(state, beat=a_beat(), spec=spec, around=surroundings(spec=spec)).is_declared_differently

    assert differs(RUNNING, changed)
    assert not differs(RUNNING, a_stream())
    assert not differs(RUNNING, a_stream(description="other words"))
    assert not differs(FAILED_ONCE, changed)


@pytest.mark.parametrize(
    ("state", "signed", "is_unattended", "needs_attention"),
    [
        pytest.param(RUNNING, 90, False, False, id="signed just in time"),
        pytest.param(RUNNING, 91, True, True, id="runs, and nobody would restart it"),
        pytest.param(RUNNING, None, True, True, id="runs, and nobody ever signed"),
        pytest.param(FAILED_ONCE, 91, True, True, id="its next attempt will not come"),
        pytest.param(STOPPED_WHILE_RUNNING, 91, False, False, id="stopped on purpose"),
        pytest.param(LogState(), None, True, False, id="declared, and not come across yet"),
        pytest.param(LogState(), 91, True, True, id="never begun, and left"),
        pytest.param(RUNNING, -500, False, False, id="a clock that is ahead counts as now"),
    ],
)
def test_a_stream_that_is_meant_to_run_needs_somebody_who_looks_after_it(
    state: LogState, signed: float | None, is_unattended: bool, needs_attention: bool
) -> None:
    status = status_of(state, beat=a_beat(), around=surroundings(signed=signed))

    assert (bool(status.unattended), status.needs_attention) == (is_unattended, needs_attention)


def test_who_attends_and_since_when_nobody_does_is_told() -> None:
    status = status_of(RUNNING, beat=a_beat(), around=surroundings(signed=300))

    assert status.unattended == "nobody has attended to it since 2026-03-01T11:55:00+00:00 (supervise)"
    assert (status.attended_by, status.attended_at) == ("supervise", NOW - seconds(300))


def test_whoever_does_not_ask_for_attendance_gets_no_alarm() -> None:
    status = status_of(RUNNING, beat=a_beat())

    assert (status.unattended, status.needs_attention, status.drift) == ("", False, None)


def test_failures_are_told_by_class_remedy_and_row() -> None:
    end = replace(ended(Outcome.FAILED), failure_class="source-unavailable", remedy="wait-for-source")
    twice = a_state(claimed(), submitted(), end, claimed(2), submitted(2), replace(end, epoch=2))

    status = status_of(twice)

    assert (status.failure_class, status.remedy, status.failures_in_row) == (
        "source-unavailable",
        "wait-for-source",
        2,
    )
    assert status.restart_advice == "failure 2 in a row without a committed batch (source-unavailable)"


def test_a_declared_remedy_is_the_one_that_counts() -> None:
    end = replace(ended(Outcome.FAILED), failure_class="out-of-memory", remedy="retry-few")
    policy = RestartPolicy(jitter=0, remedies=((FailureClass.OUT_OF_MEMORY, Remedy.BACK_OFF),))

    assert status_of(a_state(claimed(), submitted(), end), spec=a_stream(restart=policy)).remedy == "back-off"


def test_a_driver_that_did_its_work_ends_the_row() -> None:
    fruitful = ended(Outcome.FAILED, commit=4)

    assert status_of(a_state(claimed(), submitted(), fruitful)).failures_in_row == 0


def test_odd_records_are_counted() -> None:
    status = status_of(a_state(claimed(), submitted(), UnknownBody(kind="sung"), submitted(9)))

    assert (status.unknown_records, status.contradictions, status.has_odd_records) == (1, 1, True)
    assert not status_of(RUNNING).has_odd_records


def test_what_can_not_be_read_is_unknown_with_the_reason() -> None:
    status = StreamStatus.unreachable(a_stream(), "disk on fire")

    assert (status.phase, status.reason, status.needs_attention) == (Phase.UNKNOWN, "disk on fire", True)
    assert status.budget_left is None
