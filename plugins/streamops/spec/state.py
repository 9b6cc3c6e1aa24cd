"""How a query keeps its state: much of it Spark pins at the first start of a checkpoint."""

from dataclasses import dataclass
from enum import StrEnum


class StateStore(StrEnum):
    """Where the state of a partition lives while a query runs."""

    HDFS = "hdfs"
    """In the memory of the executors, with a delta file a batch (HDFSBackedStateStoreProvider). Spark's default, in 4.2 still."""
    ROCKSDB = "rocksdb"
    """In RocksDB on the executors' disks (RocksDBStateStoreProvider): for state that outgrows their memory."""


_PROVIDERS = {
    StateStore.HDFS: "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    StateStore.ROCKSDB: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSpec:
    """What is declared of a stream's state; None leaves it to Spark's confs.

    A checkpoint keeps its store and its number of partitions, other values have no effect later (OffsetSeqMetadata, 4.2).
    """

    store: StateStore | None = None
    changelog: bool | None = None
    """Whether RocksDB uploads what has changed instead of all its files with each batch; may change from start to start."""
    shuffle_partitions: int | None = None
    """How many partitions the state has. Spark's default is 200, each with files of its own: 2 to 8 do for a small stream."""

    @property
    def conf(self) -> tuple[tuple[str, str], ...]:
        """As Spark takes them."""
        declared = {
            "spark.sql.streaming.stateStore.providerClass": _PROVIDERS[self.store] if self.store else None,
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": (
                None if self.changelog is None else str(self.changelog).lower()
            ),
            "spark.sql.shuffle.partitions": None if self.shuffle_partitions is None else str(self.shuffle_partitions),
        }
        return tuple((name, value) for name, value in declared.items() if value is not None)
