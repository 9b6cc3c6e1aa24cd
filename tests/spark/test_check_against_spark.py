"""What `check` says of input folders and RocksDB snapshots, held against what the pinned Spark then does."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from streamops.catalogue.watch import Watch
from streamops.diagnosis.checkup import check
from streamops.diagnosis.declared_places import SourceInput
from streamops.diagnosis.restart_plan import Safety
from streamops.engines import PINNED
from streamops.storage.local import LocalStorage

pytestmark = pytest.mark.spark

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Query:
    """A file source with one file a batch; what it has read is in `rows`."""

    def __init__(self, spark, root, *, keeps_state=False):
        self.spark = spark
        self.inputs = root / "in"
        self.checkpoint = root / "checkpoint"
        self.keeps_state = keeps_state
        self.rows = []

    def put(self, name, *, rows=("a",), age=timedelta(0)):
        """A file of input, written so long ago."""
        self.inputs.mkdir(exist_ok=True)
        file = self.inputs / f"{name}.json"
        file.write_text("\n".join(json.dumps({"k": row}) for row in rows))
        moment = time.time() - age.total_seconds()
        os.utime(file, (moment, moment))

    def run(self):
        """One run over all there is; the error's text, empty where there is none."""
        read = self.spark.readStream.schema("k string").option("maxFilesPerTrigger", 1).json(str(self.inputs))
        rows = read.groupBy("k").count() if self.keeps_state else read
        writer = rows.writeStream.outputMode("update" if self.keeps_state else "append").foreachBatch(self._take)
        try:
            writer.option("checkpointLocation", str(self.checkpoint)).trigger(
                availableNow=True
            ).start().awaitTermination()
        except Exception as error:
            return str(error)
        return ""

    def check(self):
        """The checkup before a start on this folder of input."""
        return check(
            LocalStorage(),
            f"file://{self.checkpoint}",
            engine=PINNED,
            # Later than what was written just now, which would be told as a query that runs.
            watch=Watch(now=datetime.now(UTC) + timedelta(minutes=2)),
            source_inputs=[SourceInput(storage=LocalStorage(), address=f"file://{self.inputs}")],
        )

    def said(self):
        return [finding.rule for finding in self.check().findings]

    def _take(self, frame, batch):
        self.rows += [row.k for row in frame.collect()]


@pytest.fixture
def query(spark, tmp_path):
    """One that has read two files."""
    started = Query(spark, tmp_path)
    started.put("1")
    started.put("2")
    assert started.run() == ""
    assert started.said() == []
    started.rows.clear()
    return started


def test_b24_what_was_written_over_is_never_read(query):
    """SPARK-26875"""
    query.put("1", rows=("b", "c"), age=-timedelta(seconds=5))

    assert query.said() == ["overwritten-input"]
    assert (query.run(), query.rows) == ("", [])
    assert query.said() == ["overwritten-input"]


@pytest.mark.parametrize("mend", [False, True])
def test_what_is_written_over_while_its_batch_is_in_flight_is_read_as_it_is_now_unless_it_is_put_back(query, mend):
    file = query.inputs / "2.json"
    planned = file.stat().st_mtime_ns
    for name in ("1", ".1.crc"):
        (query.checkpoint / "commits" / name).unlink()
    query.put("2", rows=("b",), age=-timedelta(seconds=5))

    assert query.said() == ["replaced-input", "pending-batch"]
    assert query.check().restart.safety is Safety.BLOCKED
    if mend:
        file.write_text(json.dumps({"k": "a"}))
        os.utime(file, ns=(planned, planned))
        assert query.said() == ["pending-batch"]
    assert (query.run(), query.rows) == ("", ["a" if mend else "b"])


def test_b23_what_is_older_than_the_limit_is_never_read_and_what_is_not_is(query):
    """SPARK-19813"""
    query.put("old", rows=("old",), age=timedelta(days=7, minutes=10))
    query.put("late", rows=("late",), age=timedelta(days=6, hours=23))

    assert query.said() == ["aged-input", "waiting-input"]
    assert (query.run(), query.rows) == ("", ["late"])
    assert query.said() == ["aged-input"]


@pytest.mark.parametrize("mend", [False, True])
def test_what_was_read_long_ago_and_is_young_now_is_read_again_unless_it_gets_its_time_back(spark, tmp_path, mend):
    """SeenFilesMap forgets what is older than `maxFileAge` below the youngest."""
    query = Query(spark, tmp_path)
    query.put("old", rows=("old",), age=timedelta(days=9))
    assert query.run() == ""
    query.put("young", rows=("young",), age=timedelta(minutes=10))
    assert query.run() == ""
    query.rows.clear()
    assert query.said() == []
    before = (query.inputs / "old.json").stat()
    query.put("old", rows=("old",))

    assert query.said() == ["forgotten-input"]
    assert query.check().restart.safety is Safety.BLOCKED
    if mend:
        os.utime(query.inputs / "old.json", ns=(before.st_mtime_ns,) * 2)
        assert query.said() == []
    assert (query.run(), query.rows) == ("", [] if mend else ["old"])


def test_b26_another_folder_is_refused_by_spark_after_a_batch_of_the_first(query, tmp_path):
    query.inputs = tmp_path / "moved"
    query.put("3")

    checkup = query.check()

    assert checkup.restart.safety is Safety.UNSAFE
    assert [finding.rule for finding in checkup.findings] == ["moved-input"]
    assert "Wrong basePath" in query.run()


@pytest.fixture
def rocksdb(spark, tmp_path):
    """A query with state in RocksDB that has read two files."""
    before = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, ROCKSDB)
    started = Query(spark, tmp_path, keeps_state=True)
    started.put("1")
    started.put("2", rows=("a", "b"))
    assert started.run() == ""
    assert started.check().snapshot.snapshots.checked > 0
    assert started.said() == []
    yield started
    spark.conf.set(PROVIDER, before)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        pytest.param(lambda content: content[:-10], "CANNOT_LOAD_STATE_STORE.UNEXPECTED_FILE_SIZE", id="shorter"),
        pytest.param(lambda content: None, "CANNOT_LOAD_STATE_STORE", id="gone"),
    ],
)
def test_b49_a_file_that_does_not_fit_the_manifest_keeps_state_from_loading(rocksdb, change, error):
    """SPARK-51717"""
    for file in rocksdb.checkpoint.glob("state/0/*/SSTs/*.sst"):
        content = change(file.read_bytes())
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        file.unlink() if content is None else file.write_bytes(content)
    rocksdb.put("3")

    checkup = rocksdb.check()

    assert checkup.restart.safety is Safety.FUTILE
    assert checkup.findings[0].rule == "broken-state-file"
    failure = rocksdb.run()
    assert checkup.restart.expected_error in failure
    assert error in failure


def test_a_copy_of_another_file_of_the_same_size_keeps_state_from_loading(rocksdb):
    """RocksDB's manifest knows its files by more than their sizes."""
    for number in range(3, 9):
        rocksdb.put(str(number), rows=(str(number),))
        assert rocksdb.run() == ""
    by_size: dict[int, list[Path]] = {}
    for file in sorted(rocksdb.checkpoint.glob("state/0/0/SSTs/*.sst")):
        by_size.setdefault(file.stat().st_size, []).append(file)
    older, newer = next(files for files in reversed(by_size.values()) if len(files) > 1)[-2:]
    newer.write_bytes(older.read_bytes())
    newer.with_name(f".{newer.name}.crc").unlink()
    rocksdb.put("9")

    checkup = rocksdb.check()

    assert (checkup.restart.safety, checkup.findings[0].rule) == (Safety.FUTILE, "broken-state-file")
    failure = rocksdb.run()
    assert "Mismatch in unique ID" in failure
    assert checkup.restart.expected_error in failure
