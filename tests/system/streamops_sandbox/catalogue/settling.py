"""Whether a stream has come to rest: all that was sent is committed, and no batch is due."""

from collections.abc import Iterable, Iterator, Mapping

from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.checkpoint.reader import read_checkpoint
from streamops.checkpoint.source_offsets import FileOffset, KafkaOffset, SourceOffset, parse_source_offset
from streamops.control.layout import companion_checkpoint, control_folder
from streamops.diagnosis.last_progress import last_progress
from streamops.errors import StorageError
from streamops.places.input_files import read_input
from streamops.spec import FilesSource, StreamSpec
from streamops.storage import ReadableStorage

Ends = Mapping[tuple[str, int], int]
"""By topic and partition, the offset that the next record will get."""


def topics_read(spec: StreamSpec) -> tuple[str, ...]:
    """The topics of its source; none where it is no cluster."""
    return spec.kafka.topics if spec.reads_kafka else ()


def has_settled(storage: ReadableStorage, spec: StreamSpec, sent: Ends) -> bool:
    """Whether every query of the driver has committed all that was sent, and none has a watermark to move.

    Of a stream that reads files it is all that lies in its folder, and `sent` is of no account.
    """
    if isinstance(spec.source, FilesSource):
        return all(_has_taken_all(storage, address, spec.source.path) for address in _checkpoints(storage, spec))
    if spec.tracks_progress_async:
        return _has_come_to(storage, spec, sent)
    return all(_is_settled(_look(storage, address), sent) for address in _checkpoints(storage, spec))


def _has_come_to(storage: ReadableStorage, spec: StreamSpec, sent: Ends) -> bool:
    """By the progress that its drivers tell: the last batch may not be in the log before another one comes."""
    progress = last_progress(storage, control_folder(spec.checkpoint))
    ran = [event for event in progress.events if event.has_run]
    ends = [parse_source_offset(source.end_offset or "") for source in ran[-1].sources] if ran else []
    return _positions(ends) == dict(sent)


def _has_taken_all(storage: ReadableStorage, checkpoint: str, folder: str) -> bool:
    """A file is in the log of its source before it is in a batch, so both are asked."""
    try:
        snapshot = inspect_checkpoint(storage, checkpoint)
    except StorageError:
        return False  # it moved during the look
    facts, logs = snapshot.facts, snapshot.sources.sources
    if facts.has_pending_batch or facts.newest is None or not logs:
        return False
    planned = [offset.log_offset for offset in facts.newest.offsets if isinstance(offset, FileOffset)]
    found = read_input(storage, checkpoint, snapshot, address=folder)
    return planned == [logs[0].log.latest] and found.is_whole and not found.unread


def _checkpoints(storage: ReadableStorage, spec: StreamSpec) -> Iterator[str]:
    """Its own, and that of the query for dead letters, where the job has one: by foreachBatch it needs none."""
    yield spec.checkpoint
    companion = companion_checkpoint(spec.checkpoint, 0)
    if storage.list(companion):
        yield companion


def _look(storage: ReadableStorage, address: str) -> CheckpointFacts | None:
    try:
        return read_checkpoint(storage, address)
    except StorageError:
        return None  # it moved during the look


def _is_settled(facts: CheckpointFacts | None, sent: Ends) -> bool:
    """All input is committed, and the watermark of the next batch is that of the last: none is due without input.

    Spark runs a batch without input when the watermark has moved (MicroBatchExecution, 3.5 to 4.3).
    """
    if facts is None or facts.has_pending_batch or facts.newest is None or facts.commit is None:
        return False
    read = _positions(facts.newest.offsets)
    has_moved = facts.commit.next_watermark_ms != facts.newest.header.watermark_ms
    # Continuous mode leaves the header blank and has no watermark.
    return read == dict(sent) and (facts.newest.header.is_empty or not has_moved)


def _positions(offsets: Iterable[SourceOffset | None]) -> dict[tuple[str, int], int]:
    """By topic and partition, the offset up to which it was read."""
    return {
        (position.topic, position.partition): position.next_offset
        for offset in offsets
        if isinstance(offset, KafkaOffset)
        for position in offset.positions
    }
