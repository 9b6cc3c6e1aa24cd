"""Rules about the Delta table that a query reads, beside the offsets that its checkpoint has of it."""

from collections.abc import Iterator

from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import OFFSETS, quoted
from streamops.delta_source import Fit, delta_source
from streamops.health.verdict import Finding, Severity
from streamops.sink import DeltaSink, MissingSink, Sink, UnreadSink


def unread_delta_source(snapshot: CheckpointSnapshot, place: Sink) -> Iterator[Finding]:
    """The table that the query is said to read could not be read here."""
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


def another_delta_table(snapshot: CheckpointSnapshot, place: Sink) -> Iterator[Finding]:
    """No offset belongs to this table: it was made anew under the same address, or the query reads another one."""
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


def removed_delta_versions(snapshot: CheckpointSnapshot, place: Sink) -> Iterator[Finding]:
    """Versions that a start reads are gone from the table's log (`delta.logRetentionDuration`)."""
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


def beyond_delta_table(snapshot: CheckpointSnapshot, place: Sink) -> Iterator[Finding]:
    """The offsets lie beyond the table's newest version: they were edited, or the table went back to an older copy."""
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
