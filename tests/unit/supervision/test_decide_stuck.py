"""A driver that beats and gets nowhere: reported, then asked to make room, then killed. Figures are the default policy."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamops.control.drivers import DriverPhase, DriverTraces, QueryBeat, QueryStep
from streamops.control.records import Outcome, RestartRequested, StopRequested
from streamops.launch import DriverState
from streamops.liveness import LivenessKind, StallAction, StallPolicy
from streamops.progress import parse_progress
from streamops.spec import Trigger, TriggerKind
from streamops.supervision.decide import decide
from streamops.supervision.decision import Action
from streamops.supervision.observation import Reachability
from support.observations import a_beat, an_exit, observed, seen
from support.records import a_claim, a_state, a_submit
from support.specs import a_stream

ORDERS = a_stream()
NOBODY: frozenset[str] = frozenset()
SUBMITTED = a_state(a_claim(1), a_submit(1))
REPLACED = a_state(a_claim(1), a_submit(1), RestartRequested(epoch=1, is_stuck=True))
USUAL = parse_progress(
    b"\n".join(
        b'{"id": "q", "batchId": %d, "timestamp": "2026-03-01T11:00:00.000Z", "durationMs":'
        b' {"addBatch": 900, "triggerExecution": 1000, "latestOffset": 10}}' % batch
        for batch in range(10)
    )
)
"""Ten batches of a second each."""


def at_a_batch(seconds: float, **changes) -> DriverTraces:
    """The beat of a driver that has been at one batch for so long."""
    query = QueryBeat(
        query_id="q", name="orders", step=QueryStep.BATCH, step_seconds=seconds, progress_seconds=seconds, batch=9
    )
    beat = a_beat()
    return replace(beat, heartbeat=replace(beat.heartbeat, executors=1, queries=(query,), **changes))


def decided(traces: DriverTraces, *, state=SUBMITTED, status=DriverState.RUNNING, spec=ORDERS):
    facts = replace(seen(state, status=status, traces=(traces,), still=1), progress=USUAL)
    return decide(observed(state, facts), spec, mine=NOBODY)


@pytest.mark.parametrize(
    ("seconds", "action", "is_told"),
    [
        pytest.param(1, Action.KEEP, False, id="at work"),
        pytest.param(599, Action.KEEP, False, id="long, and not yet long enough to say so"),
        pytest.param(600, Action.KEEP, True, id="a person is told first"),
        pytest.param(1799, Action.KEEP, True, id="and for a while that is all"),
        pytest.param(1800, Action.REPLACE, False, id="then it is asked to make room"),
    ],
)
def test_a_stuck_driver_is_reported_first_and_replaced_later(seconds, action, is_told):
    decision = decided(at_a_batch(seconds))

    assert (decision.action, decision.needs_attention) == (action, is_told)


@pytest.mark.parametrize(
    ("seconds", "is_reachable", "is_told"),
    [
        pytest.param(25, False, True, id="the source does not answer"),
        pytest.param(25, None, False, id="nobody can tell from here"),
        pytest.param(25, True, False, id="it answers: the work takes its time"),
        pytest.param(15, False, False, id="it has been at it for a moment"),
    ],
)
@pytest.mark.parametrize("step", [QueryStep.PLANNING, QueryStep.BATCH])
def test_a_query_that_does_not_get_on_waits_for_its_source(step, seconds, is_reachable, is_told):
    traces = at_a_batch(seconds)
    (query,) = traces.heartbeat.queries
    busy = replace(traces.heartbeat, queries=(replace(query, step=step),))
    facts = seen(SUBMITTED, status=DriverState.RUNNING, traces=(replace(traces, heartbeat=busy),), still=1)
    source = Reachability(target="kafka:9092", is_reachable=is_reachable, evidence="Connection refused")

    decision = decide(replace(observed(SUBMITTED, facts), dependency=source), ORDERS, mine=NOBODY)

    told = "kafka:9092 has not answered for 25 s (Connection refused)" if is_told else ""
    assert (decision.action, decision.waits_for) == (Action.KEEP, told)
    assert told in decision.reason


def test_a_report_names_the_step_and_how_long():
    decision = decided(at_a_batch(700))

    assert decision.liveness.kind is LivenessKind.STUCK_IN_BATCH
    assert "stuck-in-batch" in decision.reason
    assert "the batch after 9" in decision.reason


def test_a_policy_that_only_reports_replaces_nobody():
    spec = a_stream(stall=StallPolicy(action=StallAction.REPORT))

    assert decided(at_a_batch(100_000), spec=spec).action is Action.KEEP


def test_it_is_asked_once_and_killed_when_the_grace_of_a_stop_is_over():
    facts = replace(seen(REPLACED, status=DriverState.RUNNING, traces=(at_a_batch(1800),), still=1), progress=USUAL)
    asked_at = REPLACED.replacement.note.at

    within = decide(observed(REPLACED, facts, now=asked_at + timedelta(seconds=120)), ORDERS, mine=NOBODY)
    over = decide(observed(REPLACED, facts, now=asked_at + timedelta(seconds=121)), ORDERS, mine=NOBODY)

    assert (within.action, over.action) == (Action.KEEP, Action.KILL)


def test_a_driver_that_is_being_stopped_anyway_is_not_asked_again():
    state = a_state(a_claim(1), a_submit(1), StopRequested(epoch=1))

    assert decided(at_a_batch(1800), state=state).action is not Action.REPLACE


def test_a_driver_whose_spark_does_not_answer_is_not_asked_but_killed():
    assert decided(at_a_batch(1800, report_age_seconds=1800.0)).action is Action.KILL


def test_a_stop_that_hangs_is_ended_by_force_whoever_asked_for_it():
    """A SIGTERM is on no record: nothing but the beat tells of it."""
    assert decided(at_a_batch(1, phase=DriverPhase.STOPPING, phase_seconds=121.0)).action is Action.KILL


@pytest.mark.parametrize("outcome", [Outcome.STOPPED, Outcome.FAILED], ids=str)
def test_the_end_of_a_stuck_driver_counts_as_a_failure_whatever_its_last_word(outcome):
    """Or a query that hangs again and again would be started for ever."""
    decision = decided(an_exit(outcome=outcome), state=REPLACED, status=DriverState.ENDED)

    assert (decision.action, decision.outcome) == (Action.RECORD_END, Outcome.KILLED)


@pytest.mark.parametrize(
    ("minutes", "is_told"),
    [
        pytest.param(61, False, id="a batch and what it takes to end it"),
        pytest.param(119, False, id="slow to end"),
        pytest.param(120, True, id="twice as long as it was to last"),
    ],
)
def test_a_batch_of_real_time_lasts_its_interval_and_is_no_stall(minutes, is_told):
    """With the interval of an hour, and nothing to compare with: the first batch of a driver."""
    trigger = Trigger(kind=TriggerKind.REAL_TIME, interval=timedelta(hours=1))
    traces = at_a_batch(minutes * 60)
    (query,) = traces.heartbeat.queries
    first = replace(traces, heartbeat=replace(traces.heartbeat, queries=(replace(query, batch=-1),)))

    decision = decided(first, spec=replace(ORDERS, trigger=trigger))

    assert (decision.action, decision.needs_attention) == (Action.KEEP, is_told)


@pytest.mark.parametrize("hours", [1, 24, 24 * 30])
def test_a_continuous_query_waits_between_no_triggers_for_ever_and_is_no_stall(hours):
    """Spark 4.2.0 tells of no progress and no active trigger: `Committing epoch 7` is all that its status says."""
    traces = at_a_batch(hours * 3600)
    (query,) = traces.heartbeat.queries
    query = replace(query, batch=-1, step=QueryStep.WAITING, message="Committing epoch 7")
    running = replace(traces, heartbeat=replace(traces.heartbeat, queries=(query,)))

    decision = decided(running, spec=replace(ORDERS, trigger=Trigger(kind=TriggerKind.CONTINUOUS)))

    assert (decision.action, decision.needs_attention) == (Action.KEEP, False)
