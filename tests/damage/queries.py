"""The kinds of queries that are damaged: what each reads, what it does with it, where it writes. Pure data.

Input comes in portions, and each portion is one batch. Every row has a number `n` of its own, so that rows that are lost or
repeated can be counted in the sink; a query that aggregates adds up `1 << n`, from which the same can be told.
"""

from dataclasses import dataclass, field
from typing import Any

STREAMING = "spark.sql.streaming."
STATE = f"{STREAMING}stateStore."
PROVIDERS = "org.apache.spark.sql.execution.streaming.state."
HDFS = {f"{STATE}providerClass": f"{PROVIDERS}HDFSBackedStateStoreProvider"}
SNAPSHOTS = {**HDFS, f"{STATE}minDeltasForSnapshot": "2"}
ROCKSDB = {
    f"{STATE}providerClass": f"{PROVIDERS}RocksDBStateStoreProvider",
    f"{STATE}rocksdb.changelogCheckpointing.enabled": "false",
}
CHANGELOG = {**ROCKSDB, f"{STATE}rocksdb.changelogCheckpointing.enabled": "true"}
UNIQUE_IDS = {**CHANGELOG, f"{STATE}checkpointFormatVersion": "2"}
COMPACTING = {
    f"{STREAMING}fileSource.log.compactInterval": "3",
    f"{STREAMING}fileSink.log.compactInterval": "3",
    f"{STREAMING}fileSource.log.cleanupDelay": "0",
}
ASYNC_OPTIONS = {
    "asyncProgressTrackingEnabled": "true",
    "asyncProgressTrackingCheckpointIntervalMs": "1000",
    "_asyncProgressTrackingOverrideSinkSupportCheck": "true",
}
"""With a trigger of 800 ms every other batch has entries in both logs."""
PURGING = {f"{STREAMING}minBatchesToRetain": "2"}

STATELESS = frozenset({"plain", "union"})
UPDATING = frozenset({"counts", "total"})
"""Shapes that write each key anew whenever it changes: the newest row of a key counts."""

FIRST_MOMENT = 1_772_366_400
"""Seconds since 1970: a fixed day, so that windows lie alike in every run."""
PORTION_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of query."""

    name: str
    source: str = "files"
    shape: str = "plain"
    sink: str = "ledger"
    confs: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    """Of the writer."""
    since: tuple[int, int] = (3, 5)
    """The first Spark that knows these settings."""

    @property
    def needs_jars(self) -> bool:
        """Whether Spark needs more than its package: those jars are here for the pinned version only."""
        return self.source in ("kafka", "delta") or self.sink == "delta"

    def is_for(self, version: str, *, has_jars: bool) -> bool:
        """Whether this Spark can run it."""
        major, minor = version.split(".")[:2]
        return (has_jars or not self.needs_jars) and (int(major), int(minor)) >= self.since

    @property
    def is_async(self) -> bool:
        """Whether progress is tracked asynchronously: then Spark takes no availableNow, and logs have holes."""
        return bool(self.options)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The folders that it reads."""
        return ("in", "in2") if self.shape in ("union", "joined") else ("in",)

    @property
    def is_stateful(self) -> bool:
        """Whether it keeps state."""
        return self.shape not in STATELESS

    @property
    def provider(self) -> str:
        """The class that keeps its state."""
        return self.confs.get(f"{STATE}providerClass", "")

    @property
    def is_updating(self) -> bool:
        """Whether the newest row of each key is what counts in the sink."""
        return self.shape in UPDATING

    @property
    def shows_its_sink(self) -> bool:
        """Whether `check --sink` can tell which batches the sink has."""
        return self.sink != "ledger"

    @property
    def feeds_itself(self) -> bool:
        """Whether input comes without anybody writing it."""
        return self.source == "rate"


KINDS = (
    Kind(name="files-ledger"),
    Kind(name="files-delta", sink="delta"),
    Kind(name="files-parquet", sink="parquet", confs=COMPACTING),
    Kind(name="files-compacted-ledger", confs=COMPACTING),
    Kind(name="files-v2-ledger", confs={f"{STREAMING}offsetLog.formatVersion": "2"}, since=(4, 2)),
    Kind(name="files-purging-delta", sink="delta", confs=PURGING),
    Kind(name="two-files-ledger", shape="union"),
    Kind(name="kafka-ledger", source="kafka"),
    Kind(name="kafka-delta", source="kafka", sink="delta"),
    Kind(name="kafka-async-ledger", source="kafka", options=ASYNC_OPTIONS),
    Kind(name="delta-ledger", source="delta"),
    Kind(name="delta-delta", source="delta", sink="delta"),
    Kind(name="rate-ledger", source="rate"),
    Kind(name="counts-hdfs-ledger", shape="counts", confs=HDFS),
    Kind(name="counts-snapshots-ledger", shape="counts", confs=SNAPSHOTS),
    Kind(name="counts-rocksdb-ledger", shape="counts", confs=ROCKSDB),
    Kind(name="counts-changelog-ledger", shape="counts", confs=CHANGELOG),
    Kind(name="counts-unique-ids-ledger", shape="counts", confs=UNIQUE_IDS, since=(4, 0)),
    Kind(name="kafka-counts-changelog-ledger", source="kafka", shape="counts", confs=CHANGELOG),
    Kind(name="total-hdfs-ledger", shape="total", confs=HDFS),
    Kind(name="deduplicated-hdfs-delta", shape="deduplicated", sink="delta", confs=HDFS),
    Kind(name="deduplicated-rocksdb-ledger", shape="deduplicated", confs=ROCKSDB),
    Kind(name="joined-hdfs-ledger", shape="joined", confs=HDFS),
    Kind(name="joined-changelog-parquet", shape="joined", sink="parquet", confs={**CHANGELOG, **COMPACTING}),
    Kind(name="sessions-rocksdb-ledger", shape="sessions", confs=ROCKSDB),
    Kind(name="windows-hdfs-delta", shape="windows", sink="delta", confs=HDFS),
    Kind(
        name="windows-unique-ids-parquet",
        shape="windows",
        sink="parquet",
        confs={**UNIQUE_IDS, **COMPACTING},
        since=(4, 0),
    ),
)
BY_NAME = {kind.name: kind for kind in KINDS}


def portion(kind: Kind, number: int, folder: str) -> list[dict[str, Any]]:
    """The rows of one portion for one of the folders that a query reads."""
    if folder == "in2":
        # Of a join each row meets one of the portion before, which only state remembers; of a union it is a row of its own.
        shift = -2 if kind.shape == "joined" else 30
        numbers = [2 * number + shift, 2 * number + 1 + shift]
    else:
        numbers = [2 * number, 2 * number + 1]
        if kind.shape == "deduplicated" and number:
            numbers += [2 * number - 2, 2 * number - 1]
    return [_row(one) for one in numbers]


def _row(number: int) -> dict[str, Any]:
    """Odd numbers and even ones have keys of their own."""
    second = FIRST_MOMENT + PORTION_SECONDS * (number // 2) + number % 2
    return {"n": number, "k": "ab"[number % 2], "t": second}
