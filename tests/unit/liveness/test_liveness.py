"""Idle, at work, slow, stuck: the table, row by row with its reason, and the laws behind it.

Figures are the default policy: told after 10 min or 3 times the usual, restarted after 30 min or 10 times; without a pace
told after an hour, never restarted. The stream has a trigger of 10 s, 120 s of grace to stop, and a takeover time of 75 s.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.control.drivers import DriverPhase, Heartbeat, QueryBeat, QueryStep
from streamops.liveness import (
    Liveness,
    LivenessKind,
    StallAction,
    StallPolicy,
    StreamPace,
    is_history_needed,
    judge_liveness,
)
from streamops.progress import ProgressEvent, ProgressHistory, SourceProgress
from support.specs import seconds

MINUTE, HOUR, DAY = 60, 3600, 86400
NOTHING, REPORT, RESTART = None, StallAction.REPORT, StallAction.RESTART
RHYTHM = StreamPace(trigger_interval=seconds(10), stop_grace=seconds(120), takeover=seconds(75))
AT_ONCE = replace(RHYTHM, trigger_interval=seconds(0))
HOURLY = replace(RHYTHM, trigger_interval=seconds(HOUR))
POLICY = StallPolicy()

IN_BATCH, PLANNING, WAITING = QueryStep.BATCH, QueryStep.PLANNING, QueryStep.WAITING


# Builders


def a_query(step: QueryStep, still: float, *, progress: float | None = None, batch: int = 41, **changes) -> QueryBeat:
    """A query that has stood in a step for so many seconds."""
    query = QueryBeat(
        query_id="q-1",
        name="orders",
        step=step,
        step_seconds=float(still),
        progress_seconds=float(still if progress is None else progress),
        batch=batch,
        message=f"what Spark says while {step}",
    )
    return replace(query, **changes)


def a_beat(*queries: QueryBeat, phase: DriverPhase = DriverPhase.RUNNING, **changes) -> Heartbeat:
    """The beat of a driver with these queries."""
    beat = Heartbeat(
        epoch=1,
        instance="0123456789abcdef",
        token="token-1",
        sequence=7,
        phase=phase,
        at="2026-03-01T12:00:00+00:00",
        host="host-1",
        pid=9,
        executors=2,
        queries=queries,
    )
    return replace(beat, **changes)


def an_event(took: float, *, ran: bool = True, planned: float = 1, lag: int = 0, query: str = "q-1") -> ProgressEvent:
    steps = {"latestOffset": planned, "triggerExecution": took} | ({"addBatch": took} if ran else {})
    source = SourceProgress(description="KafkaV2[Subscribe[orders]]", metrics=(("maxOffsetsBehindLatest", str(lag)),))
    return ProgressEvent(
        query_id=query,
        run_id="r-1",
        name="orders",
        batch=1,
        started_at=datetime(2026, 3, 1, tzinfo=UTC),
        durations=tuple((step, seconds(taken)) for step, taken in steps.items()),
        sources=(source,),
    )


def batches(*took: float, lag: int = 0) -> ProgressHistory:
    """What is known of batches that took so many seconds."""
    return ProgressHistory(events=tuple(an_event(one, lag=lag) for one in took))


NO_HISTORY = ProgressHistory()
QUICK = batches(*[2.0] * 20)
LONG = batches(*[5 * MINUTE] * 20)
FALLEN_BEHIND = batches(*[2.0] * 20, lag=500)
IDLE_ONLY = ProgressHistory(events=tuple(an_event(0.06, ran=False) for _ in range(10)))


@dataclass(frozen=True)
class Row:
    """A driver as it beats, what is known of it, and what that means."""

    beat: Heartbeat
    history: ProgressHistory
    kind: LivenessKind
    advice: StallAction | None = NOTHING
    rhythm: StreamPace = RHYTHM
    policy: StallPolicy = POLICY
    stood_still: float = 0


def judged(row: Row) -> Liveness:
    return judge_liveness(
        row.beat, row.history, rhythm=row.rhythm, policy=row.policy, stood_still=seconds(row.stood_still)
    )


def query(
    step: QueryStep, still: float, history: ProgressHistory, kind: LivenessKind, advice=NOTHING, **changes
) -> Row:
    """The row of a driver with one query."""
    settings = {name: changes.pop(name) for name in ("rhythm", "policy", "stood_still") if name in changes}
    beat_changes = {name: changes.pop(name) for name in ("executors", "report_age_seconds") if name in changes}
    return Row(a_beat(a_query(step, still, **changes), **beat_changes), history, kind, advice, **settings)


Kind = LivenessKind

QUIET = {
    "an idle stream renews its progress every ten seconds, for three days": query(
        WAITING, 12, IDLE_ONLY, Kind.IDLE, batch=-1
    ),
    "idle for three days, and progress is not renewed: a job may have turned that off": query(
        WAITING, 3 * DAY, QUICK, Kind.IDLE
    ),
    "idle for three days, and nothing is known of it": query(WAITING, 3 * DAY, NO_HISTORY, Kind.IDLE, batch=-1),
    "one record a day: the quick batches of a week, and a day since the last": query(
        WAITING, DAY, batches(*[2.0] * 7), Kind.IDLE
    ),
    "an idle trigger that plans just now": query(PLANNING, 1, IDLE_ONLY, Kind.WORKING, batch=-1),
    "a batch as long as the ones before": query(IN_BATCH, 5 * MINUTE, LONG, Kind.WORKING),
    "a batch longer than any before, but not by far": query(IN_BATCH, 6 * MINUTE, LONG, Kind.SLOW),
    "quick batches and one of 40 s: a minute is no time": query(IN_BATCH, 40, QUICK, Kind.WORKING),
    "catching up after an outage, batches grow: the window grows with them": query(
        IN_BATCH, 16 * MINUTE, batches(*[60.0 * minutes for minutes in (1, 1, 2, 3, 5, 8)]), Kind.SLOW
    ),
    "catching up from cold: the first batch may take its hour": query(
        IN_BATCH, 55 * MINUTE, NO_HISTORY, Kind.WORKING, batch=-1
    ),
    "the first batch again after a restart: history of the driver before does not bind it": query(
        IN_BATCH, 55 * MINUTE, QUICK, Kind.WORKING, batch=-1
    ),
    "the second batch: one small batch says nothing of the next": query(
        IN_BATCH, 55 * MINUTE, batches(1.0), Kind.WORKING, batch=0
    ),
    "an hourly trigger waits for its hour, with records waiting": query(
        WAITING, 59 * MINUTE, FALLEN_BEHIND, Kind.IDLE, rhythm=HOURLY
    ),
    "an hourly trigger at a batch of 50 minutes: inside its hour": query(
        IN_BATCH, 50 * MINUTE, batches(*[4 * MINUTE] * 20), Kind.WORKING, rhythm=HOURLY
    ),
    "available-now between two batches": query(WAITING, 0.5, FALLEN_BEHIND, Kind.IDLE, rhythm=AT_ONCE),
    "available-now at a batch like the others": query(IN_BATCH, 5 * MINUTE, LONG, Kind.WORKING, rhythm=AT_ONCE),
    "a companion that has ended beside a stream at work": Row(
        a_beat(a_query(QueryStep.ENDED, DAY, query_id="q-2", name="orders-0"), a_query(IN_BATCH, 5)),
        QUICK,
        Kind.WORKING,
    ),
    "one that has ended alone": query(QueryStep.ENDED, DAY, QUICK, Kind.IDLE),
    "each look finds a batch, and progress comes all the time: quick batches in a row": query(
        IN_BATCH, DAY, QUICK, Kind.WORKING, progress=1
    ),
    "dynamic allocation gave its executors back while idle": query(WAITING, DAY, QUICK, Kind.IDLE, executors=0),
    "a batch that waits for its executors for a moment": query(IN_BATCH, 30, QUICK, Kind.WORKING, executors=0),
    "a driver whose job reads tables before its query": Row(
        a_beat(phase=DriverPhase.STARTING, phase_seconds=50.0 * MINUTE), NO_HISTORY, Kind.STARTING
    ),
    "a query that reads its position": query(QueryStep.STARTING, 50 * MINUTE, NO_HISTORY, Kind.STARTING, batch=-1),
    "a stop within its grace": Row(a_beat(phase=DriverPhase.STOPPING, phase_seconds=119.0), QUICK, Kind.WORKING),
    "a driver of an older version": Row(a_beat(), NO_HISTORY, Kind.UNKNOWN),
    "a beat that stood still tells of the past": query(WAITING, 5, QUICK, Kind.UNKNOWN, stood_still=75),
    "a beat seen twice is no such beat": query(WAITING, 5, QUICK, Kind.IDLE, stood_still=74),
    "Spark has not answered its driver for a minute": query(WAITING, 5, QUICK, Kind.UNKNOWN, report_age_seconds=60.0),
}

STUCK = {
    "a batch far beyond the usual: a person is told": query(IN_BATCH, 10 * MINUTE, QUICK, Kind.STUCK_IN_BATCH, REPORT),
    "almost": query(IN_BATCH, 10 * MINUTE - 1, QUICK, Kind.SLOW),
    "and half an hour later it is restarted": query(IN_BATCH, 30 * MINUTE, QUICK, Kind.STUCK_IN_BATCH, RESTART),
    "long batches: told after three times": query(IN_BATCH, 15 * MINUTE, LONG, Kind.STUCK_IN_BATCH, REPORT),
    "long batches: not restarted after 49 minutes": query(IN_BATCH, 49 * MINUTE, LONG, Kind.STUCK_IN_BATCH, REPORT),
    "long batches: restarted after ten times": query(IN_BATCH, 50 * MINUTE, LONG, Kind.STUCK_IN_BATCH, RESTART),
    "a policy that only reports": query(
        IN_BATCH, DAY, QUICK, Kind.STUCK_IN_BATCH, REPORT, policy=StallPolicy(action=StallAction.REPORT)
    ),
    "a first batch of a day is told, never restarted: it would begin anew, and never end": query(
        IN_BATCH, DAY, QUICK, Kind.STUCK_IN_BATCH, REPORT, batch=-1
    ),
    "without history a person is told, and nothing is done by guess": query(
        IN_BATCH, DAY, NO_HISTORY, Kind.STUCK_IN_BATCH, REPORT
    ),
    "B41: the broker vanished from an idle stream, idle triggers gave the pace of planning": query(
        PLANNING, 10 * MINUTE, IDLE_ONLY, Kind.STUCK_IN_PLANNING, REPORT, batch=-1
    ),
    "B41: and it does not come back": query(
        PLANNING, 30 * MINUTE, IDLE_ONLY, Kind.STUCK_IN_PLANNING, RESTART, batch=-1
    ),
    "B41: the broker vanished right at the start": query(
        PLANNING, HOUR, NO_HISTORY, Kind.STUCK_IN_PLANNING, REPORT, batch=-1
    ),
    "planning by Spark jobs without any executor: a restart brings none": query(
        PLANNING, DAY, QUICK, Kind.STUCK_IN_PLANNING, REPORT, executors=0
    ),
    "records wait, and the next trigger does not come: a clock that was set back": query(
        WAITING, 10 * MINUTE + 10, FALLEN_BEHIND, Kind.STUCK_IN_PLANNING, REPORT
    ),
    "the same within the window": query(WAITING, 10 * MINUTE, FALLEN_BEHIND, Kind.IDLE),
    "no executor for a batch: a person may want to know": query(
        IN_BATCH, 10 * MINUTE, QUICK, Kind.WAITING_FOR_EXECUTORS, REPORT, executors=0
    ),
    "no executor for some minutes": query(IN_BATCH, 5 * MINUTE, QUICK, Kind.WAITING_FOR_EXECUTORS, executors=0),
    "no executor for a day: a restart would only put it at the end of the queue": query(
        IN_BATCH, DAY, QUICK, Kind.WAITING_FOR_EXECUTORS, REPORT, executors=0
    ),
    "executors that nobody could count are no missing ones": query(
        IN_BATCH, 5 * MINUTE, LONG, Kind.WORKING, executors=-1
    ),
    "Spark does not answer its driver: a stop would not be heard either": query(
        WAITING, 5, QUICK, Kind.STUCK_IN_PLANNING, REPORT, report_age_seconds=10.0 * MINUTE
    ),
    "and still not": query(IN_BATCH, 30 * MINUTE, LONG, Kind.STUCK_IN_BATCH, RESTART, report_age_seconds=30.0 * MINUTE),
    "an old look does not hide what was stuck before it": query(
        IN_BATCH, 40 * MINUTE, QUICK, Kind.STUCK_IN_BATCH, RESTART, report_age_seconds=60.0
    ),
    "a job that has not started its query within an hour": Row(
        a_beat(phase=DriverPhase.STARTING, phase_seconds=float(HOUR)), NO_HISTORY, Kind.STUCK_IN_PLANNING, REPORT
    ),
    "a query that reads its position for an hour": query(
        QueryStep.STARTING, HOUR, NO_HISTORY, Kind.STUCK_IN_PLANNING, REPORT, batch=-1
    ),
    "a stop over its grace is ended by force, whatever the policy": Row(
        a_beat(phase=DriverPhase.STOPPING, phase_seconds=120.0),
        QUICK,
        Kind.STUCK_IN_STOP,
        RESTART,
        policy=StallPolicy(action=StallAction.REPORT),
    ),
    "B66: a driver that has ended and does not go": Row(
        a_beat(phase=DriverPhase.ENDED, phase_seconds=120.0), QUICK, Kind.STUCK_IN_STOP, RESTART
    ),
    "B64: a companion is stuck beside a stream that is idle": Row(
        a_beat(a_query(WAITING, 5), a_query(IN_BATCH, 15 * MINUTE, query_id="q-2", name="orders-0")),
        ProgressHistory(events=tuple(an_event(2, query="q-2") for _ in range(20))),
        Kind.STUCK_IN_BATCH,
        REPORT,
    ),
    "the pace of one query says nothing of another": Row(
        a_beat(a_query(WAITING, 5), a_query(IN_BATCH, 15 * MINUTE, query_id="q-2", name="orders-0")),
        QUICK,
        Kind.WORKING,
    ),
    "a beat that stood still does not hide what was stuck in it": query(
        IN_BATCH, 40 * MINUTE, QUICK, Kind.STUCK_IN_BATCH, RESTART, stood_still=200
    ),
}


@pytest.mark.fault("B83")
@pytest.mark.parametrize("row", [pytest.param(row, id=reason) for reason, row in QUIET.items()])
def test_a_stream_that_is_fine_asks_for_nothing(row):
    found = judged(row)

    assert (found.kind, found.advice) == (row.kind, NOTHING)


@pytest.mark.fault("B41")
@pytest.mark.fault("B64")
@pytest.mark.fault("B66")
@pytest.mark.parametrize("row", [pytest.param(row, id=reason) for reason, row in STUCK.items()])
def test_what_does_not_move_is_named_and_dealt_with_as_the_policy_says(row):
    found = judged(row)

    assert (found.kind, found.advice) == (row.kind, row.advice)


def test_a_reason_says_what_how_long_and_by_what_measure():
    found = judged(STUCK["a batch far beyond the usual: a person is told"])

    assert found.reason == (
        "query orders has been at the batch after 41 for 10 min (95 % of the last took 2 s or less)"
    )
    assert (found.since, found.window) == (seconds(10 * MINUTE), seconds(10 * MINUTE))


def test_the_message_of_spark_is_told_where_a_source_hangs():
    row = query(PLANNING, HOUR, QUICK, Kind.STUCK_IN_PLANNING, message="Getting offsets from KafkaV2[Subscribe[t]]")

    assert "Getting offsets from KafkaV2[Subscribe[t]]" in judged(row).reason


CONTINUOUS = replace(RHYTHM, epoch_interval=seconds(1))


@pytest.mark.parametrize(
    ("still", "epochs", "kind", "advice"),
    [
        pytest.param(2, 500, Kind.WORKING, NOTHING, id="an epoch a second"),
        pytest.param(10 * MINUTE, 500, Kind.STUCK_IN_BATCH, REPORT, id="none for ten minutes: a person is told"),
        pytest.param(30 * MINUTE, 500, Kind.STUCK_IN_BATCH, RESTART, id="none for half an hour: the next driver"),
        pytest.param(30 * MINUTE, 3, Kind.WORKING, NOTHING, id="a start may take its time"),
    ],
)
def test_a_continuous_query_is_measured_by_its_epochs_for_it_tells_no_progress(still, epochs, kind, advice):
    beat = a_beat(a_query(IN_BATCH, still, batches=epochs))

    found = judge_liveness(beat, ProgressHistory(), rhythm=CONTINUOUS, policy=POLICY)

    assert (found.kind, found.advice) == (kind, advice)
    assert ("an epoch is due every 1 s" in found.reason) == (epochs > 3)


# Laws

SEVERITY = (None, StallAction.REPORT, StallAction.RESTART)

durations = st.floats(0, 4 * DAY).map(lambda number: round(number, 1))
events = st.builds(
    an_event,
    st.floats(0, 2 * HOUR),
    ran=st.booleans(),
    planned=st.floats(0, HOUR),
    lag=st.integers(0, 3),
    query=st.sampled_from(["q-1", "q-2"]),
)
histories = st.lists(events, max_size=30).map(lambda drawn: ProgressHistory(events=tuple(drawn)))
query_beats = st.builds(
    a_query,
    st.sampled_from(QueryStep),
    durations,
    progress=durations,
    batch=st.integers(-1, 3),
    query_id=st.sampled_from(["q-1", "q-2"]),
)
beats = st.builds(
    lambda queries, **changes: a_beat(*queries, **changes),
    st.lists(query_beats, max_size=3),
    phase=st.sampled_from(DriverPhase),
    phase_seconds=durations,
    report_age_seconds=durations,
    executors=st.integers(-1, 2),
)
rhythms = st.sampled_from([RHYTHM, AT_ONCE, HOURLY])
policies = st.sampled_from([POLICY, StallPolicy(action=StallAction.REPORT)])


def rank(found: Liveness) -> tuple[int, int]:
    return SEVERITY.index(found.advice), list(LivenessKind).index(found.kind)


@given(beats, histories, rhythms, policies)
def test_a_stream_whose_progress_is_fresh_is_never_stuck(beat, history, rhythm, policy):
    fresh = replace(
        beat,
        phase=DriverPhase.RUNNING,
        report_age_seconds=0.5,
        queries=tuple(replace(one, progress_seconds=9.0) for one in beat.queries),
    )

    found = judge_liveness(fresh, history, rhythm=rhythm, policy=policy)

    assert found.advice is None
    assert not found.kind.startswith("stuck")


@given(beats, histories, rhythms, policies, durations)
def test_more_time_never_makes_it_better(beat, history, rhythm, policy, more):
    later = replace(
        beat,
        phase_seconds=beat.phase_seconds + more,
        report_age_seconds=beat.report_age_seconds + more,
        queries=tuple(
            replace(one, step_seconds=one.step_seconds + more, progress_seconds=one.progress_seconds + more)
            for one in beat.queries
        ),
    )

    def judge(one: Heartbeat) -> Liveness:
        return judge_liveness(one, history, rhythm=rhythm, policy=policy)

    assert rank(judge(beat)) <= rank(judge(later))


@given(beats, histories, rhythms)
def test_an_idle_stream_is_never_dealt_with(beat, history, rhythm):
    """Whatever its history and however long: it waits, and it left nothing behind."""
    caught_up = ProgressHistory(events=tuple(replace(event, sources=()) for event in history.events))
    waiting = tuple(replace(one, step=QueryStep.WAITING) for one in beat.queries)
    idle = replace(beat, phase=DriverPhase.RUNNING, report_age_seconds=0.5, queries=waiting)

    assert judge_liveness(idle, caught_up, rhythm=rhythm, policy=POLICY).advice is None


@given(beats, rhythms)
def test_without_history_nothing_is_restarted_by_guess(beat, rhythm):
    guessed = replace(beat, phase=DriverPhase.RUNNING, report_age_seconds=0.5)

    found = judge_liveness(guessed, NO_HISTORY, rhythm=rhythm, policy=POLICY)

    assert found.advice is not StallAction.RESTART


@given(beats, histories, rhythms)
def test_a_first_batch_is_never_restarted(beat, history, rhythm):
    """So a batch that a restart interrupted is interrupted once at most."""
    first = tuple(replace(one, step=QueryStep.BATCH, batch=-1) for one in beat.queries)
    at_first = replace(beat, phase=DriverPhase.RUNNING, report_age_seconds=0.5, queries=first)

    assert judge_liveness(at_first, history, rhythm=rhythm, policy=POLICY).advice is not StallAction.RESTART


@given(beats, histories, rhythms)
def test_a_policy_that_reports_restarts_no_query(beat, history, rhythm):
    running = replace(beat, phase=DriverPhase.RUNNING)
    found = judge_liveness(running, history, rhythm=rhythm, policy=StallPolicy(action=StallAction.REPORT))

    assert found.advice is not StallAction.RESTART


@given(beats, histories, rhythms, policies)
def test_history_changes_no_advice_where_it_is_said_not_to_be_needed(beat, history, rhythm, policy):
    if is_history_needed(beat, policy=policy):
        return

    with_history = judge_liveness(beat, history, rhythm=rhythm, policy=policy)
    without = judge_liveness(beat, NO_HISTORY, rhythm=rhythm, policy=policy)

    assert with_history.advice == without.advice


@given(beats, histories, rhythms, policies, durations)
def test_a_beat_that_stands_still_restarts_nothing_that_it_did_not_restart_before(beat, history, rhythm, policy, still):
    moving = judge_liveness(beat, history, rhythm=rhythm, policy=policy)
    standing = judge_liveness(beat, history, rhythm=rhythm, policy=policy, stood_still=seconds(still))

    assert standing.advice == moving.advice


def test_the_policy_of_a_stream_moves_its_windows():
    patient = StallPolicy(
        window_floor=timedelta(hours=2), restart_floor=timedelta(hours=6), first_batch=timedelta(hours=4)
    )
    row = query(IN_BATCH, HOUR, QUICK, Kind.SLOW, policy=patient)

    assert (judged(row).kind, judged(row).advice) == (Kind.SLOW, NOTHING)


@pytest.mark.fault("B96")
@pytest.mark.parametrize("step", [IN_BATCH, PLANNING, WAITING])
def test_progress_that_no_longer_comes_is_no_reason_to_restart_a_query_that_moves(step):
    """apache/spark#56729: one failed send took the listener out for good, and the query ran on."""
    silent = a_beat(a_query(step, 3, progress=5 * HOUR, batch=9_000))

    liveness = judge_liveness(silent, QUICK, rhythm=RHYTHM, policy=POLICY, stood_still=seconds(1))

    assert liveness.advice is None
