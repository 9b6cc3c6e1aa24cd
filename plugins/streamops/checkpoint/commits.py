"""One entry of the commit log: the sink accepted a batch.

Spark classes: CommitLog and CommitMetadata, 3.5 to 4.3. `v1`, and a line of JSON; `v2` (4.0 on) names the state files of
the next version, `v3` (4.2 on) describes the sinks as well.
"""

from dataclasses import dataclass
from typing import TypeGuard

from streamops.checkpoint.layout import (
    Damage,
    DamagedFileError,
    java_long,
    json_value,
    long_or_none,
    quoted,
    text_lines,
    version_error,
)

SUPPORTED_VERSIONS = ("v1", "v2", "v3")
_TRIMMED = "".join(map(chr, range(33)))
"""What Java's String.trim takes off: CommitLog does so with its first line, the logs of offsets and sources do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorStateIds:
    """The state files of one operator, by the unique part of their names."""

    operator: int
    partitions: tuple[tuple[str, ...], ...]
    """For each partition one id for each store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitEntry:
    """A committed batch."""

    batch: int
    version: str
    next_watermark_ms: int | None = None
    """The watermark for the next batch, 0 for none; None where the entry does not say."""
    has_state_ids: bool = False
    """Whether the entry ties the state to certain files: it must then never be cut or rewritten."""
    state_unique_ids: tuple[OperatorStateIds, ...] = ()
    """By operator; empty also where the ids have a shape that is not known. Spark 4.2.0 drops most such in silence."""


def parse_commit(content: bytes, *, batch: int, address: str) -> CommitEntry:
    """The entry in a file; CheckpointError, naming file and line, where Spark could not read it.

    A missing second line, `{}`, and blanks around the version are accepted, as Spark accepts them; an empty file is not. Spark
    reads no third line.
    """
    if not content.strip():
        raise DamagedFileError(Damage.EMPTY, f"{address} is empty")
    first, *rest = text_lines(content, address=address)
    version = first.strip(_TRIMMED)
    if version not in SUPPORTED_VERSIONS:
        known = ", ".join(SUPPORTED_VERSIONS)
        raise version_error(
            version, f"{address} line 1: version {quoted(version)}, supported: {known} — upgrade streamops"
        )
    try:
        value = json_value(rest[0] if rest else "{}")
    except ValueError as error:
        raise DamagedFileError(Damage.BODY, f"{address} line 2: {error}") from error
    if value is None:
        raise DamagedFileError(Damage.BODY, f"{address} line 2: null, where a commit is described")
    fields = value if isinstance(value, dict) else {}
    if version == "v3" and not _tells_its_sinks(fields.get("sinkMetadataMap")):
        raise DamagedFileError(
            Damage.BODY, f"{address} line 2: sinkMetadataMap does not describe sinks of which one is active"
        )
    ids = fields.get("stateUniqueIds") if version != "v1" else None
    return CommitEntry(
        batch=batch,
        version=version,
        next_watermark_ms=_watermark(fields.get("nextBatchWatermarkMs"), address=address),
        has_state_ids=bool(ids),
        state_unique_ids=_state_ids(ids, address=address) if isinstance(ids, dict) else (),
    )


def _tells_its_sinks(told: object) -> bool:
    """Each sink with all fields of SinkMetadataInfo, and one of them in use (CommitMetadataV3, tried on 4.2.0)."""
    sinks = list(told.values()) if isinstance(told, dict) else []
    has_all = all(isinstance(sink, dict) and sink.keys() >= _OF_A_SINK for sink in sinks)
    active = [sink["isActive"] for sink in sinks] if has_all else []
    return active.count(True) == 1 and all(isinstance(flag, bool) for flag in active)


_OF_A_SINK = frozenset({"sinkName", "commitOffset", "providerName", "apiVersion", "isActive"})


def _watermark(milliseconds: object, *, address: str) -> int | None:
    try:
        return long_or_none(milliseconds)
    except ValueError as error:
        raise DamagedFileError(Damage.BODY, f"{address} line 2: nextBatchWatermarkMs {error}") from error


def _state_ids(ids: dict[str, object], *, address: str) -> tuple[OperatorStateIds, ...]:
    operators = []
    for name, partitions in ids.items():
        operator = java_long(name)
        if operator is None:
            raise DamagedFileError(
                Damage.BODY, f"{address} line 2: stateUniqueIds has {quoted(name)} for the number of an operator"
            )
        if not _is_table(partitions):
            return ()
        operators.append(OperatorStateIds(operator=operator, partitions=tuple(tuple(stores) for stores in partitions)))
    return tuple(sorted(operators, key=lambda found: found.operator))


def _is_table(partitions: object) -> TypeGuard[list[list[str]]]:
    return isinstance(partitions, list) and all(
        isinstance(stores, list) and all(isinstance(store, str) for store in stores) for stores in partitions
    )
