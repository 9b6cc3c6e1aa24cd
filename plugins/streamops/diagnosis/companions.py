"""The checkpoint of a stream and those of its companions: the further queries of its driver."""

import itertools
from collections.abc import Callable
from typing import TypeVar

from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot, inspect_checkpoint
from streamops.checkpoint.reader import read_checkpoint
from streamops.control.layout import companion_checkpoint
from streamops.control.records import Position
from streamops.storage import ReadableStorage

T = TypeVar("T")


def read_checkpoints(storage: ReadableStorage, checkpoint: str) -> tuple[CheckpointFacts, tuple[CheckpointFacts, ...]]:
    """The logs of the checkpoint, and of those companions that were ever begun. StorageError."""
    companions = _companions(checkpoint, lambda address: read_checkpoint(storage, address), lambda facts: facts)
    return read_checkpoint(storage, checkpoint), companions


def inspect_checkpoints(storage: ReadableStorage, checkpoint: str) -> tuple[CheckpointSnapshot, ...]:
    """The checkpoint in full, then those companions that were ever begun. StorageError."""
    own = inspect_checkpoint(storage, checkpoint)
    return (
        own,
        *_companions(checkpoint, lambda address: inspect_checkpoint(storage, address), lambda found: found.facts),
    )


def position_of(facts: CheckpointFacts, companions: tuple[CheckpointFacts, ...] = ()) -> Position:
    """The position of a checkpoint and its companions, as records hold it."""
    return Position(
        query_id=facts.query_id or "",
        offset=facts.last_offset,
        commit=facts.last_commit,
        companions=tuple(position_of(companion) for companion in companions),
    )


def _companions(checkpoint: str, read: Callable[[str], T], facts_of: Callable[[T], CheckpointFacts]) -> tuple[T, ...]:
    """Numbered without holes: the first that was never begun ends the row."""
    numbered = (read(companion_checkpoint(checkpoint, number)) for number in itertools.count())
    return tuple(itertools.takewhile(lambda found: _was_begun(facts_of(found)), numbered))


def _was_begun(facts: CheckpointFacts) -> bool:
    return bool(facts.query_id or facts.broken or not facts.is_new)
