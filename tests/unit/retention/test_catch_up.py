"""How long a query needs until nothing waits any more, by the batches that it ran."""

from datetime import UTC, datetime, timedelta

import pytest

from streamops.progress import ProgressEvent, ProgressHistory, SourceProgress
from streamops.retention.growth import CatchUp, Throughput, catch_up, throughput_of

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_batch(rows, seconds, *, backlog=0):
    """One that read so much and left so many records behind."""
    taken = timedelta(seconds=seconds)
    return ProgressEvent(
        query_id="q",
        run_id="r",
        name="orders",
        batch=1,
        started_at=NOW,
        input_rows=rows,
        durations=(("addBatch", taken), ("triggerExecution", taken)),
        sources=(SourceProgress(description="Kafka", metrics=(("maxOffsetsBehindLatest", str(backlog)),)),),
    )


def history(*events):
    return ProgressHistory(events=events)


def idle():
    return ProgressEvent(query_id="q", run_id="r", name="orders", batch=1, started_at=NOW)


@pytest.mark.parametrize(
    ("events", "records_per_second", "is_loaded"),
    [
        pytest.param([a_batch(10_000, 10, backlog=5)] * 3, 1_000, True, id="under load it is what it can do"),
        pytest.param(
            [a_batch(10, 2), a_batch(10_000, 10, backlog=5)], 1_000, True, id="batches without load say nothing then"
        ),
        pytest.param([a_batch(10, 2), a_batch(200, 4)], 50, False, id="without load the best batch counts"),
        pytest.param([a_batch(10_000, 1)] + [a_batch(10, 2)] * 20, 5, False, id="the last twenty batches only"),
        pytest.param([idle(), a_batch(0, 3), a_batch(100, 2)], 50, False, id="batches without records are none"),
    ],
)
def test_the_throughput_is_that_of_the_last_batches(events, records_per_second, is_loaded):
    assert throughput_of(history(*events)) == Throughput(records_per_second=records_per_second, is_loaded=is_loaded)


def test_a_limit_on_batches_and_the_time_between_them_limit_it():
    throughput = throughput_of(history(a_batch(10_000, 1)), most=10_000, interval=timedelta(seconds=10))

    assert throughput == Throughput(records_per_second=1_000, is_loaded=True)


@pytest.mark.parametrize("events", [(), (idle(),), (a_batch(0, 3),)])
def test_before_a_batch_has_read_anything_nothing_is_known(events):
    assert throughput_of(history(*events)) is None


def test_catching_up_takes_the_lag_by_what_is_gained():
    caught = catch_up(72_000, Throughput(records_per_second=120, is_loaded=False), growth=100)

    assert caught.duration == timedelta(hours=1)
    assert caught.reason == "it reads 120 records a second and 100 are written"


def test_a_query_that_is_slower_than_the_producer_never_catches_up():
    caught = catch_up(72_000, Throughput(records_per_second=90, is_loaded=True), growth=100)

    assert (caught.duration, caught.is_never) == (None, True)
    assert caught.reason.endswith("it never catches up")


def test_a_query_that_was_never_loaded_is_not_said_to_be_too_slow():
    caught = catch_up(72_000, Throughput(records_per_second=90, is_loaded=False), growth=100)

    assert (caught.duration, caught.is_never) == (None, False)


def test_without_a_batch_it_is_not_known():
    assert catch_up(5, None, growth=0) == CatchUp(
        duration=None, reason="how fast the query reads is not known: no batch of it was seen"
    )


def test_where_nothing_waits_it_takes_no_time():
    assert catch_up(0, None, growth=5).duration == timedelta(0)


def test_centuries_are_cut_to_two_months():
    caught = catch_up(10**15, Throughput(records_per_second=1.001, is_loaded=True), growth=1)

    assert caught.duration == timedelta(days=60)
