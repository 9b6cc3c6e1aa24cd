"""Whole checkpoints of several kinds of queries, as Spark 3.5 to 4.3 leaves them, for the fuzzer to begin with."""

import json
import zipfile
from io import BytesIO

from support.base_checkpoint import BASE_ID, files
from support.hostile import UUID
from support.state_files import CHANGES

CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.encodingFormat": "unsaferow",
}
HEADER = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1_772_366_400_000, "conf": CONF})
KAFKA = '{"orders":{"0":23,"1":40},"returns":{"0":5}}'
DELTA = f'{{"sourceVersion":1,"reservoirId":"{UUID}","reservoirVersion":12,"index":-1,"isStartingVersion":false}}'
RATE_MICRO_BATCH = '{"offset":15,"timestamp":5000}'
CONTINUOUS_RATE = '{"0":{"value":20,"runTimeMs":5000},"1":{"value":21,"runTimeMs":5000}}'
SOURCE_OFFSETS = (KAFKA, DELTA, RATE_MICRO_BATCH, CONTINUOUS_RATE, '{"logOffset":4}', "7", "-", '{"shard-0":"49"}')

OPERATOR = (
    '{"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"},'
    '"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":2}]}'
)
CHECKSUM = b'{"algorithm":"CRC32C","value":-17,"mainFileSize":46,"timestampMs":1,"creator":{"executorId":"0"}}'


def offsets(*sources: str, version: str = "v1", header: str = HEADER) -> bytes:
    """An entry of the offset log."""
    return "\n".join((version, header, *sources)).encode()


SINK = {"sinkName": "s", "commitOffset": "5", "providerName": "p", "apiVersion": "v1", "isActive": True}


def commit(version: str = "v1", **fields: object) -> bytes:
    """An entry of the commit log."""
    return f"{version}\n{json.dumps({'nextBatchWatermarkMs': 0, **fields})}".encode()


def snapshot_zip() -> bytes:
    """A snapshot of RocksDB with one SST."""
    sst = {"localFileName": "000008.sst", "dfsSstFileName": f"000008-{UUID}.sst", "sizeBytes": 1042}
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata", "v1\n" + json.dumps({"sstFiles": [sst], "numKeys": 7}))
        archive.writestr("CURRENT", "MANIFEST-000005\n")
    return content.getvalue()


def source_entries(*paths: str) -> bytes:
    """A file of a file source's log."""
    lines = (json.dumps({"path": path, "timestamp": 1, "batchId": number}) for number, path in enumerate(paths))
    return "\n".join(("v1", *lines)).encode()


def _query(*sources: str, committed: int, planned: int | None = None, **more: bytes) -> dict[str, bytes]:
    last = committed if planned is None else planned
    found = {"metadata": json.dumps({"id": BASE_ID}).encode()}
    found |= {f"offsets/{batch}": offsets(*sources) for batch in range(last + 1)}
    found |= {f"commits/{batch}": commit() for batch in range(committed + 1)}
    return found | more


def _file_source() -> dict[str, bytes]:
    return files()


def _file_source_with_a_pending_batch() -> dict[str, bytes]:
    paths = [f"file:///input/{number}.json" for number in range(5)]
    return (
        files(commits_4=None)
        | {f"sources/0/{number}": source_entries(path) for number, path in enumerate(paths[:4])}
        | {"sources/0/4": b'v1\n{"path":"file:///input/%34.json","timestamp":1,"batchId":4}'}
    )


def _compacted_file_source() -> dict[str, bytes]:
    found = _query('{"logOffset":12}', committed=2, planned=3)
    found |= {"sources/0/9.compact": source_entries(*(f"file:///input/{number}.json" for number in range(10)))}
    return found | {f"sources/0/{number}": source_entries(f"file:///input/{number}.json") for number in (10, 11, 12)}


def _counting_orders_of_kafka() -> dict[str, bytes]:
    found = _query(KAFKA, committed=2) | {"sources/0/0": b"\0v1\n" + KAFKA.encode()}
    found["state/0/_metadata/metadata"] = f"v1\n{OPERATOR}".encode()
    for partition in range(2):
        found |= {f"state/0/{partition}/{version}.delta": CHANGES for version in range(1, 4)}
        found |= {f"state/0/{partition}/{version}.delta.crc": CHECKSUM for version in range(1, 4)}
    return found | {f"state/0/1/.3.delta.{UUID}.TID7.tmp": CHANGES}


def _joining_on_rocksdb() -> dict[str, bytes]:
    ids = {"0": [[UUID, UUID, UUID, UUID]]}
    found = _query(DELTA, RATE_MICRO_BATCH, committed=2) | {"commits/2": commit("v2", stateUniqueIds=ids)}
    for store in (
        "left-keyToNumValues",
        "left-keyWithIndexToValue",
        "right-keyToNumValues",
        "right-keyWithIndexToValue",
    ):
        found |= {f"state/0/0/{store}/{version}_{UUID}.changelog": CHANGES for version in range(1, 4)}
        found[f"state/0/0/{store}/2_{UUID}.zip"] = snapshot_zip()
    return found


def _named_sources() -> dict[str, bytes]:
    lines = ("orders:" + KAFKA, "clock:7")
    found = {f"offsets/{batch}": offsets(*lines, version="v2") for batch in range(3)}
    found |= {f"commits/{batch}": commit("v3", sinkMetadataMap={"0": SINK}) for batch in range(3)} | {
        "metadata": json.dumps({"id": BASE_ID}).encode()
    }
    return found | {"sources/clock/0": b"v1\n1772366400000"}


def _with_async_progress() -> dict[str, bytes]:
    found = _query("7", committed=9) | {"sources/0/0": b"v1\n1772366400000"}
    return {name: content for name, content in found.items() if not name.endswith(("/2", "/3", "/7", "/8"))}


def _continuous() -> dict[str, bytes]:
    return _query(committed=2) | {f"offsets/{batch}": offsets(CONTINUOUS_RATE, header="") for batch in range(3)}


CHECKPOINTS = {
    builder.__name__.strip("_").replace("_", " "): builder()
    for builder in (
        _file_source,
        _file_source_with_a_pending_batch,
        _compacted_file_source,
        _counting_orders_of_kafka,
        _joining_on_rocksdb,
        _named_sources,
        _with_async_progress,
        _continuous,
    )
}
