"""Rules about the two logs side by side: which batches were planned, and which committed."""

from collections.abc import Iterator

from streamops.catalogue.expectations import Expectations
from streamops.catalogue.file_rules import BACKUP
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.layout import COMMITS, OFFSETS, LogListing
from streamops.engines import WithoutOffsets
from streamops.formatting import listed
from streamops.verdict import AtStart, Finding, Severity, StartEffect


def commits_ahead(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A commit without its offset entry. [P2, P10]"""
    if facts.last_offset < 0 or facts.last_commit <= facts.last_offset:
        return
    extra = [batch for batch in facts.commits_log.ids if batch > facts.last_offset]
    yield Finding(
        rule="commits-ahead",
        severity=Severity.CRITICAL,
        file=f"{COMMITS}/{facts.last_commit}",
        evidence=f"commits reach batch {facts.last_commit}, offsets only {facts.last_offset}",
        meaning=f"each start writes batch {facts.last_offset} again and then fails with CONCURRENT_STREAM_LOG_UPDATE, which"
        " blames a second writer",
        repair=f"restore the missing offset entries; only where the sink knows no batches by id, as Kafka's, delete"
        f" {_named(COMMITS, extra)} with their `.crc` instead: those batches are planned anew",
        not_when="do not delete them where the sink is a Delta table or files: it drops the new batches, their rows are lost, and"
        " no error tells. When a second writer is about, stop it first",
        start=StartEffect(
            kind=AtStart.REPEATS,
            summary=f"commits reach batch {facts.last_commit}, offsets only {facts.last_offset}: each start writes batch"
            f" {facts.last_offset} again before it fails",
            error="CONCURRENT_STREAM_LOG_UPDATE",
        ),
    )


def missing_offsets(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """Commits without any offset entry. [P16b, P11e]"""
    if facts.last_offset >= 0 or facts.last_commit < 0:
        return
    yield Finding(
        rule="missing-offsets",
        severity=Severity.CRITICAL,
        file=OFFSETS,
        evidence=f"no entry in {OFFSETS}, commits reach batch {facts.last_commit}",
        meaning="where the query stood is lost: Spark 4.1 and later refuse the start, 3.5 and 4.0 read all input again first",
        repair="restore the folder from a copy; otherwise begin a new checkpoint with starting offsets of your own",
        not_when="do not delete the commits as well: the query would then read all its input again without an error",
        start=_without_offsets(facts, expected),
    )


def _without_offsets(facts: CheckpointFacts, expected: Expectations) -> StartEffect:
    what = f"{OFFSETS} is empty while {COMMITS} reach batch {facts.last_commit}"
    is_refused = expected.engine.without_offsets is WithoutOffsets.REFUSED
    return StartEffect(
        kind=AtStart.FAILS if is_refused else AtStart.REPEATS,
        summary=f"{what}: the start is refused"
        if is_refused
        else f"{what}: batch 0 reads all input again, and then fails at its commit",
        error=expected.engine.without_offsets_error,
    )


def missing_commits(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """Batches without any commit. [P16a] A first batch that is under way has none either."""
    if facts.last_commit >= 0 or facts.last_offset <= 0:
        return
    yield Finding(
        rule="missing-commits",
        severity=Severity.WARNING,
        file=COMMITS,
        evidence=f"no entry in {COMMITS}, offsets reach batch {facts.last_offset}",
        meaning=f"batch {facts.last_offset} runs again, although it may have been committed",
        repair="restore the folder from a copy, if there is one",
    )


def commits_missing_below_newest(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """More than one batch without a commit: only the newest runs again. [P6c]

    A continuous query goes on from its newest commit, whatever was marked after it (ContinuousExecution, 4.2.0).
    """
    skipped = range(facts.last_commit + 1, facts.last_offset)
    if facts.last_commit < 0 or not skipped or expected.leaves_holes(facts) or expected.runs_continuously(facts):
        return
    yield Finding(
        rule="commits-missing-below-newest",
        severity=Severity.WARNING,
        file=COMMITS,
        evidence=f"offsets reach batch {facts.last_offset}, commits only {facts.last_commit}",
        meaning=f"batch {facts.last_offset} runs again, {_span(skipped)} does not. It was committed once, for a batch is planned"
        " after the one before it was: its commit was lost, or the checkpoint is a partial copy",
        repair="restore the commits from a copy; look into the sink for the batches named",
    )


def pending_batch(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """One batch is in flight, or was when the query was killed: the ordinary shape. [P1]"""
    if not facts.has_pending_batch or facts.last_offset < 0:
        return
    batch = facts.last_offset
    # While a driver is at it, a batch in flight is no more than that.
    is_at_risk = expected.is_sink_idempotent is False and not expected.has_driver
    yield Finding(
        rule="pending-batch",
        severity=Severity.WARNING if is_at_risk else Severity.NOTE,
        file=f"{OFFSETS}/{batch}",
        evidence=f"batch {batch} is planned, commits reach {facts.last_commit}",
        meaning=f"it runs, or runs again with exactly its range at the next start{_doubt(expected)}",
        repair=f"compare the sink with the range of batch {batch} before you start" if is_at_risk else "",
    )


def odd_batch_names(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """`00004` counts as batch 4. [P9]"""
    for log, listing in ((OFFSETS, facts.offsets_log), (COMMITS, facts.commits_log)):
        if listing.odd:
            yield Finding(
                rule="odd-batch-names",
                severity=Severity.WARNING,
                file=log,
                evidence=listed([repr(name) for name in listing.odd], SHOWN),
                meaning="Spark counts these names as batches and never writes them: somebody else did",
                repair="move them out of the folder while the query stands still",
            )


def orphan_checksums(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A side file of the local file system without its file: what is to be written under that name can't be written.

    It also tells that the file was there: a batch whose entry is gone may have run.
    """
    if not facts.address.startswith("file:"):
        return
    next_batch = facts.next_batch
    is_planned = next_batch <= facts.last_offset
    for log, listing in ((OFFSETS, facts.offsets_log), (COMMITS, facts.commits_log)):
        for batch in listing.orphan_checksums[:SHOWN]:
            is_met_first = log == OFFSETS and batch == next_batch and not is_planned
            is_to_write = batch >= next_batch
            yield Finding(
                rule="orphan-checksums",
                severity=Severity.CRITICAL if is_to_write else Severity.NOTE,
                file=f"{log}/.{batch}.crc",
                evidence=f"it is there, {log}/{batch} is not",
                meaning=f"{log}/{batch} can't be written: the query fails there, with words that blame a second query"
                if is_to_write
                else f"{log}/{batch} was deleted, and is not written again",
                repair=_repair_of_orphan(log, batch) if is_to_write else "",
                not_when=f"while the query runs: it may be about to write {log}/{batch}" if is_to_write else "",
                start=StartEffect(
                    kind=AtStart.FAILS if is_met_first else AtStart.REPEATS,
                    summary=f"{log}/.{batch}.crc is there without {log}/{batch}, which can't be written then"
                    + ("" if is_met_first else f": batch {next_batch} runs, and the query fails there"),
                    error="Multiple streaming queries are concurrently using",
                )
                if is_to_write
                else None,
            )


def _repair_of_orphan(log: str, batch: int) -> str:
    """A batch that was planned may have reached the sink: planned anew it may have another range."""
    name = f"{log}/.{batch}.crc"
    if log == COMMITS:
        return f"delete {name}"
    return (
        f"restore {log}/{batch} {BACKUP}, or write it anew with the end offsets that the progress event of batch {batch} shows;"
        f" delete {name} alone only where the sink did not get batch {batch}"
    )


def leftovers(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """Files that Spark passes over. [P9]"""
    for log, listing in ((OFFSETS, facts.offsets_log), (COMMITS, facts.commits_log)):
        count = listing.temporaries.count + listing.foreign.count
        if count:
            shown = ", ".join(repr(name) for name in (*listing.foreign.first, *listing.temporaries.first)[:SHOWN])
            yield Finding(
                rule="leftovers",
                severity=Severity.NOTE,
                file=log,
                evidence=f"{count} files that are no batch: {shown}{' …' if count > SHOWN else ''}",
                meaning="left by a crash, a backup or a person; Spark never reads them",
            )


def holes_in_history(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """Missing entries where no start looks. [P5, P6] A log that begins above 0 was purged, which is normal."""
    for log, listing, seen_from in (
        (OFFSETS, facts.offsets_log, facts.last_offset - 1),
        (COMMITS, facts.commits_log, facts.last_commit),
    ):
        holes = _below(listing, seen_from)
        if holes and facts.has_previous_offset:
            yield Finding(
                rule="holes-in-history",
                severity=Severity.NOTE,
                file=log,
                evidence=f"without {listed([_span(hole) for hole in holes], SHOWN)}",
                meaning="a start never looks there; going back to those batches is impossible",
            )


def unfinished_control_batch(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The newest entry belongs to an offline operation, such as a repartition of the state (4.2 on)."""
    if facts.newest is None or not facts.newest.header.has_control_batch or not facts.has_pending_batch:
        return
    yield Finding(
        rule="unfinished-control-batch",
        severity=Severity.CRITICAL,
        file=f"{OFFSETS}/{facts.newest.batch}",
        evidence=f"batch {facts.newest.batch} is a control batch without a commit",
        meaning="an operation on the state was cut off: a start fails with STREAMING_UNFINISHED_REPARTITION_DETECTED",
        repair="run the operation again to its end",
        not_when="do not delete the entry: half of the state may have moved",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"batch {facts.newest.batch} is an operation on the state that was cut off: a start is refused",
            error="STREAMING_UNFINISHED_REPARTITION_DETECTED",
        ),
    )


def behind_control_log(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The control log has seen batches that the checkpoint has no more: an older copy was put back. [P16c, P3]

    Delta drops the batches whose ids come again in silence. With async progress tracking drivers tell of batches that no log
    has when they die: that proves nothing.
    """
    known = expected.known
    if known is None or not known.query_id or known.offset < 0 or expected.tracks_progress_async:
        return
    if facts.last_offset >= known.offset or (facts.query_id and facts.query_id != known.query_id):
        return
    yield Finding(
        rule="behind-control-log",
        severity=Severity.CRITICAL,
        file=OFFSETS,
        evidence=f"the control log has seen batch {known.offset}, the checkpoint ends at {facts.last_offset}",
        meaning="it was restored from an older copy or partly deleted; idempotent sinks drop the batches that come again, and"
        " others get them twice",
        repair="restore the newest copy; where there is none, begin a new checkpoint with starting offsets of your own",
        start=StartEffect(
            kind=AtStart.LOSES,
            summary=f"the control log has seen batch {known.offset}, the checkpoint ends at {facts.last_offset}: it was restored"
            " from an older copy or partly deleted; idempotent sinks would drop the batches that come again",
        ),
    )


SHOWN = 5


def _doubt(expected: Expectations) -> str:
    if expected.is_sink_idempotent is None:
        return "; a sink that does not know batches by id has its rows twice then"
    return (
        "" if expected.is_sink_idempotent else "; the sink is said not to recognise that, and has its rows twice then"
    )


def _below(listing: LogListing, limit: int) -> tuple[range, ...]:
    return tuple(hole for hole in listing.holes() if hole.start < limit)


def _span(batches: range) -> str:
    last = batches.stop - 1
    return f"batch {batches.start}" if last == batches.start else f"batches {batches.start} to {last}"


def _named(log: str, batches: list[int]) -> str:
    return listed([f"{log}/{batch}" for batch in batches], SHOWN)
