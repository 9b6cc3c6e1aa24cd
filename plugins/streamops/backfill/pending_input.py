"""Whether a bounded run would find anything to read. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.diagnosis.checkup_text import printable
from streamops.retention import Coverage, PartitionState
from streamops.retention.backlog import Backlog


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInput:
    """What waits for a run."""

    has_any: bool | None
    """None where nobody can tell: that is no reason to leave a run out."""
    reason: str
    offsets: int | None = None
    """How many wait for the stream's own query; at most so many records."""


def news_of(
    checkpoints: Sequence[CheckpointSnapshot], coverages: Sequence[Coverage], backlogs: Sequence[Backlog] = ()
) -> PendingInput:
    """What waits for the stream's query and its companions together; `backlogs` of one that reads no Kafka.

    A batch in flight is work as well. In a topic with compaction or transactions the lag may never reach 0: a run finds an
    empty batch there.
    """
    own = checkpoints[0].facts
    offsets = coverages[0].lag if coverages else None
    if own.is_new:
        return PendingInput(has_any=True, reason="the query has never run", offsets=offsets)
    pending = [one.facts.last_offset for one in checkpoints if one.facts.has_pending_batch]
    if pending:
        return PendingInput(has_any=True, reason=f"batch {pending[0]} is in flight", offsets=offsets)
    if backlogs:
        return _beside_kafka(backlogs)
    partitions = [one for coverage in coverages for one in coverage.partitions]
    if any(one.standing is PartitionState.NEW for one in partitions):
        return PendingInput(has_any=True, reason="there are partitions that were never read", offsets=offsets)
    lags = [coverage.lag for coverage in coverages]
    if any(lags):
        behind = offsets or max(lag for lag in lags if lag)
        return PendingInput(has_any=True, reason=f"{behind} offsets wait", offsets=offsets)
    if not partitions or None in lags:
        return PendingInput(has_any=None, reason="what the source holds could not be asked")
    # Companions read the same partitions.
    ends = list(dict.fromkeys(f"{one.topic}-{one.partition} ends at {one.latest}" for one in partitions))
    more = f" and {len(ends) - _SHOWN} more" if len(ends) > _SHOWN else ""
    reason = f"nothing new since batch {own.last_offset}: {', '.join(ends[:_SHOWN])}{more}"
    return PendingInput(has_any=False, reason=reason, offsets=0)


def _beside_kafka(backlogs: Sequence[Backlog]) -> PendingInput:
    """Something waits where it waits for one query; nothing does only where that is known of each."""
    told = next((one for one in backlogs if one.has_any), None)
    told = told or next((one for one in backlogs if one.has_any is None), backlogs[0])
    reason = f"nothing new: {told.reason}" if told.has_any is False else told.reason
    return PendingInput(has_any=told.has_any, reason=printable(reason))


_SHOWN = 8
"""Partitions that a reason names."""
