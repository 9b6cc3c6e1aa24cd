"""How Spark's versions differ at a start, as data. Rows rest on damaged checkpoints that were restarted on each version.

Measured on 3.5.9, 4.0.5, 4.1.4, 4.2.1 and 4.3.0; 4.2.0 is held against the predictions by `make conformance`.
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from streamops.checkpoint.offsets import first_with
from streamops.errors import SettingsError

_RELEASE = re.compile(r"\d+\.\d+\.(\d{1,4})", re.ASCII)
"""Whole, so that a vendor's build (`3.5.5-amzn-1`) has no patch release: what was carried over into it nobody knows."""


class WithoutMetadata(StrEnum):
    """What a start makes of logs without the file `metadata`."""

    NEW_ID = "new-id"
    """It goes on under a new query id: sinks that know batches by it take them again."""
    REFUSED = "refused"


class WithoutOffsets(StrEnum):
    """What a start makes of commits without any offset entry."""

    RUNS_ALL = "runs-all"
    """It reads all input again and fails when it commits batch 0."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One minor version of Spark."""

    version: str
    offset_formats: tuple[str, ...]
    """Versions of the offset log that it reads."""
    commit_formats: tuple[str, ...]
    """Versions of the commit log that it reads; 4.0 and 4.1 read exactly the one that the run's own conf asks for."""
    without_metadata: WithoutMetadata
    without_offsets: WithoutOffsets
    without_offsets_error: str
    """Text of the error that the start, or the end of its batch 0, brings."""
    without_previous_error: str
    """Text of the error where a batch is pending and the entry below it is missing; `{batch}` is that entry."""
    reads_source_as_name: bool
    """Whether an entry marked v2 with positional lines is read, and the input of its batch taken again (P15c)."""
    missing_state_error: str
    """Text of the error where a file of the state is missing."""
    broken_state_error: str
    """Text of the error where a file of the state can't be read; empty where it depends on the damage."""
    missing_operator_error: str = ""
    """Text of the error where the folder of an operator is missing, `…_MISSING_STATE_DIRECTORY` where it was the only one, else
    `…_NOT_MATCH_IN_STATE_METADATA`; empty where it depends on the query."""
    compares_operators: bool = True
    """Whether the operators that the state's metadata names must be those of the query (since 4.0)."""
    asks_for_partitions: bool = False
    """Whether a batch in flight needs the shuffle partitions in its own entry and in the one below: 4.2 compares the two, to tell
    a repartition of the state, and stops with `None.get` where one lacks them (tried on 4.1.4 and 4.2.0)."""
    goes_round_snapshots: bool = False
    """Whether a broken snapshot of a store is replaced by the one before it and the changes since (SPARK-54121)."""
    first_finishing: int = 0
    """The first patch release whose availableNow finishes a batch in flight after partitions of a Kafka topic have changed:
    SPARK-53560, of September 2025, which 3.5.6 and 4.0.1 lack and 3.5.7, 4.0.2 and 4.1.0 have (KafkaMicroBatchStream of each)."""
    patch: int | None = None
    """The patch release; None where it is not known, or the build is a vendor's."""

    @property
    def release(self) -> str:
        """`4.0.1`, or `4.0` where its patch release is not known."""
        return self.version if self.patch is None else f"{self.version}.{self.patch}"

    def pins(self, conf_key: str) -> bool:
        """Whether a start takes this setting from the offset log; one of a later Spark it passes over."""
        versions = list(ENGINES)
        return versions.index(self.version) >= versions.index(first_with(conf_key))

    @property
    def finishes_changed_batch(self) -> bool | None:
        """Whether it has the fix of SPARK-53560; None where that hangs on the patch release, which is not known."""
        if self.first_finishing == 0:
            return True
        return None if self.patch is None else self.patch >= self.first_finishing


_GONE_3 = "CONCURRENT_STREAM_LOG_UPDATE"
_NOT_THERE = "batch {batch} doesn't exist"

ENGINES = {
    engine.version: engine
    for engine in (
        Engine(
            version="3.5",
            offset_formats=("v1",),
            commit_formats=("v1",),
            without_metadata=WithoutMetadata.NEW_ID,
            without_offsets=WithoutOffsets.RUNS_ALL,
            without_offsets_error=_GONE_3,
            without_previous_error=_NOT_THERE,
            reads_source_as_name=False,
            missing_state_error="does not exist",
            broken_state_error="",
            compares_operators=False,
            first_finishing=7,
        ),
        Engine(
            version="4.0",
            offset_formats=("v1",),
            commit_formats=("v1", "v2"),
            without_metadata=WithoutMetadata.NEW_ID,
            without_offsets=WithoutOffsets.RUNS_ALL,
            without_offsets_error=_GONE_3,
            without_previous_error=_NOT_THERE,
            reads_source_as_name=False,
            missing_state_error="CANNOT_LOAD_STATE_STORE",
            broken_state_error="CANNOT_LOAD_STATE_STORE",
            first_finishing=2,
        ),
        Engine(
            version="4.1",
            offset_formats=("v1",),
            commit_formats=("v1", "v2"),
            without_metadata=WithoutMetadata.NEW_ID,
            without_offsets=WithoutOffsets.REFUSED,
            without_offsets_error="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
            without_previous_error=_NOT_THERE,
            reads_source_as_name=False,
            missing_state_error="CANNOT_LOAD_STATE_STORE",
            broken_state_error="CANNOT_LOAD_STATE_STORE",
        ),
        Engine(
            version="4.2",
            offset_formats=("v1", "v2"),
            commit_formats=("v1", "v2", "v3"),
            without_metadata=WithoutMetadata.REFUSED,
            without_offsets=WithoutOffsets.REFUSED,
            without_offsets_error="assertion failed",
            without_previous_error="Previous batch {batch} not found in offset log",
            reads_source_as_name=True,
            missing_state_error="CANNOT_LOAD_STATE_STORE",
            broken_state_error="CANNOT_LOAD_STATE_STORE",
            missing_operator_error="STREAMING_STATEFUL_OPERATOR_",
            asks_for_partitions=True,
            goes_round_snapshots=True,
        ),
    )
}
ENGINES["4.3"] = replace(ENGINES["4.2"], version="4.3")

PINNED = ENGINES["4.2"]
"""The Spark that streamops itself submits with."""


def engine_of(version: str) -> Engine:
    """The engine of a version such as `4.2` or `4.2.0`. SettingsError for one whose starts nobody has measured."""
    minor = ".".join(version.split(".")[:2])
    if minor not in ENGINES:
        raise SettingsError(f"Spark {version}: known are {', '.join(ENGINES)}")
    release = _RELEASE.fullmatch(version)
    return replace(ENGINES[minor], patch=int(release[1]) if release else None)


def engine_after(fingerprint: str) -> Engine:
    """The engine of the next start where only the fingerprint of the newest batch is known, see `CheckpointFacts`.

    It is PINNED, unless an older Spark wrote that batch: then it is taken for that one, of which patch release nobody knows.
    """
    versions = list(ENGINES)
    is_older = fingerprint in ENGINES and versions.index(fingerprint) < versions.index(PINNED.version)
    return ENGINES[fingerprint] if is_older else PINNED
