"""From the range that was asked for to offsets, by what the cluster says, and its steps; or why that can't be. Pure.

A time begins at the first offset whose record is as young, which leaves nothing out: every record before it is older
(ListOffsets by time, `LogSegment.findOffsetByTimestamp`, Kafka 4.3). At the end that does not hold where stamps are the
producers' own (CreateTime): records behind the first one that is too young may belong to the range. So the end is looked up
later by the slack, and what does not belong to the range is left out by its stamp.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from streamops.backfill.asked import Bound, Expired, OffsetBound, RangeFound, RangeRefused, RequestedRange, TimeBound
from streamops.control.kafka_offsets import Offsets, Partition, offsets_between
from streamops.control.records import TopicSeen
from streamops.errors import BackfillError
from streamops.kafka import BrokerFacts, PartitionFacts, TopicFacts
from streamops.kafka.broker import TimeOffset

MAX_PLACES = 1_000_000
"""Ends of steps, one in each partition, that a plan may hold: some 15 MB of JSON, read whole by each driver."""


def chunks_of(start: Offsets, end: Offsets, *, records: int) -> tuple[Offsets, ...]:
    """Where each step ends: as few steps as can be with at most so many offsets each, all about equally long.

    Each takes of every partition in proportion to what is left in it, and leaves one record of each to the last, where steps are
    long enough for that: whoever looks at the checkpoint meanwhile takes each partition for needed, and is right.
    Raises ValueError for a range that is empty or goes back, for two places in different partitions, and for steps of nothing;
    BackfillError where the steps are too many to be written down.
    """
    if records < 1:
        raise ValueError(f"steps of {records} records")
    if start.partitions != end.partitions:
        raise ValueError("start and end do not name the same partitions")
    reached, left = start.by_partition(), _left(start, end)
    if min(left.values()) < 0 or not any(left.values()):
        raise ValueError("the range goes back, or is empty")
    total, places = offsets_between(start, end), len(start.positions)
    steps = -(-total // records)
    if steps * places > MAX_PLACES:
        least = -(-total // max(1, MAX_PLACES // places))
        raise BackfillError(
            f"{total} records of {places} partitions in steps of {records} are {steps} steps: take steps of {least} at least"
        )
    ends = []
    for remaining in range(steps, 0, -1):
        step = -(-sum(left.values()) // remaining)
        spare = {partition: max(0, rest - 1) for partition, rest in left.items()} if remaining > 1 else left
        for partition, taken in _shares(spare if sum(spare.values()) >= step else left, step).items():
            reached[partition] += taken
            left[partition] -= taken
        ends.append(Offsets.of(reached))
    return tuple(ends)


def _left(start: Offsets, end: Offsets) -> dict[Partition, int]:
    ends = end.by_partition()
    return {partition: ends[partition] - offset for partition, offset in start.by_partition().items()}


def _shares(left: Mapping[Partition, int], step: int) -> dict[Partition, int]:
    """What a step takes of each partition: its share rounded down, and one more where the largest rests are."""
    total = sum(left.values())
    shares = {partition: step * rest // total for partition, rest in left.items()}
    rests = sorted(left, key=lambda partition: (-(step * left[partition] % total), partition))
    for partition in rests[: step - sum(shares.values())]:
        shares[partition] += 1
    return shares


_SHOWN = 10
"""Reasons and partitions that a sentence names; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """One partition's part, before it is known whether all of it is there."""

    topic: str
    facts: PartitionFacts
    begin: int
    end: int
    expired: Expired | None = None

    @property
    def partition(self) -> Partition:
        return self.topic, self.facts.partition


def find_range(
    asked: RequestedRange,
    facts: BrokerFacts,
    *,
    begins: Mapping[Partition, TimeOffset] | None = None,
    ends: Mapping[Partition, TimeOffset] | None = None,
    accepts_expired: bool = False,
) -> RangeFound | RangeRefused:
    """The range, by one look at its topics and, for times, by what the cluster says of `begin_lookup` and `end_lookup`.

    Order: what was asked makes no sense, partitions of which nothing is known, places that are not there yet, records that
    are there no more, and last that nothing is left.
    """
    if senseless := _senseless(asked):
        return RangeRefused(reasons=(senseless,), way_out="ask for a range whose end lies behind its begin")
    partitions, known = _partitions(asked, facts), _known(facts)
    if unknown := tuple(filter(None, (_trouble(facts, partition, known.get(partition)) for partition in partitions))):
        return RangeRefused(reasons=_few(unknown), way_out="name partitions that the topics have, or ask again")
    if not partitions:
        return RangeRefused(reasons=("no topic of the range has a partition",), way_out="look at the topics' names")
    held = {partition: known[partition] for partition in partitions}
    first, last = _places(asked.begin, held, begins or {}), _places(asked.end, held, ends or {})
    pieces, troubles = _pieces(asked, facts, held, first, last)
    if troubles:
        return RangeRefused(reasons=_few(troubles), way_out="ask for a range that the partitions hold")
    expired = tuple(piece.expired for piece in pieces if piece.expired)
    if expired and not accepts_expired:
        return RangeRefused(
            reasons=("records of the range are deleted already",),
            way_out="begin later, or accept that they are missing",
            expired=expired,
        )
    return _found(asked, pieces, expired)


def expired_between(start: Offsets, end: Offsets, facts: BrokerFacts) -> tuple[Expired, ...]:
    """What of a range is deleted, to the record; for a backfill under way `start` is where its next step begins.

    A partition of which the cluster does not tell where it begins has lost nothing that anybody knows of.
    """
    ends, known = end.by_partition(), _known(facts)
    found = (
        _expired_before(known[partition].earliest or 0, partition, begin, ends[partition])
        for partition, begin in start.by_partition().items()
        if partition in known
    )
    return tuple(filter(None, found))


def other_topics(planned: Iterable[TopicSeen], facts: BrokerFacts) -> tuple[str, ...]:
    """Which topics of a plan are others by now, a sentence each: offsets of the one say nothing of the other's records.

    One of which the cluster does not tell is taken for the same.
    """
    told = []
    for one in planned:
        found = facts.topic(one.topic)
        if found.exists is False:
            told.append(f"there is no topic {one.topic} any more")
        elif found.topic_id and found.topic_id != one.id:
            told.append(
                f"topic {one.topic} was deleted and made anew since the plan was made (its id was {one.id}, now it is"
                f" {found.topic_id})"
            )
    return tuple(told)


def _senseless(asked: RequestedRange) -> str:
    """Why no answer of a cluster could make the range sensible; empty where one could."""
    begin, end = asked.begin, asked.end
    if isinstance(begin, TimeBound) and isinstance(end, TimeBound) and begin.at >= end.at:
        return f"the range begins at {begin} and ends at {end}: it is empty"
    if isinstance(begin, OffsetBound) and isinstance(end, OffsetBound):
        single = set(begin.offsets.partitions) ^ set(end.offsets.partitions)
        if single:
            return f"only one end of the range names {_names(sorted(single))}"
    return ""


def _partitions(asked: RequestedRange, facts: BrokerFacts) -> list[Partition]:
    """Those that the range names; all of the topics where it is given in times."""
    for bound in (asked.begin, asked.end):
        if isinstance(bound, OffsetBound):
            return list(bound.offsets.partitions)
    told = [(topic.topic, one.partition) for topic in facts.topics for one in topic.partitions]
    silent = [(topic.topic, 0) for topic in facts.topics if not topic.exists]
    return sorted(told + silent)


def _known(facts: BrokerFacts) -> dict[Partition, PartitionFacts]:
    return {(topic.topic, one.partition): one for topic in facts.topics for one in topic.partitions}


def _trouble(facts: BrokerFacts, partition: Partition, found: PartitionFacts | None) -> str:
    """Why a partition's ends are not known; empty where they are."""
    name, number = partition
    topic = facts.topic(name)
    asked_for = sorted(one.topic for one in facts.topics)
    if name not in asked_for:
        return f"the stream does not read topic {name}: it reads {', '.join(asked_for) or 'none'}"
    if topic.exists is None:
        return f"what topic {name} holds is not known: {topic.trouble}"
    if not topic.exists:
        return f"there is no topic {name}"
    if found is None:
        return f"topic {name} has no partition {number}, only {len(topic.partitions)} from 0 on"
    return f"the ends of {name}-{number} are not known: {found.trouble}" if found.trouble else ""


def _places(
    bound: Bound, held: Mapping[Partition, PartitionFacts], found: Mapping[Partition, TimeOffset]
) -> dict[Partition, int | str]:
    """The offset that a bound means in each partition, or why it means none.

    Where no record is as young as a time, that is the end of the partition as it was when the cluster was asked.
    """
    places: dict[Partition, int | str] = {}
    offsets = bound.offsets.by_partition() if isinstance(bound, OffsetBound) else {}
    for partition, known in held.items():
        latest = known.readable or 0
        answer = found.get(partition) or TimeOffset(offset=None, trouble="the cluster was not asked")
        if partition in offsets:
            offset = offsets[partition]
            end = f"{_name(partition)} ends at {latest}{_why_there(known)}"
            places[partition] = offset if offset <= latest else f"{end}, asked was {offset}"
        elif answer.trouble:
            places[partition] = f"which offset of {_name(partition)} belongs to {bound} is not known: {answer.trouble}"
        else:
            places[partition] = latest if answer.offset is None else min(answer.offset, latest)
    return places


def _why_there(known: PartitionFacts) -> str:
    """Behind the end of a partition; empty where it is the end of its records."""
    if not known.is_held_back:
        return ""
    return f" for readers of committed records (a transaction is open since, and records go on to {known.latest})"


def _pieces(
    asked: RequestedRange,
    facts: BrokerFacts,
    held: Mapping[Partition, PartitionFacts],
    first: Mapping[Partition, int | str],
    last: Mapping[Partition, int | str],
) -> tuple[list[_Piece], list[str]]:
    """What is asked of each partition, and what is wrong with it."""
    pieces, troubles = [], []
    for partition, known in held.items():
        begin, end = first[partition], last[partition]
        if isinstance(begin, str) or isinstance(end, str):
            troubles += [place for place in (begin, end) if isinstance(place, str)]
        elif end < begin:
            troubles.append(f"{_name(partition)} would be read from {begin} back to {end}")
        else:
            expired = _expired(asked, facts.topic(partition[0]), known, begin, end, at=facts.at)
            pieces.append(_Piece(topic=partition[0], facts=known, begin=begin, end=end, expired=expired))
    return pieces, troubles


def _expired(
    asked: RequestedRange, topic: TopicFacts, known: PartitionFacts, begin: int, end: int, *, at: datetime
) -> Expired | None:
    """What of the piece is deleted, or may be."""
    earliest = known.earliest or 0
    if isinstance(asked.begin, OffsetBound):
        return _expired_before(earliest, (topic.topic, known.partition), begin, end)
    # The oldest record that is left is young enough, or none is left: then older ones may have been, too.
    since = asked.begin_lookup
    if not earliest or begin != earliest or since is None or _is_kept_since(since, topic, at=at):
        return None
    return Expired(topic=topic.topic, partition=known.partition, first=None, end=earliest)


def _expired_before(earliest: int, partition: Partition, begin: int, end: int) -> Expired | None:
    if begin >= min(earliest, end):
        return None
    return Expired(topic=partition[0], partition=partition[1], first=begin, end=min(earliest, end))


def _is_kept_since(moment: datetime, topic: TopicFacts, *, at: datetime) -> bool:
    """Whether the topic's own settings delete nothing that is as young; by hand (DeleteRecords) anything may be."""
    retention = topic.retention
    if retention is None or retention.size is not None or retention.is_compacting:
        return False
    return not retention.is_deleting or retention.time is None or moment > at - retention.time


def _found(asked: RequestedRange, pieces: list[_Piece], expired: tuple[Expired, ...]) -> RangeFound | RangeRefused:
    # `earliest` counts for what was asked by offsets; by time no place lies before it. What holds nothing takes no part: nobody
    # need keep it while the backfill runs.
    held = {
        piece.partition: (first, piece.end)
        for piece in pieces
        if (first := max(piece.begin, piece.facts.earliest or 0)) < piece.end
    }
    if not held:
        return RangeRefused(
            reasons=("the range is empty: no partition holds a record of it",),
            way_out="ask for another range",
            expired=expired,
        )
    starts = {partition: ends[0] for partition, ends in held.items()}
    ends = {partition: ends[1] for partition, ends in held.items()}
    return RangeFound(
        start=Offsets.of(starts),
        end=Offsets.of(ends),
        not_before=asked.begin.at if isinstance(asked.begin, TimeBound) else None,
        before=asked.end.at if isinstance(asked.end, TimeBound) else None,
        expired=expired,
        notes=tuple(_notes(asked, pieces, expired)),
    )


def _notes(asked: RequestedRange, pieces: list[_Piece], expired: tuple[Expired, ...]) -> Iterator[str]:
    held_back = [piece for piece in pieces if piece.facts.is_held_back and piece.end == piece.facts.readable]
    for piece in held_back[:_SHOWN]:
        yield (
            f"{_name(piece.partition)} is read up to {piece.end}{_why_there(piece.facts)}: ask for the rest when the"
            " transaction has ended."
        )
    if isinstance(asked.begin, TimeBound) or isinstance(asked.end, TimeBound):
        yield "A record's time is the stamp that it bears in Kafka; what is read beyond the range is left out by it."
    if isinstance(asked.end, TimeBound):
        late = f"more than {asked.slack} " if asked.slack else ""
        yield (
            f"Records that came {late}behind a younger one at the end of the range are left out. That can be where the"
            " producer stamps (message.timestamp.type=CreateTime), not where the broker does (LogAppendTime)."
        )
    if expired:
        yield f"Deleted already, and missing by leave: {'; '.join(_few(map(str, expired)))}."


def _few(texts: Iterable[str]) -> tuple[str, ...]:
    """The first ones, each once, and how many more there are."""
    unlike = tuple(dict.fromkeys(texts))
    rest = len(unlike) - _SHOWN
    return (*unlike[:_SHOWN], f"and {rest} more like that") if rest > 0 else unlike


def _names(partitions: Iterable[Partition]) -> str:
    return ", ".join(_few(_name(partition) for partition in partitions))


def _name(partition: Partition) -> str:
    topic, number = partition
    return f"{topic}-{number}"
