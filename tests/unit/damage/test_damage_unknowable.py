"""Of which damage nobody can know, and what speaks against it."""

import json

import pytest

from damage.checksums import checksum
from damage.queries import BY_NAME
from damage.unknowable import EXCEPTIONS, Damage, exception_for

STATE = "checkpoint/state/0/0"
LOG = "checkpoint/sources/0"
LINE = '{{"path":"file:///in/{}","timestamp":{},"batchId":{}}}'


def text(*lines):
    return "\n".join(("v1", *lines)).encode()


def offsets(*values):
    return text('{"batchWatermarkMs":0}', *(json.dumps(value) for value in values))


def kafka(*ends):
    return offsets({"t": {str(partition): end for partition, end in enumerate(ends)}})


def delta(version):
    return offsets({"reservoirId": "r", "reservoirVersion": version, "index": -1})


def rate(count, timestamp):
    return offsets({"offset": count, "timestamp": timestamp})


def commit(mark):
    return text(json.dumps({"nextBatchWatermarkMs": mark}))


def schema(*columns):
    """As StateSchemaCompatibilityChecker writes it, for a key with these columns."""
    fields = [{"name": name, "type": "string", "nullable": True, "metadata": {}} for name in columns]
    texts = ["v1", *(json.dumps({"type": "struct", "fields": side}) for side in (fields, []))]
    return b"".join(len(one).to_bytes(2) + one.encode() for one in texts)


def operator(name):
    info = {"operatorInfo": {"operatorId": 0, "operatorName": name}, "stateStoreInfo": [{"storeName": "default"}]}
    return f"v1\n{json.dumps(info)}".encode()


def excuse(kind, before, after, **facts):
    """Of files that are written over the ones before; None takes one away."""
    then = {name: content for name, content in {**before, **after}.items() if content is not None}
    return exception_for(Damage(kind=BY_NAME[kind], before=before, after=then, waiting=8, **facts))


DELTAS = {f"{STATE}/5.delta": b"five", f"{STATE}/6.delta": b"six!", f"{STATE}/4.snapshot": b"four"}
ZIPS = {f"{STATE}/2.zip": b"two", f"{STATE}/8.zip": b"eight"}
SWAPPED = {f"{STATE}/5.delta": b"six!", f"{STATE}/6.delta": b"five"}
READ = {
    "checkpoint/offsets/1": offsets({"logOffset": 1}),
    f"{LOG}/0": text(LINE.format("0", 10, 0)),
    f"{LOG}/1": text(LINE.format("1", 11, 1)),
}
PLANNED = {"checkpoint/offsets/4": kafka(4, 4), "checkpoint/offsets/5": kafka(6, 6)}
TABLE = {"checkpoint/offsets/4": delta(5), "checkpoint/offsets/5": delta(6)}
CLEANED = {
    **READ,
    f"{LOG}/1": text(LINE.format("in/1.json", 11, 1)),
    "in/1.json": b"one|11",
    "checkpoint/commits/1": commit(0),
}
RATE = {"checkpoint/offsets/4": rate(10, 5000), "checkpoint/offsets/5": rate(12, 6000)}
COMMITTED = {"checkpoint/commits/5": commit(10), "checkpoint/offsets/5": offsets({})}
COMMITS = {f"in/_delta_log/{number:020d}.json": f"{number}|{number}".encode() for number in range(4)}
KILLED = {
    **{f"checkpoint/offsets/{batch}": offsets({"logOffset": batch}) for batch in (4, 5)},
    "checkpoint/commits/4": b"v1\n{}",
    f"{LOG}/5": text(LINE.format("5", 15, 5)),
}
TAKEN_BACK = {"checkpoint/offsets/5": None}


@pytest.mark.parametrize(
    ("kind", "before", "after", "expected"),
    [
        pytest.param("total-hdfs-ledger", DELTAS, SWAPPED, "another valid file of state", id="swapped"),
        pytest.param(
            "counts-rocksdb-ledger",
            {**ZIPS, f"{STATE}/.2.zip.crc": checksum(b"two")},
            {f"{STATE}/2.zip": b"eight", f"{STATE}/8.zip": b"two"},
            "another valid file of state",
            id="a checksum of state that no start loads",
        ),
        pytest.param(
            "delta-ledger",
            {**COMMITS, "checkpoint/offsets/2": delta(3)},
            {f"in/_delta_log/{3:020d}.json": None},
            "a version of the source table taken back that nobody had read",
            id="the newest commit of the source table",
        ),
        pytest.param(
            "delta-delta",
            {**COMMITS, "checkpoint/offsets/2": delta(3), f"out/_delta_log/{3:020d}.json": b"{}"},
            {f"in/_delta_log/{3:020d}.json": None},
            "a version of the source table taken back that nobody had read",
            id="the same where the sink has a version of that number",
        ),
        pytest.param(
            "files-ledger",
            READ,
            {f"{LOG}/0": text(LINE.format("other", 10, 0))},
            "another valid line of a source log",
            id="path alone",
        ),
        pytest.param(
            "files-ledger",
            {**READ, "in/2.json": b"two|12"},
            {"in/2.json": b"three|13"},
            "an input file replaced before it was read",
            id="input that waits",
        ),
        pytest.param(
            "files-ledger",
            CLEANED,
            {"in/1.json": None},
            "input of committed batches cleaned up",
            id="input of a committed batch is gone",
        ),
        pytest.param(
            "kafka-ledger",
            PLANNED,
            {"checkpoint/offsets/5": kafka(6, 7)},
            "another offset within its bounds",
            id="a later offset",
        ),
        pytest.param(
            "delta-ledger",
            TABLE,
            {"checkpoint/offsets/5": delta(7)},
            "another offset within its bounds",
            id="a later version",
        ),
        pytest.param(
            "rate-ledger",
            RATE,
            {"checkpoint/offsets/5": rate(13, 6000)},
            "another offset within its bounds",
            id="a later count",
        ),
        pytest.param(
            "rate-ledger",
            {**RATE, "checkpoint/commits/5": commit(0)},
            {"checkpoint/commits/5": text('{"nextBatchWatermarkM{":0}')},
            "a commit that says the same",
            id="an unknown key instead of a 0",
        ),
        pytest.param(
            "sessions-rocksdb-ledger",
            {f"{STATE}/_metadata/schema": schema("k", "start")},
            {f"{STATE}/_metadata/schema": schema("k")},
            "another valid schema of state",
            id="the schema of another query's state",
        ),
        pytest.param(
            "sessions-rocksdb-ledger",
            {"checkpoint/state/0/_metadata/metadata": operator("sessionWindowStateStoreSaveExec")},
            {"checkpoint/state/0/_metadata/metadata": operator("stateStoreSave")},
            "another valid schema of state",
            id="the metadata of another query's operator",
        ),
        pytest.param(
            "windows-hdfs-delta",
            COMMITTED,
            {"checkpoint/commits/5": commit(99)},
            "a higher watermark of the newest commit",
            id="watermark",
        ),
        pytest.param(
            "delta-ledger",
            COMMITS,
            {f"in/_delta_log/{3:020d}.json": b"2|9"},
            "another valid commit of the source table",
            id="commit",
        ),
        pytest.param(
            "total-hdfs-ledger",
            {f"{STATE}/5.delta": b"five" + b"LZ4Block" + bytes(13)},
            {f"{STATE}/5.delta": b"five" + b"LZ4Block" + bytes(12) + b"x"},
            "bytes that no start reads",
            id="the last block of lz4",
        ),
        pytest.param(
            "total-hdfs-ledger",
            {f"{STATE}/5.delta": b"five" + b"LZ4Block" + bytes(13)},
            {f"{STATE}/5.delta": b"five" + b"LZ4Block" + bytes(13) + b'{"x":1}'},
            "bytes that no start reads",
            id="996:453: something behind the last block of lz4",
        ),
        pytest.param(
            "files-ledger", KILLED, TAKEN_BACK, "a batch taken back that only the sink has had", id="taken back"
        ),
    ],
)
def test_nobody_can_know_of_it(kind, before, after, expected):
    assert expected in EXCEPTIONS
    assert excuse(kind, before, after) == expected


STALE = checksum(b"five")


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        pytest.param("total-hdfs-ledger", DELTAS, {}, id="nothing was changed"),
        pytest.param(
            "total-hdfs-ledger", {**DELTAS, f"{STATE}/.5.delta.crc": STALE}, SWAPPED, id="Hadoop's checksum was kept"
        ),
        pytest.param(
            "total-hdfs-ledger", {**DELTAS, f"{STATE}/5.delta.crc": b"{}"}, SWAPPED, id="Spark's checksum was kept"
        ),
        pytest.param(
            "counts-rocksdb-ledger",
            {**ZIPS, f"{STATE}/.8.zip.crc": checksum(b"eight")},
            {f"{STATE}/2.zip": b"eight", f"{STATE}/8.zip": b"two"},
            id="the checksum of the newest snapshot was kept",
        ),
        pytest.param("total-hdfs-ledger", DELTAS, {f"{STATE}/5.delta": b"fiv_"}, id="bytes of no other file"),
        pytest.param("total-hdfs-ledger", DELTAS, {f"{STATE}/5.delta": b"four"}, id="a file of another kind"),
        pytest.param("total-hdfs-ledger", DELTAS, {f"{STATE}/6.delta": None}, id="a file that is gone"),
        pytest.param("total-hdfs-ledger", {**DELTAS, "x": b"1"}, {**SWAPPED, "x": b"2"}, id="another file as well"),
        pytest.param(
            "counts-unique-ids-ledger",
            {f"{STATE}/5_a.changelog": b"5", f"{STATE}/6_b.changelog": b"6"},
            {f"{STATE}/6_b.changelog": b"5"},
            id="a changelog that names those before it",
        ),
        pytest.param(
            "counts-rocksdb-ledger",
            {f"{STATE}/5.sst": b"55", f"{STATE}/6.sst": b"6"},
            {f"{STATE}/6.sst": b"55"},
            id="an SST whose size the zip tells",
        ),
        pytest.param(
            "files-ledger", READ, {f"{LOG}/0": text(LINE.format("0", 99, 0))}, id="a time that the input contradicts"
        ),
        pytest.param(
            "two-files-ledger", READ, {f"{LOG}/1": text(LINE.format("1", 0, 1))}, id="a time of one of two sources"
        ),
        pytest.param(
            "sessions-rocksdb-ledger",
            {f"{STATE}/_metadata/schema": schema("k", "start")},
            {f"{STATE}/_metadata/schema": schema("k")[:-1]},
            id="a schema that is cut",
        ),
        pytest.param(
            "sessions-rocksdb-ledger",
            {"checkpoint/state/0/_metadata/metadata": operator("stateStoreSave")},
            {"checkpoint/state/0/_metadata/metadata": b"v1\n{}"},
            id="metadata of no operator",
        ),
        pytest.param(
            "delta-ledger",
            {**COMMITS, "checkpoint/offsets/2": delta(4)},
            {f"in/_delta_log/{3:020d}.json": None},
            id="a version that was read",
        ),
        pytest.param(
            "delta-ledger",
            {**COMMITS, f"in/_delta_log/{3:020d}.crc": b"{}", "checkpoint/offsets/2": delta(3)},
            {f"in/_delta_log/{3:020d}.json": None},
            id="a version that has left a checksum",
        ),
        pytest.param("files-ledger", READ, {f"{LOG}/1": text(LINE.format("x", 11, 1))}, id="the newest batch"),
        pytest.param("files-ledger", READ, {f"{LOG}/0": text(LINE.format("\x01", 10, 0))}, id="no valid path"),
        pytest.param("files-ledger", READ, {f"{LOG}/0": text(LINE.format("0", 10, 7))}, id="another batch"),
        pytest.param(
            "files-ledger",
            {**READ, f"{LOG}/2.compact": READ[f"{LOG}/0"]},
            {f"{LOG}/0": text(LINE.format("x", 10, 0))},
            id="a line that another entry repeats",
        ),
        pytest.param(
            "files-ledger",
            {**READ, f"{LOG}/1": text(LINE.format("in/1.json", 11, 1)), "in/1.json": b"one|11"},
            {"in/1.json": b"two|12"},
            id="input that was read",
        ),
        pytest.param("kafka-ledger", PLANNED, {"checkpoint/offsets/5": kafka(6, 3)}, id="below the entry below"),
        pytest.param("kafka-ledger", PLANNED, {"checkpoint/offsets/5": kafka(6, 9)}, id="beyond the topic"),
        pytest.param("kafka-ledger", PLANNED, {"checkpoint/offsets/4": kafka(7, 4)}, id="above the entry above"),
        pytest.param("kafka-ledger", PLANNED, {"checkpoint/offsets/5": kafka(6)}, id="a partition less"),
        pytest.param("kafka-ledger", PLANNED, {"checkpoint/offsets/5": offsets(7)}, id="no offsets at all"),
        pytest.param(
            "kafka-ledger",
            {**PLANNED, "checkpoint/offsets/4": offsets({})},
            {"checkpoint/offsets/5": kafka(6, 7)},
            id="an entry below that names no partition",
        ),
        pytest.param("delta-ledger", TABLE, {"checkpoint/offsets/5": delta(9)}, id="beyond the table"),
        pytest.param(
            "files-ledger",
            {name: content for name, content in CLEANED.items() if "commits" not in name},
            {"in/1.json": None},
            id="input of a batch in flight",
        ),
        pytest.param("rate-ledger", RATE, {"checkpoint/offsets/5": rate(9, 6000)}, id="a count below the entry below"),
        pytest.param("rate-ledger", RATE, {"checkpoint/offsets/5": rate(13, 7000)}, id="another time of a rate"),
        pytest.param(
            "windows-hdfs-delta",
            COMMITTED,
            {"checkpoint/commits/5": text('{"nextBatchWatermarkM{":10}')},
            id="a watermark that an unknown key hides",
        ),
        pytest.param(
            "files-ledger", KILLED, {"checkpoint/offsets/5": offsets({"logOffset": 4})}, id="offsets of a source's log"
        ),
        pytest.param("windows-hdfs-delta", COMMITTED, {"checkpoint/commits/5": commit(9)}, id="a lower watermark"),
        pytest.param(
            "windows-hdfs-delta",
            {**COMMITTED, "checkpoint/offsets/6": offsets({})},
            {"checkpoint/commits/5": commit(99)},
            id="a watermark that the entry above contradicts",
        ),
        pytest.param("delta-ledger", COMMITS, {f"in/_delta_log/{0:020d}.json": b"2|9"}, id="the first commit"),
        pytest.param("files-delta", KILLED, TAKEN_BACK, id="a sink that can be asked"),
        pytest.param("counts-hdfs-ledger", KILLED, TAKEN_BACK, id="state that is ahead"),
        pytest.param("files-ledger", {**KILLED, f"{LOG}/6": b"v1"}, TAKEN_BACK, id="a source log that is two ahead"),
        pytest.param("files-ledger", {**KILLED, "checkpoint/commits/5": b"v1"}, TAKEN_BACK, id="a commit that is left"),
    ],
)
def test_something_speaks_against_it(kind, before, after):
    assert excuse(kind, before, after) == ""


def test_a_topic_that_was_changed_speaks_against_it():
    assert excuse("kafka-ledger", PLANNED, {"checkpoint/offsets/5": kafka(6, 7)}, is_outside=True) == ""


def test_a_file_of_state_of_an_older_copy_is_valid():
    older = {f"{STATE}/6.delta": (b"as it was",)}

    assert excuse("total-hdfs-ledger", DELTAS, {f"{STATE}/6.delta": b"as it was"}, others=older)


def test_of_damage_that_is_repaired_in_part_the_rest_is_asked():
    both = {**DELTAS, **KILLED}
    damaged = {**both, **SWAPPED, "checkpoint/offsets/5": b""}
    damage = Damage(kind=BY_NAME["total-hdfs-ledger"], before=both, after=damaged)
    without_the_entry = {name: content for name, content in damaged.items() if name != "checkpoint/offsets/5"}

    assert exception_for(damage) == ""
    assert exception_for(damage.left_by(without_the_entry))
    assert exception_for(damage.left_by(both)) == ""


def test_what_stands_behind_a_compact_file_does_not_speak_against_an_excuse_and_is_none():
    log = {f"{LOG}/{number}": b"v1" for number in (0, 1, 3)} | {f"{LOG}/2.compact": b"v1"}
    done = {f"checkpoint/commits/{number}": b"v1" for number in range(4)}
    before = {**log, **done, "in/9.json": b"two|12"}
    read = {name: content for name, content in before.items() if name != f"{LOG}/1"}
    kind = BY_NAME["files-compacted-ledger"]

    assert exception_for(Damage(kind=kind, before=before, after={**read, "in/9.json": b"three|13"}))
    assert exception_for(Damage(kind=kind, before=before, after=read)) == ""
    newest = {name: content for name, content in before.items() if name != f"{LOG}/3"}
    assert exception_for(Damage(kind=kind, before=before, after={**newest, "in/9.json": b"three|13"})) == ""


def test_emptied_metadata_of_an_operator_does_not_speak_against_an_excuse_and_is_none():
    operator = "checkpoint/state/0/_metadata/metadata"
    before = {**DELTAS, operator: b"v1\n{}"}
    kind = BY_NAME["total-hdfs-ledger"]

    assert exception_for(Damage(kind=kind, before=before, after={**before, **SWAPPED, operator: b""}))
    assert exception_for(Damage(kind=kind, before=before, after={**before, operator: b""})) == ""
    assert exception_for(Damage(kind=kind, before=before, after={**before, **SWAPPED, operator: b"v1"})) == ""


def test_state_of_the_batch_in_flight_that_is_gone_does_not_speak_against_an_excuse_and_is_none():
    in_flight = {**DELTAS, "checkpoint/commits/4": commit(0)}
    committed = {**in_flight, "checkpoint/commits/5": commit(0)}
    gone = {f"{STATE}/6.delta": None}
    another = {f"{STATE}/5.delta": b"six!"}

    assert excuse("total-hdfs-ledger", in_flight, {**gone, **another})
    assert excuse("total-hdfs-ledger", in_flight, gone) == ""
    assert excuse("total-hdfs-ledger", committed, {**gone, **another}) == ""
