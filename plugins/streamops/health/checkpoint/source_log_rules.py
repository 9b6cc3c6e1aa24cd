"""Rules about what file sources keep in a checkpoint: which files they have read."""

from collections.abc import Iterator

from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.source_offsets import FileOffset
from streamops.health.checkpoint.expectations import Expectations
from streamops.health.verdict import AtStart, Finding, Severity, StartEffect

SHOWN = 5


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
            repair="restore them from a copy; otherwise put their own number back as batchId" if taken else "",
            start=StartEffect(
                kind=AtStart.LOSES,
                summary=f"{names} have another batchId than their name's: batch {snapshot.facts.next_batch} runs without the"
                " input that they name",
            )
            if taken
            else None,
        )


def _is_to_run(log_id: int, folder: str, snapshot: CheckpointSnapshot, reached: dict[str, int]) -> bool:
    """Whether the batch to run takes the input of a log id."""
    facts = snapshot.facts
    if folder not in reached:
        return False
    before = (
        {
            name: offset.log_offset
            for name, offset in zip(facts.previous.source_names, facts.previous.offsets, strict=True)
            if isinstance(offset, FileOffset)
        }
        if facts.previous
        else {}
    )
    return log_id > (before.get(folder, -1) if facts.has_pending_batch else reached[folder])


def misplaced_source_entries(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """A file of a source's log holds no entry of its own id: emptied, or a copy of another one.

    The files that it named are then new to the source, which reads them again (FileStreamSource, tried on 4.2.0).
    """
    for source in snapshot.sources.sources:
        if not source.unlisted:
            continue
        path = f"sources/{source.folder}"
        names = ", ".join(f"{path}/{log_id}" for log_id in source.unlisted[:SHOWN])
        more = " …" if len(source.unlisted) > SHOWN else ""
        yield Finding(
            rule="misplaced-source-entries",
            severity=Severity.CRITICAL,
            file=f"{path}/{source.unlisted[0]}",
            evidence=f"no entry of their own in {names}{more}",
            meaning="the input files that they named count as new, and are read again without an error",
            repair="restore them from a copy; otherwise write into each one line of JSON for each of its input files, with path,"
            " timestamp and its own id as batchId",
            not_when="do not delete them: a start then fails",
            start=StartEffect(
                kind=AtStart.REPEATS,
                summary=f"{names}{more} name no input file of their own: what they named is read again",
            ),
        )
