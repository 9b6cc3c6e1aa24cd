"""Rules about the Delta table that a query reads, beside the offsets that its checkpoint has of it.

What is gone is critical; what goes soon, while the query has not read it, is a warning with the moment. What a start makes of
each was tried on Spark 4.2.0 with delta-spark 4.4.0: Delta's source refuses another table and, with `failOnDataLoss`, versions
that are gone or yet to come; its tasks fail on data files that VACUUM has deleted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.catalogue.file_rules import RESTORE_COMMITS
from streamops.catalogue.sink_rules import start_on_unread
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import OFFSETS, quoted
from streamops.deltalog import PendingVersions, RemovedFile
from streamops.deltalog.pending import stop_of
from streamops.liveness.pace import in_words
from streamops.places.delta_source import Fit, delta_source, has_read, is_in_flight, needed_files
from streamops.places.sink import DeltaSink, MissingSink, Sink, UnreadSink
from streamops.verdict import AtStart, Finding, Severity, StartEffect

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
    options: tuple[tuple[str, str], ...] = ()
    """Of the source, as they are declared."""


def unread_delta_source(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> Iterator[Finding]:
    """The table that the query is said to read could not be read here."""
    place = view.place
    if isinstance(place, DeltaSink):
        return
    reason = place.reason if isinstance(place, UnreadSink) else "no Delta table lies there"
    evidence = f"{place.address!r}: {reason if reason.isprintable() else repr(reason)}"
    is_broken = isinstance(place, UnreadSink) and place.is_broken
    is_foreign = isinstance(place, UnreadSink) and place.is_foreign
    yield Finding(
        rule="unread-delta-source",
        severity=Severity.CRITICAL if is_broken or is_foreign else Severity.UNKNOWN,
        file="",
        evidence=evidence,
        meaning="nothing can read it: each start fails"
        if is_broken
        else "whether the query finds the versions that it needs is not known",
        start=start_on_unread(place, evidence=evidence, fails="the table that is read can't be read")
        if isinstance(place, UnreadSink)
        else None,
        repair=RESTORE_COMMITS
        if is_broken or is_foreign
        else "see whether the address is right"
        if isinstance(place, MissingSink)
        else "make it readable from here, and check again",
    )


def another_delta_table(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> Iterator[Finding]:
    """No offset belongs to this table: it was made anew, or the query reads another one."""
    place = view.place
    if not isinstance(place, DeltaSink) or delta_source(snapshot.facts, place.table).fit is not Fit.ANOTHER_TABLE:
        return
    if has_read(snapshot.facts.previous, place.table):
        return  # The newest entry was edited, which the two of them tell by themselves.
    yield Finding(
        rule="another-delta-table",
        severity=Severity.CRITICAL,
        file=f"{OFFSETS}/{snapshot.facts.last_offset}",
        evidence=f"the table's id is {quoted(place.table.table_id)}, no offset has it",
        meaning="a start fails with DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE, the same way each time",
        repair="restore the table that was read; for the new one begin a new checkpoint with a `startingVersion` of your own",
        not_when="do not write the new id into the offsets: its versions are others",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary="the table is another one than the offsets were taken from",
            error="DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        ),
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
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"the start reads version {source.version}, the table's commits begin at {place.table.earliest_commit}",
            error="DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE"
            if source.reads_snapshot
            else "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
        ),
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
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"the offsets reach version {source.version}, the table has come to {place.table.version} only",
            error="DELTA_STREAMING_TRAILING_COMMIT_MISSING",
        ),
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
    """Data files of versions that the query has not read are gone: a commit removed them and VACUUM ran, or somebody else did."""
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
        start=_at_lost_files(snapshot, view, gone[0]),
    )


def _at_lost_files(snapshot: CheckpointSnapshot, view: DeltaSourceView, first: RemovedFile) -> StartEffect | None:
    """A batch in flight runs where only later ones have lost their files, and the one behind it fails."""
    if not isinstance(view.place, DeltaSink):
        return None
    source = delta_source(snapshot.facts, view.place.table)
    is_later = source.in_flight is not None and not is_in_flight(source, first)
    when = f"behind batch {snapshot.facts.last_offset}, which runs" if is_later else "next"
    return StartEffect(
        kind=AtStart.FAILS,
        summary=f"version {first.version} of the table, which is read {when}, has lost data files: it fails there",
        error="FAILED_READ_FILE",
    )


def stopping_delta_commit(snapshot: CheckpointSnapshot, view: DeltaSourceView) -> Iterator[Finding]:
    """A commit that the query has yet to read does what its source refuses: rows taken out, other columns, a new protocol.

    DeltaSource.validateCommitAndDecideSkipping and checkReadIncompatibleSchemaChanges, Delta 4.4.
    """
    if not isinstance(view.place, DeltaSink) or view.pending is None:
        return
    source = delta_source(snapshot.facts, view.place.table)
    lowest = source.first_needed + (1 if source.reads_snapshot else 0)
    for commit in view.pending.notable:
        if commit.version < lowest or (stop := stop_of(commit, view.pending, view.options)) is None:
            continue
        yield Finding(
            rule="stopping-delta-commit",
            severity=Severity.UNKNOWN if stop.is_doubt else Severity.CRITICAL,
            file=f"{OFFSETS}/{snapshot.facts.last_offset}",
            evidence=f"version {commit.version} of the table {stop.what}",
            meaning=f"the source {'may stop' if stop.is_doubt else 'stops'} there, the same way each time",
            repair=stop.repair,
            not_when="where rows that were changed or deleted must reach the sink as well: the options leave them out, or hand"
            " whole files on again",
            start=StartEffect(
                kind=AtStart.UNDECIDED if stop.is_doubt else AtStart.FAILS,
                summary=f"version {commit.version} of the table, which is still to be read, {stop.what}: the source"
                f" {'may fail' if stop.is_doubt else 'fails'} there",
                error=stop.error,
            ),
        )
        return


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
