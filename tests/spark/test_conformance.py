"""The prediction against the Spark that we pin: damage a real checkpoint, foretell the start, start, compare.

`make conformance` runs all rows and writes `.sandbox/conformance.json`; a plain test run takes some of them, to stay quick.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streamops.catalogue.watch import Watch
from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.diagnosis.restart_plan import RestartPlan, Safety
from streamops.engines import PINNED
from streamops.places.input_files import read_input
from streamops.storage.local import LocalStorage
from support.damage_matrix import DEPTH_ROWS, OFFSET_ROWS, ROWS
from support.plans import plan_of

pytestmark = pytest.mark.spark

TARGET = os.environ.get("STREAMOPS_CONFORMANCE", "")
SOME = frozenset({"Q1a", "Q3a", "Q5a", "Q7a", "P0", "P1", "P2", "P4", "P7c", "P11a", "P12a", "P16b"})
"""Rows of a plain test run: one for each way in which a start goes."""

in_full = pytest.mark.skipif(not TARGET, reason="a row of `make conformance`")

BATCHES = 5
CHECKSUM = b"crc\x00\x00\x00\x02\x00\x00\x00\x00"


class FileQuery:
    """A file source with one file a batch, and a sink that counts the batches it has had in full."""

    def __init__(self, spark, inputs: Path, checkpoint: Path, *, keeps_state: bool = False) -> None:
        self.spark = spark
        self.inputs = inputs
        self.checkpoint = checkpoint
        self.keeps_state = keeps_state

    def add_input(self, number: int) -> None:
        """One more file, the youngest, so that it makes the next batch."""
        self.inputs.mkdir(parents=True, exist_ok=True)
        file = self.inputs / f"{number}.json"
        file.write_text(json.dumps({"n": number}))
        os.utime(file, (1_772_366_400.25 + number,) * 2)

    def run(self) -> tuple[list[int], str]:
        """Batches that ran, and the error's text, empty where there is none."""
        ran: list[int] = []

        def take(frame, batch: int) -> None:
            frame.write.format("noop").mode("append").save()
            ran.append(batch)

        try:
            read = self.spark.readStream.schema("n long").option("maxFilesPerTrigger", 1).json(str(self.inputs))
            rows = read.groupBy("n").count() if self.keeps_state else read
            query = (
                rows.writeStream.outputMode("update" if self.keeps_state else "append")
                .foreachBatch(take)
                .option("checkpointLocation", str(self.checkpoint))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
        except Exception as error:
            return ran, str(error)
        return ran, ""

    def files(self) -> dict[str, bytes]:
        """Everything in the checkpoint but the checksums of the local file system, which are never asked for."""
        return {
            str(path.relative_to(self.checkpoint)): path.read_bytes()
            for path in self.checkpoint.rglob("*")
            if path.is_file() and not path.name.endswith(".crc")
        }

    def restored(self, files: dict[str, bytes], checkpoint: Path) -> "FileQuery":
        """The same query on a checkpoint with these files; folders of logs are there although they may be empty."""
        for name in ("offsets", "commits"):
            (checkpoint / name).mkdir(parents=True)
        for name, content in files.items():
            (checkpoint / name).parent.mkdir(parents=True, exist_ok=True)
            (checkpoint / name).write_bytes(content)
        return FileQuery(self.spark, self.inputs, checkpoint, keeps_state=self.keeps_state)


def five_batches(spark, root: Path, *, keeps_state: bool = False) -> FileQuery:
    """Five committed batches, and input for a sixth."""
    query = FileQuery(spark, root / "in", root / "checkpoint", keeps_state=keeps_state)
    for number in range(BATCHES):
        query.add_input(number)
    assert query.run() == (list(range(BATCHES)), "")
    query.add_input(BATCHES)
    return query


@pytest.fixture(scope="module")
def base(spark, tmp_path_factory):
    """A query without state."""
    return five_batches(spark, tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module", params=["hdfs", "rocksdb", "rocksdb-changelog"])
def stateful(spark, tmp_path_factory, request):
    """A query that counts, on each kind of state store."""
    providers = "org.apache.spark.sql.execution.streaming.state."
    provider = "HDFSBackedStateStoreProvider" if request.param == "hdfs" else "RocksDBStateStoreProvider"
    confs = {
        "spark.sql.streaming.stateStore.providerClass": f"{providers}{provider}",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": str(
            request.param == "rocksdb-changelog"
        ).lower(),
    }
    before = {key: spark.conf.get(key, None) for key in confs}
    for key, value in confs.items():
        spark.conf.set(key, value)
    query = five_batches(spark, tmp_path_factory.mktemp("stateful"), keeps_state=True)
    yield query
    for key, value in before.items():
        spark.conf.unset(key) if value is None else spark.conf.set(key, value)


@pytest.fixture(scope="module")
def ledger():
    """What agreed and what did not; written where `make conformance` asks for it."""
    found: dict[str, list[dict]] = {"agree": [], "disagree": []}
    yield found
    if TARGET:
        rows = len(found["agree"]) + len(found["disagree"])
        Path(TARGET).parent.mkdir(parents=True, exist_ok=True)
        summary = {"rows": rows, "agree": len(found["agree"]), "disagree": found["disagree"], "table": found["agree"]}
        Path(TARGET).write_text(json.dumps(summary, indent=2) + "\n")


def compare(query: FileQuery, code: str, ledger, **known) -> None:
    """Foretell, start, compare; `known` as in `Expectations`."""
    snapshot = inspect_checkpoint(LocalStorage(), f"file://{query.checkpoint}")
    foretold = plan_of(snapshot, engine=PINNED, **known)
    fails = foretold.safety is Safety.FUTILE or bool(foretold.expected_error)

    ran, error = query.run()

    agrees = (ran[0] if ran else None) == foretold.next_batch and bool(error) == fails and _told(foretold, error)
    ledger["agree" if agrees else "disagree"].append(
        {"row": code, "foretold": foretold.summary, "expected_error": foretold.expected_error, "ran": ran}
        | ({} if agrees else {"error": error[:2000]})
    )
    assert (ran[0] if ran else None) == foretold.next_batch
    assert _told(foretold, error), error[:2000]
    assert bool(error) == fails, error[:2000]


def _told(foretold: RestartPlan, error: str) -> bool:
    """Whether the error is the one that was foretold; where its text is not known, the reason stands for it."""
    return foretold.expected_error in error or foretold.expected_error in foretold.summary


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.code)
        for row in (*ROWS, *DEPTH_ROWS, *OFFSET_ROWS)
        if PINNED.version in row.engines and (TARGET or row.code in SOME)
    ],
)
def test_spark_does_what_was_foretold(base, row, tmp_path, ledger):
    compare(base.restored(row.applied(base.files()), tmp_path / "checkpoint"), row.code, ledger)


STATE_DAMAGE = {
    "healthy": lambda name: False,
    "newest version": lambda name: name.startswith("state/0/0/5."),
    "oldest version": lambda name: name.startswith("state/0/0/1."),
    "the partition": lambda name: name.startswith("state/0/0/"),
    "both logs": lambda name: name.startswith(("offsets/", "commits/")),
    "newest commit and its state": lambda name: name == "commits/4" or name.startswith("state/0/0/5."),
}


CONTENT_DAMAGE = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "all NUL": lambda content: bytes(len(content)),
    "a byte flipped": lambda content: (
        content[: len(content) // 2] + bytes([content[len(content) // 2] ^ 0xFF]) + content[len(content) // 2 + 1 :]
    ),
    "something behind": lambda content: content + b"xyz",
    "the end mark of the blocks gone": lambda content: content[:-21],
}


@in_full
@pytest.mark.parametrize("damage", CONTENT_DAMAGE)
def test_spark_does_with_a_damaged_file_of_state_what_was_foretold(stateful, damage, tmp_path, ledger):
    """The newest file of changes, or of RocksDB without changelogs the newest snapshot."""
    files = stateful.files()
    newest = next(name for suffix in ("delta", "changelog", "zip") if (name := f"state/0/0/5.{suffix}") in files)
    if newest.endswith("zip") and damage == "the end mark of the blocks gone":
        pytest.skip("a zip has no blocks")
    files[newest] = CONTENT_DAMAGE[damage](files[newest])

    compare(stateful.restored(files, tmp_path / "checkpoint"), f"state: {newest} {damage}", ledger)


@in_full
@pytest.mark.parametrize("damage", ["empty", "half"])
def test_spark_does_with_a_damaged_schema_of_state_what_was_foretold(stateful, damage, tmp_path, ledger):
    files = stateful.files()
    files[SCHEMA] = CONTENT_DAMAGE[damage](files[SCHEMA])

    compare(stateful.restored(files, tmp_path / "checkpoint"), f"state: schema {damage}", ledger)


SCHEMA = "state/0/0/_metadata/schema"


@in_full
@pytest.mark.parametrize("damage", STATE_DAMAGE)
def test_spark_does_with_state_what_was_foretold(stateful, damage, tmp_path, ledger):
    kept = {name: content for name, content in stateful.files().items() if not STATE_DAMAGE[damage](name)}

    compare(stateful.restored(kept, tmp_path / "checkpoint"), f"state: {damage}", ledger)


def test_a_batch_whose_input_is_gone_is_committed_without_it_and_was_foretold_so(spark, tmp_path, ledger):
    """P20: the one loss that no error tells."""
    query = five_batches(spark, tmp_path)
    (query.checkpoint / "commits/4").unlink()
    (query.checkpoint / "commits/.4.crc").unlink()
    (query.inputs / "4.json").unlink()
    foretold = plan_of(inspect_checkpoint(LocalStorage(), f"file://{query.checkpoint}"), engine=PINNED)

    ran, error = query.run()

    assert (foretold.safety, foretold.next_batch) == (Safety.UNSAFE, 4)
    assert error == ""
    assert ran == [4, 5]
    ledger["agree"].append({"row": "P20", "foretold": foretold.summary, "expected_error": "", "ran": ran})


def test_input_that_has_another_name_since_it_was_read_is_read_again_and_was_foretold_so(spark, tmp_path, ledger):
    """One file waits, and two batches run."""
    query = five_batches(spark, tmp_path)
    (query.inputs / "4.json").rename(query.inputs / "4.done.json")
    storage, checkpoint = LocalStorage(), f"file://{query.checkpoint}"
    snapshot = inspect_checkpoint(storage, checkpoint)
    found = read_input(storage, checkpoint, snapshot, address=f"file://{query.inputs}")
    foretold = plan_of(snapshot, engine=PINNED, watch=Watch(now=datetime.now(UTC)), source_inputs=(found,))

    ran, error = query.run()

    assert foretold.safety is Safety.BLOCKED
    assert "they are read again" in foretold.summary
    assert (ran, error) == ([5, 6], "")
    ledger["agree"].append({"row": "renamed input", "foretold": foretold.summary, "expected_error": "", "ran": ran})


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param({"commits/4": None, "commits/.4.crc": CHECKSUM}, id="of a commit"),
        pytest.param({"offsets/.5.crc": CHECKSUM}, id="of the next batch"),
        pytest.param({"commits/4": None, "offsets/.5.crc": CHECKSUM}, id="of the batch after the one that runs again"),
    ],
)
def test_a_checksum_that_was_left_behind_is_in_the_way(base, damage, tmp_path, ledger):
    """The words blame a second query, and there is none."""
    files = {name: content for name, content in (base.files() | damage).items() if content is not None}

    compare(base.restored(files, tmp_path / "checkpoint"), f"left behind: {', '.join(damage)}", ledger)


@in_full
def test_state_that_is_gone_altogether_is_told_by_who_knows_that_there_was_some(stateful, tmp_path, ledger):
    """Nothing in a checkpoint tells it from a query without state; the progress of the last driver does."""
    kept = {name: content for name, content in stateful.files().items() if not name.startswith("state/")}
    query = stateful.restored(kept, tmp_path / "checkpoint")
    snapshot = inspect_checkpoint(LocalStorage(), f"file://{query.checkpoint}")

    assert plan_of(snapshot, engine=PINNED).safety is Safety.SAFE
    compare(query, "state: all of it, and progress tells of an operator", ledger, stateful_operators=1)
