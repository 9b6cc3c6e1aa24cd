"""What a driver knows about its query, as the beat reads it."""

import json
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from streamops.control.codec import encode
from streamops.control.drivers import DriverPhase, Heartbeat, QueryStep
from streamops.spark.query_watch import QueryView, QueryWatch
from streamops.spark.report import IDLE_KEPT, PROGRESS_BYTES, PROGRESS_KEPT, UNKNOWN_EXECUTORS, DriverReport
from streamops.storage import FileKind
from streamops.storage.bounds import BOUNDS
from support.clock import FakeClock
from support.specs import seconds


def event(batch: int) -> str:
    return json.dumps({"batchId": batch, "numInputRows": 1})


def idle(batch: int) -> str:
    """An idle trigger's event: it has the number of the batch to come."""
    return json.dumps({"batchId": batch, "durationMs": {"latestOffset": 2, "triggerExecution": 2}})


def sight(step: QueryStep = QueryStep.BATCH, message: str = "Processing new data", *, query_id: str = "q-1"):
    return QueryView(query_id=query_id, name="orders", step=step, message=message)


def batches(progress: bytes) -> list[int]:
    return [json.loads(line)["batchId"] for line in progress.decode().splitlines()]


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def report(clock):
    return DriverReport(clock=clock)


def test_a_driver_begins_by_starting_with_no_query_and_no_batch(report):
    state = report.state()

    assert (state.phase, state.query_id, state.batch) == (DriverPhase.STARTING, "", -1)


def test_a_started_query_runs_under_its_id(report):
    report.query_started("q-1")

    assert (report.state().phase, report.state().query_id) == (DriverPhase.RUNNING, "q-1")


def test_a_phase_is_the_last_one_entered(report):
    report.query_started("q-1")
    report.enter(DriverPhase.STOPPING)

    assert report.state().phase is DriverPhase.STOPPING


def test_the_batch_is_the_newest_reported_one(report):
    report.add_progress([event(3), event(5), event(4)])

    assert report.state().batch == 5


def test_progress_is_a_line_of_json_an_event_oldest_first(report):
    report.add_progress([event(0), event(1)])

    assert batches(report.take_progress()) == [0, 1]


def test_progress_is_taken_once(report):
    report.add_progress([event(0)])
    report.take_progress()

    assert report.take_progress() is None


def test_without_progress_there_is_nothing_to_take(report):
    assert report.take_progress() is None


def test_what_was_taken_before_comes_again_with_what_is_new(report):
    """The file is replaced, so each taking holds all that is kept."""
    report.add_progress([event(0)])
    report.take_progress()
    report.add_progress([event(1)])

    assert batches(report.take_progress()) == [0, 1]


def test_only_the_newest_events_are_kept(report):
    report.add_progress(event(batch) for batch in range(PROGRESS_KEPT + 7))

    kept = batches(report.take_progress())
    assert len(kept) == PROGRESS_KEPT
    assert kept[0] == 7


def test_no_events_are_no_news(report):
    report.add_progress([])

    assert report.take_progress() is None


def test_events_that_come_while_others_are_taken_are_not_lost(report):
    added, taken = 200, []

    def add():
        for batch in range(added):
            report.add_progress([event(batch)])

    adder = threading.Thread(target=add)
    adder.start()
    while adder.is_alive():
        taken.append(report.take_progress())
    adder.join()
    taken.append(report.take_progress())

    last = [progress for progress in taken if progress is not None][-1]
    assert batches(last)[-1] == added - 1
    assert report.state().batch == added - 1


# What a beat says of the queries


def test_before_a_query_is_seen_nothing_is_said_of_it(report):
    state = report.state()

    assert (state.queries, state.executors) == ((), UNKNOWN_EXECUTORS)


def test_a_phase_lasts_since_it_was_entered_first(clock, report):
    report.enter(DriverPhase.STOPPING)
    clock.advance(seconds(30))
    report.enter(DriverPhase.STOPPING)
    clock.advance(seconds(12))

    assert report.state().phase_seconds == 42


def test_a_query_stands_in_a_step_as_long_as_it_looks_the_same(clock, report):
    for _ in range(3):
        report.saw([sight()])
        clock.advance(seconds(20))

    (beat,) = report.state().queries
    assert (beat.query_id, beat.name, beat.step, beat.message) == (
        "q-1",
        "orders",
        QueryStep.BATCH,
        "Processing new data",
    )
    assert beat.step_seconds == 60


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(sight(QueryStep.WAITING, "Waiting for next trigger"), id="another step"),
        pytest.param(sight(QueryStep.BATCH, "No new data but cleaning up state"), id="another message"),
    ],
)
def test_any_change_of_sight_begins_the_time_anew(clock, report, other):
    report.saw([sight()])
    clock.advance(seconds(60))
    report.saw([other])
    clock.advance(seconds(5))

    assert report.state().queries[0].step_seconds == 5


@pytest.mark.parametrize("news", [event(0), idle(0)], ids=["a batch", "an idle trigger"])
def test_progress_is_a_sign_of_life_even_where_every_look_finds_the_same(clock, report, news):
    """Quick batches one after the other look like one long batch."""
    report.saw([sight()])
    clock.advance(seconds(60))
    report.add_progress([news])
    clock.advance(seconds(5))
    report.saw([sight()])

    (beat,) = report.state().queries
    assert (beat.step_seconds, beat.progress_seconds) == (5, 5)


def test_no_progress_is_no_sign_of_life(clock, report):
    report.saw([sight()])
    clock.advance(seconds(60))
    report.add_progress([])

    assert report.state().queries[0].progress_seconds == 60


def test_time_goes_on_for_a_report_that_nobody_renews(clock, report):
    """The loop that looks may hang in a call to the JVM: the age of its last look shows it, and the beat goes on."""
    report.saw([sight()], executors=2)
    clock.advance(seconds(400))

    state = report.state()
    assert (state.report_age_seconds, state.queries[0].step_seconds, state.executors) == (400, 400, 2)


def test_a_look_renews_the_report(clock, report):
    clock.advance(seconds(400))
    report.saw([sight()])

    assert report.state().report_age_seconds == 0


def test_a_started_query_makes_the_report_fresh(clock, report):
    clock.advance(seconds(400))
    report.query_started("q-1")

    assert report.state().report_age_seconds == 0


# What is kept


def test_idle_events_do_not_push_batches_out(report):
    report.add_progress([event(0), *[idle(1)] * (PROGRESS_KEPT + IDLE_KEPT), event(1)])

    assert batches(report.take_progress()) == [0, *[1] * IDLE_KEPT, 1]


def test_an_idle_event_is_no_batch(report):
    report.add_progress([event(4), idle(5)])

    assert report.state().batch == 4


def test_a_long_row_of_idle_events_is_no_news(report):
    """Else an idle stream would write a file every ten seconds for nothing."""
    report.add_progress([event(0), *[idle(1)] * IDLE_KEPT])
    assert report.take_progress() is not None

    report.add_progress([idle(1)])
    assert report.take_progress() is None

    report.add_progress([event(1)])
    assert batches(report.take_progress())[-1] == 1


def test_long_events_are_kept_within_a_bound_the_newest_first(report):
    """An event of a source with thousands of partitions is as long as a book."""
    padding = "x" * (PROGRESS_BYTES // 4)
    report.add_progress(json.dumps({"batchId": batch, "name": padding}) for batch in range(10))

    progress = report.take_progress()
    assert len(progress) <= PROGRESS_BYTES
    assert batches(progress) == [7, 8, 9]


def test_queries_have_their_progress_one_after_the_other(report):
    report.add_progress([event(3)], query=1)
    report.add_progress([event(8)])

    assert batches(report.take_progress()) == [8, 3]
    assert report.state().batch == 8


def committing(epoch: int) -> QueryView:
    return replace(sight(message=f"Committing epoch {epoch}"), epoch=epoch)


def test_epochs_of_a_continuous_query_count_as_batches_when_the_next_one_is_due(report):
    counts = []
    for epoch in (41, 42, 42, 45):
        report.saw([committing(epoch)])
        (query,) = report.state().queries
        counts.append((query.batch, query.batches))

    assert counts == [(-1, 0), (41, 1), (41, 1), (44, 4)]


def test_a_continuous_query_that_commits_no_epoch_stands_still(clock, report):
    report.saw([committing(3)])
    clock.sleep(seconds(30))
    report.saw([committing(3)])

    (query,) = report.state().queries
    assert (query.step, query.step_seconds, query.progress_seconds) == (QueryStep.BATCH, 30.0, 30.0)


def many_words():
    """What PySpark shows of a query, each text without end."""
    words = "\x01" * 100_000
    return SimpleNamespace(id="q", name=words, status={"message": words, "isTriggerActive": True}, isActive=True)


def a_crowd(report, queries=500):
    """A job that starts queries by the hundred, each with a name, a message and progress as long as they come."""
    for number in range(queries):
        query = QueryWatch(many_words(), number=number)
        report.saw([query.look()])
        report.add_progress([json.dumps({"batchId": 1, "sources": "9" * 50_000})] * 20, query=number)


def test_a_crowd_of_queries_makes_no_beat_and_no_progress_above_its_bound(report):
    a_crowd(report)
    state = report.state()
    beat = Heartbeat(
        epoch=1, instance="0a", token="t", sequence=1, phase=state.phase, at="", host="h", pid=1, queries=state.queries
    )

    assert 0 < len(encode(beat)) <= BOUNDS[FileKind.HEARTBEAT].written
    assert len(report.take_progress()) <= BOUNDS[FileKind.PROGRESS].written
