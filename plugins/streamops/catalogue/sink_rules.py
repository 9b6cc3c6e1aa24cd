"""Rules about the sink beside the checkpoint: batches that it has and should not have, and those that it lacks.

Spark's file sink skips each batch up to the highest of its log (FileStreamSink, 3.5 to 4.3); Delta's sink each batch up to
the transaction version of the query's id (delta-spark 4.4, and `txnAppId`/`txnVersion` of a foreachBatch). Neither says so.
"""

from collections.abc import Iterator

from streamops.catalogue.file_rules import RESTORE_COMMITS
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import COMMITS, METADATA, OFFSETS, quoted
from streamops.formatting import listed
from streamops.places.sink import DeltaSink, FileSink, MissingSink, Sink, SinkView, UnreadSink, newest_batch
from streamops.places.sink_log import SINK_LOG
from streamops.verdict import AtStart, Finding, Severity, StartEffect

SHOWN = 5
WITHOUT_IDS = "CheckpointInfo length"
"""The error of a commit that is to name files of state where no task has run (4.2.0)."""


def sink_ahead(snapshot: CheckpointSnapshot, view: SinkView) -> Iterator[Finding]:
    """The sink has batches that the checkpoint has yet to plan: new ones under their ids are dropped without an error."""
    has, planned = newest_batch(view.before), snapshot.facts.last_offset
    if has is None or has <= planned:
        return
    yield Finding(
        rule="sink-ahead",
        severity=Severity.CRITICAL,
        file="",
        evidence=f"{_named(view.before)} has batch {has} of this query, the checkpoint has planned"
        f" {f'batch {planned}' if planned >= 0 else 'none'}",
        meaning=f"{_span(planned + 1, has)} will run, be committed, and be dropped by the sink: the rows are lost, and no error"
        " tells, unless each batch reads what it read before",
        repair="restore the checkpoint that wrote them from a copy; otherwise " + _fresh_start(view.before),
        not_when="do not go on until the batch ids have passed: what comes until then is lost",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"the sink has batch {has} of this query already, and drops every batch up to that, so that nothing names the"
            " state for their commits",
            error=WITHOUT_IDS,
        )
        if _names_state(snapshot.facts)
        else StartEffect(
            kind=AtStart.LOSES,
            summary=f"the sink has batch {has} of this query already, and drops every batch up to that without an error:"
            " what they read now is lost, unless it is what they read before",
        ),
    )


def dropped_batch_without_state(snapshot: CheckpointSnapshot, view: SinkView) -> Iterator[Finding]:
    """The batch that runs again is dropped by the sink, so that its tasks never run, and the state after it is not whole.

    The batch itself is then committed; the next one needs the state that it should have written (tried on 4.2.0).
    """
    facts, has = snapshot.facts, newest_batch(view.latest)
    if not facts.has_pending_batch or has is None or has < facts.last_offset:
        return
    batch, where, lacks = facts.last_offset, *_state_after(snapshot)
    if not where or _names_state(facts):
        return
    yield Finding(
        rule="dropped-batch-without-state",
        severity=Severity.CRITICAL,
        file=where,
        evidence=f"{_named(view.latest)} has batch {batch}, {where} {lacks}",
        meaning=f"the sink drops batch {batch}, whose tasks then write no state: batch {batch + 1} can't load what it needs, and"
        " each start fails from there on",
        repair="restore the files of state from a copy; otherwise build the state anew from the source, in a new checkpoint",
        not_when="do not go back by one batch more: the sink drops that one as well",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"the sink has batch {batch} and drops it, so that the state for batch {batch + 1} is never written: {where}"
            f" {lacks}",
            error="CANNOT_LOAD_STATE_STORE",
        ),
    )


def _state_after(snapshot: CheckpointSnapshot) -> tuple[str, str]:
    """Where the state after the batch to run is not whole, and what is wrong there; empty where it is."""
    if snapshot.state and (lacks := snapshot.state.unloadable_next):
        first = lacks[0]
        return f"state/{first.operator}/{first.partition}", f"lacks {', '.join(first.missing.names[:SHOWN])}"
    if snapshot.changes_next.broken:
        broken = snapshot.changes_next.broken[0]
        return broken.file, f"can't be loaded: {broken.reason}"
    return "", ""


def _names_state(facts: CheckpointFacts) -> bool:
    """Whether commits name the files of state: those of a batch come from its tasks."""
    return facts.commit is not None and facts.commit.has_state_ids


def dropped_batch_without_ids(snapshot: CheckpointSnapshot, view: SinkView) -> Iterator[Finding]:
    """The batch that runs again is dropped by the sink, and its commit was to name the files that its tasks write.

    No task runs then, and 4.2.0 fails on the commit, the same way each time: `CheckpointInfo length: 0`.
    """
    facts, has = snapshot.facts, newest_batch(view.latest)
    if not facts.has_pending_batch or has is None or has < facts.last_offset or not _names_state(facts):
        return
    batch = facts.last_offset
    yield Finding(
        rule="dropped-batch-without-ids",
        severity=Severity.CRITICAL,
        file=f"{COMMITS}/{batch}",
        evidence=f"{_named(view.latest)} has batch {batch}, commits reach {facts.last_commit} and name the files of state",
        meaning=f"the sink drops batch {batch}, whose tasks then write no state that its commit could name: each start fails",
        repair=f"restore {COMMITS}/{batch} from a copy; otherwise build the state anew from the source, in a new checkpoint",
        not_when="do not write it by hand: it names files by ids that only the tasks know",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"the sink has batch {batch} and drops it, so that nothing names the state for its commit",
            error=WITHOUT_IDS,
        ),
    )


def sink_behind(snapshot: CheckpointSnapshot, view: SinkView) -> Iterator[Finding]:
    """Batches are committed that the sink never had, or has no more."""
    has, committed = newest_batch(view.latest), snapshot.facts.last_commit
    if has is None or has >= committed:
        return
    yield Finding(
        rule="sink-behind",
        severity=Severity.CRITICAL if _writes_every_batch(view.latest) else Severity.WARNING,
        file="",
        evidence=f"{_named(view.latest)} has {f'batch {has}' if has >= 0 else 'no batch'} of this query, commits reach batch"
        f" {committed}",
        meaning=f"the rows of {_span(has + 1, committed)} are not in the sink, and are not written again: it was restored from an"
        " older copy, or the query wrote elsewhere; a foreachBatch that skips empty batches looks the same",
        repair="see whether this is the sink that the query writes to; then restore it, or write those batches anew from the"
        " source",
        start=StartEffect(
            kind=AtStart.UNDECIDED,
            summary=f"the sink lacks {_span(has + 1, committed)}, which are committed: a start goes on behind the gap",
        )
        if _writes_every_batch(view.latest)
        else None,
    )


def sink_has_pending_batch(snapshot: CheckpointSnapshot, view: SinkView) -> Iterator[Finding]:
    """The batch in flight is in the sink: a crash between the write and the commit."""
    facts = snapshot.facts
    if not facts.has_pending_batch or facts.last_offset < 0 or newest_batch(view.latest) != facts.last_offset:
        return
    batch = facts.last_offset
    is_readable = facts.newest is not None
    yield Finding(
        rule="sink-has-pending-batch",
        severity=Severity.NOTE if is_readable else Severity.WARNING,
        file=f"{OFFSETS}/{batch}",
        evidence=f"{_named(view.latest)} has batch {batch}, commits reach {facts.last_commit}",
        meaning="it runs again with exactly its range, and the sink drops it: nothing is repeated, nothing is lost"
        if is_readable
        else f"a batch {batch} that is planned anew holds more than the one that was written, and the sink drops all of it",
        repair=""
        if is_readable
        else f"restore {OFFSETS}/{batch}, or rebuild it with the range that the sink has of batch {batch}",
        not_when=""
        if is_readable
        else f"do not move {OFFSETS}/{batch} aside, as one would if the sink did not have it",
    )


def unknown_to_sink(snapshot: CheckpointSnapshot, view: SinkView) -> Iterator[Finding]:
    """The table has no transaction of this query, though batches are committed."""
    facts, sink = snapshot.facts, view.latest
    if not isinstance(sink, DeltaSink) or sink.newest_batch is not None or facts.last_commit < 0:
        return
    others = sink.table.recent_writers
    same = next((one for one in others if facts.last_commit <= one.newest_batch <= facts.last_offset), None)
    told = listed([f"{quoted(one.query_id)} up to batch {one.newest_batch}" for one in others], SHOWN)
    evidence = f"{_named(sink)} has no batch of query {facts.query_id or 'unknown'}"
    if told:
        evidence += f"; Delta's own sink wrote lately for {told}"
    if same is None:
        yield Finding(
            rule="unknown-to-sink",
            severity=Severity.NOTE,
            file=METADATA,
            evidence=evidence,
            meaning="a foreachBatch writes to it, or the table was made anew: nothing tells which batches it has",
        )
        return
    comes_twice = facts.has_pending_batch and same.newest_batch == facts.last_offset
    yield Finding(
        rule="unknown-to-sink",
        severity=Severity.CRITICAL if comes_twice else Severity.WARNING,
        file=METADATA,
        evidence=evidence,
        meaning=f"query {quoted(same.query_id)} came exactly as far as this checkpoint: it seems to be the same one, under the id"
        " that it had before; the sink takes a batch that is repeated under another id twice",
        repair=f'write `{{"id":"<that id>"}}` into {METADATA}, if the query was {quoted(same.query_id)}',
        not_when="when that query has a checkpoint of its own",
        start=StartEffect(
            kind=AtStart.REPEATS,
            summary=f"the sink has batch {facts.last_offset} of query {quoted(same.query_id)}, which seems to be this one under"
            " the id that it had before: it takes the batch twice",
        )
        if comes_twice
        else None,
    )


def incomplete_sink_log(snapshot: CheckpointSnapshot, view: SinkView) -> Iterator[Finding]:
    """The log of a file sink lacks entries that its readers, and its next compaction, need, or has broken ones."""
    sink = view.latest
    if not isinstance(sink, FileSink) or not (sink.log.missing or sink.log.broken):
        return
    gaps = ", ".join(_ids(gap.first, gap.last) for gap in sink.log.missing[:SHOWN])
    lacks = f"{SINK_LOG} ends at {sink.log.highest} and lacks {gaps}" if gaps else "; ".join(sink.log.broken[:SHOWN])
    evidence = f"{_named(sink)}: {_shown(lacks)}"
    compaction, first = sink.log.next_compaction, max(sink.log.highest + 1, snapshot.facts.next_batch)
    yield Finding(
        rule="incomplete-sink-log",
        severity=Severity.CRITICAL,
        file="",
        evidence=evidence,
        meaning="whoever reads the directory with Spark fails, and so does the query when it compacts the log next; an old"
        " checkpoint with a new directory looks like that, too",
        repair=f"restore {SINK_LOG} from a copy; otherwise write to a new directory",
        not_when=f"do not delete {SINK_LOG}: a batch that runs again would then be written twice",
        start=StartEffect(
            kind=AtStart.FAILS if compaction <= first else AtStart.UNDECIDED,
            summary=f"batch {compaction} compacts the log of the sink, and fails: {evidence}",
        ),
    )


def repeated_sink_file(snapshot: CheckpointSnapshot, view: SinkView) -> Iterator[Finding]:
    """The log of a file sink names a file twice: entries were copied, or changed places across a compaction."""
    sink = view.latest
    if not isinstance(sink, FileSink) or not sink.log.repeated:
        return
    files = [_shown(path.rpartition("/")[2]) for path in sink.log.repeated]
    yield Finding(
        rule="repeated-sink-file",
        severity=Severity.WARNING,
        file="",
        evidence=f"{_named(sink)}: {SINK_LOG} names {listed(files, SHOWN)} twice",
        meaning="whoever reads the directory with Spark has these rows twice, and lacks those of the entry that was there before;"
        " a start changes nothing about it",
        repair=f"restore {SINK_LOG} from a copy",
        not_when=f"do not delete {SINK_LOG}: a batch that runs again would then be written twice",
    )


def missing_sink(snapshot: CheckpointSnapshot, view: SinkView) -> Iterator[Finding]:
    """Batches are committed, and where the sink should be lies neither a Delta table nor a file sink's log."""
    if not isinstance(view.latest, MissingSink) or snapshot.facts.last_commit < 0:
        return
    yield Finding(
        rule="missing-sink",
        severity=Severity.UNKNOWN,
        file="",
        evidence=f"{_shown(view.latest.address)} has neither `_delta_log` nor `{SINK_LOG}`, commits reach batch"
        f" {snapshot.facts.last_commit}",
        meaning="what the sink has of the committed batches can't be told",
        repair="see whether the address is right, and whether the table was moved or deleted; a foreachBatch that writes plain"
        " files leaves no such trace",
    )


def unread_sink(snapshot: CheckpointSnapshot, view: SinkView) -> Iterator[Finding]:
    """The sink could not be read."""
    sink = view.latest
    if not isinstance(sink, UnreadSink):
        return
    yield Finding(
        rule="unread-sink",
        severity=Severity.CRITICAL
        if sink.is_broken or sink.is_foreign
        else Severity.NOTE
        if sink.lacks_library
        else Severity.UNKNOWN,
        file="",
        evidence=_shown(sink.reason),
        meaning="nothing can be written to it"
        if sink.is_broken
        else "which batches the sink has is not known: it may drop new ones, or lack committed ones",
        repair=_repair_of(sink),
        start=start_on_unread(sink, evidence=_shown(sink.reason), fails="the sink can't be written to"),
    )


def start_on_unread(place: UnreadSink, *, evidence: str, fails: str) -> StartEffect | None:
    """What a table that could not be read does to a start of a query that writes or reads it; None where that is not known."""
    if place.is_broken:
        return StartEffect(kind=AtStart.FAILS, summary=f"{fails}: {evidence}")
    if place.is_foreign:
        return StartEffect(kind=AtStart.UNDECIDED, summary=f"{evidence}: a start fails, or passes over it")
    return None


def _repair_of(sink: UnreadSink) -> str:
    if sink.is_broken or sink.is_foreign:
        return RESTORE_COMMITS
    return "" if sink.lacks_library else "make it readable from here, and check again"


def _writes_every_batch(sink: Sink) -> bool:
    return isinstance(sink, FileSink) or (isinstance(sink, DeltaSink) and sink.recognises_batches)


def _fresh_start(sink: Sink) -> str:
    if isinstance(sink, FileSink):
        return "write to a new output directory"
    return (
        "begin in an empty checkpoint folder, where the query gets a new id; a foreachBatch needs a new `txnAppId`, best with the"
        " query's id in it"
    )


def _named(sink: Sink) -> str:
    kind = "the Delta table" if isinstance(sink, DeltaSink) else "the file sink"
    return f"{kind} {_shown(sink.address)}"


def _shown(address: str) -> str:
    return address if address.isprintable() else repr(address)


def _span(first: int, last: int) -> str:
    return f"batch {first}" if first == last else f"batches {first} to {last}"


def _ids(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"
