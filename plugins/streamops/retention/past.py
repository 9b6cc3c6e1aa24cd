"""What earlier looks saw of a topic, and which topics a claim has on record. Pure.

Columns and not samples: 1 000 partitions looked at 250 times are two thousand tuples here, and a quarter of a million objects
otherwise. A column ends with the newest look; one that is shorter than `at` began later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby

from streamops.control.kafka_offsets import Topics
from streamops.control.records import TopicSeen
from streamops.retention.cover import Coverage, PartitionCoverage, PartitionState
from streamops.retention.growth import EndSample

FINE = timedelta(hours=3)
"""So far back a look in each `FINE_STEP` is kept, with the query's own place."""
FINE_STEP = timedelta(minutes=5)
COARSE = timedelta(days=9)
"""So far back a look in each `COARSE_STEP` is kept: a record of a topic that keeps a week has its time by them."""
COARSE_STEP = timedelta(hours=1)

Column = tuple[int | None, ...]
"""Offsets, oldest first; None where a look did not learn it."""
Partition = tuple[str, int]
"""Topic and number."""
Position = tuple[str, str, int]
"""Checkpoint, topic and number."""

_ODD = frozenset({PartitionState.GONE, PartitionState.RESET})
"""What counts only when two looks have found it, see `cover`."""
UNREAD = frozenset(
    {
        PartitionState.UNKNOWN,
        PartitionState.GONE,
        PartitionState.RESET,
        PartitionState.RECREATED,
        PartitionState.UNSUBSCRIBED,
    }
)
"""Where the query can't be taken to have read the topic that is there now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """Both ends of a partition; columns of one length."""

    earliest: Column
    latest: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceSample:
    """Where a query stood in a partition."""

    at: datetime
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMark:
    """A place in a control log."""

    records: int = 0
    nonce: str = ""
    """Of the last of them: a log that was deleted and begun anew has another there."""
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """By name: the topics of the query as its starts found them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectedState:
    """What looks have found or suspected, and another one has to confirm."""

    standing: PartitionState
    since: datetime
    """The first look in a row that found it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveragePast:
    """The looks at one stream so far."""

    at: tuple[datetime, ...] = ()
    tracks: Mapping[Partition, Track] = field(default_factory=dict)
    places: Mapping[Position, Column] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """By name: the id of the topic that the query was seen to read first, see `with_look`."""
    odd: Mapping[Position, SuspectedState] = field(default_factory=dict)
    """Of the last look."""
    odd_at: datetime | None = None
    """When that was."""
    query_id: str = ""
    """Whose past it is: another query in the same folder begins anew."""
    log: LogMark = field(default_factory=LogMark)
    """How far the control log was known at the last look."""

    @property
    def known_ids(self) -> Mapping[str, str]:
        """By name: the ids that count. What a start put on record goes before what looks have seen."""
        return {**self.topic_ids, **self.log.topic_ids}

    def ends(self, topic: str, partition: int) -> tuple[EndSample, ...]:
        """The ends of a partition, oldest first, since the last time that one of them went back.

        Before that it was another topic, or offsets were counted anew: no pace can be taken across.
        """
        track = self.tracks.get((topic, partition))
        if track is None:
            return ()
        rows = zip(self.at[-len(track.latest) :], track.earliest, track.latest, strict=True)
        samples: list[EndSample] = []
        for at, earliest, latest in rows:
            if earliest is None or latest is None:
                continue
            if samples and (latest < samples[-1].latest or earliest < samples[-1].earliest):
                samples.clear()
            samples.append(EndSample(at=at, earliest=earliest, latest=latest))
        return tuple(samples)

    def starts(self, checkpoint: str, topic: str, partition: int) -> tuple[PlaceSample, ...]:
        """Where a query stood in a partition, oldest first, since the last time that it went back."""
        column = self.places.get((checkpoint, topic, partition), ())
        samples: list[PlaceSample] = []
        for at, start in zip(self.at[-len(column) :], column, strict=False):
            if start is None:
                continue
            if samples and start < samples[-1].start:
                samples.clear()
            samples.append(PlaceSample(at=at, start=start))
        return tuple(samples)

    def before(self, checkpoint: str, *, since: datetime, until: datetime) -> Coverage | None:
        """What the last look at a checkpoint found, as `cover` takes it, where looks have found it since `until` or earlier.

        None where the last look was earlier than `since`.
        """
        if self.odd_at is None or self.odd_at < since:
            return None
        partitions = tuple(
            PartitionCoverage(topic=topic, partition=number, standing=PartitionState.UNKNOWN, suspected=odd.standing)
            for (address, topic, number), odd in self.odd.items()
            if address == checkpoint and odd.since <= until
        )
        return Coverage(at=self.odd_at, partitions=partitions)

    def without_ids(self) -> "CoveragePast":
        """The same, with no memory of which topic was read."""
        return replace(self, topic_ids={})

    def with_look(self, covered: Mapping[str, Coverage], ids: Mapping[str, str], *, at: datetime) -> "CoveragePast":
        """The past with one more look, by checkpoint, thinned.

        `ids`: what the topics are now. The id of a topic is taken over at the first look that finds the query reading it,
        and stays: while another topic bears the name, its id must not become the one that counts, or the loss would be
        forgotten by looking at it.
        """
        known = [(address, one) for address, coverage in covered.items() for one in coverage.partitions]
        longer = replace(
            self,
            topic_ids=self._ids(known, ids),
            odd={
                position: SuspectedState(standing=odd, since=self._odd_since(position, odd, at))
                for address, one in known
                if (odd := one.suspected or one.standing) in _ODD
                for position in [(address, one.topic, one.partition)]
            },
            odd_at=at,
        )
        if all(one.latest is None for _, one in known):
            return longer
        return longer._before(at)._with_row(known, at)._thinned()

    def halved(self) -> "CoveragePast":
        """The newest look, and every second one before it."""
        return self._kept([index for index in range(len(self.at)) if (len(self.at) - 1 - index) % 2 == 0])

    def _odd_since(self, position: Position, standing: PartitionState, at: datetime) -> datetime:
        before = self.odd.get(position)
        return min(before.since, at) if before and before.standing is standing else at

    def _ids(self, known: Sequence[tuple[str, PartitionCoverage]], ids: Mapping[str, str]) -> dict[str, str]:
        read = {one.topic for _, one in known if one.start is not None}
        unread = {one.topic for _, one in known if one.standing in UNREAD}
        kept = {topic: name for topic, name in self.topic_ids.items() if topic in read}
        first = {topic: ids[topic] for topic in read - unread - kept.keys() if ids.get(topic)}
        return kept | first

    def _before(self, moment: datetime) -> "CoveragePast":
        """A clock that was set back makes later looks worthless."""
        return self._kept([index for index, at in enumerate(self.at) if at < moment])

    def _with_row(self, known: Iterable[tuple[str, PartitionCoverage]], at: datetime) -> "CoveragePast":
        ends = {(one.topic, one.partition): (one.earliest, one.latest) for _, one in known}
        starts = {(address, one.topic, one.partition): one.start for address, one in known}
        tracks = {}
        for partition in self.tracks.keys() | ends.keys():
            earliest, latest = ends.get(partition, (None, None))
            track = self.tracks.get(partition, Track(earliest=(), latest=()))
            tracks[partition] = Track(earliest=(*track.earliest, earliest), latest=(*track.latest, latest))
        places = {
            position: (*self.places.get(position, ()), starts.get(position))
            for position in self.places.keys() | starts.keys()
        }
        return replace(self, at=(*self.at, at), tracks=tracks, places=places)

    def _thinned(self) -> "CoveragePast":
        """The last look of each step of time."""
        now = self.at[-1]
        steps = groupby(
            ((index, at) for index, at in enumerate(self.at) if now - at <= COARSE),
            key=lambda row: (now - row[1] <= FINE, _step(row[1], FINE_STEP if now - row[1] <= FINE else COARSE_STEP)),
        )
        kept = self._kept([list(rows)[-1][0] for _, rows in steps])
        fine = sum(now - at <= FINE for at in kept.at)
        places = {position: column[-fine:] for position, column in kept.places.items()}
        return replace(kept, places={position: column for position, column in places.items() if any_known(column)})

    def _kept(self, rows: Sequence[int]) -> "CoveragePast":
        """Only these looks; what none of them knows goes as well."""
        if len(rows) == len(self.at):
            return self
        tracks = {
            partition: Track(earliest=self._column(track.earliest, rows), latest=self._column(track.latest, rows))
            for partition, track in self.tracks.items()
        }
        places = {position: self._column(column, rows) for position, column in self.places.items()}
        return replace(
            self,
            at=tuple(self.at[row] for row in rows),
            tracks={partition: track for partition, track in tracks.items() if any_known(track.latest)},
            places={position: column for position, column in places.items() if any_known(column)},
        )

    def _column(self, column: Column, rows: Iterable[int]) -> Column:
        missing = len(self.at) - len(column)
        return tuple(column[row - missing] for row in rows if row >= missing)


def any_known(column: Column) -> bool:
    """Whether a column holds anything."""
    return any(offset is not None for offset in column)


def _step(at: datetime, step: timedelta) -> int:
    return (at - datetime.fromtimestamp(0, UTC)) // step


def topics_seen(coverages: Sequence[Coverage], *, is_accepted: bool) -> Topics:
    """The topics of the source as a start finds them, over all checkpoints of the stream; none where nobody was asked.

    Of a topic that may be another than the one that was read nothing is put on record, or the loss would be forgotten by a
    start that could not see it; where a person has accepted what is there, whatever is there counts.
    """
    ids = {topic: name for coverage in coverages for topic, name in coverage.topic_ids.items()}
    unread = {one.topic for coverage in coverages for one in coverage.partitions if one.standing in UNREAD}
    return tuple(TopicSeen(topic=topic, id=ids[topic]) for topic in sorted(ids) if is_accepted or topic not in unread)
