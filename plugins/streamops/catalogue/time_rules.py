"""Rules about time: what goes on for too long, what grows, and state that grows without end. Quiet where too little is known.

How much is there makes a note at most. A warning takes checks that saw it grow, since a large number alone may be what
somebody wanted (`minBatchesToRetain`), or what short runs leave behind.

A query without a watermark never lets go of a row; with one, state follows the input of a window's length. So a check is
compared with a whole day of others: most inputs have the rhythm of a day, and each quarter of it has to stand higher.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from streamops.catalogue.expectations import Expectations
from streamops.catalogue.watch import HealthSample, Watch
from streamops.checkpoint.batch_times import SAME_MOMENT
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import COMMITS, OFFSETS
from streamops.liveness.pace import ENOUGH, in_words
from streamops.places.sink import FileSink, SinkView
from streamops.places.sink_log import SINK_LOG
from streamops.verdict import Finding, Severity

SAME_LOOKS = 3
"""Checks in a row that must have seen the same pending batch: one or two may have met it by chance."""


def stuck_batch(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """A batch is planned and not committed for far longer than batches of this query take (SPARK-28367, SPARK-32032).

    A driver must be at work, or several checks must have seen the same batch: a query that was stopped has a pending batch
    for as long as nobody starts it, and that is well. Where a batch was planned by an earlier driver, the time counts from
    the claim of this one.
    """
    facts = snapshot.facts
    if not facts.has_pending_batch or watch.has_driver is False:
        return
    waited, window = _waited(snapshot, watch), watch.window
    if waited is None or waited < window.report:
        return
    batch = facts.last_offset
    yield Finding(
        rule="stuck-batch",
        severity=Severity.WARNING,
        file=f"{OFFSETS}/{batch}",
        evidence=f"batch {batch} has no commit for {in_words(waited)}; {window.basis}",
        meaning="the batch hangs, in the sink or in a task, or it is far larger than those before"
        if watch.has_driver
        else "the batch hangs, or no query runs here any more",
        repair="look at the driver's log and its running tasks; a restart runs the batch again with exactly its range",
        not_when="while its tasks get on: a restart begins the batch anew",
    )


def written_just_now(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """The checkpoint was written moments ago, and no driver of ours is known to be at it: somebody runs the query."""
    age = written_ago(snapshot, watch)
    if age is None:
        return
    yield Finding(
        rule="written-just-now",
        severity=Severity.NOTE,
        file=OFFSETS,
        evidence=f"its newest entry is {in_words(age)} old",
        meaning="a query seems to run here: what is said of a start counts for when it has stopped, and never beside it",
    )


def written_ago(snapshot: CheckpointSnapshot, watch: Watch) -> timedelta | None:
    """How long ago somebody who is not known here wrote the checkpoint; None for long ago, or for a driver of ours.

    A copy has young files and old headers: the time of a file counts only where files tell how long batches take, which those
    of a copy don't.
    """
    newest, times = snapshot.facts.newest, watch.times
    is_copy = not times.durations or times.durations[-1] < SAME_MOMENT
    moments = [newest.planned_at if newest else None, None if is_copy else times.committed_at]
    known = [moment for moment in moments if moment]
    if watch.has_driver is not None or not known:
        return None
    age = watch.now - max(known)
    return age if timedelta(0) <= age < JUST_NOW else None


JUST_NOW = timedelta(minutes=1)


def slow_batches(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """Most of the last batches took longer than the trigger interval: with input at this pace the query falls behind.

    A note: a batch that catches up is meant to be long, and the next one then begins at once.
    """
    ordered, interval = sorted(watch.times.durations), watch.trigger_interval
    if not interval or len(ordered) < ENOUGH or (usual := ordered[len(ordered) // 2]) <= interval:
        return
    yield Finding(
        rule="slow-batches",
        severity=Severity.NOTE,
        file=OFFSETS,
        evidence=f"half of the last {len(ordered)} batches took {in_words(usual)} or more, the trigger interval is"
        f" {in_words(interval)}",
        meaning="each batch begins as soon as the one before is done; if the input keeps coming, the query falls behind",
        repair="see how lag develops (`streamops lag`); give the query more cores or a longer interval, its state a watermark,"
        " and compact a table of many small files",
    )


def _waited(snapshot: CheckpointSnapshot, watch: Watch) -> timedelta | None:
    """How long the pending batch has been seen, or has been planned under the driver that lives; None for too little."""
    known = []
    same = watch.same_since(snapshot.facts)
    if len(same) >= SAME_LOOKS:
        known.append(watch.now - same[0].at)
    planned_at = snapshot.facts.newest.planned_at if snapshot.facts.newest else None
    if watch.has_driver and planned_at:
        known.append(watch.now - max(planned_at, watch.driver_since or planned_at))
    return max(known, default=None)


MANY = 10
"""Times what Spark means to keep. 4.0 and later may keep 30 % more of state, and a purge that was cut off leaves some."""
ENOUGH_BATCHES = 200
"""Batches between the first check and now: in fewer a purge of 100 batches at a time may just not have come yet."""
UNPURGED = 0.9
"""Of the files that those batches wrote, the part that is still there where nothing is purged."""
LARGE_COMPACT = 16 * 1024 * 1024
HUGE_COMPACT = 1024 * 1024 * 1024
"""Bytes. Users met minutes for each tenth batch and drivers out of memory at gigabytes (SPARK-24295, SPARK-30462)."""
LONG_ENOUGH = timedelta(hours=12)
AHEAD = timedelta(days=30)
"""How far a growth is carried forward."""


def unpurged_logs(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """Entries of both logs pile up far beyond what Spark keeps (`minBatchesToRetain`, 100 by default)."""
    facts, kept = snapshot.facts, expected.retained_batches
    for log, count, earlier in (
        (OFFSETS, len(facts.offsets_log.ids), _offset_entries),
        (COMMITS, len(facts.commits_log.ids), _commit_entries),
    ):
        if count <= MANY * kept:
            continue
        growth = _growth(count, facts.last_commit, watch, earlier)
        yield Finding(
            rule="unpurged-logs",
            severity=Severity.WARNING if growth and growth.is_unpurged() else Severity.NOTE,
            file=log,
            evidence=f"{count} entries, {kept} batches are meant to be kept{growth.in_words if growth else ''}",
            meaning="old entries are not deleted: each start and each purge lists them all, and takes longer",
            repair=f"see to `spark.sql.streaming.minBatchesToRetain` and to the permission to delete in {log}; entries more than"
            f" {kept} batches below the newest commit may be moved away while the query stands still",
            not_when="where the history is wanted, to go back to an older batch",
        )


def large_compact_files(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """The compact file of a source's log repeats its whole history, and has grown large (SPARK-24295, SPARK-30462)."""
    for source in snapshot.sources.sources:
        size = source.compact_bytes or 0
        if size < LARGE_COMPACT:
            continue
        days_left = _days_until(HUGE_COMPACT, size, watch)
        is_near = size >= HUGE_COMPACT or (days_left is not None and days_left <= AHEAD.days)
        forecast = f", {HUGE_COMPACT >> 30} GiB in {days_left} days at this pace" if days_left is not None else ""
        yield Finding(
            rule="large-compact-files",
            severity=Severity.WARNING if is_near else Severity.NOTE,
            file=f"sources/{source.folder}/{source.log.file_name(source.log.newest_compact)}",
            evidence=f"{size / (1 << 20):.0f} MiB{forecast}",
            meaning=f"each {source.log.interval}th batch, and each start, reads and writes all of it in the driver's memory",
            repair="give the driver memory for several times of it; in the long run begin a new checkpoint on a new input folder,"
            " or put a table format before the query",
            not_when="do not delete it: which files were read is known from nowhere else",
        )


def large_sink_log(snapshot: CheckpointSnapshot, view: SinkView) -> Iterator[Finding]:
    """The compact file of a file sink's log lists every file ever written, and has grown large (SPARK-24295, SPARK-27188)."""
    sink = view.latest
    if not isinstance(sink, FileSink) or (size := sink.log.compact_bytes or 0) < LARGE_COMPACT:
        return
    yield Finding(
        rule="large-sink-log",
        severity=Severity.WARNING if size >= HUGE_COMPACT else Severity.NOTE,
        file=SINK_LOG,
        evidence=f"the newest compact file has {size / (1 << 20):.0f} MiB",
        meaning="each compaction, each start, and each reader of the directory goes through all of it, the writer in the driver's"
        " memory",
        repair="set the sink's option `retention`, so that entries of old files are left out; in the long run write to a table"
        " format",
        not_when="do not delete the log: batches would be written twice, and readers would take files of cut-off batches",
    )


def growing_state(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """Files of state pile up: the maintenance that deletes old versions does not come round."""
    state, kept = snapshot.state, expected.retained_batches
    if state is None or not state.stores_checked or state.files <= MANY * kept * state.stores_checked:
        return
    growth = _growth(state.files, snapshot.facts.last_commit, watch, _state_files)
    yield Finding(
        rule="growing-state",
        severity=Severity.WARNING
        if growth and growth.is_unpurged(files_a_batch=state.stores_checked)
        else Severity.NOTE,
        file="state",
        evidence=f"{state.files} files in {state.stores_checked} stores, {kept} versions are meant to be kept"
        f"{growth.in_words if growth else ''}",
        meaning="old versions are not deleted and snapshots may be missing: loading state takes ever longer",
        repair="let the query run for longer than `spark.sql.streaming.stateStore.maintenanceInterval` (60 s) at a time, and see"
        " to the executors' permission to delete",
        not_when="do not delete files of state by hand: a version is loaded from the snapshot below it and all that follow",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Growth:
    """How a number of files went up with the batches."""

    files: int
    batches: int

    def is_unpurged(self, *, files_a_batch: int = 1) -> bool:
        return self.files >= UNPURGED * self.batches * files_a_batch

    @property
    def in_words(self) -> str:
        return f"; {self.files} more since {self.batches} batches ago"


def _growth(count: int, batch: int, watch: Watch, earlier: Callable[[HealthSample], int | None]) -> _Growth | None:
    """Against the oldest check that still tells of this checkpoint; None where too few batches have passed since."""
    first = next((sample for sample in watch.before if earlier(sample)), None)
    if first is None or batch - first.last_commit < ENOUGH_BATCHES:
        return None
    return _Growth(files=count - (earlier(first) or 0), batches=batch - first.last_commit)


def _days_until(limit: int, size: int, watch: Watch) -> int | None:
    """Days until the size, growing as it did, reaches a limit; None where it does not grow or was not watched for long."""
    first = next((sample for sample in watch.before if sample.compact_bytes), None)
    if first is None or not first.compact_bytes or size >= limit or watch.now - first.at < LONG_ENOUGH:
        return None
    grown = size - first.compact_bytes
    return int((limit - size) * ((watch.now - first.at) / timedelta(days=1)) / grown) if grown > 0 else None


def _offset_entries(sample: HealthSample) -> int | None:
    return sample.offset_entries


def _commit_entries(sample: HealthSample) -> int | None:
    return sample.commit_entries


def _state_files(sample: HealthSample) -> int | None:
    return sample.state_files


DAY = timedelta(days=1)
QUARTERS = 4
GROWN = 1.2
"""Times as much as a day ago, at least: less may be the input's own growth."""
MANY_ROWS = 10_000
MUCH_MEMORY = 64 * 1024 * 1024
"""Bytes. Below both nothing is worth a warning, however it grows."""


def unbounded_state(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """Rows or memory of state have gone up for a whole day: what is never removed ends in a full disk or memory."""
    told = growth_told(watch)
    if not told:
        return
    yield Finding(
        rule="unbounded-state",
        severity=Severity.WARNING,
        file="state",
        evidence=told,
        meaning="state that only grows makes each batch and each start slower, until memory or disk is full",
        repair="see to a watermark on each stateful operator, and that it moves; without one, aggregations, drop of duplicates"
        " and joins keep every key for ever. `streamops estimate state` tells what each operator keeps",
        not_when="while a window longer than the time since the start fills up, or where the number of keys has a limit that"
        " is not reached yet",
    )


def growth_told(watch: Watch) -> str:
    """How state has grown in the last day, in words; empty where it has not, or where that is not known."""
    rows = _state_growth(watch, watch.state_rows, lambda sample: sample.state_rows, least=MANY_ROWS)
    memory = _state_growth(watch, watch.state_memory, lambda sample: sample.state_memory, least=MUCH_MEMORY)
    told = [
        *((rows.in_words(lambda count: f"{count:,.0f} rows"),) if rows else ()),
        *((memory.in_words(lambda count: f"{count / (1 << 20):,.0f} MiB of memory"),) if memory else ()),
    ]
    return "; ".join(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StateGrowth:
    """How a figure went up within a day."""

    before: int
    """A day ago."""
    now: int

    def in_words(self, told: Callable[[float], str]) -> str:
        ahead = self.now + (self.now - self.before) * (AHEAD / DAY)
        return (
            f"{told(self.now)}, {self.now / self.before - 1:.0%} more than a day ago,"
            f" {told(ahead)} in {AHEAD.days} days at this pace"
        )


def _state_growth(
    watch: Watch, now: int | None, earlier: Callable[[HealthSample], int | None], *, least: int
) -> _StateGrowth | None:
    """The growth over the last day; None where it was not watched for so long, or has not gone up in each quarter of it."""
    if now is None or now < least:
        return None
    seen = [(sample.at, count) for sample in watch.before if (count := earlier(sample)) is not None]
    before = [count for at, count in seen if at <= watch.now - DAY]
    if not before or before[-1] <= 0 or now < GROWN * before[-1]:
        return None
    lows = _lows([*seen, (watch.now, now)], watch.now)
    is_rising = len(lows) == QUARTERS and all(low < high for low, high in pairwise(lows))
    return _StateGrowth(before=before[-1], now=now) if is_rising else None


def _lows(seen: Sequence[tuple[datetime, int]], now: datetime) -> list[int]:
    """The lowest figure of each quarter of the last day that has one, the oldest first."""
    length = DAY / QUARTERS
    quarters = [
        [count for at, count in seen if now - (left + 1) * length < at <= now - left * length]
        for left in reversed(range(QUARTERS))
    ]
    return [min(quarter) for quarter in quarters if quarter]
