"""Rules about what sources keep in a checkpoint, and about the input files that it names.

Codes in brackets name the damage of the matrix that was tried on real Spark 3.5 to 4.3.
"""

from collections.abc import Iterator
from datetime import timedelta

from streamops.catalogue.expectations import Expectations
from streamops.catalogue.file_rules import BACKUP, FAILS
from streamops.catalogue.watch import Watch
from streamops.checkpoint.compact_log import COMPACT_SUFFIX, CompactLog
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot, FileSource, input_written_down
from streamops.checkpoint.layout import OFFSETS
from streamops.checkpoint.source_log import NEGATIVE_BATCH, NULL_PATH, SourceLogFacts
from streamops.checkpoint.source_offsets import FileOffset, KafkaOffset
from streamops.clock import CLOCK_ERROR
from streamops.formatting import listed
from streamops.verdict import AtStart, Finding, Severity, StartEffect

SHOWN = 5
LONGEST_REBUILT = 1000
"""Entries that are looked for before a compact file is said to be made of them."""


def missing_source_log(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """The log of a file source lacks entries that each start reads. [P12, P18] (SPARK-26949)"""
    for source in snapshot.file_sources:
        found, path = snapshot.source(source.folder), f"sources/{source.folder}"
        if found and found.unreachable:
            continue
        latest = found.log.latest if found else -1
        begun = _reached_before(snapshot, source.folder)
        if found is None or latest < source.log_offset:
            ends = f"ends at {latest}" if latest >= 0 else "has no entry"
            evidence = f"{path} {ends}, {OFFSETS} has {source.log_offset}"
            start = _start_behind(source, latest, begun, evidence)
        elif missing := found.log.needed_for(latest).missing:
            names = [found.log.file_name(ids.first) for ids in missing]
            evidence = f"{path} lacks {listed(names, SHOWN)}; it ends at {latest},"
            evidence += f" compact files stand at every {found.log.interval}th id"
            start = _fails(evidence, "doesn't exist (latestId")
        else:
            continue
        yield Finding(
            rule="missing-source-log",
            severity=Severity.CRITICAL,
            file=path,
            evidence=evidence,
            meaning=f"which files the query has read is not to be told: {FAILS}, with words like those of a hole in {OFFSETS}"
            if start.kind is AtStart.FAILS
            else start.summary,
            repair=_other_ids(snapshot.facts, path)
            if source.log_offset > begun + 1
            else f"restore it {BACKUP}, or write it anew: {_rebuilt(found.log if found else CompactLog())}"
            + (
                f"; where a copy ends there, too, restore {OFFSETS}/{snapshot.facts.last_offset}"
                if begun == UNTOLD
                else ""
            ),
            not_when="do not delete the source's folder: the error stays the same",
            start=start,
        )


def _other_ids(facts: CheckpointFacts, path: str) -> str:
    """The way out where a batch has taken more than one id of a source's log, which Spark never plans."""
    newest = f"{OFFSETS}/{facts.last_offset}"
    return (
        f"restore {newest} and {OFFSETS}/{facts.last_offset - 1} from a copy of the checkpoint, and what {path} lacks of that"
        f" copy: a batch takes one id of a source's log"
    )


def _start_behind(source: FileSource, latest: int, begun: int, evidence: str) -> StartEffect:
    """A source asks for the entries of the newest batch; of one that had no input from it there is nothing to ask for.

    Then it goes on writing where its log ends, and is refused only where it stays behind (FileStreamSource, tried on 4.2.0).
    """
    if begun != source.log_offset:
        error = f"batch {source.log_offset} doesn't exist" if source.log_offset == latest + 1 else "exist"
        return _fails(evidence, error)
    if latest < source.log_offset - 1:
        return _fails(evidence, "assertion failed")
    return StartEffect(
        kind=AtStart.UNDECIDED,
        summary=f"{evidence}: the files that the source finds next get the id {source.log_offset}, which counts as read, so that"
        " those that came since are never read",
    )


def _fails(evidence: str, error: str) -> StartEffect:
    return StartEffect(kind=AtStart.FAILS, summary=f"{evidence}, and each start reads all of it", error=error)


def _reached_before(snapshot: CheckpointSnapshot, folder: str) -> int:
    """The id that the entry below reaches; beyond any where that does not tell, as with async progress tracking."""
    facts = snapshot.facts
    if facts.previous is None or facts.previous.batch != facts.last_offset - 1:
        return UNTOLD
    found = facts.previous.offset_by_source.get(folder)
    below = facts.earlier.offset_by_source.get(folder) if facts.earlier and facts.has_pending_batch else None
    if not isinstance(found, FileOffset) or (isinstance(below, FileOffset) and below.log_offset > found.log_offset):
        return UNTOLD
    return found.log_offset


UNTOLD = 1 << 62


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


def unreadable_source_log(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """A file that a source keeps can't be read. [P12c]

    Kafka's source asks its own only where the offset log has no value for it (KafkaMicroBatchStream, 3.5 to 4.3).
    """
    newest = snapshot.facts.newest
    known = newest.offset_by_source if newest else {}
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
        (NEGATIVE_BATCH, "assertion failed"),
        (NULL_PATH, 'Cannot invoke "String.length()"'),
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


def renumbered_source_entries(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """A file of a source's log has its entries under another id: a batch takes them by their id, and leaves these out.

    Of a batch that is committed nothing comes of it: the files are known to have been read (tried on 4.2.0).
    """
    reached = {source.folder: source.log_offset for source in snapshot.file_sources}
    for source in snapshot.sources.sources:
        taken = [log_id for log_id in source.renumbered if _is_to_run(log_id, source.folder, snapshot, reached)]
        if not source.renumbered:
            continue
        path = f"sources/{source.folder}"
        names = ", ".join(f"{path}/{log_id}" for log_id in (taken or source.renumbered)[:SHOWN])
        yield Finding(
            rule="renumbered-source-entries",
            severity=Severity.CRITICAL if taken else Severity.NOTE,
            file=f"{path}/{(taken or source.renumbered)[0]}",
            evidence=f"another batchId than their name's in {names}",
            meaning=f"batch {snapshot.facts.next_batch} runs without the input that they name, and no error tells"
            if taken
            else "they were edited; what they name is known to have been read",
            repair=_renumbered_back(source, taken),
            start=StartEffect(
                kind=AtStart.LOSES,
                summary=f"{names} have another batchId than their name's: batch {snapshot.facts.next_batch} runs without the"
                " input that they name",
                in_flight_only=all(log_id <= reached[source.folder] for log_id in taken),
            )
            if taken
            else None,
        )


def _renumbered_back(source: SourceLogFacts, taken: list[int]) -> str:
    if not taken:
        return ""
    if set(taken) & set(source.exchanged):
        return "restore them from a copy, or give them their names back: what belongs into them stands in a file beside them"
    return "restore them from a copy; otherwise put their own number back as batchId"


def _is_to_run(log_id: int, folder: str, snapshot: CheckpointSnapshot, reached: dict[str, int]) -> bool:
    """Whether the batch to run takes the input of a log id."""
    facts = snapshot.facts
    if folder not in reached:
        return False
    begun = facts.previous.offset_by_source.get(folder) if facts.previous else None
    before = begun.log_offset if isinstance(begun, FileOffset) else -1
    return log_id > (before if facts.has_pending_batch else reached[folder])


def misplaced_source_entries(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """A file of a source's log lacks entries that Spark wrote there: emptied, a copy of another one, lines taken out.

    The files that it named are then new to the source, which reads them again (FileStreamSource, tried on 4.2.0).
    """
    for source in snapshot.sources.sources:
        path = f"sources/{source.folder}"
        files = [f"{path}/{source.log.file_name(log_id)}" for log_id in source.unlisted]
        evidence = f"no entry of their own in {listed(files, SHOWN)}"
        if source.left_out:
            files = [f"{path}/{source.log.file_name(source.log.newest_compact)}"]
            ids = listed([str(log_id) for log_id in source.left_out], SHOWN)
            evidence = f"{files[0]} lacks input files of the ids {ids}"
        if not files:
            continue
        yield Finding(
            rule="misplaced-source-entries",
            severity=Severity.CRITICAL,
            file=files[0],
            evidence=evidence,
            meaning="the input files that they named count as new, and are read again without an error",
            repair="restore them from a copy; otherwise write into each one line of JSON for each of its input files, with path,"
            " timestamp and its own id as batchId; into a compact file those of all ids up to it",
            not_when="do not delete them: a start then fails",
            start=StartEffect(
                kind=AtStart.REPEATS,
                summary=f"{evidence}: what they named is read again",
            ),
        )


def repeated_source_entries(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """A source's log names an input file twice: a line was doubled, or the path of another one edited.

    A batch reads a file as often as its own id names it. A file named under two ids stands where another one did, which then
    is new to the source (FileStreamSource, tried on 4.2.0). Spark itself names a file again only where it has forgotten it:
    written anew, `maxFileAge` later.
    """
    reached = {source.folder: source.log_offset for source in snapshot.file_sources}
    longest_ms = expected.max_file_age // timedelta(milliseconds=1)
    for source in snapshot.sources.sources:
        again = [
            (earlier, later)
            for earlier, later in source.repeated
            if abs(later.modified_ms - earlier.modified_ms) < longest_ms
            and (earlier.log_id != later.log_id or _is_to_run(later.log_id, source.folder, snapshot, reached))
        ]
        if not again:
            continue
        path = f"sources/{source.folder}"
        ids = sorted({entry.log_id for pair in again for entry in pair})
        files = list(dict.fromkeys(f"{path}/{_file_of(source.log, log_id)}" for log_id in ids))
        is_doubled = all(earlier.log_id == later.log_id for earlier, later in again)
        evidence = f"{listed([repr(later.path) for _, later in again], SHOWN)} named twice in {listed(files, SHOWN)}"
        comes = "reads it twice" if is_doubled else "or the one after it reads again what was read, without an error"
        yield Finding(
            rule="repeated-source-entries",
            severity=Severity.CRITICAL,
            file=files[-1],
            evidence=evidence,
            meaning=f"batch {snapshot.facts.next_batch} {comes}",
            repair="restore them from a copy; otherwise "
            + (
                "leave each input file in there once"
                if is_doubled
                else "give the entry that was edited the path and time of the input file that none of them names"
            ),
            not_when="when the file was written anew and the source's `maxFileAge` is shorter than what is given here",
            start=StartEffect(
                kind=AtStart.REPEATS,
                summary=f"{evidence}: batch {snapshot.facts.next_batch} {comes}",
                in_flight_only=is_doubled and all(log_id <= reached[source.folder] for log_id in ids),
            ),
        )


def _file_of(log: CompactLog, log_id: int) -> str:
    """Where a start finds the entries of an id."""
    return log.file_name(max(log_id, log.newest_compact))


def lost_input(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """Input files of a batch that will run are gone. [P20]"""
    if not snapshot.lost_inputs:
        return
    batch, shown = snapshot.facts.next_batch, listed([repr(path) for path in snapshot.lost_inputs], SHOWN)
    yield Finding(
        rule="lost-input",
        severity=Severity.CRITICAL,
        file=f"{OFFSETS}/{batch}",
        evidence=f"{len(snapshot.lost_inputs)} files: {shown}",
        meaning=f"batch {batch} runs without them and is committed: the data is lost, and no error tells",
        repair="put the files back under the same names before the next start",
        not_when="when the sink has had the batch already",
        start=StartEffect(
            kind=AtStart.LOSES,
            summary=f"{len(snapshot.lost_inputs)} input files of batch {batch} are gone, the first is"
            f" {snapshot.lost_inputs[0]!r}: it runs without them, and no error tells",
            in_flight_only=not input_written_down(snapshot.sources),
        ),
    )


def future_input(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """A file source has noted a file from so far in the future that all others are too old for it (SPARK-19813).

    It passes over whatever is older than `maxFileAge` below the youngest that it knows of (SeenFilesMap, tried on 4.2.0).
    """
    now_ms = int(watch.now.timestamp() * 1000)
    told = now_ms + CLOCK_ERROR // timedelta(milliseconds=1)
    for source in snapshot.sources.sources:
        if source.youngest_ms - expected.max_file_age // timedelta(milliseconds=1) <= told:
            continue
        path = f"sources/{source.folder}"
        evidence = f"a file of {path} is said to be from {source.youngest_ms} ms after 1970, now is {now_ms}"
        yield Finding(
            rule="future-input",
            severity=Severity.CRITICAL,
            file=path,
            evidence=evidence,
            meaning="new files count as older than `maxFileAge` and are never read, and no error tells",
            repair=f"restore {path} {BACKUP}, or put the file's own time there; a clock that was wrong for one file has the same"
            " effect",
            not_when="with `latestFirst` and a limit of files or bytes a batch, which switch `maxFileAge` off",
            start=StartEffect(
                kind=AtStart.LOSES, summary=f"{evidence}: all files that come count as too old, and are not read"
            ),
        )
