"""Real drivers: the runner from the zip, started by the local launcher, seen from outside.

What is proven, each by a driver of its own:

1. It shows life, keeps its progress file short, stands a second instance of itself off, and obeys a stop request.
2. SIGTERM to its Python, to its JVM or to both stops the query and leaves an exit record.
3. A stop that has to interrupt a batch is no failure.
4. A newer claim ends it within the halt time.
5. A control log that is deleted ends it.
6. A query that fails ends it with code 1 and every error class; a companion's failure does so too.
7. A driver that was frozen longer than the halt time is killed by its watchdog.
8. A stop that came before the query keeps it from starting.
9. A job that starts queries itself, when it is imported or later by a thread, ends with a class of its own; nothing of a script's
   query is written.
10. A job file that was replaced since its claim is not run.
11. A SIGTERM between the sink's commit and the checkpoint's costs and doubles no row.
"""

import json
import os
import shutil
import signal
import subprocess
import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable

from streamops.control.drivers import DriverPhase, DriverTraces, Heartbeat, read_traces
from streamops.control.fold import fold
from streamops.control.layout import PROGRESS, control_folder, driver_folder, log_folder
from streamops.control.log import ControlLog
from streamops.control.records import Body, Claimed, ClaimMode, DriverHandle, Outcome, Position, Record, StopRequested
from streamops.control.state import Epoch
from streamops.failures.classify import DriverEvidence, classify
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.launch import DriverState, SubmitRequest
from streamops.launch.local import LocalLauncher, spark_submit_command
from streamops.launch.processes import live_group
from streamops.spark import runner
from streamops.spark.report import PROGRESS_KEPT
from streamops.spec import LaunchSpec, StreamSpec, Timings, Trigger, TriggerKind
from streamops.spec.wire import spec_text
from streamops.storage import join
from streamops.storage.address import local_path
from streamops.storage.local import LocalStorage
from streamops.supervision.bundle import file_sha256, submit_request
from support.specs import SUPERVISOR, a_stream, seconds
from support.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
DELTA_JARS = tuple(str(jar) for jar in sorted((ROOT / ".jars" / "spark").glob("delta-*.jar")))
UNITY_JARS = tuple(str(jar) for jar in sorted((ROOT / ".jars" / "spark").glob("unitycatalog-*.jar")))

PATIENCE = 120
"""Seconds for anything that involves a JVM on a busy machine."""

RATE = """
import streamops

def define(spark, stream):
    print("streamops comes from", streamops.__file__, flush=True)
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    return rows.writeStream.format("noop")
"""

COMPANION_FAILS = """
def define(spark, stream):
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    stream.dead_letters_to_delta(rows.selectExpr("timestamp", "100 div (value - value) as share"))
    return rows.writeStream.format("noop")
"""

LONG_BATCH = """
import time

def work(rows, batch):
    print("batch begins", flush=True)
    time.sleep(8)
    rows.sparkSession.range(10).collect()

def define(spark, stream):
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    return rows.writeStream.foreachBatch(work)
"""

SCRIPT = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("old").getOrCreate()
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
query = rows.writeStream.format("noop").option("checkpointLocation", "file:{place}/theirs").start()
spark.streams.awaitAnyTermination()
"""

LATE_STARTER = """
import threading
import time

def second(rows, place):
    time.sleep(3)
    writer = rows.writeStream.format("noop").option("checkpointLocation", "file:{place}/theirs")
    writer._jwrite.start().awaitTermination()

def define(spark, stream):
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    threading.Thread(target=second, args=(rows, "{place}"), daemon=True).start()
    return rows.writeStream.format("noop")
"""

NEVER = """
def define(spark, stream):
    raise AssertionError("the query must not even be defined")
"""

STOPPED_IN_COMMIT = """
import os
import time

from streamops.spark.sinks.append import append_once

def define(spark, stream):
    table = stream.table

    def work(rows, batch):
        append_once(rows.select("value"), table, batch)
        if batch == 3 and not os.path.exists(table.removeprefix("file://") + ".waited"):
            os.mkdir(table.removeprefix("file://") + ".waited")
            print("batch 3 is in the table", flush=True)
            time.sleep(600)

    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    return rows.writeStream.foreachBatch(work)
"""
"""Waits where a crash hurts most: the table has the batch, and the checkpoint's commit is still to come."""

UNHURRIED = Timings(beat=seconds(0.5), halt=seconds(60), takeover=seconds(120))
"""Beats often, and gives a busy machine time."""

LIGHT = (
    ("spark.driver.memory", "512m"),
    ("spark.sql.shuffle.partitions", "1"),
    ("spark.ui.enabled", "false"),
    ("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile=file:{ROOT}/config/log4j2.properties"),
)

DELTA_CONF = (
    ("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension"),
    ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"),
    ("spark.databricks.delta.snapshotPartitions", "1"),
)


class Bench:
    """One stream with its control log, and drivers that are started and watched from outside."""

    def __init__(self, root: Path, spark_submit: str, *, job: str = RATE, timings: Timings = UNHURRIED) -> None:
        root.mkdir(exist_ok=True)
        job_file = root / "job.py"
        job_file.write_text(job)
        launch = LaunchSpec(spark_submit=spark_submit, master="local[1]", conf=LIGHT, folder=str(root))
        self.spec: StreamSpec = a_stream(
            checkpoint=f"file://{root}/checkpoints/orders",
            job=str(job_file),
            timings=timings,
            trigger=Trigger(kind=TriggerKind.PROCESSING_TIME, interval=seconds(0.25)),
            launch=launch,
        )
        self.root = root
        self.storage = LocalStorage()
        self.launcher = LocalLauncher()
        self.log = ControlLog.of_checkpoint(self.storage, self.spec.checkpoint)
        self.control = control_folder(self.spec.checkpoint)
        self.handles: list[DriverHandle] = []

    # What supervisors do

    def append(self, body: Body, *, reason: str = "why") -> None:
        number = len(self.log.read())
        record = Record(
            number=number, at=datetime.now(UTC), by=SUPERVISOR, reason=reason, nonce=uuid.uuid4().hex, body=body
        )
        self.log.append(record)

    def claim(self, epoch: int = 1) -> Epoch:
        claim = Claimed(
            stream=self.spec.name,
            epoch=epoch,
            token=uuid.uuid4().hex,
            mode=ClaimMode.LIVE,
            position=Position(),
            spec=spec_text(self.spec),
            job_sha256=file_sha256(self.spec.job),
            library_version="0",
        )
        self.append(claim)
        newest = fold(self.log.read()).newest
        assert newest is not None
        return newest

    def request(self, epoch: Epoch) -> SubmitRequest:
        return submit_request(self.spec, epoch, self.control, f"file://{self.root}/state")

    def submit(self, epoch: Epoch) -> DriverHandle:
        handle = self.launcher.submit(self.request(epoch))
        self.handles.append(handle)
        return handle

    def start(self) -> DriverHandle:
        """A driver of epoch 1 whose query runs."""
        handle = self.submit(self.claim())
        self.expect(lambda: self.beat is not None and self.beat.phase is DriverPhase.RUNNING)
        return handle

    # What can be seen

    def traces(self, epoch: int = 1) -> tuple[DriverTraces, ...]:
        return read_traces(self.storage, self.control, epoch)

    @property
    def beat(self) -> Heartbeat | None:
        return next((trace.heartbeat for trace in self.traces() if trace.heartbeat), None)

    @property
    def exits(self) -> dict[str, Outcome]:
        """The outcomes that instances of epoch 1 have left."""
        return {trace.instance: trace.exit.outcome for trace in self.traces() if trace.exit}

    @property
    def progress(self) -> list[dict]:
        (trace,) = self.traces()
        content = self.storage.read(join(driver_folder(self.control, 1, trace.instance), PROGRESS))
        return [json.loads(line) for line in content.decode().splitlines()]

    @property
    def newest_offset(self) -> int:
        return self._newest("offsets")

    @property
    def newest_commit(self) -> int:
        return self._newest("commits")

    def _newest(self, folder: str) -> int:
        return max(int(file.name) for file in Path(local_path(self.spec.checkpoint), folder).glob("[0-9]*"))

    @property
    def driver_log(self) -> str:
        return (self.root / "state" / "logs" / self.spec.name / "000001.log").read_text(errors="replace")

    def has_ended(self, handle: DriverHandle) -> bool:
        return self.launcher.poll(handle).state is DriverState.ENDED

    def expect(self, condition, *, within: float = PATIENCE) -> None:
        if not eventually(condition, within=within):
            processes = [process for handle in self.handles for process in live_group(pid_of(handle))]
            pytest.fail(f"{processes}\n{self.traces()}\nlog of the driver:\n{self.driver_log[-5000:]}")

    def end(self) -> None:
        for handle in self.handles:
            self.launcher.kill(handle)


@pytest.fixture
def bench(tmp_path, spark_submit):
    """Makes benches, and ends what still runs on them."""
    made: list[Bench] = []

    def make(**changes) -> Bench:
        made.append(Bench(tmp_path / "bench", spark_submit, **changes))
        return made[-1]

    yield make
    for one in made:
        one.end()


def pid_of(handle: DriverHandle) -> int:
    """The JVM: it leads the group."""
    return int(handle.process.partition(":")[0])


def test_a_driver_shows_life_stands_a_second_instance_off_and_obeys_a_stop_request(bench):
    one = bench()
    handle = one.start()

    # It beats, and its batches move.
    first = one.beat
    one.expect(lambda: one.beat.sequence > first.sequence + 2 and one.beat.batch > first.batch)
    assert first.token == one.log.read()[0].body.token
    assert first.pid in {member.pid for member in live_group(pid_of(handle))}
    assert f"streamops comes from {one.root}/state/lib/" in one.driver_log

    # A manager that restarts it behind our back gives the second process the very same arguments.
    second = one.submit(fold(one.log.read()).newest)
    one.expect(lambda: one.has_ended(second))
    ((second_instance, outcome),) = one.exits.items()
    assert second_instance != first.instance
    assert outcome is Outcome.LEASE_LOST
    assert not one.has_ended(handle)
    shutil.rmtree(local_path(driver_folder(one.control, 1, second_instance)))

    # Its progress file keeps its bound, however many batches there are.
    one.expect(lambda: one.beat.batch > PROGRESS_KEPT + 5)
    one.expect(lambda: len(one.progress) == PROGRESS_KEPT)
    batches = [event["batchId"] for event in one.progress]
    assert batches == list(range(batches[0], batches[0] + PROGRESS_KEPT))

    # It stops between two batches.
    one.append(StopRequested(epoch=1), reason="an upgrade")
    one.expect(lambda: one.has_ended(handle))
    (trace,) = one.traces()
    assert trace.exit.outcome is Outcome.STOPPED
    assert "an upgrade" in trace.exit.text
    assert one.newest_offset - one.newest_commit <= 1
    assert trace.exit.batch == one.progress[-1]["batchId"]


@pytest.mark.fault("B67")
@pytest.mark.parametrize("whom", ["python", "jvm", "group"])
def test_a_sigterm_to_any_of_its_processes_stops_a_driver_gracefully(bench, whom):
    """A launcher and a service manager know the JVM's pid, a container's end reaches the group."""
    one = bench()
    handle = one.start()

    match whom:
        case "python":
            os.kill(one.beat.pid, signal.SIGTERM)
        case "jvm":
            os.kill(pid_of(handle), signal.SIGTERM)
        case _:
            os.killpg(pid_of(handle), signal.SIGTERM)

    one.expect(lambda: one.has_ended(handle))
    (trace,) = one.traces()
    assert (trace.exit.outcome, trace.exit.text) == (Outcome.STOPPED, "SIGTERM")
    assert one.newest_offset - one.newest_commit <= 1


@pytest.mark.fault("B67")
def test_a_stop_that_has_to_interrupt_a_batch_is_no_failure(bench):
    """The function sleeps past the grace, and what it does then meets a query that was stopped (4.2.0)."""
    one = bench(job=LONG_BATCH, timings=replace(UNHURRIED, stop=seconds(2)))
    handle = one.start()
    one.expect(lambda: "batch begins" in one.driver_log)

    one.append(StopRequested(epoch=1), reason="an upgrade")

    one.expect(lambda: one.has_ended(handle))
    (trace,) = one.traces()
    assert trace.exit.outcome is Outcome.STOPPED
    assert one.newest_offset == 0


def test_a_newer_claim_ends_a_driver_within_the_halt_time(bench):
    one = bench()
    handle = one.start()

    one.claim(2)

    one.expect(lambda: one.has_ended(handle), within=one.spec.timings.halt.total_seconds())
    (trace,) = one.traces()
    assert trace.exit.outcome is Outcome.LEASE_LOST
    assert "epoch 2 was claimed" in trace.exit.text


@pytest.mark.timeout(1800)
def test_a_sigterm_between_the_commit_of_the_sink_and_that_of_the_checkpoint_costs_and_doubles_no_row(bench):
    """With the SIGKILL that follows it when the grace is over.

    A function that returned in between would leave the commit to chance: Hadoop's local file system loses the interrupt of
    `stop()` in about every second write (3.5.0, Shell.joinThread).
    """
    one = bench(job=STOPPED_IN_COMMIT, timings=replace(UNHURRIED, stop=seconds(2)))
    one.spec = replace(
        one.spec,
        launch=replace(one.spec.launch, conf=(*LIGHT, *DELTA_CONF), jars=DELTA_JARS + UNITY_JARS),
        sink=replace(one.spec.sink, table=f"file://{one.root}/table"),
    )
    first = one.submit(one.claim())
    one.expect(lambda: "batch 3 is in the table" in one.driver_log, within=3 * PATIENCE)
    assert (one.newest_offset, one.newest_commit) == (3, 2)

    os.killpg(pid_of(first), signal.SIGTERM)
    one.expect(lambda: one.beat.phase is DriverPhase.STOPPING)
    time.sleep(one.spec.timings.stop.total_seconds())
    os.killpg(pid_of(first), signal.SIGKILL)
    one.expect(lambda: one.has_ended(first))
    left = (one.newest_offset, one.newest_commit)
    second = one.submit(one.claim(2))
    one.expect(lambda: one.newest_commit >= 6, within=3 * PATIENCE)
    one.append(StopRequested(epoch=2))
    one.expect(lambda: one.has_ended(second))

    assert left == (3, 2)
    assert one.exits == {}
    assert [trace.exit.outcome for trace in one.traces(2) if trace.exit] == [Outcome.STOPPED]
    rows = sorted(DeltaTable(f"{one.root}/table").to_pyarrow_table()["value"].to_pylist())
    assert rows == list(range(len(rows)))
    assert len(rows) >= 5 * (one.newest_commit + 1)


def test_a_job_file_that_was_replaced_since_its_claim_is_not_run(bench):
    one = bench()
    epoch = one.claim()
    Path(one.spec.job).write_text(NEVER)

    handle = one.submit(epoch)

    one.expect(lambda: one.has_ended(handle))
    (trace,) = one.traces()
    assert trace.exit.outcome is Outcome.LEASE_LOST
    for told in (one.spec.job, epoch.claim.job_sha256, file_sha256(one.spec.job)):
        assert told in trace.exit.text
    assert not Path(local_path(one.spec.checkpoint)).exists()


def test_a_control_log_that_is_deleted_ends_a_driver(bench):
    one = bench()
    handle = one.start()

    shutil.rmtree(local_path(log_folder(one.control)))

    one.expect(lambda: one.has_ended(handle), within=one.spec.timings.halt.total_seconds())
    (trace,) = one.traces()
    assert trace.exit.outcome is Outcome.LEASE_LOST
    assert "the control log is gone" in trace.exit.text


@pytest.mark.fault("B64")
@pytest.mark.fault("B65")
def test_a_companions_failure_ends_the_driver_with_every_error_class_and_code_1(bench):
    one = bench(job=COMPANION_FAILS)
    launch = replace(one.spec.launch, conf=(*LIGHT, *DELTA_CONF), jars=DELTA_JARS + UNITY_JARS)
    sink = replace(one.spec.sink, dead_letters=f"file://{one.root}/dead")
    one.spec = replace(one.spec, launch=launch, sink=sink)
    request = one.request(one.claim())
    log = Path(request.log)
    log.parent.mkdir(parents=True)

    with open(log, "wb") as file:
        process = subprocess.run(
            spark_submit_command(request),
            env={**os.environ, **dict(request.environment)},
            cwd=request.folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            timeout=PATIENCE,
        )

    assert process.returncode == 1, one.driver_log
    (trace,) = one.traces()
    assert trace.exit.outcome is Outcome.FAILED
    assert {"STREAM_FAILED", "DIVIDE_BY_ZERO"} <= set(trace.exit.error_classes)
    assert any(name.startswith("org.apache.spark.") for name in trace.exit.error_classes)
    assert "DIVIDE_BY_ZERO" in trace.exit.text


def test_a_script_as_a_job_is_refused_before_any_batch(bench, tmp_path):
    one = bench(job=SCRIPT.format(place=tmp_path))

    handle = one.submit(one.claim())
    one.expect(lambda: one.has_ended(handle))

    (trace,) = one.traces()
    assert judged(trace.exit) == (FailureClass.JOB_STARTS_QUERIES, Remedy.NEVER), one.driver_log
    assert "job.py calls start of a query in line 6 of" in trace.exit.text
    assert not (tmp_path / "theirs").exists()
    assert not Path(local_path(one.spec.checkpoint)).exists()


@pytest.mark.thorough
def test_a_query_that_a_thread_of_the_job_starts_later_ends_the_driver(bench, tmp_path):
    """It goes round PySpark's writers, so that only the look at the JVM can find it."""
    one = bench(job=LATE_STARTER.format(place=tmp_path))

    handle = one.submit(one.claim())
    one.expect(lambda: one.has_ended(handle))

    (trace,) = one.traces()
    assert judged(trace.exit) == (FailureClass.JOB_STARTS_QUERIES, Remedy.NEVER), one.driver_log
    assert "past the writers of PySpark" in trace.exit.text


def judged(record):
    found = classify(DriverEvidence(outcome=record.outcome, error_classes=record.error_classes, text=record.text))
    return found.failure_class, found.remedy


def test_a_driver_that_was_frozen_longer_than_the_halt_time_is_killed_by_its_watchdog(bench):
    """Its Python wakes up first: the JVM that stands still would let a beat hang for ever."""
    one = bench(timings=Timings(beat=seconds(1), halt=seconds(8), takeover=seconds(20)))
    handle = one.start()
    jvm, python = pid_of(handle), one.beat.pid
    os.killpg(jvm, signal.SIGSTOP)
    wakes_at = time.monotonic() + one.spec.timings.halt.total_seconds() + 1
    one.expect(lambda: time.monotonic() > wakes_at)
    assert not one.has_ended(handle)

    os.kill(python, signal.SIGCONT)

    # Not the whole group: a short-lived chmod of the JVM's may have been frozen with it, and nobody wakes that up.
    one.expect(lambda: {jvm, python}.isdisjoint(process.pid for process in live_group(jvm)), within=60)
    assert one.exits == {}


def test_a_stop_that_came_before_the_query_keeps_it_from_starting(bench, spark, monkeypatch):
    """In this process, on the session of the tests: the driver ends before it would guard anything."""
    monkeypatch.setattr(runner, "_stop_session", lambda session: None)
    one = bench(job=NEVER)
    request = one.request(one.claim())
    one.append(StopRequested(epoch=1), reason="an upgrade")
    before = signal.getsignal(signal.SIGTERM)

    try:
        code = runner.main(request.arguments)
    finally:
        signal.signal(signal.SIGTERM, before)

    assert code == 0
    (trace,) = one.traces()
    assert trace.exit.outcome is Outcome.STOPPED
    assert "an upgrade" in trace.exit.text
    assert not Path(local_path(one.spec.checkpoint)).exists()
