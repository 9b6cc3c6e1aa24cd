"""Rules about the Delta table that a query reads, beside the offsets that its checkpoint has of it.

What is gone is critical; what goes soon, while the query has not read it, is a warning with the moment.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import OFFSETS, quoted
from streamops.delta_source import Fit, delta_source, needed_files
from streamops.deltalog import PendingVersions, RemovedFile
from streamops.health.pace import in_words
from streamops.health.verdict import Finding, Severity
from streamops.sink import DeltaSink, MissingSink, Sink, UnreadSink

NOTICE = 4
"""A warning when less than this part of the retention is left: a week of thirty days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSourceView:
    """The table that a query reads, as far as it was asked."""

    place: Sink
    pending: PendingVersions | None = None
    """Its log from the lowest version on that a start needs; None where nothing waits to be read."""
    now: datetime | None = None
    """None where nobody has said: then nothing is told of what goes soon."""


def unread_delta_source(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> Iterator[Finding]:
    """The table that the query is said to read could not be read here."""
    place = view.place
    if isinstance(place, DeltaSink):
        return
    reason = place.reason if isinstance(place, UnreadSink) else "no Delta table lies there"
    yield Finding(
        rule="unread-delta-source",
        severity=Severity.UNKNOWN,
        file="",
        evidence=f"{place.address!r}: {reason if reason.isprintable() else repr(reason)}",
        meaning="whether the query finds the versions that it needs is not known",
        repair="see whether the address is right"
        if isinstance(place, MissingSink)
        else "make it readable from here, and check again",
    )


def another_delta_table(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> Iterator[Finding]:
    """No offset belongs to this table: it was made anew under the same address, or the query reads another one."""
    place = view.place
    if not isinstance(place, DeltaSink) or delta_source(snapshot.facts, place.table).fit is not Fit.ANOTHER_TABLE:
        return
    yield Finding(
        rule="another-delta-table",
        severity=Severity.CRITICAL,
        file=f"{OFFSETS}/{snapshot.facts.last_offset}",
        evidence=f"the table's id is {quoted(place.table.table_id)}, no offset has it",
        meaning="a start fails with DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE, the same way each time",
        repair="restore the table that was read; for the new one begin a new checkpoint with a `startingVersion` of your own",
        not_when="do not write the new id into the offsets: its versions are others",
    )


def removed_delta_versions(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> Iterator[Finding]:
    """Versions that a start reads are gone from the table's log (`delta.logRetentionDuration`)."""
    place = view.place
    if not isinstance(place, DeltaSink):
        return
    source = delta_source(snapshot.facts, place.table)
    if source.fit is not Fit.REMOVED:
        return
    yield Finding(
        rule="removed-delta-versions",
        severity=Severity.CRITICAL,
        file=f"{OFFSETS}/{snapshot.facts.last_offset}",
        evidence=f"a start reads version {source.version}, the table's commits begin at {place.table.earliest_commit}",
        meaning="a start fails, the same way each time; with `failOnDataLoss` false it jumps, and what was between is lost",
        repair="restore those commits from a copy; otherwise read the gap from a snapshot of the table, and begin anew"
        " with `startingVersion`",
        not_when="do not raise `reservoirVersion` by hand: the gap is then lost and nothing tells",
    )


def beyond_delta_table(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> Iterator[Finding]:
    """The offsets lie beyond the table's newest version: they were edited, or the table went back to an older copy."""
    place = view.place
    if not isinstance(place, DeltaSink):
        return
    source = delta_source(snapshot.facts, place.table)
    if source.fit is not Fit.BEYOND:
        return
    yield Finding(
        rule="beyond-delta-table",
        severity=Severity.CRITICAL,
        file=f"{OFFSETS}/{snapshot.facts.last_offset}",
        evidence=f"the offsets reach version {source.version}, the table's newest is {place.table.version}",
        meaning="a start fails with DELTA_STREAMING_TRAILING_COMMIT_MISSING until the table has come so far; what is written"
        " until then is never read",
        repair=f"put the offset back that the progress event of batch {snapshot.facts.last_offset} shows; where the table was"
        " restored from an older copy, begin a new checkpoint",
    )


def unread_delta_versions(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> Iterator[Finding]:
    """Commits that the query has yet to read could not be read here."""
    if view.pending is None or not view.pending.problem:
        return
    yield Finding(
        rule="unread-delta-versions",
        severity=Severity.UNKNOWN,
        file="",
        evidence=view.pending.problem,
        meaning="whether the data files of what is read next are still there is not known",
        repair="make it readable from here, and check again; a commit that is broken stops the query, too",
    )


def expiring_delta_versions(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> Iterator[Finding]:
    """Commits that the query has not read are near the end of the table's `delta.logRetentionDuration`.

    Delta removes commits below a checkpoint of its log when it writes the next one, by the time of their files, in whole days
    (UTC); others do so to the second (MetadataCleanup of Delta 4.4; delta-rs 1.6). A query that has read all has nothing to lose.
    """
    if not isinstance(view.place, DeltaSink) or view.pending is None or view.now is None:
        return
    table, written = view.place.table, view.pending.committed_at
    source, kept = delta_source(snapshot.facts, table), table.retention.log
    if not source.is_waiting or written is None or kept is None or not table.retention.cleans_log:
        return
    until = _after(written, kept)
    if until is None or until - view.now >= kept / NOTICE:
        return
    yield Finding(
        rule="expiring-delta-versions",
        severity=Severity.WARNING,
        file=f"{OFFSETS}/{snapshot.facts.last_offset}",
        evidence=f"version {view.pending.first} was written at {written:%Y-%m-%d %H:%M:%S} UTC and is kept for {_length(kept)}",
        meaning=f"{_from(until, view.now)} a checkpoint of the table's log removes it, and a start then fails each time",
        repair="start the query before that, or set `delta.logRetentionDuration` longer on the table until it has caught up",
    )


def vacuumed_delta_files(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> Iterator[Finding]:
    """Data files of versions that the query has not read are gone: a later commit removed them, and then VACUUM ran."""
    gone = [file for file in _given_up(snapshot, view) if file.is_there is False]
    if not gone:
        return
    yield Finding(
        rule="vacuumed-delta-files",
        severity=Severity.CRITICAL,
        file=f"{OFFSETS}/{snapshot.facts.last_offset}",
        evidence=f"{len(gone)} data files are gone, the first belongs to version {gone[0].version}: {quoted(gone[0].path)}",
        meaning="the query fails when it comes to them, the same way each time",
        repair="restore the files from a copy; otherwise read those versions from a snapshot of the table, and begin anew with"
        " `startingVersion`",
        not_when="do not set `spark.sql.files.ignoreMissingFiles`: the rows are then lost and nothing tells",
    )


def expiring_delta_files(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> Iterator[Finding]:
    """Data files that the query has not read belong to no newer version: VACUUM deletes them after a while.

    It may after `delta.deletedFileRetentionDuration`, counted from their removal: OPTIMIZE, or a commit that took rows out.
    """
    files = [file for file in _given_up(snapshot, view) if file.is_there is not False and file.removed_at]
    if not isinstance(view.place, DeltaSink) or view.now is None or not files:
        return
    kept, first = view.place.table.retention.deleted_files, min(file.removed_at for file in files if file.removed_at)
    until = _after(first, kept) if kept is not None else None
    if kept is None or until is None or until - view.now >= kept / NOTICE:
        return
    yield Finding(
        rule="expiring-delta-files",
        severity=Severity.WARNING,
        file=f"{OFFSETS}/{snapshot.facts.last_offset}",
        evidence=f"{len(files)} data files that are not read yet were removed from the table, the first at"
        f" {first:%Y-%m-%d %H:%M:%S} UTC, and are kept for {_length(kept)}",
        meaning=f"{_from(until, view.now)} VACUUM deletes them, and the query then fails when it comes to them",
        repair="start the query before the next VACUUM, and let nobody run one until it has caught up",
    )


def _given_up(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> tuple[RemovedFile, ...]:
    if not isinstance(view.place, DeltaSink) or view.pending is None:
        return ()
    return needed_files(delta_source(snapshot.facts, view.place.table), view.pending)


def _after(moment: datetime, kept: timedelta) -> datetime | None:
    """None where that is further than a calendar goes: as good as never."""
    try:
        return moment + kept
    except OverflowError:
        return None


def _from(moment: datetime, now: datetime) -> str:
    left = moment - now
    return "from now on" if left <= timedelta(0) else f"from {moment:%Y-%m-%d %H:%M:%S} UTC on (in {_length(left)})"


def _length(duration: timedelta) -> str:
    days = duration / timedelta(days=1)
    return f"{days:.3g} d" if days >= 2 else in_words(duration)
