"""Rules about files that Spark reads at every start: `metadata`, two offset entries, one commit.

Codes in brackets name the damage of the matrix that was tried on real Spark 3.5 to 4.3.
"""

from collections.abc import Iterator

from streamops.catalogue.expectations import Expectations
from streamops.checkpoint.facts import BrokenFile, CheckpointFacts
from streamops.checkpoint.layout import COMMITS, CUT, METADATA, OFFSETS, Damage
from streamops.engines import WithoutMetadata
from streamops.verdict import AtStart, Finding, Severity, StartEffect

FAILS = "each start fails, the same way each time"
RESTORE_COMMITS = (
    "restore the named commits of the table's log from a copy, each with the `.crc` beside it; where a commit is right and its"
    " `.crc` alone is stale, delete that"
)
RESTORE_BOTH = (
    "restore it and the entry below it from a copy, or write both anew with the end offsets that the progress events of their"
    " batches show"
)
BACKUP = "from a copy of the checkpoint, if there is one"


def unreadable_metadata(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The query id can't be read. [P11b-d]"""
    for broken in facts.broken:
        if broken.file == METADATA:
            yield Finding(
                rule="unreadable-metadata",
                severity=Severity.CRITICAL,
                file=METADATA,
                evidence=broken.reason,
                meaning=f"the query id is not to be had: {FAILS}",
                repair="see whether this is the place that was meant: of a table `metadata` is a folder"
                if broken.damage is Damage.NO_FILE
                else 'write `{"id":"<the query id>"}` into it: the id is in the control log, in progress events, and in'
                " the transactions of a Delta sink",
                not_when=""
                if broken.damage is Damage.NO_FILE
                else "with a new id instead of the old one: sinks that know batches by it take them twice",
                start=unreadable(broken, _id_error(broken)),
            )


def _id_error(broken: BrokenFile) -> str:
    """Java's words for an id that is none depend on where it is wrong, those for none at all are of json4s (4.2.0)."""
    if broken.damage in _NO_ID_ERRORS:
        return _NO_ID_ERRORS[broken.damage]
    if broken.damage is Damage.QUERY_ID:
        return "Invalid UUID string" if broken.reason.count("-") != UUID_HYPHENS else ""
    return _CUT_TEXT


UUID_HYPHENS = 4
_NO_ID_ERRORS = {Damage.NO_QUERY_ID: "No usable value for id", Damage.NULL_QUERY_ID: "NullPointerException"}


def missing_metadata(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """Batches are logged, and the file with the query id is gone. [P11a]"""
    if facts.has_metadata or facts.is_new:
        return
    is_refused = expected.engine.without_metadata is WithoutMetadata.REFUSED
    yield Finding(
        rule="missing-metadata",
        severity=Severity.CRITICAL,
        file=METADATA,
        evidence=f"no {METADATA}, offsets reach batch {facts.last_offset}, commits batch {facts.last_commit}",
        meaning="Spark 4.2 and later refuse the start; up to 4.1 the query goes on under a new id, and idempotent sinks"
        " take batches twice",
        repair='write `{"id":"<the query id>"}` into it: the id is in the control log, in progress events, and in the'
        " transactions of a Delta sink",
        not_when="with a new id instead of the old one",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary="metadata is missing while batches are logged, and the start is refused: put the file with the old query id"
            " back",
            error="STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
        )
        if is_refused
        else _under_a_new_id(facts),
    )


def _under_a_new_id(facts: CheckpointFacts) -> StartEffect | None:
    """None where no batch is planned: all input is read again then, whatever the id."""
    if facts.last_offset < 0:
        return None
    return StartEffect(
        kind=AtStart.REPEATS,
        summary="metadata is missing: the query goes on under a new query id, and idempotent sinks take batches twice; put the"
        " file with the old one back",
    )


def unreadable_newest_offsets(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The newest planned batch can't be read. [P7a, P7b, P8a-f]"""
    broken = _broken_entry(facts, facts.last_offset)
    if broken is None or broken.damage in _TOLD_ELSEWHERE:
        return
    file, batch = broken.file, facts.last_offset
    if facts.has_pending_batch:
        repair = f"move {file} aside, and `.{batch}.crc` with it: batch {batch} was never finished, and is planned anew"
        repair += " with what has come since"
        not_when = f"when the sink has had batch {batch} already: one that knows batches by id would drop the new one"
    else:
        repair = f"restore {file} {BACKUP}"
        if facts.previous is not None:
            repair += f", or rebuild it from {OFFSETS}/{batch - 1} and the end offsets that the progress event of batch {batch}"
            repair += " shows"
        not_when = f"do not delete it: batch {batch} is committed, and its input would be read again"
    yield Finding(
        rule="unreadable-newest-offsets",
        severity=Severity.CRITICAL,
        file=file,
        evidence=broken.reason,
        meaning=f"what batch {batch} was to read is lost: {FAILS}",
        repair=repair,
        not_when=not_when,
        start=unreadable(broken, _OFFSETS_ERRORS.get(broken.damage, "")),
    )


def unreadable_previous_offsets(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The entry below the newest can't be read. [P7d]"""
    broken = _broken_entry(facts, facts.previous_batch)
    if broken is None or broken.damage in _TOLD_ELSEWHERE:
        return
    yield Finding(
        rule="unreadable-previous-offsets",
        severity=Severity.CRITICAL,
        file=broken.file,
        evidence=broken.reason,
        meaning=f"Spark reads the entry below the newest as well: {FAILS}",
        repair=f"restore it {BACKUP}, or write it anew: a copy of an older entry with the end offsets that the progress"
        f" event of batch {facts.previous_batch} shows",
        not_when="do not delete it: Spark needs an entry under this name",
        start=unreadable(broken, _OFFSETS_ERRORS.get(broken.damage, "")),
    )


def newer_format(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """An entry has a version that the Spark of the next start does not read. [P15a, P15d]"""
    entries = (
        (f"{OFFSETS}/{facts.last_offset}", facts.newest, expected.engine.offset_formats),
        (f"{OFFSETS}/{facts.previous_batch}", facts.previous, expected.engine.offset_formats),
        (f"{COMMITS}/{facts.last_commit}", facts.commit, expected.engine.commit_formats),
    )
    found = [
        (file, f"version {entry.version}, Spark {expected.engine.version} reads {', '.join(formats)}")
        for file, entry, formats in entries
        if entry and entry.version not in formats
    ]
    found += [(broken.file, broken.reason) for broken in facts.broken if broken.damage is Damage.VERSION]
    for file, evidence in found:
        yield Finding(
            rule="newer-format",
            severity=Severity.CRITICAL,
            file=file,
            evidence=evidence,
            meaning=f"a newer Spark wrote it: {FAILS} with this one",
            repair="start the query with the Spark that wrote it, or a later one",
            not_when="do not edit the version: the lines below have another form",
            start=StartEffect(kind=AtStart.FAILS, summary=f"{file} has {evidence}", error="supported log version"),
        )


def offsets_without_source_ids(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """An entry is marked v2, and its lines do not begin with the ids of sources. [P15c]

    Where no batch is in flight, the entry below the newest tells nothing that a start goes by (tried on 4.2.0).
    """
    for broken in facts.broken:
        if broken.damage is not Damage.SOURCE_ID:
            continue
        reads_names = expected.engine.reads_source_as_name
        is_followed = broken.file == f"{OFFSETS}/{facts.last_offset}" or facts.has_pending_batch or not reads_names
        read_again = (
            f"{broken.file} names no source where v2 wants a name: the start takes part of its text for one and reads the"
            " input of its batch again"
        )
        yield Finding(
            rule="offsets-without-source-ids",
            severity=Severity.CRITICAL if is_followed else Severity.WARNING,
            file=broken.file,
            evidence=broken.reason,
            meaning="Spark 4.2 and later take a piece of the text for a name and read the batch's input again, in silence"
            if is_followed
            else "its batch is committed and followed by another: a start does not go by it, but it would where the newest entry"
            " is gone",
            repair="put the first line back to `v1`, if that is what it was",
            not_when="when other entries of the log are v2 too",
            start=None
            if not is_followed
            else StartEffect(kind=AtStart.REPEATS, summary=read_again)
            if reads_names
            else unreadable(broken, _OFFSETS_ERRORS[Damage.SOURCE_ID]),
        )


def async_progress_holes(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """Both logs lack the same batches, as async progress tracking leaves them (SPARK-39591)."""
    if facts.has_previous_offset or not facts.looks_async or expected.tracks_progress_async is not None:
        return
    yield Finding(
        rule="async-progress-holes",
        severity=Severity.WARNING,
        file=OFFSETS,
        evidence=f"offsets and commits lack the same batches, {OFFSETS}/{facts.last_offset - 1} among them",
        meaning="with `asyncProgressTrackingEnabled` on, a start works; without it, it fails",
        repair="keep the option on; to turn it off, first run with `asyncProgressTrackingCheckpointIntervalMs=0` until two"
        " entries follow one another",
        start=StartEffect(
            kind=AtStart.UNREAD,
            summary="both logs lack the same batches: a start works with async progress tracking, and fails without it",
        ),
    )


def continuous_entries(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The trigger continuous wrote the entries, and a query by batches can't go on from them (seen on 4.2.0)."""
    if expected.is_continuous or not facts.looks_continuous:
        return
    is_unsaid = expected.is_continuous is None
    yield Finding(
        rule="continuous-entries",
        severity=Severity.WARNING if is_unsaid else Severity.CRITICAL,
        file=f"{OFFSETS}/{facts.last_offset}",
        evidence="the headers are blank, as the trigger continuous leaves them",
        meaning="with the trigger continuous a start works; with any other it fails with a NullPointerException of"
        " `WatermarkTracker.currentWatermark()`",
        repair="keep the trigger continuous; or begin a new checkpoint, with the positions of the newest entry as"
        " `startingOffsets`",
        not_when="do not delete the checkpoint before the positions are noted",
        start=StartEffect(
            kind=AtStart.UNREAD if is_unsaid else AtStart.FAILS,
            summary="the headers are blank: a start works with the trigger continuous, and fails with any other",
            error="" if is_unsaid else _OFFSETS_ERRORS[Damage.BLANK_HEADER],
        ),
    )


def missing_previous_offsets(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A hole just below the newest entry, where each start looks. [P4, P4b]"""
    if facts.has_previous_offset or expected.leaves_holes(facts):
        return
    missing, newest = facts.last_offset - 1, facts.last_offset
    lower = facts.last_commit < missing
    repair = (
        f"move {OFFSETS}/{newest} aside, and `.{newest}.crc` with it: neither batch {missing} nor {newest} is committed,"
        " both are planned anew as one"
        if lower
        else f"write {OFFSETS}/{missing} anew: a copy of the entry below it with the end offsets that the progress event of"
        f" batch {missing} shows"
    )
    yield Finding(
        rule="missing-previous-offsets",
        severity=Severity.CRITICAL,
        file=f"{OFFSETS}/{missing}",
        evidence=f"{OFFSETS}/{newest} is there, {OFFSETS}/{missing} is not; commits reach batch {facts.last_commit}",
        meaning=f"Spark reads both: {FAILS}",
        repair=f"restore it {BACKUP}; otherwise {repair}",
        not_when=f"with {OFFSETS}/{newest} deleted while commits/{missing} is there, commits would be ahead of offsets"
        if not lower
        else "",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"{OFFSETS}/{missing} is missing, and each start reads it: restore it",
            error=(expected.engine.without_previous_error if facts.has_pending_batch else _NOT_THERE).format(
                batch=missing
            ),
        ),
    )


def missing_offsets_of_last_commit(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """Async progress tracking commits no batch whose offsets it has not written (AsyncProgressTrackingMicroBatchExecution).

    A start takes the next lower entry, and no error tells (tried on 4.2.0).
    """
    lost = facts.last_commit
    below = max((batch for batch in facts.offsets_log.ids if batch < facts.last_offset), default=-1)
    if not expected.leaves_holes(facts) or not 0 <= below < lost < facts.last_offset:
        return
    again = f"batch {facts.last_offset} begins at {OFFSETS}/{below}: what the batches up to {lost} have had comes again"
    yield Finding(
        rule="missing-offsets-of-last-commit",
        severity=Severity.CRITICAL,
        file=f"{OFFSETS}/{lost}",
        evidence=f"{COMMITS}/{lost} is there, {OFFSETS}/{lost} is not",
        meaning=again,
        repair=f"restore it {BACKUP}; otherwise write {OFFSETS}/{lost} anew: a copy of the entry below it with the end offsets"
        f" that the progress event of batch {lost} shows",
        start=StartEffect(kind=AtStart.REPEATS, summary=f"{OFFSETS}/{lost} is missing: {again}", in_flight_only=True),
    )


def unreadable_last_commit(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The newest commit can't be read. [P7c, P8j]"""
    file = f"{COMMITS}/{facts.last_commit}"
    for broken in facts.broken:
        if broken.file != file or broken.damage is Damage.VERSION:
            continue
        has_range = facts.last_commit <= facts.last_offset
        yield Finding(
            rule="unreadable-last-commit",
            severity=Severity.CRITICAL,
            file=file,
            evidence=broken.reason,
            meaning=FAILS,
            repair=f"delete {file} and `.{facts.last_commit}.crc` beside it: batch {facts.last_commit} runs again with"
            " exactly its range"
            if has_range
            else f"restore {file} and {OFFSETS}/{facts.last_commit} {BACKUP}",
            not_when="when the sink is not idempotent, or the query keeps state in checkpoint format v2: the entry names the"
            " state's files",
            start=unreadable(broken, _COMMIT_ERRORS.get(broken.damage, "")),
        )


def unreadable(broken: BrokenFile, error: str) -> StartEffect:
    """A start fails on a file that it reads; where the text of its error is not known, the reason stands for it."""
    has_many_words = error == _CUT_TEXT and CUT not in broken.reason and broken.damage is not Damage.EMPTY
    is_other = has_many_words or broken.damage is Damage.NO_FILE
    return StartEffect(
        kind=AtStart.FAILS,
        summary=f"{broken.file} can't be read: {broken.reason}",
        error="" if is_other else error or broken.reason,
    )


def _broken_entry(facts: CheckpointFacts, batch: int) -> BrokenFile | None:
    return next((broken for broken in facts.broken if broken.file == f"{OFFSETS}/{batch}"), None)


_TOLD_ELSEWHERE = frozenset({Damage.VERSION, Damage.SOURCE_ID})

_CUT_TEXT = "end-of-input"
"""Of Jackson, which has many words for a character in the wrong place."""
_NO_TEXT = "Input length = "
_NOT_THERE = "batch {batch} doesn't exist"

_OFFSETS_ERRORS = {
    Damage.EMPTY: "Incomplete log file",
    Damage.VERSION: "supported log version",
    Damage.MALFORMED_VERSION: "malformed",
    Damage.NO_TEXT: _NO_TEXT,
    Damage.NO_HEADER: "next on empty iterator",
    Damage.NO_SOURCE: "There are [0] sources in the checkpoint offsets",
    Damage.HEADER: _CUT_TEXT,
    Damage.BLANK_HEADER: "WatermarkTracker.currentWatermark()",
    Damage.SOURCE: _CUT_TEXT,
    Damage.SOURCE_ID: "supported log version",
    Damage.NO_COLON: "Invalid OffsetMap format",
}

_COMMIT_ERRORS = {
    Damage.NO_TEXT: _NO_TEXT,
    Damage.EMPTY: "Incomplete log file in the offset commit log",
    Damage.VERSION: "supported log version",
    Damage.MALFORMED_VERSION: "malformed",
    Damage.BODY: _CUT_TEXT,
}
