"""What the registry adds: a checkpoint that was there before and is not there now is missing, not new."""

from collections.abc import Iterator

from streamops.checkpoint import CheckpointFacts
from streamops.control.registry import RegistryEntry
from streamops.diagnosis.expectations import Expectations
from streamops.verdict import AtStart, Finding, Severity, StartEffect


def missing_checkpoint(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The registry knows that a driver was on this checkpoint, and nothing is there."""
    entry, has_claims = expected.registered, expected.known is not None
    if entry is None or not is_missing(entry, facts, has_claims=has_claims):
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


def has_run(entry: RegistryEntry | None, checkpoint: str) -> bool:
    """Whether the registry knows that a driver was on a checkpoint, so that its control log has a claim, wherever it is."""
    return entry is not None and entry.checkpoint == checkpoint and (entry.was_submitted or bool(entry.query_id))


def is_missing(entry: RegistryEntry | None, facts: CheckpointFacts, *, has_claims: bool) -> bool:
    """Whether nothing is there of a checkpoint that a query had, by the registry's word.

    A known query id says so. Without one, a driver that was submitted may have died before it wrote anything: then the log
    has its claim. A log that has not is gone as well, as happens where a volume is not mounted.
    """
    if not has_run(entry, facts.address) or facts.query_id or not facts.is_new or facts.broken:
        return False
    return bool(entry and entry.query_id) or not has_claims
