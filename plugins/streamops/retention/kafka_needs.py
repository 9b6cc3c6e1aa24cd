"""What the queries of a driver need from Kafka, read from their checkpoints."""

from dataclasses import dataclass

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import quoted
from streamops.checkpoint.offsets import offset_pairs
from streamops.checkpoint.source_log import SourceLogs, read_source_logs
from streamops.checkpoint.source_offsets import KafkaOffset, OffsetForm
from streamops.diagnosis.companions import read_checkpoints
from streamops.errors import CheckpointError
from streamops.retention import SourceNeeds, needs_of
from streamops.storage import ReadableStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointNeeds:
    """The Kafka sources of one query."""

    address: str
    sources: tuple[SourceNeeds, ...]
    """None before the first batch is planned, and for a query without Kafka."""
    query_id: str = ""
    """Empty where the checkpoint does not tell."""
    written_by: str = ""
    """The Spark that seems to have written its newest entry, see `checkpoint.fingerprint`."""


def read_needs(storage: ReadableStorage, checkpoint: str) -> tuple[CheckpointNeeds, ...]:
    """The needs of the checkpoint's query and of its companions.

    Raises StorageError where they can't be asked, CheckpointError where the newest entry of one can't be read, or is none
    of Kafka.
    """
    own, companions = read_checkpoints(storage, checkpoint)
    if own.newest and own.newest.is_foreign_to(OffsetForm.KAFKA):
        raise CheckpointError(
            f"{own.address}: offsets/{own.last_offset} holds {quoted(next(filter(None, own.newest.sources), ''))}, which is no"
            " offset of Kafka: another source wrote it, or somebody edited it"
        )
    return tuple(_needs(storage, facts) for facts in (own, *companions))


def _needs(storage: ReadableStorage, facts: CheckpointFacts) -> CheckpointNeeds:
    if facts.newest is None and facts.last_offset >= 0:
        broken = next(
            (one.reason for one in facts.broken if one.file == f"offsets/{facts.last_offset}"), "it is not there"
        )
        raise CheckpointError(
            f"{facts.address}: where the query goes on is not known: offsets/{facts.last_offset}: {broken}"
        )
    if _names_no_topic_any_more(facts):
        raise CheckpointError(
            f"{facts.address}: where the query goes on is not known: offsets/{facts.last_offset} names no topic, though the entry"
            " below it does; `streamops check` tells what comes of it"
        )
    # Only a batch in flight that is the first of a source begins with the source's own file.
    begins = facts.has_pending_batch and (facts.previous is None or None in facts.previous.sources)
    return CheckpointNeeds(
        address=facts.address,
        sources=needs_of(facts, initial=_initial(read_source_logs(storage, facts.address)) if begins else {}),
        query_id=facts.query_id or "",
        written_by=facts.spark_fingerprint,
    )


def _names_no_topic_any_more(facts: CheckpointFacts) -> bool:
    pairs = list(offset_pairs(facts.previous, facts.newest))
    had = any(isinstance(before, KafkaOffset) and before.positions for _, before, _ in pairs)
    return had and not any(isinstance(now, KafkaOffset) and now.positions for _, _, now in pairs)


def needs_of_snapshot(snapshot: CheckpointSnapshot) -> tuple[SourceNeeds, ...]:
    """The Kafka sources of a query of which everything was read already."""
    return needs_of(snapshot.facts, initial=_initial(snapshot.sources))


def _initial(logs: SourceLogs) -> dict[str, str]:
    return {source.folder: source.initial_offsets for source in logs.sources if source.initial_offsets is not None}
