"""Rules about how the offset entries that a start goes by follow on one another: offsets, watermarks and times only rise.

A start goes on from the newest entry. A batch in flight begins where the entry below ends, so that whether that one is well is
told by the entry below it in turn. What Spark makes of each was tried on 4.2.0, see `make conformance`.
"""

from collections.abc import Iterator
from datetime import timedelta

from streamops.catalogue.expectations import Expectations
from streamops.catalogue.file_rules import BACKUP, FAILS, RESTORE_BOTH
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import OFFSETS, quoted
from streamops.checkpoint.offsets import OffsetEntry, offset_pairs
from streamops.checkpoint.source_offsets import (
    DeltaOffset,
    FileOffset,
    KafkaOffset,
    RateMicroBatchOffset,
    RateOffset,
    SourceOffset,
    UnknownOffset,
    says_nothing,
)
from streamops.formatting import listed
from streamops.verdict import AtStart, Finding, Severity, StartEffect

SHOWN = 5


def backward_range(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A source's range ends before it begins: it refuses to plan that, the source of files even for a batch that is committed."""
    for name, had, has in offset_pairs(facts.previous, facts.newest):
        gone, lower = _moved_back(had, has)
        if not (gone or lower) or not _is_refused(facts, expected, had, has) or facts.newest is None:
            continue
        file, is_topic = f"{OFFSETS}/{facts.newest.batch}", isinstance(had, KafkaOffset)
        evidence = f"source {name}: {listed([*gone, *lower], SHOWN)}"
        unless = ", unless it is told `failOnDataLoss` false: then records are read twice" if is_topic else ""
        yield Finding(
            rule="backward-range",
            severity=Severity.CRITICAL,
            file=file,
            evidence=evidence,
            meaning=f"the source is asked for a range that ends before it begins: {FAILS}{unless}",
            repair=RESTORE_BOTH,
            start=StartEffect(
                kind=AtStart.FAILS,
                summary=f"{file} ends before the entry below: {evidence}",
                error=_REFUSALS.get(type(had), ""),
            ),
        )


def _is_refused(
    facts: CheckpointFacts, expected: Expectations, had: SourceOffset | None, has: SourceOffset | None
) -> bool:
    """By Kafka's source with `failOnDataLoss` alone, and where the range is read (KafkaOffsetReader; tried on 4.2.0)."""
    if isinstance(had, KafkaOffset):
        is_read = facts.has_pending_batch and not expected.drops_batch_in_flight
        return is_read and expected.fails_on_data_loss
    is_rate = isinstance(has, RateMicroBatchOffset)
    return isinstance(has, FileOffset) or (is_rate and facts.has_pending_batch)


_REFUSALS: dict[type, str] = {
    FileOffset: "assertion failed",
    KafkaOffset: "Some data may have been lost because they are not available in Kafka any more",
    RateMicroBatchOffset: "MALFORMED_STATE_IN_RATE_PER_MICRO_BATCH_SOURCE",
}


def offsets_moved_back(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A source stands lower than one batch before, or a partition is gone (azure-event-hubs-spark#651).

    The next batch begins there: a partition that is not in the entry is new to the source, and is read from its beginning. Of a
    topic lower offsets may be right, since one that was made anew begins at 0, and a bare number may be of a source that nobody
    here knows; of a table and of files they never are.
    """
    for before, now in facts.steps:
        is_newest = now is facts.newest
        for name, had, has in offset_pairs(before, now):
            if is_newest and _is_refused(facts, expected, had, has):
                continue
            gone, lower = _moved_back(had, has, of_what_was_read=True)
            if gone or lower:
                yield _back(facts, before, now, name, gone=gone, lower=lower)


def _back(
    facts: CheckpointFacts, before: OffsetEntry, now: OffsetEntry, name: str, *, gone: list[str], lower: list[str]
) -> Finding:
    is_below = now is not facts.newest
    reader = f"batch {facts.last_offset}, which is in flight," if is_below else "the next batch"
    file, below = f"{OFFSETS}/{now.batch}", f"{OFFSETS}/{before.batch}"
    evidence = f"source {name}: {listed([*gone, *lower], SHOWN)}"
    is_topic = isinstance(before.offset_by_source.get(name), KafkaOffset)
    has_others = is_topic and _has_new_partitions(before.offset_by_source.get(name), now.offset_by_source.get(name))
    is_bare = isinstance(now.offset_by_source.get(name), RateOffset)
    may_be_right = has_others if gone else is_topic or is_bare
    comes = f"{reader} reads a partition that is gone from its beginning" if gone else f"{reader} goes on from there"
    again = f"{comes}: what was read is read again" + (
        ", unless the topic was deleted, or made anew under the same name" if is_topic else ""
    )
    return Finding(
        rule="offsets-moved-back",
        severity=Severity.CRITICAL,
        file=file,
        evidence=evidence,
        meaning=again,
        repair="see whether the topic was deleted or recreated, whether `failOnDataLoss` is false, and whether the query shares"
        f" its `kafka.group.id`; if not, {RESTORE_BOTH}"
        if is_topic
        else RESTORE_BOTH,
        not_when=("when the topic was deleted or recreated on purpose: then the offsets are well. " if is_topic else "")
        + "Do not put the offsets of the entry below there: what the batch has read would come again",
        start=StartEffect(
            kind=AtStart.UNDECIDED if may_be_right else AtStart.REPEATS,
            summary=f"{file} against {below}: {evidence}: {comes}",
            in_flight_only=is_below,
        ),
    )


def changed_delta_table(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """Two entries that follow on one another name two Delta tables: Delta's source refuses whichever is not the one that it
    reads, of a batch that is committed too (DeltaSource, tried with delta-spark 4.4.0).
    """
    for name, had, has in offset_pairs(facts.previous, facts.newest):
        if not isinstance(had, DeltaOffset) or not isinstance(has, DeltaOffset) or had.table_id == has.table_id:
            continue
        file = f"{OFFSETS}/{facts.last_offset}"
        evidence = f"source {name}: reservoirId {quoted(had.table_id)} → {quoted(has.table_id)}"
        yield Finding(
            rule="changed-delta-table",
            severity=Severity.CRITICAL,
            file=file,
            evidence=evidence,
            meaning=f"one of the two was edited, or is another query's, and the source reads both: {FAILS}",
            repair=RESTORE_BOTH,
            start=StartEffect(
                kind=AtStart.FAILS,
                summary=f"{file} is of another Delta table than the entry below: {evidence}",
                error="DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
            ),
        )


def copied_entry(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """An entry ends where the one below it ends, and a batch to run goes by it: one of the two is a copy.

    Spark plans no batch without input but for state (MicroBatchExecution, 4.2.0), and that one has a watermark or a time of its
    own. Of a committed batch the copy of the whole entry is told, and an offset that the log of a file source has gone beyond.
    """
    facts = snapshot.facts
    if expected.runs_continuously(facts):
        return
    for before, now in facts.steps:
        is_same = before.sources == now.sources and before.source_ids == now.source_ids
        if before.batch != now.batch - 1 or not is_same or now.header.has_control_batch:
            continue
        is_whole_copy = now.planned_at is not None and now.header == before.header
        # In real-time mode entries come by the clock, with input or without.
        is_told = facts.has_pending_batch or _is_left_behind(snapshot) or expected.leaves_holes(facts)
        if is_whole_copy or (is_told and not _keeps_state(snapshot, expected, before, now)):
            yield _copied(facts, before, now, is_whole=is_whole_copy)


def _keeps_state(snapshot: CheckpointSnapshot, expected: Expectations, before: OffsetEntry, now: OffsetEntry) -> bool:
    """Whether the query has state: its files lie there, its last batch told so, or its watermark has moved."""
    has_files = snapshot.state is not None and bool(snapshot.state.operators)
    has_moved = before.header.watermark_ms != now.header.watermark_ms
    return has_files or has_moved or expected.stateful_operators > 0


def _is_left_behind(snapshot: CheckpointSnapshot) -> bool:
    """Whether a file source has written down more than the newest entry knows of."""
    found = ((snapshot.source(source.folder), source.log_offset) for source in snapshot.file_sources)
    return any(source is not None and source.log.latest > reached for source, reached in found)


def _copied(facts: CheckpointFacts, before: OffsetEntry, now: OffsetEntry, *, is_whole: bool) -> Finding:
    file, below = f"{OFFSETS}/{now.batch}", f"{OFFSETS}/{before.batch}"
    # A batch without input ends where the one below ends: then the time tells that it is none of the two.
    repair, not_when = f"{RESTORE_BOTH}{_AND_THEIR_TIMES if is_whole else ''}", ""
    if now is not facts.newest:
        kind, what = (
            AtStart.REPEATS,
            f"batch {facts.last_offset}, which is in flight, reads what batch {now.batch} has had again",
        )
    elif facts.has_pending_batch:
        kind, what = (
            AtStart.UNDECIDED,
            f"batch {now.batch} runs again without input, and where {below} is the copy, what it had is not read",
        )
        repair = (
            f"restore both {BACKUP}; otherwise write {below} anew with the end offsets that the progress event of its batch"
            f" shows, and move {file} aside, and `.{now.batch}.crc` with it: its batch is planned anew"
        )
        not_when = f"when the sink has had batch {now.batch} already: move nothing aside then"
    else:
        kind, what = (
            AtStart.UNDECIDED,
            f"where {file} is the copy, the next batch reads what batch {now.batch} has had again",
        )
    return Finding(
        rule="copied-entry",
        severity=Severity.CRITICAL,
        file=file,
        evidence=f"its sources end exactly where {below} ends",
        meaning=f"one of the two is a copy, or was edited: {what}, and no error tells",
        repair=repair,
        not_when=not_when,
        start=StartEffect(
            kind=kind,
            summary=f"{file} ends exactly where {below} ends, which Spark never plans: {what}",
            in_flight_only=now is not facts.newest,
        ),
    )


_AND_THEIR_TIMES = (
    ", and with their `timestamp` and watermark as `batchTimestampMs` and `batchWatermarkMs` in the second line"
)


def watermark_moved_back(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The watermark that the next start takes is lower than one batch before: Spark's own only rises (WatermarkTracker).

    A batch in flight takes its entry's; after a commit the higher one of entry and commit counts (MicroBatchExecution, 4.2.0).
    """
    if facts.newest is None or facts.previous is None:
        return
    had, has = facts.previous.header.watermark_ms, facts.newest.header.watermark_ms
    if has is None and facts.has_pending_batch and not facts.newest.header.is_empty:
        # A header that does not say is read as 0.
        has = 0
    after = facts.commit.next_watermark_ms if facts.commit and not facts.has_pending_batch else None
    known = [watermark for watermark in (has, after) if watermark is not None]
    if had is None or not known or max(known) >= had:
        return
    file = f"{OFFSETS}/{facts.newest.batch}"
    evidence = f"watermark {had} → {max(known)} ms"
    yield Finding(
        rule="watermark-moved-back",
        severity=Severity.CRITICAL,
        file=file,
        evidence=evidence,
        meaning="rows that were too late count again, and windows that were closed and written may be written once more",
        repair=f"put the watermark of {OFFSETS}/{facts.previous.batch} or a higher one in its place",
        start=StartEffect(
            kind=AtStart.UNDECIDED,
            summary=f"{file} goes back, {evidence}: what was closed by the watermark may come out again",
        ),
    )


def watermark_ahead(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The watermark that the next start takes is far in the future: whatever comes now counts as too late, and is dropped."""
    if facts.newest is None or facts.newest.planned_at is None:
        return
    told = [facts.newest.header.watermark_ms, facts.commit.next_watermark_ms if facts.commit else None]
    highest = max((watermark for watermark in told if watermark is not None), default=0)
    if highest <= (facts.newest.planned_at.timestamp() + MOST_AHEAD.total_seconds()) * 1000:
        return
    yield Finding(
        rule="watermark-ahead",
        severity=Severity.WARNING,
        file=f"{OFFSETS}/{facts.newest.batch}",
        evidence=f"watermark {highest} ms after 1970, the batch was planned at {facts.newest.planned_at:%Y-%m-%d %H:%M:%S} UTC",
        meaning="an event from the future has raised it, or somebody edited it: a query with state drops whatever is older, and"
        " no error tells",
        repair="keep such events out before the watermark is taken, and begin the state anew in a new checkpoint; a watermark"
        " never goes down by itself",
        not_when="when the events of this query do lie that far ahead",
    )


MOST_AHEAD = timedelta(days=366)


def planned_backwards(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The newest batch was planned before the one below it: a clock was set back, or an entry is of another time."""
    if facts.newest is None or facts.previous is None:
        return
    before, now = facts.previous.planned_at, facts.newest.planned_at
    if before is None or now is None or now >= before:
        return
    yield Finding(
        rule="planned-backwards",
        severity=Severity.WARNING,
        file=f"{OFFSETS}/{facts.newest.batch}",
        evidence=f"planned at {now:%Y-%m-%d %H:%M:%S} UTC, {OFFSETS}/{facts.previous.batch} at {before:%Y-%m-%d %H:%M:%S} UTC",
        meaning="the clock of the driver's host went back, or the entry is an older copy; time-outs of state that count in"
        " processing time are late by that",
        repair="see to the clocks of the hosts; where nobody changed them, compare the entry with a copy of the checkpoint",
    )


def _moved_back(
    had: SourceOffset | None, has: SourceOffset | None, *, of_what_was_read: bool = False
) -> tuple[list[str], list[str]]:
    """The partitions that are gone, and what stands lower.

    `of_what_was_read`: what makes a source read again, so without partitions of which nothing was read, and without times.
    """
    match had, has:
        case KafkaOffset(), KafkaOffset():
            return _partitions_back(had, has, of_what_was_read=of_what_was_read)
        case KafkaOffset(), UnknownOffset() if says_nothing(has):
            return _partitions_back(had, KafkaOffset(positions=()), of_what_was_read=of_what_was_read)
        case FileOffset(), FileOffset():
            return [], _lower("logOffset", had.log_offset, has.log_offset)
        case DeltaOffset(), DeltaOffset() if had.table_id == has.table_id:
            return [], _table_back(had, has)
        case RateOffset(), RateOffset():
            return [], _lower("offset", had.seconds, has.seconds)
        case RateMicroBatchOffset(), RateMicroBatchOffset():
            earlier = [] if of_what_was_read else _lower("timestamp", had.timestamp_ms, has.timestamp_ms)
            return [], _lower("offset", had.offset, has.offset) + earlier
    return [], []


def _lower(name: str, had: int, has: int) -> list[str]:
    return [f"{name} {had} → {has}"] if has < had else []


def _table_back(had: DeltaOffset, has: DeltaOffset) -> list[str]:
    """Files count within a version and within its snapshot; a negative index is a mark, no file (DeltaSourceOffset)."""
    is_same = (had.table_version, had.is_starting_version) == (has.table_version, has.is_starting_version)
    if is_same and had.index >= 0:
        return _lower(f"version {had.table_version}, index", had.index, has.index)
    return _lower("reservoirVersion", had.table_version, has.table_version)


def _has_new_partitions(had: SourceOffset | None, has: SourceOffset | None) -> bool:
    """Whether others came as some went: then either entry may be the one that was edited."""
    if not isinstance(had, KafkaOffset) or not isinstance(has, KafkaOffset):
        return False
    known = {(place.topic, place.partition) for place in had.positions}
    return any((place.topic, place.partition) not in known for place in has.positions)


def _partitions_back(had: KafkaOffset, has: KafkaOffset, *, of_what_was_read: bool) -> tuple[list[str], list[str]]:
    now = {(place.topic, place.partition): place.next_offset for place in has.positions}
    gone, lower = [], []
    for place in had.positions:
        later = now.get((place.topic, place.partition))
        shown = f"{place.topic!r} partition {place.partition}: {place.next_offset} → "
        if later is None and place.next_offset == 0 and of_what_was_read:
            continue
        if later is None:
            gone.append(f"{shown}gone")
        elif later < place.next_offset:
            lower.append(f"{shown}{later}")
    return gone, lower
