"""Seeing queries to their end, with queries that a test moves."""

import json
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from streamops.control.drivers import DriverPhase
from streamops.spark import query
from streamops.spark.query import RunningQueries, planned_queries
from streamops.spark.report import UNKNOWN_EXECUTORS, DriverReport
from support.assignments import an_assignment
from support.clock import FakeClock
from support.specs import seconds

RAN = ("addBatch", "triggerExecution")
IDLE = ("latestOffset", "triggerExecution")


@dataclass(frozen=True)
class Progress:
    """One progress event, as far as it is read."""

    batchId: int  # noqa: N815 # Spark's name
    timestamp: str = "2026-03-01T12:00:00.000Z"
    steps: tuple[str, ...] = RAN

    @property
    def durationMs(self) -> dict[str, int]:  # noqa: N802
        return dict.fromkeys(self.steps, 1)

    @property
    def json(self) -> str:
        return json.dumps({"batchId": self.batchId, "timestamp": self.timestamp, "durationMs": self.durationMs})


@dataclass
class FakeQuery:
    """A StreamingQuery whose batches are the test's doing."""

    id: str = "q-1"
    runId: str = "r-1"  # noqa: N815
    name: str = "orders"
    events: list[Progress] = field(default_factory=list)
    failure: Exception | None = None
    is_in_batch: bool = False
    message: str = "Waiting for next trigger"
    stopped_at: list[int] = field(default_factory=list)
    isActive: bool = True  # noqa: N815
    on_last_progress: object = None
    recent_asked: int = 0

    def run_batches(self, number: int) -> "FakeQuery":
        """So many more batches end."""
        batch = self.events[-1].batchId + 1 if self.events else 0
        self.events += [Progress(batch + index) for index in range(number)]
        return self

    @property
    def recentProgress(self) -> list[Progress]:  # noqa: N802
        self.recent_asked += 1
        return self.events[-100:]

    @property
    def lastProgress(self) -> Progress | None:  # noqa: N802
        last = self.events[-1] if self.events else None
        if self.on_last_progress:
            self.on_last_progress()
        return last

    @property
    def status(self) -> dict[str, object]:
        return {"isTriggerActive": self.is_in_batch, "isDataAvailable": False, "message": self.message}

    def awaitTermination(self) -> None:  # noqa: N802
        if self.failure:
            raise self.failure

    def stop(self) -> None:
        self.stopped_at.append(len(self.events))
        self.isActive = False

    def end(self, failure: Exception | None = None) -> None:
        self.failure, self.isActive = failure, False


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch):
    monkeypatch.setattr(query, "_TICK", seconds(0.001))


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
    query = FakeQuery().run_batches(3)
    query.end()

    assert running(report, query).run(is_stop_wanted=never) is True
    assert reported(report) == [0, 1, 2]
    assert report.state().batch == 2


def test_a_batch_that_ends_while_progress_is_collected_is_reported_once(report):
    query = FakeQuery().run_batches(1)

    def end_another_batch():
        if len(query.events) < 4:
            query.run_batches(1)

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


@pytest.mark.fault("B64")
@pytest.mark.parametrize("failing", [0, 1], ids=["the stream's own", "a companion"])
def test_the_first_query_that_fails_is_told(report, failing):
    queries = [FakeQuery(), FakeQuery()]
    queries[failing].end(RuntimeError("disk full"))

    with pytest.raises(RuntimeError, match="disk full"):
        running(report, *queries).run(is_stop_wanted=never)


@pytest.mark.fault("B64")
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


@pytest.mark.fault("B67")
def test_a_stop_waits_for_the_end_of_the_batch_that_runs(report):
    """`stop()` in the middle of a batch would interrupt it, and it would run again."""
    query = FakeQuery(is_in_batch=True).run_batches(2)
    looks = []

    def end_the_batch_at_the_fifth_look():
        looks.append(len(looks))
        if len(looks) == 5:
            query.run_batches(1)

    query.on_last_progress = end_the_batch_at_the_fifth_look

    running(report, query).run(is_stop_wanted=always)

    assert query.stopped_at == [3]
    assert reported(report) == [0, 1, 2]


def test_a_stop_does_not_wait_longer_than_its_grace(report):
    query = FakeQuery(is_in_batch=True).run_batches(2)

    RunningQueries([query], report, stop_grace=seconds(0.2)).run(is_stop_wanted=always)

    assert query.stopped_at == [2]


def test_queries_are_active_as_long_as_one_is(report):
    main, companion = FakeQuery(), FakeQuery()
    queries = running(report, main, companion)
    main.end()
    assert queries.is_active

    companion.end()
    assert not queries.is_active


# Looks


def events_of(report: DriverReport) -> list[dict]:
    return [json.loads(line) for line in (report.take_progress() or b"").decode().splitlines()]


def look_once(report: DriverReport, *queries: FakeQuery, **changes) -> None:
    """One round of the loop; the stop that ends it finds nothing to wait for."""
    RunningQueries(list(queries), report, stop_grace=seconds(0), **changes).run(is_stop_wanted=always)


def test_a_batch_after_idle_events_is_reported_though_it_has_their_number(report):
    """Spark gives an idle trigger the number of the batch to come: taken for that batch, it hid the real one's progress."""
    query = FakeQuery().run_batches(2)
    queries = running(report, query)
    steps = iter(
        [
            Progress(2, "12:00:10", IDLE),
            Progress(2, "12:00:20", IDLE),
            Progress(2, "12:00:21"),
            Progress(3, "12:00:22"),
            None,
        ]
    )

    def go_on() -> bool:
        event = next(steps)
        query.events += [event] if event else []
        return event is None

    queries.run(is_stop_wanted=go_on)

    taken = events_of(report)
    assert [(event["batchId"], "addBatch" in event["durationMs"]) for event in taken] == [
        (0, True),
        (1, True),
        (2, False),
        (2, False),
        (2, True),
        (3, True),
    ]
    assert report.state().batch == 3


def test_an_idle_event_is_no_batch(report):
    query = FakeQuery(events=[Progress(0), Progress(1, "later", IDLE)])

    look_once(report, query)

    assert report.state().batch == 0


def test_all_events_are_asked_for_only_where_one_may_lie_between(report):
    """Taking the hundred that Spark keeps to Python costs a fifth of a second."""
    query = FakeQuery().run_batches(1)
    looks = iter([1, 1, 3, None])

    def go_on() -> bool:
        batches = next(looks)
        query.run_batches(batches or 0)
        return batches is None

    running(report, query).run(is_stop_wanted=go_on)

    assert reported(report) == [0, 1, 2, 3, 4, 5]
    assert query.recent_asked == 2


def test_every_query_is_seen_and_its_progress_kept_apart(report):
    main = FakeQuery().run_batches(2)
    companion = FakeQuery(id="q-2", name="orders-0").run_batches(5)

    look_once(report, main, companion)

    assert [(beat.query_id, beat.name, beat.batch) for beat in report.state().queries] == [
        ("q-1", "orders", 1),
        ("q-2", "orders-0", 4),
    ]
    assert report.state().batch == 1


def test_executors_are_counted_but_not_at_every_look(report):
    counted = []
    looks = iter([False] * 2 + [True])

    def count() -> int:
        counted.append(1)
        return 3

    queries = RunningQueries([FakeQuery()], report, stop_grace=seconds(0), count_executors=count)
    queries.run(is_stop_wanted=lambda: next(looks))

    assert report.state().executors == 3
    assert len(counted) == 1


def test_executors_that_cannot_be_counted_end_no_query(report):
    def fail() -> int:
        raise RuntimeError("the context is stopped")

    look_once(report, FakeQuery(), count_executors=fail)

    assert report.state().executors == UNKNOWN_EXECUTORS


# Progress that can't be read


def odd(**fields) -> SimpleNamespace:
    """An event of a form that no Spark known has."""
    said = {"batchId": 1, "timestamp": "12:00:01", "durationMs": {"addBatch": 1}} | fields
    return SimpleNamespace(**{"json": json.dumps(said), **said})


class Unreadable:
    """PySpark itself chokes on it, as it builds an event from its JSON."""

    def __getattr__(self, name: str):
        raise KeyError("sources")


UNREADABLE = [
    pytest.param({}, id="without fields"),
    pytest.param(Unreadable(), id="without sources"),
    pytest.param(odd(batchId="one"), id="a text for the batch"),
    pytest.param(odd(batchId=None), id="no batch"),
    pytest.param(odd(batchId=float("nan")), id="a batch that is no number"),
    pytest.param(odd(batchId=float("inf")), id="a batch beyond all bounds"),
    pytest.param(odd(durationMs=None), id="no durations"),
    pytest.param(odd(durationMs=7), id="a number for the durations"),
    pytest.param(odd(json=None), id="no JSON"),
    pytest.param(odd(json=""), id="empty JSON"),
    pytest.param(odd(json="[]"), id="a list"),
    pytest.param(odd(json="[" * 100_000), id="nested without end"),
    pytest.param(odd(json='{"batchId": ' + "9" * 5000 + "}"), id="a number without end"),
    pytest.param(odd(json='{"batchId": 1, "name": "\ud800"}'), id="no text that can be written"),
]


@pytest.mark.parametrize("event", UNREADABLE)
def test_progress_that_cannot_be_read_ends_no_query_and_is_told_once(report, caplog, event):
    query = FakeQuery(events=[event])
    looks = iter([False, False, True])

    assert running(report, query).run(is_stop_wanted=lambda: next(looks)) is False

    assert [record.message.partition(" query=0")[0] for record in caplog.records] == ["progress unreadable:"]
    assert (report.state().queries[0].query_id, report.state().batch, report.take_progress()) == ("q-1", -1, None)


@pytest.mark.parametrize("event", UNREADABLE)
def test_progress_after_one_that_cannot_be_read_is_reported_again(report, event):
    query = FakeQuery().run_batches(1)
    steps = iter([event, Progress(2), Progress(3), None])

    def go_on() -> bool:
        step = next(steps)
        query.events += [step] if step is not None else []
        return step is None

    running(report, query).run(is_stop_wanted=go_on)

    assert reported(report) == [0, 2, 3]


@pytest.mark.parametrize(
    ("event", "batch"),
    [
        pytest.param(odd(batchId="1"), 1, id="a text that is a number"),
        pytest.param(odd(durationMs={"addBatch": float("nan")}), 1, id="a duration that is no number"),
        pytest.param(odd(sources=[{"description": "x" * 5_000_000}]), 1, id="very long"),
        pytest.param(odd(sources=None), 1, id="no sources"),
    ],
)
def test_progress_of_an_odd_form_that_tells_its_batch_is_one(report, event, batch):
    look_once(report, FakeQuery(events=[event]))

    assert report.state().batch == batch


def test_one_query_whose_progress_cannot_be_read_hides_no_other(report):
    look_once(report, FakeQuery(events=[Unreadable()]), FakeQuery(id="q-2").run_batches(2))

    assert [beat.batch for beat in report.state().queries] == [-1, 1]


def test_an_event_is_a_sign_of_life_even_where_it_cannot_be_read():
    """Else quick batches that look like one long batch would be taken for a stall, and the query restarted."""
    clock = FakeClock()
    report = DriverReport(clock=clock)
    look_once(report, FakeQuery())
    clock.advance(seconds(60))
    report.add_progress(["no JSON"])

    assert report.state().queries[0].progress_seconds == 0


@pytest.mark.parametrize("first", [Progress(0), Unreadable()], ids=["one that can", "one that cannot"])
def test_a_stop_ends_with_its_batch_though_the_progress_cannot_be_read(report, first):
    query = FakeQuery(is_in_batch=True, events=[first])

    def end_the_batch():
        query.is_in_batch = False
        query.events.append(Unreadable())

    query.on_last_progress = end_the_batch

    running(report, query).run(is_stop_wanted=always)

    assert not query.isActive


# Triggers


class FakeWriter:
    """A DataStreamWriter that keeps what it was told."""

    def __init__(self, output_mode: str = "append") -> None:
        self.output_mode = output_mode
        self.triggers: list[dict[str, object]] = []
        self.query = FakeQuery()

    def queryName(self, name: str) -> "FakeWriter":  # noqa: N802
        return self

    def option(self, name: str, value: str) -> "FakeWriter":
        return self

    def outputMode(self, mode: str) -> "FakeWriter":  # noqa: N802
        self.output_mode = mode
        return self

    def trigger(self, **given: object) -> "FakeWriter":
        self.triggers.append(given)
        return self

    def start(self) -> FakeQuery:
        return self.query


@pytest.mark.parametrize(
    ("kind", "own", "mode", "companion"),
    [
        pytest.param("processing_time", {"processingTime": "5 seconds"}, "append", {"processingTime": "5 seconds"}),
        pytest.param("available_now", {"availableNow": True}, "append", {"availableNow": True}),
        pytest.param("continuous", {"continuous": "5 seconds"}, "append", {"processingTime": "10 seconds"}),
        pytest.param("real_time", {"realTime": "5 seconds"}, "update", {"processingTime": "10 seconds"}),
    ],
)
def test_the_trigger_is_of_all_queries_unless_only_the_stream_s_own_can_run_under_it(
    report, monkeypatch, kind, own, mode, companion
):
    """A job need not know: real time takes no other mode than update, and a dead-letter table no other trigger than batches."""
    monkeypatch.setattr(query, "_executors_of_session", lambda: lambda: 1)
    writers = FakeWriter(), FakeWriter()
    assignment = an_assignment(trigger_kind=kind, trigger_interval=seconds(5))

    RunningQueries.start(planned_queries(writers[0], (writers[1],), assignment), assignment, report)

    assert [writer.triggers for writer in writers] == [[own], [companion]]
    assert [writer.output_mode for writer in writers] == [mode, "append"]
