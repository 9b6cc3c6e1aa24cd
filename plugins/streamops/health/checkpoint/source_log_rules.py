"""Rules about what file sources keep in a checkpoint: which files they have read."""

from collections.abc import Iterator

from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.health.checkpoint.expectations import Expectations
from streamops.health.verdict import AtStart, Finding, Severity, StartEffect

SHOWN = 5


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
