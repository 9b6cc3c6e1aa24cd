"""What a driver knows about its query, as the beat reads it."""

import json
import threading

import pytest

from streamops.control.drivers import DriverPhase
from streamops.spark.report import PROGRESS_KEPT, DriverReport


def event(batch: int) -> str:
    return json.dumps({"batchId": batch, "numInputRows": 1})


def batches(progress: bytes) -> list[int]:
    return [json.loads(line)["batchId"] for line in progress.decode().splitlines()]


@pytest.fixture
def report():
    return DriverReport()


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
