"""Seeing queries to their end, with queries that a test moves."""

import json
from dataclasses import dataclass, field

import pytest

from streamops.control.drivers import DriverPhase
from streamops.spark.query import RunningQueries
from streamops.spark.report import DriverReport
from support.specs import seconds


@dataclass(frozen=True)
class Progress:
    """One progress event, as far as it is read."""

    batchId: int  # noqa: N815 # Spark's name

    @property
    def json(self) -> str:
        return json.dumps({"batchId": self.batchId})


@dataclass
class FakeQuery:
    """A StreamingQuery whose batches are the test's doing."""

    batches: int = 0
    failure: Exception | None = None
    is_in_batch: bool = False
    stopped_at: list[int] = field(default_factory=list)
    isActive: bool = True  # noqa: N815
    on_last_progress: object = None

    @property
    def recentProgress(self) -> list[Progress]:  # noqa: N802
        return [Progress(number) for number in range(self.batches)]

    @property
    def lastProgress(self) -> Progress | None:  # noqa: N802
        last = Progress(self.batches - 1) if self.batches else None
        if self.on_last_progress:
            self.on_last_progress()
        return last

    @property
    def status(self) -> dict[str, bool]:
        return {"isTriggerActive": self.is_in_batch}

    def awaitTermination(self) -> None:  # noqa: N802
        if self.failure:
            raise self.failure

    def stop(self) -> None:
        self.stopped_at.append(self.batches)
        self.isActive = False

    def end(self, failure: Exception | None = None) -> None:
        self.failure, self.isActive = failure, False


@pytest.fixture
def report():
    return DriverReport()


def running(report: DriverReport, *queries: FakeQuery) -> RunningQueries:
    return RunningQueries(list(queries), report, stop_grace=seconds(60))


def reported(report: DriverReport) -> list[int]:
    progress = report.take_progress() or b""
    return [json.loads(line)["batchId"] for line in progress.decode().splitlines()]


def never() -> bool:
    return False


def always() -> bool:
    return True


def test_every_batch_is_reported_up_to_the_last(report):
    query = FakeQuery(batches=3)
    query.end()

    assert running(report, query).run(is_stop_wanted=never) is True
    assert reported(report) == [0, 1, 2]
    assert report.state().batch == 2


def test_a_batch_that_ends_while_progress_is_collected_is_reported_once(report):
    query = FakeQuery(batches=1)

    def end_another_batch():
        query.batches += 1 if query.batches < 4 else 0

    query.on_last_progress = end_another_batch
    looks = iter([False, True])

    running(report, query).run(is_stop_wanted=lambda: next(looks))

    assert reported(report) == [0, 1, 2, 3]


def test_queries_have_ended_only_when_all_have(report):
    main, companion = FakeQuery(), FakeQuery()
    main.end()
    looks = []

    def end_the_companion_later():
        looks.append(len(looks))
        if len(looks) == 2:
            companion.end()
        return False

    assert running(report, main, companion).run(is_stop_wanted=end_the_companion_later) is True
    assert len(looks) == 2


@pytest.mark.parametrize("failing", [0, 1], ids=["the stream's own", "a companion"])
def test_the_first_query_that_fails_is_told(report, failing):
    queries = [FakeQuery(), FakeQuery()]
    queries[failing].end(RuntimeError("disk full"))

    with pytest.raises(RuntimeError, match="disk full"):
        running(report, *queries).run(is_stop_wanted=never)


def test_after_a_failure_the_rest_is_stopped(report):
    failed, healthy = FakeQuery(), FakeQuery()
    failed.end(RuntimeError("disk full"))

    running(report, failed, healthy).stop()

    assert failed.stopped_at == []
    assert not healthy.isActive


def test_a_wanted_stop_ends_every_query(report):
    queries = [FakeQuery(), FakeQuery()]

    assert running(report, *queries).run(is_stop_wanted=always) is False
    assert not any(query.isActive for query in queries)
    assert report.state().phase is DriverPhase.STOPPING


def test_a_stop_waits_for_the_end_of_the_batch_that_runs(report):
    """`stop()` in the middle of a batch would interrupt it, and it would run again."""
    query = FakeQuery(batches=2, is_in_batch=True)
    looks = []

    def end_the_batch_at_the_fifth_look():
        looks.append(len(looks))
        if len(looks) == 5:
            query.batches += 1

    query.on_last_progress = end_the_batch_at_the_fifth_look

    running(report, query).run(is_stop_wanted=always)

    assert query.stopped_at == [3]
    assert reported(report) == [0, 1, 2]


def test_a_stop_does_not_wait_longer_than_its_grace(report):
    query = FakeQuery(batches=2, is_in_batch=True)

    RunningQueries([query], report, stop_grace=seconds(0.2)).run(is_stop_wanted=always)

    assert query.stopped_at == [2]


def test_queries_are_active_as_long_as_one_is(report):
    main, companion = FakeQuery(), FakeQuery()
    queries = running(report, main, companion)
    main.end()
    assert queries.is_active

    companion.end()
    assert not queries.is_active
