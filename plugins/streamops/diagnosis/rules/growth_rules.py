"""Rules about what grows: two logs that nobody purges, compact files that repeat a whole history, files of state.

How much is there makes a note at most. A warning takes checks that saw it grow, since a large number alone may be what
somebody wanted (`minBatchesToRetain`), or what short runs leave behind.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import COMMITS, OFFSETS
from streamops.checkpoint.sink_log import SINK_LOG
from streamops.diagnosis.expectations import Expectations
from streamops.diagnosis.sample import HealthSample
from streamops.diagnosis.watch import Watch
from streamops.sink import FileSink, SinkView
from streamops.verdict import Finding, Severity

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
