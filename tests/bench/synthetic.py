"""Checkpoints of any size, as Spark 4.2 would have left them, so that a real Spark goes on from them.

The query: `rate-micro-batch` with ROWS rows a batch, counted by key on HDFS-backed state.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

QUERY_ID = "11111111-2222-3333-4444-555555555555"
ROWS = 10
ADVANCE_MS = 1000
KEPT_STATE_VERSIONS = 12
"""A snapshot and the deltas since: what is left of a store whose old versions were cleaned up."""

_PROVIDER = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
_EMPTY_STATE = bytes.fromhex(
    "4c5a34426c6f636b150400000004000000db804d08ffffffff4c5a34426c6f636b15000000000000000000000000"
)
"""A delta without changes, which is a snapshot without keys too: an LZ4 frame around the end marker -1 (Spark 4.2.0)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a checkpoint is."""

    batches: int
    """All committed, none cleaned up: twice as many log files."""
    partitions: int
    """Of the one stateful operator; 0 for a query without state."""

    @property
    def log_files(self) -> int:
        """In `offsets/` and `commits/`."""
        return 2 * self.batches


def build(folder: Path, size: Size) -> None:
    """Write a healthy checkpoint below a folder that is not there yet."""
    for name, content in _files(size):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for log in ("offsets", "commits"):
        (folder / log).mkdir(parents=True)
    header = _header(size)
    for batch in range(size.batches):
        (folder / "offsets" / str(batch)).write_bytes(_offsets(batch, header))
        (folder / "commits" / str(batch)).write_bytes(b'v1\n{"nextBatchWatermarkMs":0}')


def lose_newest_state(folder: Path, size: Size, *, partition: int) -> str:
    """Remove the newest version of one partition's state; the file that is gone, relative to the checkpoint."""
    name = f"state/0/{partition}/{size.batches}.delta"
    (folder / name).unlink()
    return name


def _header(size: Size) -> str:
    conf = {
        "spark.sql.shuffle.partitions": str(size.partitions or 1),
        "spark.sql.streaming.stateStore.providerClass": _PROVIDER,
        "spark.sql.streaming.stateStore.compression.codec": "lz4",
        "spark.sql.streaming.stateStore.encodingFormat": "unsaferow",
        "spark.sql.streaming.aggregation.stateFormatVersion": "2",
        "spark.sql.streaming.statefulOperator.useStrictDistribution": "true",
        "spark.sql.streaming.stateStore.rowChecksum.enabled": "false",
    }
    return json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1_772_366_400_000, "conf": conf})


def _offsets(batch: int, header: str) -> bytes:
    source = {"offset": ROWS * (batch + 1), "timestamp": ADVANCE_MS * (batch + 1)}
    return "\n".join(("v1", header, json.dumps(source, separators=(",", ":")))).encode()


def _files(size: Size) -> Iterator[tuple[str, bytes]]:
    yield "metadata", json.dumps({"id": QUERY_ID}).encode()
    yield "sources/0/0", b'v1\n{"offset":0,"timestamp":0}'
    if size.partitions:
        yield "state/0/_metadata/metadata", _operator(size)
    newest = size.batches
    oldest = max(1, newest - KEPT_STATE_VERSIONS + 1)
    for partition in range(size.partitions):
        if oldest > 1:
            yield f"state/0/{partition}/{oldest}.snapshot", _EMPTY_STATE
        for version in range(oldest, newest + 1):
            yield f"state/0/{partition}/{version}.delta", _EMPTY_STATE


def _operator(size: Size) -> bytes:
    store = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": size.partitions}
    operator = {"operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"}, "stateStoreInfo": [store]}
    return f"v1\n{json.dumps(operator, separators=(',', ':'))}".encode()
