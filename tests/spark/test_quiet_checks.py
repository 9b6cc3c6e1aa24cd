"""No false alarms: running queries of several kinds are checked at random instants, and nothing may be told.

`make quiet-check CHECKS=1000` writes `.sandbox/quiet.json`; a plain test run makes a few checks, to stay quick.
"""

import io
import json
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep

import pytest

from streamops.catalogue.watch import HealthSample, Watch
from streamops.cli.main import main
from streamops.diagnosis.checkup import check
from streamops.engines import PINNED
from streamops.errors import StorageError
from streamops.storage.local import LocalStorage
from streamops.verdict import Severity, Verdict
from support.waiting import eventually

TARGET = os.environ.get("STREAMOPS_QUIET", "")
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(0 if TARGET else 900)]
CHECKS = int(os.environ.get("CHECKS", "60"))
SEED = int(os.environ.get("SEED", "1"))
LONGEST_PACE = 3.0
"""Seconds a batch that are believed of these queries, however slow the machine is."""
THROUGH_THE_COMMAND = 10
"""One check in so many."""
BEFORE = 3
"""Batches that each query has run before the first check, enough for a first purge."""

STORES = "org.apache.spark.sql.execution.streaming.state."
ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": f"{STORES}RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
UNIQUE_IDS = {**ROCKSDB, "spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}
HDFS = {
    "spark.sql.streaming.stateStore.providerClass": f"{STORES}HDFSBackedStateStoreProvider",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
}
PURGING = {"spark.sql.streaming.minBatchesToRetain": "2"}
COMMON = {"spark.sql.shuffle.partitions": "2", "spark.sql.streaming.stateStore.maintenanceInterval": "500ms"}
"""The interval holds for the whole JVM from its first stateful query on: state is cleaned up while it is listed."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    name: str
    rows: Callable
    """From a session and a folder for input to a frame."""
    mode: str = "append"
    sink: str = "noop"
    conf: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)

    @property
    def is_async(self) -> bool:
        return "asyncProgressTrackingEnabled" in self.options


def rate(spark, _):
    """Twenty rows a second."""
    return spark.readStream.format("rate").option("rowsPerSecond", 20).load()


def counted(spark, inputs):
    """By ten keys."""
    return rate(spark, inputs).selectExpr("value % 10 AS key").groupBy("key").count()


def deduplicated(spark, inputs):
    """With a watermark, so that keys leave the state again."""
    return rate(spark, inputs).withWatermark("timestamp", "1 second").dropDuplicatesWithinWatermark(["value"])


def joined(spark, inputs):
    """Two sources, and four stores a partition."""
    left, right = (rate(spark, inputs).withWatermark("timestamp", "1 second") for _ in range(2))
    right = right.selectExpr("value AS other", "timestamp AS at")
    return left.join(right, left.value == right.other)


def files(spark, inputs):
    """One file a batch; its input is deleted as soon as the batch after it is planned."""
    read = spark.readStream.schema("n long").option("maxFilesPerTrigger", 1).option("cleanSource", "delete")
    return read.json(str(inputs))


def async_progress(interval: str) -> dict[str, str]:
    """With entries in the logs for some batches only, one in each interval."""
    return {
        "asyncProgressTrackingEnabled": "true",
        "asyncProgressTrackingCheckpointIntervalMs": interval,
        "_asyncProgressTrackingOverrideSinkSupportCheck": "true",
    }


KINDS = (
    Kind(name="files", rows=files),
    Kind(name="files-purging", rows=files, conf=PURGING),
    Kind(name="rate-purging", rows=rate, conf=PURGING),
    Kind(name="file-sink", rows=rate, sink="parquet", conf={"spark.sql.streaming.fileSink.log.compactInterval": "3"}),
    Kind(name="hdfs-state", rows=counted, mode="update", conf=HDFS),
    Kind(name="hdfs-state-purging", rows=counted, mode="update", conf={**HDFS, **PURGING}),
    Kind(name="rocksdb-changelog", rows=counted, mode="update", conf=ROCKSDB),
    Kind(name="rocksdb-changelog-purging", rows=deduplicated, conf={**ROCKSDB, **PURGING}),
    Kind(name="rocksdb-unique-ids", rows=counted, mode="update", conf=UNIQUE_IDS),
    Kind(name="join", rows=joined, conf=HDFS),
    Kind(name="async-progress", rows=rate, options=async_progress("20000")),
    Kind(name="async-progress-purging", rows=rate, options=async_progress("5000"), conf=PURGING),
)


SOME = frozenset({"files-purging", "file-sink", "hdfs-state-purging", "rocksdb-unique-ids", "async-progress-purging"})
"""Kinds of a plain test run."""


@dataclass(frozen=True, kw_only=True)
class Running:
    kind: Kind
    checkpoint: Path
    query: object
    before: list[HealthSample] = field(default_factory=list)
    """What earlier checks of it have kept, oldest first."""

    @property
    def batches(self) -> int:
        progress = self.query.lastProgress
        return progress.batchId + 1 if progress else 0


def started(spark, kind: Kind, root: Path) -> Running:
    """A session of its own for its confs: a query takes those that its session has when it starts."""
    session = spark.newSession()
    for key, value in {**COMMON, **kind.conf}.items():
        session.conf.set(key, value)
    inputs, checkpoint = root / "input", root / "checkpoint"
    inputs.mkdir(parents=True)
    writer = kind.rows(session, inputs).writeStream.outputMode(kind.mode)
    writer = writer.format(kind.sink).options(**kind.options).trigger(processingTime="100 milliseconds")
    if kind.sink != "noop":
        writer = writer.option("path", str(root / "output"))
    return Running(
        kind=kind,
        checkpoint=checkpoint,
        query=writer.option("checkpointLocation", str(checkpoint)).start(),
    )


@pytest.fixture(scope="module")
def running(spark, tmp_path_factory) -> Iterator[list[Running]]:
    """All kinds at once, with input for those that read files."""
    root = tmp_path_factory.mktemp("quiet")
    done = threading.Event()
    feeder = threading.Thread(target=feed, args=(root, done))
    found = [started(spark, kind, root / kind.name) for kind in KINDS if TARGET or kind.name in SOME]
    feeder.start()
    try:
        assert eventually(lambda: all(each.batches >= BEFORE for each in found), within=240), progress_of(found)
        yield found
    finally:
        done.set()
        feeder.join()
        for each in found:
            each.query.stop()


def feed(root: Path, done: threading.Event) -> None:
    """A small file for each file source, a few times a second; whole from the moment at which it has its name."""
    number = 0
    while not done.wait(0.2):
        number += 1
        for inputs in root.glob("files*/input"):
            (inputs / f".{number}").write_text(json.dumps({"n": number}))
            (inputs / f".{number}").rename(inputs / f"{number}.json")


def progress_of(running: list[Running]) -> dict[str, str]:
    """For a message: batches, or the reason why there are none."""
    return {each.kind.name: str(each.query.exception() or each.batches)[:500] for each in running}


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What one check told."""

    verdict: Verdict
    told: tuple[tuple[str, str], ...] = ()
    """Rule and evidence of all that counts; a plan that no finding explains is one, too."""


def look(running: Running) -> Looked:
    """A check by the function that everybody asks, with all that rounds of checks know of a declared stream."""
    now = datetime.now(UTC)
    try:
        found = check(
            LocalStorage(),
            f"file://{running.checkpoint}",
            engine=PINNED,
            tracks_progress_async=running.kind.is_async,
            confs=tuple({**COMMON, **running.kind.conf}.items()),
            watch=Watch(now=now, before=tuple(running.before), has_driver=True),
        )
    except StorageError as error:
        return Looked(verdict=Verdict.UNKNOWN, told=(("storage", str(error)),))
    running.before.append(found.sample(now))
    told = [
        (finding.rule, f"{finding.file}: {finding.evidence}")
        for finding in found.findings
        if finding.severity > Severity.NOTE
    ]
    if found.verdict is not Verdict.OK:
        told.append((f"plan {found.restart.safety}", found.restart.summary))
    return Looked(verdict=found.verdict, told=tuple(told))


def look_through_the_command(running: Running) -> Looked:
    """A check as a person asks for it."""
    out = io.StringIO()
    with redirect_stdout(out):
        main(
            ["check", str(running.checkpoint), "--json", f"--async-progress={'yes' if running.kind.is_async else 'no'}"]
        )
    if not out.getvalue():
        return Looked(verdict=Verdict.UNKNOWN, told=(("storage", "refused"),))
    report = json.loads(out.getvalue())
    told = [(each["rule"], each["evidence"]) for each in report["findings"] if each["severity"] != "note"]
    return Looked(verdict=Verdict(report["verdict"]), told=tuple(told))


class Pauses:
    """Random pauses between checks, so that about one check is made for each batch of any query."""

    def __init__(self, running: list[Running], numbers: random.Random) -> None:
        self._running = running
        self._numbers = numbers
        self._started = monotonic()
        self._before = self._batches

    def take(self) -> None:
        """Up to twice the time between two batches, as it has been so far."""
        pace = (monotonic() - self._started) / max(1, self._batches - self._before)
        sleep(self._numbers.uniform(0, 2 * min(pace, LONGEST_PACE)))

    @property
    def _batches(self) -> int:
        return sum(each.batches for each in self._running)


def test_running_queries_are_checked_without_an_alarm(running, record_property):
    numbers = random.Random(SEED)
    before = {each.kind.name: each.batches for each in running}
    pauses = Pauses(running, numbers)
    verdicts: Counter[str] = Counter()
    alarms: list[dict[str, object]] = []
    for number in range(CHECKS):
        pauses.take()
        asked = numbers.choice(running)
        ask = look_through_the_command if number % THROUGH_THE_COMMAND == 0 else look
        looked = ask(asked)
        is_passing = looked.verdict is Verdict.UNKNOWN and ask(asked).verdict is not Verdict.UNKNOWN
        verdicts["unknown for one look" if is_passing else str(looked.verdict)] += 1
        if looked.verdict is not Verdict.OK and not is_passing:
            alarms.append({"query": asked.kind.name, "verdict": str(looked.verdict), "told": looked.told})
    report = summary(verdicts, alarms, running, before)
    record_property("figure", f"quiet checks: {json.dumps({**report, 'alarms': len(alarms)})}")
    if TARGET:
        Path(TARGET).parent.mkdir(parents=True, exist_ok=True)
        Path(TARGET).write_text(json.dumps(report, indent=2) + "\n")
    assert alarms == []
    assert eventually(lambda: all(each.batches > before[each.kind.name] for each in running), within=120), progress_of(
        running
    )


def summary(verdicts: Counter[str], alarms: list[dict], running: list[Running], before: dict[str, int]) -> dict:
    """The run in figures, and each alarm."""
    return {
        "checks": sum(verdicts.values()),
        "warnings": verdicts["warning"],
        "criticals": verdicts["critical"],
        "unknowns": verdicts["unknown"],
        "unknowns_for_one_look": verdicts["unknown for one look"],
        "batches_meanwhile": {each.kind.name: each.batches - before[each.kind.name] for each in running},
        "by_rule": dict(Counter(rule for alarm in alarms for rule, _ in alarm["told"])),
        "alarms": alarms,
    }
