"""Writes checkpoint files as Spark does."""

import json
from collections.abc import Iterable

from streamops.storage import WritableStorage, join

QUERY_ID = "2f0b2a6e-8f4e-4a6c-9d3e-1a2b3c4d5e6f"
OTHER_QUERY_ID = "9a9b9c9d-0000-4000-8000-aaaaaaaaaaaa"
HEADER = {"batchWatermarkMs": 0, "batchTimestampMs": 1_772_366_400_000, "conf": {"spark.sql.shuffle.partitions": "2"}}


def metadata(query_id: str = QUERY_ID) -> bytes:
    """The file `metadata`."""
    return json.dumps({"id": query_id}).encode()


def offsets(*sources: str, batch: int = 0, version: str = "v1") -> bytes:
    """An entry of the offset log; one Kafka source, with a record more in each batch, unless told otherwise."""
    lines = sources or (positions(batch),)
    return "\n".join((version, json.dumps(HEADER), *lines)).encode()


def positions(batch: int) -> str:
    """Where a query of one topic stands after a batch."""
    return f'{{"orders":{{"0":{23 + batch},"1":40}}}}'


def commit(version: str = "v1", body: str = '{"nextBatchWatermarkMs":0}') -> bytes:
    """An entry of the commit log."""
    return f"{version}\n{body}".encode()


def write_checkpoint(
    storage: WritableStorage,
    address: str,
    *,
    planned: Iterable[int] = (),
    committed: Iterable[int] = (),
    query_id: str | None = QUERY_ID,
) -> None:
    """A checkpoint with these batches in its two logs; without `metadata` when the query id is None."""
    if query_id is not None:
        storage.write(join(address, "metadata"), metadata(query_id))
    for batch in planned:
        storage.write(join(address, "offsets", str(batch)), offsets(batch=batch))
    for batch in committed:
        storage.write(join(address, "commits", str(batch)), commit())
