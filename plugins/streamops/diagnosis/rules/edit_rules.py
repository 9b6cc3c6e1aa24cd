"""Rules about entries that a person changed: they are read like any other, and what they say is believed."""

from collections.abc import Iterator

from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import COMMITS, OFFSETS
from streamops.diagnosis.expectations import Expectations
from streamops.diagnosis.watch import Watch
from streamops.formatting import listed
from streamops.verdict import Finding, Severity

SHOWN = 3


def changed_entry(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """An entry that Hadoop's side file beside it was not written for: Spark does not ask the side file (tried on 4.2.0)."""
    names = snapshot.stale_entries
    if not names:
        return
    yield Finding(
        rule="changed-entry",
        severity=Severity.WARNING,
        file=names[0],
        evidence=f"the side file of {listed(names, SHOWN)} does not fit",
        meaning="somebody edited or restored it, or a disk has changed it: Spark believes what it says, so input may be read"
        " twice or passed over",
        repair="compare it with a copy, or with the progress events of its batch; where it is right, delete the hidden `.crc`"
        " beside it",
        not_when="when it was restored or edited on purpose: then it is well",
    )


def edited_offsets(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """The newest committed batch has an offset entry that is younger than its commit: Spark writes them the other way round.

    Where that is so of the batches before as well, the checkpoint was copied without the times of its files.
    """
    batch, younger = snapshot.facts.last_commit, watch.times.planned_after_commit
    if younger != (batch,) or not watch.times.durations or f"{OFFSETS}/{batch}" in snapshot.stale_entries:
        return
    yield Finding(
        rule="edited-offsets",
        severity=Severity.WARNING,
        file=f"{OFFSETS}/{batch}",
        evidence=f"it was written after {COMMITS}/{batch}, and none of the {len(watch.times.durations)} batches before was",
        meaning=f"somebody edited or restored it: batch {batch + 1} begins where it ends, so input is read twice or passed over"
        " if its end is not that of the batch that ran",
        repair=f"compare it with the end offsets that the progress event of batch {batch} shows, or with a copy",
        not_when="when it was restored from a copy, or rebuilt on purpose: then it is well",
    )
