"""What real queries show of themselves through their driver's beat, and what a supervisor makes of it.

What is proven, on the session of the tests, with windows of seconds instead of minutes:

1. An idle query is idle, however long; its progress is renewed; and the batch after the idle time is reported.
2. A batch that does not end is told from that, and a stop that waits for it from both.
3. A broker that accepts and never answers leaves a query stuck in planning: it lives, and it is told what it waits for.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from streamops.clock import SystemClock
from streamops.control.assignment import Assignment, KafkaInput
from streamops.control.drivers import Heartbeat, QueryBeat, QueryStep, read_traces
from streamops.control.layout import PROGRESS, control_folder, driver_folder
from streamops.control.records import ClaimMode
from streamops.liveness import Liveness, LivenessKind, StallAction, StallPolicy, StreamPace, judge_liveness
from streamops.progress import ProgressHistory, read_progress
from streamops.spark.lease import DriverIdentity, Lease
from streamops.spark.query import RunningQueries, planned_queries
from streamops.spark.report import DriverReport
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from support.records import a_claim, a_log, token_of, write_log
from support.specs import CHECKPOINT, seconds
from support.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.slow]

JARS = Path(__file__).parents[2] / ".jars" / "spark"
KAFKA_JARS = ("spark-sql-kafka-*", "spark-token-provider-kafka-*", "kafka-clients-*", "commons-pool2-*")
PATIENCE = 30
"""Seconds, on a busy machine."""

CONTROL = control_folder(CHECKPOINT)
INSTANCE = "0123456789abcdef"
RHYTHM = StreamPace(trigger_interval=seconds(1), stop_grace=seconds(2), takeover=seconds(60))
HASTY = StallPolicy(window_floor=seconds(1), restart_floor=seconds(2), first_batch=seconds(1))
"""A second is long here."""
CALM = StallPolicy(window_floor=seconds(5), restart_floor=seconds(5), first_batch=seconds(PATIENCE))
"""Longer than a busy machine makes a healthy query wait."""


class Driver:
    """A driver without a process of its own: the real queries, report and lease; a test says when it beats."""

    def __init__(self, writer, folder: Path, *, stop: timedelta) -> None:
        self.storage = MemoryStorage()
        write_log(self.storage, CONTROL, a_log(a_claim(1)))
        report = DriverReport()
        identity = DriverIdentity(
            control=CONTROL, record=0, epoch=1, token=token_of(1), instance=INSTANCE, application_id="local-1"
        )
        self._lease = Lease(self.storage, identity, report, clock=SystemClock())
        self._stop = threading.Event()
        assignment = an_assignment(folder, stop=stop)
        self._queries = RunningQueries.start(planned_queries(writer, (), assignment), assignment, report)
        self.failure: Exception | None = None
        self._loop = threading.Thread(target=self._run, daemon=True)
        self._loop.start()

    def _run(self) -> None:
        try:
            self._queries.run(is_stop_wanted=self._stop.is_set)
        except Exception as error:
            self.failure = error

    def beat(self) -> Heartbeat:
        self._lease.beat()
        (trace,) = read_traces(self.storage, CONTROL, 1)
        return trace.heartbeat

    @property
    def query(self) -> QueryBeat | None:
        """The stream's own query; None before the first look at it."""
        return next(iter(self.beat().queries), None)

    @property
    def history(self) -> ProgressHistory:
        """As written with the beat of this moment."""
        self.beat()
        return read_progress(self.storage, join(driver_folder(CONTROL, 1, INSTANCE), PROGRESS))

    def judged(self, policy: StallPolicy = HASTY) -> Liveness:
        return judge_liveness(self.beat(), self.history, rhythm=RHYTHM, policy=policy)

    def is_in(self, step: QueryStep, *, longer_than: float = 0) -> bool:
        return self.query is not None and self.query.step is step and self.query.step_seconds > longer_than

    def ask_to_stop(self) -> None:
        self._stop.set()

    def has_ended(self) -> bool:
        return not self._loop.is_alive()


def an_assignment(folder: Path, *, stop: timedelta) -> Assignment:
    return Assignment(
        stream="orders",
        epoch=1,
        token=token_of(1),
        mode=ClaimMode.LIVE,
        job="",
        job_sha256="",
        checkpoint=f"file://{folder}/checkpoint",
        source=KafkaInput(bootstrap_servers="", topics=()),
        table="",
        dead_letters="",
        trigger_kind="processing_time",
        trigger_interval=RHYTHM.trigger_interval,
        beat=seconds(5),
        halt=seconds(30),
        stop=stop,
    )


@contextmanager
def a_driver(writer, folder: Path, *, stop: timedelta = RHYTHM.stop_grace) -> Iterator[Driver]:
    driver = Driver(writer, folder, stop=stop)
    try:
        yield driver
    finally:
        driver.ask_to_stop()
        assert eventually(driver.has_ended, within=PATIENCE)


@pytest.fixture
def files(spark, tmp_path):
    """A stream of small files, and a way to add one."""
    folder = tmp_path / "in"
    folder.mkdir()

    def add(number: int) -> None:
        hidden = tmp_path / f"{number}.json"
        hidden.write_text(json.dumps({"number": number}))
        hidden.rename(folder / hidden.name)

    return spark.readStream.schema("number int").json(str(folder)), add


@pytest.fixture
def soon_idle(spark):
    """An idle query renews its progress every second instead of every ten."""
    name = "spark.sql.streaming.noDataProgressEventInterval"
    spark.conf.set(name, "1000")
    yield
    spark.conf.unset(name)


def wait_for(condition: Callable[[], bool], driver: Driver) -> None:
    assert eventually(condition, within=PATIENCE), (driver.beat(), driver.history, driver.failure)


@pytest.mark.fault("B83")
def test_an_idle_query_is_idle_and_its_next_batch_is_reported(files, tmp_path, soon_idle):
    stream, add = files
    add(0)
    with a_driver(stream.writeStream.format("noop"), tmp_path) as driver:
        wait_for(lambda: any(not event.has_run for event in driver.history.events), driver)

        # Looked at all the time, for longer than the window: idle, or planning for a moment.
        seen, until = [], driver.history.newest.started_at + CALM.window_floor + seconds(1)
        wait_for(lambda: seen.append(driver.judged(CALM)) or driver.history.newest.started_at > until, driver)
        assert LivenessKind.IDLE in {judged.kind for judged in seen}
        assert {judged.kind for judged in seen} <= {LivenessKind.IDLE, LivenessKind.WORKING}
        assert driver.beat().batch == 0
        assert driver.beat().executors == 1

        add(1)
        wait_for(lambda: driver.beat().batch == 1, driver)
        ran = [event.batch for event in driver.history.events if event.has_run]
        assert ran == [0, 1]


def test_a_batch_that_does_not_end_is_stuck_and_so_is_the_stop_that_waits_for_it(files, tmp_path):
    stream, add = files
    may_end = threading.Event()
    add(0)
    writer = stream.writeStream.foreachBatch(lambda frame, batch: may_end.wait(PATIENCE))
    with a_driver(writer, tmp_path) as driver:
        try:
            wait_for(lambda: driver.is_in(QueryStep.BATCH, longer_than=HASTY.first_batch.total_seconds()), driver)
            judged = driver.judged()
            assert (judged.kind, judged.advice) == (LivenessKind.STUCK_IN_BATCH, StallAction.REPORT)
            assert driver.query.message == "Processing new data"

            driver.ask_to_stop()
            wait_for(lambda: driver.judged().kind is LivenessKind.STUCK_IN_STOP, driver)
            assert driver.judged().since >= RHYTHM.stop_grace
            assert not driver.has_ended()
        finally:
            may_end.set()


@pytest.mark.fault("B41")
def test_a_broker_that_never_answers_leaves_a_query_stuck_in_planning(spark, tmp_path):
    for jar in sorted(file for pattern in KAFKA_JARS for file in JARS.glob(pattern + ".jar")):
        spark.sql(f"ADD JAR '{jar}'")
    with socket.create_server(("127.0.0.1", 0)) as mute:
        stream = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", f"127.0.0.1:{mute.getsockname()[1]}")
            .option("subscribe", "orders")
            # Spark's own: three times a minute, in which it does not hear a stop either.
            .option("kafka.request.timeout.ms", "3000")
            .option("kafka.default.api.timeout.ms", "5000")
            .option("fetchOffset.numRetries", "1")
            .load()
        )
        with a_driver(stream.writeStream.format("noop"), tmp_path) as driver:
            wait_for(lambda: driver.is_in(QueryStep.PLANNING, longer_than=HASTY.first_batch.total_seconds()), driver)

            judged = driver.judged()
            assert (judged.kind, judged.advice) == (LivenessKind.STUCK_IN_PLANNING, StallAction.REPORT)
            assert "Getting offsets from KafkaV2[Subscribe[orders]]" in judged.reason
            assert driver.beat().report_age_seconds < 1
            assert driver.failure is None
            wait_for(driver.has_ended, driver)
