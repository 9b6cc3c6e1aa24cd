"""Settings of the newest entry against the state: each row is what Spark 4.2.0 did with a checkpoint so edited.

The checkpoints were recorded by it. `same`: the batches after the start came out as without the edit.
"""

import json
from dataclasses import replace

import pytest

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.diagnosis.restart_plan import Safety
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from support.plans import findings_on, plan_of
from support.recordings import recordings

PARTITIONS = "spark.sql.shuffle.partitions"
STORE = "spark.sql.streaming.stateStore."
PROVIDER, CODEC = f"{STORE}providerClass", f"{STORE}compression.codec"
CHECKSUM, ENCODING = f"{STORE}rowChecksum.enabled", f"{STORE}encodingFormat"
AGGREGATION = "spark.sql.streaming.aggregation.stateFormatVersion"
JOIN = "spark.sql.streaming.join.stateFormatVersion"
CLASSES = "org.apache.spark.sql.execution.streaming.state."
HDFS, ROCKSDB = f"{CLASSES}HDFSBackedStateStoreProvider", f"{CLASSES}RocksDBStateStoreProvider"
COUNTS, ROCKS, TOTAL, JOINED, DEDUP = (
    "counts-hdfs",
    "counts-rocksdb",
    "total-hdfs",
    "joined-hdfs",
    "deduplicated-hdfs",
)
SAME, FAILS, LOSES, DEPENDS = Safety.SAFE, Safety.FUTILE, Safety.UNSAFE, Safety.UNKNOWN

ROWS = [
    *((name, PARTITIONS, "4", FAILS) for name in (COUNTS, ROCKS, JOINED, DEDUP)),
    *((name, PARTITIONS, "1", LOSES) for name in (COUNTS, ROCKS, JOINED)),
    *((TOTAL, PARTITIONS, count, SAME) for count in ("4", "1")),
    *((name, PARTITIONS, "x", FAILS) for name in (COUNTS, ROCKS, TOTAL, JOINED, DEDUP)),
    (COUNTS, PARTITIONS, None, DEPENDS),
    (TOTAL, PARTITIONS, None, SAME),
    *((name, PROVIDER, ROCKSDB, FAILS) for name in (COUNTS, TOTAL, JOINED, DEDUP)),
    (ROCKS, PROVIDER, HDFS, FAILS),
    *((name, PROVIDER, "com.example.Nope", FAILS) for name in (COUNTS, ROCKS, TOTAL, JOINED, DEDUP)),
    (COUNTS, PROVIDER, None, DEPENDS),
    *((name, AGGREGATION, "1", FAILS) for name in (COUNTS, ROCKS)),
    *((name, AGGREGATION, "1", SAME) for name in (TOTAL, JOINED, DEDUP)),
    *((name, AGGREGATION, "9", FAILS) for name in (COUNTS, ROCKS, TOTAL, JOINED, DEDUP)),
    *((name, AGGREGATION, None, FAILS) for name in (COUNTS, ROCKS)),
    *((name, AGGREGATION, None, SAME) for name in (TOTAL, JOINED, DEDUP)),
    (JOINED, JOIN, "1", FAILS),
    (JOINED, JOIN, None, FAILS),
    *((name, JOIN, change, SAME) for name in (COUNTS, ROCKS, TOTAL, DEDUP) for change in ("1", None)),
    *((name, CODEC, "zstd", FAILS) for name in (COUNTS, TOTAL, JOINED, DEDUP)),
    *((name, CODEC, "nope", FAILS) for name in (COUNTS, TOTAL, JOINED, DEDUP)),
    *((ROCKS, CODEC, codec, SAME) for codec in ("zstd", "nope")),
    *((name, CODEC, None, SAME) for name in (COUNTS, ROCKS, TOTAL, JOINED, DEDUP)),
    *((name, CHECKSUM, "true", FAILS) for name in (COUNTS, ROCKS, TOTAL, JOINED, DEDUP)),
    *((name, CHECKSUM, None, SAME) for name in (COUNTS, ROCKS, TOTAL)),
    (ROCKS, ENCODING, "avro", FAILS),
    *((name, ENCODING, "avro", SAME) for name in (COUNTS, TOTAL, JOINED, DEDUP)),
    *((name, ENCODING, None, SAME) for name in (COUNTS, ROCKS, TOTAL, JOINED)),
    *((name, "spark.sql.streaming.multipleWatermarkPolicy", "max", SAME) for name in (COUNTS, TOTAL, JOINED)),
    *((name, "spark.sql.streaming.statefulOperator.useStrictDistribution", "false", SAME) for name in (COUNTS, JOINED)),
    *((name, f"{STORE}rocksdb.formatVersion", change, SAME) for name in (COUNTS, ROCKS) for change in ("3", None)),
]


def edited(name, key, value, *, entry=-1):
    """The recorded checkpoint whose newest entry, or another one, has another value for the setting, or none at all."""
    recording = next(one for one in recordings() if one.name == name and one.version == "4.2.0")
    storage, address = MemoryStorage(), "hdfs://cluster/checkpoint"
    root = recording.folder / "checkpoint"
    for file in root.rglob("*"):
        if file.is_file() and not file.name.startswith("."):
            storage.write(join(address, str(file.relative_to(root))), file.read_bytes())
    newest = join(address, "offsets", str(sorted(map(int, storage.list(join(address, "offsets"))))[entry]))
    lines = storage.read(newest).decode().split("\n")
    header = json.loads(lines[1])
    header["conf"] = {known: text for known, text in header["conf"].items() if known != key}
    header["conf"] |= {} if value is None else {key: value}
    storage.delete(newest)
    storage.write(newest, "\n".join([lines[0], json.dumps(header), *lines[2:]]).encode())
    return inspect_checkpoint(storage, address)


@pytest.mark.parametrize(("name", "key", "value", "safety"), ROWS)
def test_a_start_goes_as_it_went_on_real_spark(name, key, value, safety):
    plan = plan_of(edited(name, key, value))

    assert plan.safety is safety, plan.summary


def test_an_impossible_value_in_the_entry_below_says_nothing_of_the_state():
    """The state was not written with what no Spark takes (tried on 4.2.0)."""
    assert plan_of(edited(ROCKS, ENCODING, "unwaferow", entry=-2)).safety is Safety.SAFE
    assert plan_of(edited(ROCKS, ENCODING, "avro", entry=-2)).safety is Safety.FUTILE


def test_a_setting_that_the_session_decides_is_looked_up_where_it_is_declared():
    absent = edited(COUNTS, PARTITIONS, None)

    plans = [plan_of(absent, confs=((PARTITIONS, count),)).safety for count in ("2", "4", "1")]

    assert plans == [SAME, FAILS, LOSES]


def test_the_words_name_the_setting_and_what_the_state_is():
    (found,) = (one for one in findings_on(edited(COUNTS, PARTITIONS, "1")) if one.rule == "unfit-state-confs")

    assert found.evidence == f"{PARTITIONS} is '1', the state has 2 partitions: those above are never read again"


def test_the_entry_below_is_offered_only_where_it_says_something_else():
    (named,) = (one for one in findings_on(edited(ROCKS, PROVIDER, HDFS)) if one.rule == "unfit-state-confs")
    assert "as it is in offsets/" in named.repair

    snapshot = edited(ROCKS, PROVIDER, HDFS)
    facts = snapshot.facts
    same = replace(facts, previous=replace(facts.previous, header=facts.newest.header))
    (found,) = (one for one in findings_on(replace(snapshot, facts=same)) if one.rule == "unfit-state-confs")

    assert found.repair == f"put {PROVIDER} back as it was when the state was written"
