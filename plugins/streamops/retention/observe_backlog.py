"""Reads what a Delta table or a folder holds beside what a stream's queries have read of it. Reads only, within bounds."""

from collections.abc import Callable, Sequence

from streamops.checkpoint.input_files import read_input
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.clock import Clock
from streamops.deltalog import read_delta_table
from streamops.diagnosis.checkup_text import printable
from streamops.diagnosis.companions import inspect_checkpoints
from streamops.errors import ObjectNotFoundError, StreamOpsError
from streamops.retention.backlog import Backlog, delta_backlog, files_backlog
from streamops.retention.lag import StreamLag, unknown_lag
from streamops.spec import CustomSource, DeltaTableSource, FilesSource, StreamSpec
from streamops.storage import ReadableStorage
from streamops.verdict import Verdict


def read_backlogs(
    spec: StreamSpec, checkpoints: Sequence[CheckpointSnapshot], storage_for: Callable[[str], ReadableStorage]
) -> tuple[Backlog, ...]:
    """Of each checkpoint, in order; none for a stream that reads Kafka. What can't be asked is an answer as well."""
    source = spec.source
    if checkpoints and _is_foreign(checkpoints[0], spec):
        entry = f"offsets/{checkpoints[0].facts.last_offset}"
        reason = f"{entry} was not written by such a source: whether anything waits is not known"
        return (Backlog(has_any=None, reason=reason),)
    try:
        if isinstance(source, DeltaTableSource):
            table = read_delta_table(storage_for(source.table), source.table)
            return tuple(delta_backlog(one.facts, table) for one in checkpoints)
        if isinstance(source, CustomSource):
            return (Backlog(has_any=None, reason=f"{source}: only Spark knows what it holds"),)
        if isinstance(source, FilesSource):
            return tuple(_of_files(source, one, storage_for(source.path)) for one in checkpoints)
    except ObjectNotFoundError:
        return (Backlog(has_any=None, reason=f"{source} is not there"),)
    except StreamOpsError as error:
        return (Backlog(has_any=None, reason=str(error)),)
    return ()


def lag_without_topics(spec: StreamSpec, storage_for: Callable[[str], ReadableStorage], clock: Clock) -> StreamLag:
    """What is known of a stream that reads no Kafka: how far it is behind, and whether what it needs is there."""
    now = clock.now()
    try:
        backlogs = read_backlogs(spec, inspect_checkpoints(storage_for(spec.checkpoint), spec.checkpoint), storage_for)
    except StreamOpsError as error:
        return unknown_lag(spec.name, str(error), at=now)
    lost = next((one for one in backlogs if one.loss), None)
    blind = next((one for one in backlogs if one.has_any is None), None)
    waiting = next((one for one in backlogs if one.has_any), backlogs[0])
    told = lost or blind or waiting
    verdict, rule = (
        (Verdict.CRITICAL, "input-lost") if lost else (Verdict.UNKNOWN, "not-known") if blind else (Verdict.OK, "")
    )
    reason = printable(f"{told.reason} (it reads {spec.source}, no topic)")
    return StreamLag(stream=spec.name, at=now, verdict=verdict, reason=reason, rule=rule)


def _is_foreign(snapshot: CheckpointSnapshot, spec: StreamSpec) -> bool:
    newest = snapshot.facts.newest
    return newest is not None and newest.is_foreign_to(spec.source.offset_form)


def _of_files(source: FilesSource, snapshot: CheckpointSnapshot, storage: ReadableStorage) -> Backlog:
    return files_backlog(source, read_input(storage, snapshot.facts.address, snapshot, address=source.path))
