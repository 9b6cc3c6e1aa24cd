"""Rules about the sources in the two offset entries that a start reads: how many there are, and of what form.

What Spark makes of each was tried on 4.2.0 (OffsetSeq, FileStreamSource, KafkaMicroBatchStream), see `make conformance`.
"""

from collections.abc import Iterator

from streamops.catalogue.expectations import Expectations
from streamops.catalogue.file_rules import FAILS, RESTORE_BOTH
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.layout import OFFSETS, quoted
from streamops.checkpoint.offsets import OffsetEntry, offset_pairs
from streamops.checkpoint.source_offsets import (
    DeltaOffset,
    FileOffset,
    KafkaOffset,
    OffsetForm,
    RateOffset,
    SourceOffset,
    UnknownOffset,
    form_of,
    says_nothing,
)
from streamops.formatting import listed
from streamops.verdict import AtStart, Finding, Severity, StartEffect

SHOWN = 5
_BARE_NUMBER = frozenset({OffsetForm.RATE, OffsetForm.FILES})
"""A file source reads the bare number that Spark 2.1 wrote."""
_ALWAYS_READ = frozenset({OffsetForm.FILES, OffsetForm.DELTA})
"""Forms of sources that read the entry below the newest at each start; the others do while a batch is pending only."""


def source_count_differs(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The two entries that a start reads have different numbers of sources (SPARK-54423): it fits one query or none."""
    pair = _positional(facts)
    if pair is None or len(pair[0].sources) == len(pair[1].sources):
        return
    before, now = pair
    had, has = len(before.sources), len(now.sources)
    yield Finding(
        rule="source-count-differs",
        severity=Severity.CRITICAL,
        file=f"{OFFSETS}/{now.batch}",
        evidence=f"{_sources(has)} here, {_sources(had)} in {OFFSETS}/{before.batch}",
        meaning=f"Spark tells sources apart by their place, and reads both entries: {FAILS}, whatever the query has",
        repair=f"restore {OFFSETS}/{before.batch} and {OFFSETS}/{now.batch} from a copy: either may be another query's, and each"
        " has one line for each source of the query, in its order",
        not_when="to add a source: in a checkpoint of version v1 none can be added, nor taken away",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"{OFFSETS}/{now.batch} has {_sources(has)}, {OFFSETS}/{before.batch} {_sources(had)}, and each start reads"
            " both",
            error="sources in the checkpoint offsets and now",
        ),
    )


def source_offset_lost(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A source that had an offset has none any more, where a batch to run begins. [P8i]

    In v2, whose sources come and go by name, the query may have dropped it.
    """
    for before, now in facts.steps:
        for name in dict.fromkeys((*now.source_names, *(before.source_names if now.source_ids else ()))):
            had, has = (one.text_by_source.get(name) for one in (before, now))
            if had is None or has is not None:
                continue
            is_dropped = name not in now.source_names
            told = f"source {name} has no offset in {OFFSETS}/{now.batch} though {OFFSETS}/{before.batch} has one"
            yield Finding(
                rule="source-offset-lost",
                severity=Severity.CRITICAL,
                file=f"{OFFSETS}/{now.batch}",
                evidence=f"source {name} has no offset, and {OFFSETS}/{before.batch} has one",
                meaning="the source begins anew, and its input is read again without an error"
                + (", unless the query no longer has it" if is_dropped else ""),
                repair=f"restore {OFFSETS}/{now.batch} from a copy, or put the end offset in its place that the progress event"
                f" of batch {now.batch} shows",
                not_when="when the source was replaced by another or dropped on purpose. Do not put the offset of the entry"
                f" below there: what batch {now.batch} has read would come again",
                start=StartEffect(
                    kind=AtStart.UNDECIDED if is_dropped else AtStart.REPEATS,
                    summary=f"{told}: its input is read again" + (" if the query still has it" if is_dropped else ""),
                ),
            )


def unlike_offsets(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A source's offset has another form than the entry below, or than the declared source: no query reads both."""
    if facts.newest is None:
        return
    batch, is_told = facts.newest.batch, False
    for name, had, has in offset_pairs(facts.previous, facts.newest):
        below = facts.previous
        if isinstance(had, UnknownOffset) and isinstance(has, UnknownOffset) and facts.earlier is not None:
            # Both may have been edited: the entry that no start reads knows better.
            below, had = facts.earlier, facts.earlier.offset_by_source.get(name)
        if has is None or below is None or not _is_unlike(had, has, facts, expected.source_form):
            continue
        is_told = True
        yield _unlike(
            f"{OFFSETS}/{batch}",
            f"source {name}: {_text(facts.newest, name)} does not read like {_whose(had)} in {OFFSETS}/{below.batch}",
            # Of two that are known nothing tells which of them the query reads.
            error=_REFUSALS.get(form_of(had), "") if form_of(has) is None else "",
        )
    declared = expected.source_form
    if not facts.newest.is_foreign_to(declared):
        return
    if is_told and facts.previous is not None and not facts.previous.is_foreign_to(declared):
        return  # The entry below is of the declared source: it is the newest one that is wrong, and that is told.
    forms = {form_of(offset) for offset in facts.newest.offsets if offset is not None}
    names = ", ".join(sorted(str(form) if form else "an unknown source" for form in forms))
    yield _unlike(
        f"{OFFSETS}/{batch}",
        f"the declared source is {declared}, the offsets here are those of {names}",
        error=_REFUSALS.get(declared, ""),
        repair="declare the source that the checkpoint was written with; another one needs a checkpoint of its own",
    )


_REFUSALS: dict[OffsetForm | None, str] = {
    OffsetForm.KAFKA: "Expected e.g.",
    OffsetForm.FILES: "No usable value for logOffset",
}
"""What a source says of a text that is not its own (4.2.0)."""


def _unlike(file: str, evidence: str, *, error: str, repair: str = RESTORE_BOTH) -> Finding:
    return Finding(
        rule="unlike-offsets",
        severity=Severity.CRITICAL,
        file=file,
        evidence=evidence,
        meaning=f"the source can't read it: {FAILS}",
        repair=repair,
        not_when="do not delete a committed entry: its input would be read again",
        start=StartEffect(kind=AtStart.FAILS, summary=f"{file}: {evidence}, and a start fails on it", error=error),
    )


def impossible_kafka_offsets(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A negative partition or offset: no position, though some stand for one in `startingOffsets`.

    Kafka's source looks -1 up as if it were an offset, and fails; with -2 it reads from the earliest record on; a partition
    that no topic can have is one that was deleted (KafkaMicroBatchStream, 4.2.0).
    """
    if facts.newest is None:
        return
    file = f"{OFFSETS}/{facts.newest.batch}"
    for name, _, has in offset_pairs(facts.previous, facts.newest):
        if not isinstance(has, KafkaOffset):
            continue
        odd = [place for place in has.positions if place.partition < 0 or place.next_offset < 0]
        if not odd:
            continue
        is_reread = all(place.partition >= 0 and place.next_offset == EARLIEST for place in odd)
        shown = [f"{quoted(one.topic)} partition {one.partition}: {one.next_offset}" for one in odd]
        evidence = f"source {name}: {listed(shown, SHOWN)}"
        yield Finding(
            rule="impossible-kafka-offsets",
            severity=Severity.CRITICAL,
            file=file,
            evidence=evidence,
            meaning="all that the topic still holds is read again, without an error"
            if is_reread
            else f"-1 and -2 mean latest and earliest in `startingOffsets` alone: {FAILS}",
            repair=RESTORE_BOTH,
            not_when="`failOnDataLoss=false` is no way out: the numbers are no positions",
            start=StartEffect(
                kind=AtStart.REPEATS if is_reread else AtStart.FAILS,
                summary=f"{file} has offsets that no partition has: {evidence}",
            ),
        )


EARLIEST = -2


def impossible_file_offsets(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A negative offset of a file source or a rate, which both count from 0: all input is read again (tried on 4.2.0).

    In the entry below a file source asks for what follows on it, and -1 is the last that anything follows on.
    """
    if facts.newest is None:
        return
    file = f"{OFFSETS}/{facts.newest.batch}"
    for name, had, has in offset_pairs(facts.previous, facts.newest):
        if isinstance(had, FileOffset) and had.log_offset < -1 and facts.previous is not None:
            yield _before_the_first(f"{OFFSETS}/{facts.previous.batch}", f"source {name}: {had.log_offset}")
            continue
        number = has.log_offset if isinstance(has, FileOffset) else has.seconds if isinstance(has, RateOffset) else 0
        # One that is lower than the entry below is told by that.
        if number >= 0 or had != has:
            continue
        yield Finding(
            rule="impossible-file-offsets",
            severity=Severity.CRITICAL,
            file=file,
            evidence=f"source {name}: {number}",
            meaning="no batch has read anything, as far as a start knows: the next one reads all that is there, without an error",
            repair=RESTORE_BOTH,
            start=StartEffect(
                kind=AtStart.REPEATS,
                summary=f"{file} has a negative offset, source {name}: all its input is read again",
            ),
        )


def _before_the_first(file: str, evidence: str) -> Finding:
    return Finding(
        rule="impossible-file-offsets",
        severity=Severity.CRITICAL,
        file=file,
        evidence=evidence,
        meaning=f"the source asks for entries before its first one: {FAILS}",
        repair="restore it from a copy, or put the end offset in its place that the progress event of its batch shows",
        start=StartEffect(kind=AtStart.FAILS, summary=f"{file} has a negative offset, {evidence}", error="exist"),
    )


def repeated_source_ids(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """An entry of v2 has two lines for one source: the last one counts (tried on 4.2.0)."""
    for entry in (facts.previous, facts.newest):
        if entry is None or len({*entry.source_ids}) == len(entry.source_ids):
            continue
        twice = sorted({name for name in entry.source_ids if entry.source_ids.count(name) > 1})
        file = f"{OFFSETS}/{entry.batch}"
        yield Finding(
            rule="repeated-source-ids",
            severity=Severity.CRITICAL,
            file=file,
            evidence=f"several lines for source {', '.join(map(quoted, twice[:SHOWN]))}",
            meaning="a start goes by the last one: where that is not the right one, input is read again or passed over",
            repair=RESTORE_BOTH,
            start=StartEffect(
                kind=AtStart.UNDECIDED,
                summary=f"{file} has several offsets for source {', '.join(map(quoted, twice[:SHOWN]))}, and a start takes the"
                " last one",
            ),
        )


def impossible_delta_offsets(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A Delta offset of a form that Delta's source never wrote: it knows 1, and 3 at a change of the schema (Delta 4.4)."""
    for entry in (facts.newest, facts.previous):
        for name, offset in zip(entry.source_names, entry.offsets, strict=True) if entry else ():
            if not isinstance(offset, DeltaOffset) or entry is None:
                continue
            file = f"{OFFSETS}/{entry.batch}"
            if offset.source_version in DELTA_VERSIONS:
                if offset.table_version < 0:
                    yield _below_all_versions(facts, entry, name, offset)
                elif offset.lacks_index and (entry is facts.newest or facts.has_pending_batch):
                    yield _without_index(facts, entry, name)
                continue
            evidence = f"source {name}: sourceVersion is {offset.source_version}"
            yield Finding(
                rule="impossible-delta-offsets",
                severity=Severity.CRITICAL,
                file=file,
                evidence=evidence,
                meaning=f"the source refuses it: {FAILS}",
                repair=RESTORE_BOTH,
                start=StartEffect(
                    kind=AtStart.FAILS,
                    summary=f"{file}: {evidence}, which Delta's source refuses",
                    error="DELTA_INVALID_SOURCE_VERSION" if offset.source_version < min(DELTA_VERSIONS) else "",
                ),
            )


DELTA_VERSIONS = (1, 3)


def _without_index(facts: CheckpointFacts, entry: OffsetEntry, name: str) -> Finding:
    """Delta always writes one: somebody edited the entry (tried on 4.2.0 with delta-spark 4.4.0)."""
    file, evidence = f"{OFFSETS}/{entry.batch}", f"source {name}: there is no `index`"
    reads = "it is read as 0: the first file of that version counts as read"
    return Finding(
        rule="impossible-delta-offsets",
        severity=Severity.CRITICAL,
        file=file,
        evidence=evidence,
        meaning=f"{reads}; a batch in flight that ends there reads it besides, and one that begins there passes over it",
        repair=RESTORE_BOTH,
        start=StartEffect(
            kind=AtStart.UNDECIDED,
            summary=f"{file}: {evidence}, and {reads}",
            in_flight_only=entry is not facts.newest,
        ),
    )


def _below_all_versions(facts: CheckpointFacts, entry: OffsetEntry, name: str, offset: DeltaOffset) -> Finding:
    """A batch in flight that ends there runs, and reads nothing; whatever begins there fails (tried on 4.2.0)."""
    file, evidence = f"{OFFSETS}/{entry.batch}", f"source {name}: reservoirVersion is {offset.table_version}"
    runs_first = facts.has_pending_batch and entry is facts.newest
    return Finding(
        rule="impossible-delta-offsets",
        severity=Severity.CRITICAL,
        file=file,
        evidence=evidence,
        meaning=f"the batch in flight runs without input; then {FAILS}" if runs_first else f"no table has it: {FAILS}",
        repair=RESTORE_BOTH,
        start=StartEffect(
            kind=AtStart.LOSES if runs_first else AtStart.FAILS,
            summary=f"{file}: {evidence}, and no table has that",
            error="DELTA_MISSING_FILES_UNEXPECTED_VERSION",
        ),
    )


def _positional(facts: CheckpointFacts) -> tuple[OffsetEntry, OffsetEntry] | None:
    """Both entries, where sources are told apart by their place."""
    before, now = facts.previous, facts.newest
    return None if before is None or now is None or before.source_ids or now.source_ids else (before, now)


def _is_unlike(
    had: SourceOffset | None, has: SourceOffset, facts: CheckpointFacts, declared: OffsetForm | None
) -> bool:
    """Whether no source reads both texts, and a start meets that."""
    before, now = form_of(had), form_of(has)
    if before is now or had is None or {before, now} <= _BARE_NUMBER:
        return False
    if now is not None and now is declared and now not in _ALWAYS_READ and not facts.has_pending_batch:
        # The query is known to read the newest text, and does not ask for the one below it.
        return False
    if says_nothing(had) or says_nothing(has):
        # Kafka's source writes `{}` while no topic fits its pattern; those of files and Delta tables refuse it.
        return bool({before, now} & _ALWAYS_READ)
    if before is None:
        # A text that nobody here knows below one that is known: read by sources that always read it, or to run a batch.
        return (now in _ALWAYS_READ or facts.has_pending_batch) and now is not OffsetForm.RATE
    return now is not None or before is not OffsetForm.RATE


def _whose(offset: SourceOffset | None) -> str:
    form = form_of(offset)
    return f"the offset of {form}" if form else "the text"


def _text(entry: OffsetEntry, name: str) -> str:
    return quoted(entry.text_by_source.get(name) or "")


def _sources(count: int) -> str:
    return f"{count} {'source' if count == 1 else 'sources'}"
