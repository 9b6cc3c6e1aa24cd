"""What is recorded: the versions, and the queries on each of them. Pure data; `scripts/queries.py` builds the queries."""

from dataclasses import dataclass, field

VERSIONS = ("3.5.9", "4.0.5", "4.1.4", "4.2.0")
"""The newest of each minor version when this was written, and the one that streamops itself submits with."""
PINNED = "4.2.0"
"""The only version with the jars of Kafka and Delta, see `config/pom.xml`."""
SINCE_4_0 = VERSIONS[1:]

STREAMING = "spark.sql.streaming."
STATE = STREAMING + "stateStore."
PROVIDERS = "org.apache.spark.sql.execution.streaming.state."
ROCKSDB = {STATE + "providerClass": PROVIDERS + "RocksDBStateStoreProvider"}
PLAIN = {STATE + "rocksdb.changelogCheckpointing.enabled": "false"}
CHANGELOG = {STATE + "rocksdb.changelogCheckpointing.enabled": "true"}
SNAPSHOTS = {STATE + "minDeltasForSnapshot": "2"}
UNIQUE_IDS = {STATE + "checkpointFormatVersion": "2"}
ASYNC = {"asyncProgressTrackingEnabled": "true", "asyncProgressTrackingCheckpointIntervalMs": "2500"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one recording is made."""

    name: str
    source: str = "file"
    shape: str = "plain"
    sink: str = "noop"
    rounds: tuple[int, ...] = (3, 2)
    """Starts of the query, and how many portions of input come before each."""
    killed_in: int = -1
    """The portion in whose batch the process is killed by SIGKILL; -1 for a query that ends as it should.

    Where each portion is one batch that is the batch too; `expected.json` has the batch that was in flight.
    """
    batches: int = 0
    """For a query that never ends by itself: how many batches it runs before it is stopped, in each round."""
    rest_ms: int = 0
    """How long each row takes."""
    confs: dict[str, str] = field(default_factory=dict)
    sink_options: dict[str, str] = field(default_factory=dict)
    versions: tuple[str, ...] = VERSIONS

    @property
    def is_async(self) -> bool:
        """Whether progress is tracked asynchronously."""
        return bool(self.sink_options)

    @property
    def portions(self) -> int:
        """How much input there is before the resumption."""
        return sum(self.rounds)


# Twelve batches and more: logs of the file source and of the file sink are compacted at the tenth.
_WITHOUT_STATE = (
    Recipe(name="file", rounds=(2, 2)),
    Recipe(name="file-compacted", rounds=(7, 5)),
    Recipe(name="file-compacted-often", rounds=(8,), confs={STREAMING + "fileSource.log.compactInterval": "3"}),
    Recipe(name="file-killed", rounds=(4,), killed_in=2),
    Recipe(name="file-killed-in-first-batch", rounds=(2,), killed_in=0),
    Recipe(name="file-without-input", rounds=(0,)),
    Recipe(name="file-purged", rounds=(6, 2), confs={STREAMING + "minBatchesToRetain": "2"}),
    Recipe(name="file-to-json-compacted", sink="json", rounds=(7, 6)),
    Recipe(name="file-to-json-killed", sink="json", rounds=(4,), killed_in=2),
    Recipe(name="rate", source="rate", rounds=(0, 0), batches=2),
    Recipe(name="rate-micro-batch", source="rate-micro-batch", rounds=(0,), batches=3),
    Recipe(name="file-and-rate", source="file-and-rate", rounds=(3,), batches=3),
    Recipe(name="async-stopped", rounds=(9,), batches=8, rest_ms=300, sink_options=ASYNC),
    Recipe(name="async-killed", rounds=(9,), killed_in=7, batches=9, rest_ms=300, sink_options=ASYNC),
    Recipe(name="file-offsets-v2", confs={STREAMING + "offsetLog.formatVersion": "2"}, versions=(PINNED,)),
)

_WITH_STATE = (
    Recipe(name="counts-hdfs", shape="counts"),
    Recipe(name="counts-hdfs-snapshots", shape="counts", rounds=(3, 3), rest_ms=700, confs=SNAPSHOTS),
    Recipe(name="counts-hdfs-killed", shape="counts", rounds=(4,), killed_in=2),
    Recipe(name="counts-rocksdb", shape="counts", rounds=(2, 1), confs=ROCKSDB | PLAIN),
    Recipe(name="counts-rocksdb-killed", shape="counts", rounds=(4,), killed_in=2, confs=ROCKSDB | PLAIN),
    Recipe(name="counts-changelog", shape="counts", confs=ROCKSDB | CHANGELOG),
    Recipe(
        name="counts-changelog-snapshots",
        shape="counts",
        rounds=(2, 2),
        rest_ms=700,
        confs=ROCKSDB | CHANGELOG | SNAPSHOTS,
    ),
    Recipe(name="counts-changelog-killed", shape="counts", rounds=(4,), killed_in=2, confs=ROCKSDB | CHANGELOG),
    Recipe(name="total-hdfs", shape="total"),
    Recipe(name="joined-hdfs", shape="joined", rounds=(2, 1)),
    Recipe(name="joined-hdfs-killed", shape="joined", rounds=(3,), killed_in=1),
    Recipe(name="joined-changelog", shape="joined", rounds=(1, 1), confs=ROCKSDB | CHANGELOG),
    Recipe(name="deduplicated-hdfs", shape="deduplicated"),
    Recipe(name="deduplicated-changelog", shape="deduplicated", confs=ROCKSDB | CHANGELOG),
    Recipe(name="sessions-hdfs", shape="sessions"),
    Recipe(name="chained-hdfs", shape="chained"),
    Recipe(
        name="counts-unique-ids",
        shape="counts",
        confs=ROCKSDB | CHANGELOG | UNIQUE_IDS,
        versions=SINCE_4_0,
    ),
    Recipe(
        name="counts-unique-ids-killed",
        shape="counts",
        rounds=(4,),
        killed_in=2,
        confs=ROCKSDB | CHANGELOG | UNIQUE_IDS,
        versions=SINCE_4_0,
    ),
    Recipe(name="remembered", shape="remembered", rounds=(2, 1), confs=ROCKSDB | CHANGELOG, versions=SINCE_4_0),
)

_WITH_JARS = (
    Recipe(name="kafka", source="kafka", versions=(PINNED,)),
    Recipe(name="kafka-killed", source="kafka", rounds=(4,), killed_in=2, versions=(PINNED,)),
    Recipe(
        name="kafka-counts-changelog", source="kafka", shape="counts", confs=ROCKSDB | CHANGELOG, versions=(PINNED,)
    ),
    Recipe(
        name="kafka-async-killed",
        source="kafka",
        rounds=(9,),
        killed_in=7,
        batches=9,
        rest_ms=300,
        sink_options=ASYNC,
        versions=(PINNED,),
    ),
    Recipe(name="delta", source="delta", versions=(PINNED,)),
    Recipe(name="delta-killed", source="delta", rounds=(2, 2), killed_in=3, versions=(PINNED,)),
)

RECIPES = _WITHOUT_STATE + _WITH_STATE + _WITH_JARS


def recipes_of(version: str) -> tuple[Recipe, ...]:
    """Everything that is recorded on a version."""
    return tuple(recipe for recipe in RECIPES if version in recipe.versions)
