"""What a start makes of lost records: an error, or a silence. Pure.

With `failOnDataLoss` (true unless the source says otherwise) Spark's Kafka source fails, the same way each time; without it it
warns in a log, goes on at what is there, and the records between are gone for good (KafkaMicroBatchStream.reportDataLoss, 3.5 to
4.3). Texts in errors as recorded on 4.2.0 (`tests/data/exceptions/recorded/kafka.json`); 3.5 has others for the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from streamops.retention.cover import Coverage, PartitionCoverage, PartitionState


class Effect(StrEnum):
    """What comes of a start."""

    READS_ALL = "reads-all"
    """As far as the broker says, nothing that is needed is missing."""
    UNCONFIRMED = "unconfirmed"
    """The broker said something that counts only when it is said twice."""
    LOSES = "loses"
    """It runs, and records are passed over in silence."""
    FAILS = "fails"
    """It fails, each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageEffect:
    """One answer."""

    effect: Effect
    summary: str = ""
    expected_error: str = ""
    """A piece of Spark's text; empty where the start does not fail."""


_SHOWN = 3

_NO_TOPIC = "UnknownTopicOrPartitionException"
_NEW_BEHIND_ZERO = "instead of 0"
_ERRORS = {
    PartitionState.GONE: "have been deleted",
    PartitionState.UNSUBSCRIBED: "have been deleted",
    PartitionState.RESET: "offset was changed from",
    PartitionState.PARTLY_LOST: "Could not read records in offset",
    PartitionState.LOST: "Could not read records in offset",
}


def start_effect(coverages: Iterable[Coverage], *, fails_on_data_loss: bool) -> CoverageEffect:
    """The effect of a start now, over all queries of a driver."""
    partitions = [one for coverage in coverages for one in coverage.partitions]
    lossy = [one for one in partitions if one.standing.is_lossy]
    # Spark notices nothing of these, whatever it is told to fail on.
    unseen = [one for one in lossy if one.standing is PartitionState.RECREATED]
    seen = [one for one in lossy if one.standing is not PartitionState.RECREATED]
    if seen and fails_on_data_loss:
        return CoverageEffect(effect=Effect.FAILS, summary=told(seen), expected_error=_error(seen, partitions))
    if lossy:
        return CoverageEffect(
            effect=Effect.LOSES, summary=f"{told([*unseen, *seen])}: it goes on without them, and no error tells"
        )
    suspected = [one for one in partitions if one.suspected]
    if suspected:
        return CoverageEffect(effect=Effect.UNCONFIRMED, summary=told(suspected))
    return CoverageEffect(effect=Effect.READS_ALL)


def changed_since_planned(coverage: Coverage) -> list[PartitionCoverage]:
    """Partitions that a batch in flight has and its topics have not, or the other way round; none without such a batch."""
    if coverage.pending_batch is None:
        return []
    gone = (PartitionState.GONE, PartitionState.UNSUBSCRIBED)
    return [one for one in coverage.partitions if one.standing in gone or one.start is None]


def beyond_the_end(coverage: Coverage) -> list[PartitionCoverage]:
    """Partitions that end before a batch in flight does; none without such a batch."""
    return [one for one in coverage.partitions if one.standing is PartitionState.RESET and one.end is not None]


def told(partitions: list[PartitionCoverage], *, most: int = _SHOWN) -> str:
    """Why each of them is as it is, in words; those beyond `most` are counted."""
    each = [f"{one.topic}-{one.partition}: {one.reason}" for one in partitions[:most]]
    more = len(partitions) - most
    return "; ".join([*each, *([f"and {more} partitions more"] if more > 0 else [])])


def _error(partitions: list[PartitionCoverage], all_of_them: list[PartitionCoverage]) -> str:
    """Of what Spark comes across first: topics, then partitions, then ends, and the records themselves in its tasks."""
    whole = {one.topic for one in partitions} - {
        one.topic for one in all_of_them if one.standing is not PartitionState.GONE
    }
    errors = {_ERRORS[one.standing] for one in partitions if one.start is not None}
    # Of a partition that no batch has read, only what lies before its first record can be lost.
    errors |= {_NEW_BEHIND_ZERO for one in partitions if one.start is None}
    return _NO_TOPIC if whole else min(errors, key=_ORDER.index)


_ORDER = (
    "have been deleted",
    _NEW_BEHIND_ZERO,
    "offset was changed from",
    "Could not read records in offset",
)
