"""What the next start of a query reads from Kafka, partition by partition.

With the newest batch committed that is everything from its end on. With it in flight Spark runs the same range again: from
the end of the entry before to its own end (MicroBatchExecution.populateStartOffsets, 3.5 to 4.3).
"""

from dataclasses import dataclass

from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.offsets import OffsetEntry
from streamops.checkpoint.source_offsets import KafkaOffset, KafkaPosition, parse_source_offset

Initial = dict[str, str]
"""By source: the JSON of the offsets that it began with, see `parse_initial_offsets`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionNeed:
    """Where a query goes on in one partition."""

    topic: str
    partition: int
    start: int
    """The first offset that the next start reads."""
    end: int | None = None
    """Behind the last offset of the batch in flight; None where no batch is."""
    is_new: bool = False
    """Whether the batch in flight is the first that reads the partition: Spark asks for its earliest offset again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNeeds:
    """What one Kafka source of a query needs."""

    source: str
    """Its name, or its position among the query's sources."""
    partitions: tuple[PartitionNeed, ...] = ()
    """By topic and partition."""
    pending_batch: int | None = None
    """The batch in flight, if there is one."""
    trouble: str = ""
    """Why the start of the batch in flight is not known; then `partitions` begin where it ends."""


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


def needs_of(
    facts: CheckpointFacts, *, initial: Initial | None = None, is_dropped: bool = False
) -> tuple[SourceNeeds, ...]:
    """The needs of each Kafka source of a checkpoint; none for a query that has not planned a batch yet.

    `initial` is what counts before the first batch is committed. `is_dropped`: whether the sink drops the batch in flight, so
    that its range is never read. An entry that can't be read needs the checkpoint's own
    repair first, and tells nothing here; nor does a negative number, which is no place in a topic.
    """
    newest = facts.newest
    if newest is None:
        return ()
    found = []
    for name, offset in zip(newest.source_names, newest.offsets, strict=True):
        if isinstance(offset, KafkaOffset):
            places = [place for place in offset.positions if place.partition >= 0 and place.next_offset >= 0]
            ends = {(position.topic, position.partition): position for position in places}
            found.append(
                _pending(name, ends, newest, facts.previous, (initial or {}).get(name, ""))
                if facts.has_pending_batch and not is_dropped
                else SourceNeeds(source=name, partitions=tuple(_need(position) for position in places))
            )
    return tuple(found)


Positions = dict[tuple[str, int], KafkaPosition]


def _pending(
    name: str, ends: Positions, newest: OffsetEntry, previous: OffsetEntry | None, initial: str
) -> SourceNeeds:
    starts = _starts(name, newest, previous, initial)
    if starts is None:
        before = "the offsets that the source began with" if newest.batch == 0 else f"offsets/{newest.batch - 1}"
        return SourceNeeds(
            source=name,
            partitions=tuple(_need(position) for position in ends.values()),
            pending_batch=newest.batch,
            trouble=f"batch {newest.batch} is in flight, and {before}, where it starts, can't be read",
        )
    return SourceNeeds(
        source=name,
        partitions=tuple(
            PartitionNeed(
                topic=end.topic,
                partition=end.partition,
                start=starts[place].next_offset if place in starts else 0,
                end=end.next_offset,
                is_new=place not in starts,
            )
            for place, end in ends.items()
        ),
        pending_batch=newest.batch,
    )


def _starts(name: str, newest: OffsetEntry, previous: OffsetEntry | None, initial: str) -> Positions | None:
    """Where the batch in flight starts; None where that can't be told."""
    offset = None
    if newest.batch == 0:
        offset = parse_source_offset(initial)
    elif previous is not None and name in previous.source_names:
        offset = previous.offsets[previous.source_names.index(name)]
        if offset is None:
            # The source had no offset before this batch: it begins as a first batch does.
            offset = parse_source_offset(initial)
    if not isinstance(offset, KafkaOffset):
        return None
    return {(position.topic, position.partition): position for position in offset.positions}


def _need(position: KafkaPosition) -> PartitionNeed:
    return PartitionNeed(topic=position.topic, partition=position.partition, start=position.next_offset)
