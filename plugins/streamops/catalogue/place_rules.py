"""Rules about where a checkpoint lies: none there, one that the next run will not find again, one that the registry misses."""

from collections.abc import Iterator

from streamops.catalogue.expectations import Expectations
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import COMMITS, METADATA, OFFSETS
from streamops.checkpoint.place import Place
from streamops.engines import WithoutOffsets
from streamops.formatting import listed
from streamops.verdict import AtStart, Finding, Severity, StartEffect

SHOWN = 5


def no_checkpoint(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """Nothing of a checkpoint is there."""
    place = snapshot.place
    if place is None or (snapshot.facts.query_id is not None and not place.what and not place.checkpoints):
        return
    is_foreign = bool(place.what or place.checkpoints or place.is_unexpanded)
    # Where nobody has said that a query is to begin there, a folder without a checkpoint is the wrong one as likely.
    is_meant = expected.is_declared or snapshot.facts.has_metadata
    found = _what_is_there(place)
    yield Finding(
        rule="no-checkpoint",
        severity=Severity.UNKNOWN,
        file="",
        evidence=f"{METADATA}, {OFFSETS} and {COMMITS} are missing or empty; {found}",
        meaning="a query that starts here begins anew; or this is not the place that was meant",
        repair=_way_out(place),
        start=StartEffect(
            kind=AtStart.UNDECIDED if is_foreign and is_meant else AtStart.UNREAD,
            summary=f"no checkpoint is here, {found}: a query would begin anew",
        )
        if is_foreign or not is_meant
        else None,
    )


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


def _what_is_there(place: Place) -> str:
    """In half a sentence."""
    if place.is_unexpanded:
        return "the address holds a variable, a pattern, a quotation mark or a `~` that nobody has replaced"
    if not place.is_there:
        alike = f"; {', '.join(map(repr, place.alike))} is beside it" if place.alike else ""
        return f"there is no such folder{alike}"
    if place.checkpoints:
        shown = listed([repr(name) for name in place.checkpoints], SHOWN)
        return f"the folder holds {len(place.checkpoints)} checkpoints: {shown}"
    if place.what:
        return f"it is {place.what}"
    beside = f", but {', '.join(map(repr, place.strangers))}" if place.strangers else ""
    return f"the folder holds nothing of one{beside}"


def _way_out(place: Place) -> str:
    if place.checkpoints:
        return "name one of them"
    return (
        "see whether the address is right: the folder is the `checkpointLocation` itself; a path without a scheme is a local one"
        " here, and one of the default file system for Spark"
    )


def missing_checkpoint(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The registry knows that a driver was on this checkpoint, and nothing is there."""
    entry, has_claims = expected.registered, expected.known is not None
    if entry is None or not facts.is_empty or not entry.misses(facts.address, has_claims=has_claims):
        return
    known = f"query {entry.query_id}" if entry.query_id else "a driver of this stream"
    lost = "" if has_claims else ", nor is its control log"
    what = f"the registry knows {known} on this checkpoint, and nothing is there{lost}"
    meaning = "a start would begin anew, and lose or repeat what the query has read"
    yield Finding(
        rule="missing-checkpoint",
        severity=Severity.CRITICAL,
        file="",
        evidence=what,
        meaning=f"its volume is not mounted, or it was deleted; {meaning}",
        repair="mount the volume, or restore the checkpoint from a copy",
        not_when="to start anew on purpose: then let the registry forget the stream (`streamops forget`)",
        start=StartEffect(
            kind=AtStart.REPEATS, summary=f"{what}: its volume is not mounted, or it was deleted; {meaning}"
        ),
    )
