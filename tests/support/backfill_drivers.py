"""Real drivers of a backfill on a real broker, and what is in the tables and in Kafka seen without Spark."""

import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from deltalake import DeltaTable

from streamops.control.backfill_plan import BackfillPlan, encode_plan
from streamops.control.drivers import DriverTraces, QueryStep, read_traces
from streamops.control.fold import fold
from streamops.control.kafka_offsets import Offsets, Partition
from streamops.control.layout import backfill_checkpoint, backfill_plan_address, companion_checkpoint, control_folder
from streamops.control.log import ControlLog
from streamops.control.records import Body, Claimed, ClaimMode, DriverHandle, Position, Record
from streamops.launch import DriverState
from streamops.launch.local import LocalLauncher
from streamops.spec import KafkaSource, LaunchSpec, SinkSpec, Source, Timings
from streamops.spec.wire import spec_text
from streamops.storage.address import local_path
from streamops.storage.local import LocalStorage
from streamops.supervision.bundle import file_sha256, submit_request
from support.backfills import a_plan
from support.specs import SUPERVISOR, a_stream, seconds
from support.waiting import eventually

ROOT = Path(__file__).parents[2]
PATIENCE = 300
"""Seconds for anything that involves a JVM on a busy machine."""

UNHURRIED = Timings(beat=seconds(0.5), halt=seconds(60), takeover=seconds(120))
CONF = (
    ("spark.driver.memory", "1g"),
    ("spark.sql.session.timeZone", "Asia/Kolkata"),
    ("spark.sql.shuffle.partitions", "1"),
    ("spark.databricks.delta.snapshotPartitions", "1"),
    ("spark.ui.enabled", "false"),
    ("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile=file:{ROOT}/config/log4j2.properties"),
    ("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension"),
    ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"),
)

Rows = Counter[tuple[int, int]]
"""Partition and offset of each row, with how often it is there."""


class BackfillBench:
    """One backfill of a stream with its control log, and drivers that are started and watched from outside."""

    def __init__(
        self,
        root: Path,
        spark_submit: str,
        *,
        job: str,
        bootstrap: str = "",
        topic: str = "",
        source: Source | None = None,
        **options: str,
    ) -> None:
        """Of a topic, unless another source is given."""
        root.mkdir(parents=True)
        (root / "job.py").write_text(job)
        self.root = root
        self.topic = topic
        self.bootstrap = bootstrap
        self.spec = a_stream(
            checkpoint=backfill_checkpoint(f"file://{root}/orders", "march"),
            job=str(root / "job.py"),
            timings=UNHURRIED,
            source=source
            or KafkaSource(bootstrap_servers=bootstrap, topics=(topic,), options=tuple(sorted(options.items()))),
            sink=SinkSpec(table=f"file://{root}/table", dead_letters=f"file://{root}/dead"),
            launch=LaunchSpec(
                spark_submit=spark_submit,
                master="local[2]",
                conf=CONF,
                jars=tuple(str(jar) for jar in sorted((ROOT / ".jars" / "spark").glob("*.jar"))),
                folder=str(root),
            ),
        )
        self.storage = LocalStorage()
        self.launcher = LocalLauncher()
        self.control = control_folder(self.spec.checkpoint)
        self.log = ControlLog.of_checkpoint(self.storage, self.spec.checkpoint)
        self.handles: list[DriverHandle] = []

    def plan(self, start: Offsets, *chunks: Offsets, **changes: object) -> BackfillPlan:
        """The plan, written where drivers find it."""
        sink = self.spec.sink
        # Its jobs append, so to the plan it is another table than the stream's own.
        plan = a_plan(start=start, chunks=chunks, table=sink.table, dead_letters=sink.dead_letters, is_redirected=True)
        plan = replace(plan, **changes)
        self.keep(plan)
        return plan

    def keep(self, plan: BackfillPlan) -> None:
        """A plan that somebody made, where drivers find it."""
        self.storage.write(backfill_plan_address(self.spec.checkpoint), encode_plan(plan))

    def append(self, body: Body, *, reason: str = "why") -> None:
        number = len(self.log.read())
        self.log.append(
            Record(number=number, at=datetime.now(UTC), by=SUPERVISOR, reason=reason, nonce=uuid.uuid4().hex, body=body)
        )

    def start(self, epoch: int = 1, *, mode: ClaimMode = ClaimMode.BACKFILL) -> DriverHandle:
        self.append(
            Claimed(
                stream=self.spec.name,
                epoch=epoch,
                token=uuid.uuid4().hex,
                mode=mode,
                position=Position(),
                spec=spec_text(self.spec),
                job_sha256=file_sha256(self.spec.job),
                library_version="0",
            )
        )
        newest = fold(self.log.read()).newest
        assert newest is not None
        handle = self.launcher.submit(submit_request(self.spec, newest, self.control, f"file://{self.root}/state"))
        self.handles.append(handle)
        return handle

    def run(self, epoch: int = 1, *, mode: ClaimMode = ClaimMode.BACKFILL) -> DriverTraces:
        """A driver to its end."""
        handle = self.start(epoch, mode=mode)
        self.expect(lambda: self.has_ended(handle))
        return self.trace(epoch)

    def trace(self, epoch: int = 1) -> DriverTraces:
        (trace,) = read_traces(self.storage, self.control, epoch)
        return trace

    def steps(self, epoch: int) -> set[QueryStep]:
        """What the queries of a driver are at, as it said last."""
        beats = [trace.heartbeat for trace in read_traces(self.storage, self.control, epoch) if trace.heartbeat]
        return {query.step for beat in beats for query in beat.queries}

    def has_ended(self, handle: DriverHandle) -> bool:
        return self.launcher.poll(handle).state is DriverState.ENDED

    def newest(self, folder: str, *, companion: int | None = None) -> int:
        """The newest batch of a log of the stream's query, or of a companion's; -1 for none."""
        checkpoint = self.spec.checkpoint
        address = checkpoint if companion is None else companion_checkpoint(checkpoint, companion)
        names = [file.name for file in Path(local_path(address) or "", folder).glob("*")]
        return max((int(name) for name in names if name.isdecimal()), default=-1)

    @property
    def driver_log(self) -> str:
        logs = sorted((self.root / "state" / "logs").rglob("*.log"))
        return logs[-1].read_text(errors="replace") if logs else ""

    def expect(self, condition: Callable[[], bool]) -> None:
        if not eventually(condition, within=PATIENCE):
            pytest.fail(f"log of the driver:\n{self.driver_log[-5000:]}")

    def end(self) -> None:
        for handle in self.handles:
            self.launcher.kill(handle)

    def rows(self, table: str) -> Rows:
        """What is in a table; nothing where there is none."""
        folder = local_path(table) or ""
        if not DeltaTable.is_deltatable(folder):
            return Counter()
        found = DeltaTable(folder).to_pyarrow_table(columns=["partition", "offset"])
        return Counter(zip(found["partition"].to_pylist(), found["offset"].to_pylist(), strict=True))

    def values(self, table: str) -> dict[tuple[int, int], str]:
        """The values of a table by partition and offset."""
        found = DeltaTable(local_path(table) or "").to_pyarrow_table(columns=["partition", "offset", "value"])
        return {(row["partition"], row["offset"]): row["value"] for row in found.to_pylist()}

    def records(self) -> Mapping[tuple[int, int], tuple[str, datetime]]:
        """Everything in the topic by partition and offset, read by a consumer of its own: text and stamp."""
        settings = {"bootstrap.servers": self.bootstrap, "group.id": "independent", "enable.auto.commit": False}
        consumer = Consumer({**settings, "auto.offset.reset": "earliest", "enable.partition.eof": True, "log_level": 0})
        numbers = consumer.list_topics(self.topic, timeout=20).topics[self.topic].partitions
        consumer.assign([TopicPartition(self.topic, number, 0) for number in numbers])
        found, ended = {}, 0
        while ended < len(numbers):
            message = consumer.poll(20)
            assert message is not None
            if message.error():
                ended += 1
                continue
            at = datetime.fromtimestamp(message.timestamp()[1] / 1000, UTC)
            found[message.partition(), message.offset()] = (message.value().decode(), at)
        consumer.close()
        return found


def pid_of(handle: DriverHandle) -> int:
    """The JVM: it leads the group."""
    return int(handle.process.partition(":")[0])


def within(partition: Partition, offset: int, start: Offsets, end: Offsets) -> bool:
    """Whether a place belongs to a range."""
    firsts, lasts = start.by_partition(), end.by_partition()
    return partition in firsts and firsts[partition] <= offset < lasts[partition]
