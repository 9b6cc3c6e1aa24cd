"""Ranges of a stream's source, asked of wherever it lies: topics, a Delta table, a folder. Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from streamops.backfill import (
    RangeRefused,
    RequestedRange,
    StepsFound,
    TimeBound,
    chunks_of,
    expired_between,
    find_range,
)
from streamops.backfill.asked import Bound, ExpiredFile, ExpiredVersions, Missing, OffsetBound, PatternBound
from streamops.backfill.bounds import other_topics
from streamops.backfill.files import folder_files, steps_of_files
from streamops.backfill.versions import RequestedTable, find_versions, steps_of_versions
from streamops.control.backfill_places import FilesPlace, TablePlace, altered_files
from streamops.control.backfill_plan import BackfillPlan, Counted
from streamops.control.kafka_offsets import Offsets, Partition
from streamops.control.records import TopicSeen
from streamops.deltalog import read_delta_table, read_pending
from streamops.deltalog.versions import version_contents, written_versions
from streamops.errors import BackfillError
from streamops.kafka.broker import Broker, TimeOffset
from streamops.spec import DeltaTableSource, FilesSource
from streamops.storage import ReadableStorage


class SourceRanges(Protocol):
    """One stream's source, for backfills."""

    def steps(self, asked: RequestedRange, *, chunk: int, accepts_expired: bool) -> StepsFound | RangeRefused:
        """A range in steps of at most so much, or why not. StreamOpsError where the source can't be asked."""
        ...

    def missing(self, plan: BackfillPlan, done: int) -> Sequence[Missing]:
        """What can't be read any more of the steps behind the first `done`. StreamOpsError where that can't be asked."""
        ...

    def replaced(self, plan: BackfillPlan) -> Sequence[str]:
        """What of the source is another by now than the one that was planned, a sentence each."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaRanges:
    """Topics of one cluster."""

    broker: Broker
    topics: tuple[str, ...]
    reads_committed: bool = False
    """Whether the stream leaves out what belongs to open and aborted transactions."""

    def steps(self, asked: RequestedRange, *, chunk: int, accepts_expired: bool) -> StepsFound | RangeRefused:
        if not all(isinstance(bound, TimeBound | OffsetBound) for bound in (asked.begin, asked.end)):
            return RangeRefused(
                reasons=(f"the range {asked} names no records of a topic",),
                way_out="name both ends as times with a zone or as offsets",
            )
        facts = self.broker.scan(self.topics, committed=self.reads_committed)
        partitions = [(topic.topic, one.partition) for topic in facts.topics for one in topic.partitions]
        begin, end = asked.begin_lookup, asked.end_lookup
        nothing: Mapping[Partition, TimeOffset] = {}
        found = find_range(
            asked,
            facts,
            begins=self.broker.offsets_at(partitions, begin) if begin else nothing,
            ends=self.broker.offsets_at(partitions, end) if end else nothing,
            accepts_expired=accepts_expired,
        )
        if isinstance(found, RangeRefused):
            return found
        return StepsFound(
            start=found.start,
            chunks=chunks_of(found.start, found.end, records=chunk),
            counted_in=Counted.OFFSETS,
            not_before=found.not_before,
            before=found.before,
            expired=found.expired,
            notes=found.notes,
            topics=tuple(
                TopicSeen(topic=topic, id=name)
                for topic, name in sorted(facts.topic_ids({name for name, _ in found.start.partitions}).items())
            ),
        )

    def missing(self, plan: BackfillPlan, done: int) -> Sequence[Missing]:
        start, end = plan.chunk_start(done), plan.end
        if not isinstance(start, Offsets) or not isinstance(end, Offsets):
            raise _another_source(plan)
        return expired_between(start, end, self.broker.scan({topic for topic, _ in start.partitions}))

    def replaced(self, plan: BackfillPlan) -> Sequence[str]:
        """Nothing for the plan of an older version, which does not know the ids of its topics."""
        return other_topics(plan.topics, self.broker.scan({one.topic for one in plan.topics})) if plan.topics else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRanges:
    """A Delta table."""

    storage: ReadableStorage
    source: DeltaTableSource

    def steps(self, asked: RequestedRange, *, chunk: int, accepts_expired: bool) -> StepsFound | RangeRefused:
        facts = read_delta_table(self.storage, self.source.table)
        table = RequestedTable(
            table_id=facts.table_id,
            address=self.source.table,
            written=written_versions(self.storage, self.source.table),
            options=dict(self.source.options),
        )
        found = find_versions(asked, table, accepts_expired=accepts_expired)
        if isinstance(found, RangeRefused):
            return found
        return steps_of_versions(
            found,
            table,
            version_contents(self.storage, self.source.table, range(found.first, found.last + 1)),
            read_pending(self.storage, self.source.table, first=found.first).removed,
            is_by_time=_is_by_time(asked.begin, asked.end),
            records=chunk,
        )

    def missing(self, plan: BackfillPlan, done: int) -> Sequence[Missing]:
        start, end, table = plan.chunk_start(done), plan.end, self.source.table
        if not isinstance(start, TablePlace) or not isinstance(end, TablePlace):
            raise _another_source(plan)
        there = {one.version for one in written_versions(self.storage, table)}
        gone = [version for version in range(start.version, end.version) if version not in there]
        if gone:
            return (ExpiredVersions(table=table, first=gone[0], last=gone[-1], what="commits"),)
        removed = read_pending(self.storage, table, first=start.version).removed
        files = sorted({one.version for one in removed if one.is_there is False and one.version < end.version})
        return tuple(ExpiredVersions(table=table, first=one, last=one, what="data files") for one in files)

    def replaced(self, plan: BackfillPlan) -> Sequence[str]:
        """Nothing: Delta's source knows its table by the id in the prepared entry, and refuses another one."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRanges:
    """The files of a folder."""

    storage: ReadableStorage
    source: FilesSource

    def steps(self, asked: RequestedRange, *, chunk: int, accepts_expired: bool) -> StepsFound | RangeRefused:
        """Files that are gone are not known to have been there: there is nothing to accept."""
        pattern = asked.begin.pattern if isinstance(asked.begin, PatternBound) else ""
        return steps_of_files(asked, folder_files(self.storage, self.source.path, pattern=pattern), files=chunk)

    def missing(self, plan: BackfillPlan, done: int) -> Sequence[Missing]:
        left = [place for place in plan.chunks[done:] if isinstance(place, FilesPlace)]
        if len(left) < len(plan.chunks) - done:
            raise _another_source(plan)
        return [
            ExpiredFile(address=one.address, what="gone" if one.is_gone else "written over")
            for one in altered_files(self.storage, (file for place in left for file in place.files))
        ]

    def replaced(self, plan: BackfillPlan) -> Sequence[str]:
        """Nothing: each file is looked at by itself, right before its step."""
        return ()


def _is_by_time(*bounds: Bound) -> bool:
    return any(isinstance(bound, TimeBound) for bound in bounds)


def _another_source(plan: BackfillPlan) -> BackfillError:
    return BackfillError(
        f"backfill {plan.id} was planned over {plan.counted_in}, and the stream reads another source now"
    )
