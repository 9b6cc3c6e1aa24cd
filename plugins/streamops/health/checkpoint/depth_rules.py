"""Rules about what sources keep for themselves, about the input of a pending batch, and about state.

Codes in brackets name the damage of the matrix that was tried on real Spark 3.5 to 4.3.
"""

from collections.abc import Iterator

from streamops.checkpoint.compact_log import COMPACT_SUFFIX, CompactLog
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import COMMITS, OFFSETS
from streamops.checkpoint.source_offsets import FileOffset, KafkaOffset
from streamops.checkpoint.state_snapshots import BrokenStateFile
from streamops.health.checkpoint.expectations import Expectations
from streamops.health.checkpoint.file_rules import BACKUP, FAILS
from streamops.health.engines import WithoutOffsets
from streamops.health.verdict import AtStart, Finding, Severity, StartEffect

SHOWN = 5
_SIDE_FILES = "and delete the hidden `.crc` beside each"
LONGEST_REBUILT = 1000
"""Entries that are looked for before a compact file is said to be made of them."""


def emptied_logs(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """Sources or state show that batches ran, and both logs are empty. [P16c]"""
    if not snapshot.facts.is_new or not snapshot.has_history:
        return
    has_state = snapshot.state is not None and snapshot.state.has_files
    yield Finding(
        rule="emptied-logs",
        severity=Severity.CRITICAL,
        file=OFFSETS,
        evidence=f"no entry in {OFFSETS} and {COMMITS}; sources or state were written by batches",
        meaning="a query without state reads all its input again without an error; one with state is refused by Spark 4.1 and"
        " later",
        repair="restore both folders from a copy; otherwise begin a new checkpoint with starting offsets of your own",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary="offsets and commits are empty while there is state: the start is refused",
            error="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
        )
        if has_state and expected.engine.without_offsets is WithoutOffsets.REFUSED
        else StartEffect(
            kind=AtStart.REPEATS,
            summary="offsets and commits are empty, but sources or state show that batches ran: batch 0 reads all input again,"
            " and no error tells",
        ),
    )


def missing_source_log(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """The log of a file source lacks entries that each start reads. [P12, P18] (SPARK-26949)"""
    for source in snapshot.file_sources:
        found, path = snapshot.source(source.folder), f"sources/{source.folder}"
        if found and found.unreachable:
            continue
        latest = found.log.latest if found else -1
        is_raised = source.log_offset > _reached_before(snapshot, source.folder) + 1
        if found is None or latest < source.log_offset:
            ends = f"ends at {latest}" if latest >= 0 else "has no entry"
            evidence = f"{path} {ends}, {OFFSETS} has {source.log_offset}"
            error = f"batch {source.log_offset} doesn't exist" if source.log_offset == latest + 1 else "exist"
        elif missing := found.log.needed_for(latest).missing:
            names = [found.log.file_name(ids.first) for ids in missing]
            evidence = (
                f"{path} lacks {', '.join(names[:SHOWN])}{' …' if len(names) > SHOWN else ''}; it ends at {latest},"
            )
            evidence += f" compact files stand at every {found.log.interval}th id"
            error = "doesn't exist (latestId"
        else:
            continue
        yield Finding(
            rule="missing-source-log",
            severity=Severity.CRITICAL,
            file=path,
            evidence=evidence,
            meaning=f"which files the query has read is not to be told: {FAILS}, with words like those of a hole in {OFFSETS}",
            repair=f"restore {OFFSETS}/{snapshot.facts.last_offset} {BACKUP}: a batch takes one id of a source's log"
            if is_raised
            else f"restore it {BACKUP}, or write it anew: {_rebuilt(found.log if found else CompactLog())}",
            not_when="do not delete the source's folder: the error stays the same",
            start=StartEffect(kind=AtStart.FAILS, summary=f"{evidence}, and each start reads all of it", error=error),
        )


def _reached_before(snapshot: CheckpointSnapshot, folder: str) -> int:
    """The id that the entry below reaches; beyond any where that does not tell, as with async progress tracking."""
    facts = snapshot.facts
    if facts.previous is None or facts.previous.batch != facts.last_offset - 1:
        return UNTOLD
    offsets = dict(zip(facts.previous.source_names, facts.previous.offsets, strict=True))
    found = offsets.get(folder)
    return found.log_offset if isinstance(found, FileOffset) else UNTOLD


UNTOLD = 1 << 62


def unreadable_source_log(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """A file that a source keeps can't be read. [P12c]

    Kafka's source asks its own only where the offset log has no value for it (KafkaMicroBatchStream, 3.5 to 4.3).
    """
    newest = snapshot.facts.newest
    known = dict(zip(newest.source_names, newest.offsets, strict=True)) if newest else {}
    for source in snapshot.sources.sources:
        is_read = not isinstance(known.get(source.folder), KafkaOffset)
        for broken in source.broken[:SHOWN]:
            yield Finding(
                rule="unreadable-source-log",
                severity=Severity.CRITICAL if is_read else Severity.NOTE,
                file=broken.file,
                evidence=broken.reason,
                meaning=f"the source reads it: {FAILS}"
                if is_read
                else "the source asks it before its first batch alone, which has run",
                repair=f"restore it {BACKUP}" if is_read else "",
                start=StartEffect(
                    kind=AtStart.FAILS,
                    summary=f"{broken.file} can't be read: {broken.reason}",
                    error=_source_log_error(broken.reason),
                )
                if is_read
                else None,
            )


def _source_log_error(reason: str) -> str:
    told = (
        ("is empty", "Incomplete log file"),
        ("is no version", "MALFORMED_LOG_FILE"),
        ("is no UTF-8", "Input length = "),
    )
    return next((error for words, error in told if words in reason), reason)


def unreachable_source_log(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """What a source keeps can't be asked: neither known to be whole nor to be damaged."""
    for source in snapshot.sources.sources:
        for place in source.unreachable[:SHOWN]:
            yield Finding(
                rule="unreachable-source-log",
                severity=Severity.UNKNOWN,
                file=place.file,
                evidence=place.reason,
                meaning="whether a start finds what it needs there is not known",
                repair="see to permissions and storage, then check again",
                start=StartEffect(kind=AtStart.UNREAD, summary=f"{place.file} can't be asked: {place.reason}"),
            )


def lost_input(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """Input files of a batch that will run are gone. [P20]"""
    if not snapshot.lost_inputs:
        return
    batch, shown = snapshot.facts.next_batch, ", ".join(repr(path) for path in snapshot.lost_inputs[:SHOWN])
    yield Finding(
        rule="lost-input",
        severity=Severity.CRITICAL,
        file=f"{OFFSETS}/{batch}",
        evidence=f"{len(snapshot.lost_inputs)} files: {shown}{' …' if len(snapshot.lost_inputs) > SHOWN else ''}",
        meaning=f"batch {batch} runs without them and is committed: the data is lost, and no error tells",
        repair="put the files back under the same names before the next start",
        not_when="when the sink has had the batch already",
        start=StartEffect(
            kind=AtStart.LOSES,
            summary=f"{len(snapshot.lost_inputs)} input files of batch {batch} are gone, the first is"
            f" {snapshot.lost_inputs[0]!r}: it runs without them, and no error tells",
        ),
    )


def _lacks_ids(snapshot: CheckpointSnapshot) -> bool:
    """Whether the newest commit should name the files of state, and does not."""
    facts, state = snapshot.facts, snapshot.state
    has_ids = state is not None and any(operator.has_unique_ids for operator in state.operators)
    return has_ids and facts.commit is not None and not facts.commit.has_state_ids


def lost_operators(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """The whole state of an operator is gone: operators are numbered from 0 on, and the last batch told how many there are."""
    state = snapshot.state
    if state is None or state.version <= 0 or snapshot.facts.is_new:
        return
    present = {operator.operator for operator in state.operators}
    gone = [
        number
        for number in range(max(max(present, default=-1) + 1, expected.stateful_operators))
        if number not in present
    ]
    if not gone:
        return
    folders = ", ".join(f"state/{number}" for number in gone[:SHOWN])
    yield Finding(
        rule="lost-operators",
        severity=Severity.CRITICAL,
        file=f"state/{gone[0]}",
        evidence=f"{folders} {'is' if len(gone) == 1 else 'are'} not there; the query has"
        f" {max(len(present) + len(gone), expected.stateful_operators)} operators with state",
        meaning=f"their state can't be loaded: {FAILS}",
        repair=f"restore the folders {BACKUP}; otherwise build the state anew from the source, in a new checkpoint",
        not_when="do not go back to the first batch in this checkpoint: a sink that knows batches drops what comes then",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"{folders} {'is' if len(gone) == 1 else 'are'} not there, and the query keeps state there",
            error=expected.engine.missing_operator_error,
        ),
    )


def unloadable_state(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """Files are missing that the state of the next batch is loaded from."""
    state = snapshot.state
    if state is None or not state.unloadable_total or snapshot.facts.is_new:
        return
    first = state.unloadable[0]
    where = f"state/{first.operator}/{first.partition}" + (f"/{first.store}" if first.store != "default" else "")
    left = [name for store in state.unloadable for name in store.left_as_temporary]
    yield Finding(
        rule="unloadable-state",
        severity=Severity.CRITICAL,
        file=where,
        evidence=f"{state.unloadable_total} of {state.stores_checked} stores lack files for version {state.version}, here"
        f" {', '.join(first.missing.names[:SHOWN])}{' …' if first.missing.total > SHOWN else ''}",
        meaning=f"the tasks of the next batch can't load their state: {FAILS}",
        repair=f"restore {COMMITS}/{snapshot.facts.last_commit} {BACKUP}: files of state have ids here, and it names none"
        if _lacks_ids(snapshot)
        else f"rename the temporary files that hold {', '.join(left[:SHOWN])}: they may be the only copies"
        if left
        else f"restore the files {BACKUP}, {_SIDE_FILES}; otherwise go back to a version that all partitions still have, or"
        " build the state anew from the source",
        not_when="do not empty the partition alone: its earlier versions are then asked for",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"the state that batch {state.version} needs can't be loaded: {where} lacks"
            f" {', '.join(first.missing.names[:SHOWN])}",
            error=expected.engine.missing_state_error,
        ),
    )


def broken_state_file(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """A file of the state is empty, cut or changed, or refers to files that are missing (SPARK-51717, SPARK-46796)."""
    kinds = ((snapshot.snapshots, "snapshots"), (snapshot.changes, "files of changes"))
    opened = " and ".join(f"{found.checked} of {found.total} {kind}" for found, kind in kinds if found.total)
    for broken in snapshot.broken_state[:SHOWN]:
        is_passed = broken.is_spare and expected.engine.goes_round_snapshots
        yield Finding(
            rule="broken-state-file",
            severity=Severity.WARNING if is_passed else Severity.CRITICAL,
            file=broken.file,
            evidence=f"{broken.reason} ({opened} were opened)",
            meaning="Spark 4.2 and later go round it, by the changes below it; with older ones each start fails"
            if is_passed
            else f"the tasks of the next batch can't load their state: {FAILS}",
            repair=f"delete {broken.file}"
            if broken.is_left_behind
            else f"restore the files {BACKUP}, {_SIDE_FILES}; otherwise go back to a batch whose state is whole, or build the"
            " state anew"
            " from the source",
            not_when="do not delete the partition's folder: its earlier versions are then asked for. Where the sink knows"
            " batches by id there is no way back: a batch that it drops writes no state",
            start=None if is_passed else _at_broken_state(broken, snapshot, expected),
        )


def state_ahead(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """State was written by a batch that the logs do not have: their newest entries are gone, or an older copy is there.

    A batch is planned before its tasks write state (MicroBatchExecution, 3.5 to 4.3).
    """
    facts, state = snapshot.facts, snapshot.state
    if state is None or facts.is_new or state.newest_version <= facts.last_offset + 1:
        return
    batch = facts.last_offset + 1
    yield Finding(
        rule="state-ahead",
        severity=Severity.CRITICAL,
        file="state",
        evidence=f"there is state of version {state.newest_version}, which batch {state.newest_version - 1} writes; offsets reach"
        f" batch {facts.last_offset}",
        meaning=f"batch {batch} has run before, and comes again with other rows: a sink that knows batches drops them, another"
        " one has its rows twice",
        repair=f"restore the newest entries of {OFFSETS} and {COMMITS} {BACKUP}",
        not_when="when somebody went back on purpose, and the sink with it",
        start=StartEffect(
            kind=AtStart.UNDECIDED,
            summary=f"state was written by batch {state.newest_version - 1}, offsets reach {facts.last_offset}: batch {batch} has"
            " run before, and comes again with other rows",
        ),
    )


def changed_state_file(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """A file of state can be loaded, and is not what Hadoop's side file was written for: another file was put in its place."""
    if not snapshot.changes.stale:
        return
    names = ", ".join(snapshot.changes.stale[:SHOWN])
    more = " …" if len(snapshot.changes.stale) > SHOWN else ""
    yield Finding(
        rule="changed-state-file",
        severity=Severity.CRITICAL,
        file=snapshot.changes.stale[0],
        evidence=f"the side files of {names}{more} do not fit",
        meaning="Spark does not ask them: it goes on with whatever state is in there, and no error tells",
        repair=f"restore the files {BACKUP}, {_SIDE_FILES}; where they are known to be right, delete those alone",
        start=StartEffect(
            kind=AtStart.UNDECIDED,
            summary=f"{names}{more} are not what was written there: their side files do not fit, which Spark does not notice",
        ),
    )


def copied_entry(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """The batch in flight ends where the one below it ends, in a query without state: Spark plans no such batch."""
    facts, state = snapshot.facts, snapshot.state
    if facts.newest is None or facts.previous is None or facts.previous.batch != facts.newest.batch - 1:
        return
    has_state = expected.stateful_operators > 0 or (state is not None and bool(state.operators))
    is_same = facts.newest.sources == facts.previous.sources and facts.newest.source_ids == facts.previous.source_ids
    is_other_query = expected.runs_continuously(facts) or facts.newest.header.has_control_batch
    if not facts.has_pending_batch or not is_same or has_state or is_other_query:
        return
    file, below = f"{OFFSETS}/{facts.newest.batch}", f"{OFFSETS}/{facts.previous.batch}"
    what = f"batch {facts.newest.batch} runs again without input, and what it had is not read"
    yield Finding(
        rule="copied-entry",
        severity=Severity.CRITICAL,
        file=file,
        evidence=f"its sources end exactly where {below} ends",
        meaning=f"one of the two is a copy, or was edited: {what}, and no error tells",
        repair=f"restore both {BACKUP}; otherwise write {below} anew with the end offsets that the progress event of its batch"
        f" shows, and move {file} aside, and `.{facts.newest.batch}.crc` with it: its batch is planned anew",
        not_when=f"when the sink has had batch {facts.newest.batch} already: move nothing aside then",
        start=StartEffect(
            kind=AtStart.LOSES,
            summary=f"{file} ends exactly where {below} ends, which Spark never plans: {what}",
        ),
    )


def _at_broken_state(broken: BrokenStateFile, snapshot: CheckpointSnapshot, expected: Expectations) -> StartEffect:
    engine = expected.engine
    known = "" if broken.is_schema else engine.missing_state_error if broken.lacks_files else engine.broken_state_error
    what = f"{broken.file}: {broken.reason}"
    return StartEffect(
        kind=AtStart.FAILS,
        summary=f"the state that batch {snapshot.facts.next_batch} needs can't be loaded: {what}",
        error=known or what,
    )


def _rebuilt(log: CompactLog) -> str:
    """How to write a missing entry of a source's log anew; the exact lines where all they come from is still there."""
    missing = log.needed_for(log.latest).missing
    last = missing[0].first if missing else -1
    name = log.file_name(last)
    before = last - log.interval
    is_kept = (before < 0 or log.holds(before)) and all(
        entry in log.plain for entry in range(max(before, -1) + 1, last)
    )
    if missing and name.endswith(COMPACT_SUFFIX) and log.interval <= LONGEST_REBUILT and is_kept:
        older = f"all lines of {log.file_name(before)} and" if before >= 0 else "the lines"
        return (
            f"{name} is `v1`, then {older} of {max(before, -1) + 1} to {last - 1}, which are still there, then one line for each"
            f" input file of {last}, with path, timestamp and batchId"
        )
    return (
        "`v1`, then one line of JSON for each input file of that id with path, timestamp and batchId; a compact file holds"
        " all lines up to its id"
    )
