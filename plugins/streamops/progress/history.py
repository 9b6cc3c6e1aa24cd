"""The recent progress of a driver's queries: its `progress.jsonl`, which the driver replaces and keeps short."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from streamops.errors import ObjectNotFoundError, ObjectUnreadableError
from streamops.progress.event import ProgressEvent, StateProgress, parse_event
from streamops.storage import FileKind, ReadableStorage, read_file

LINES_READ = 500
"""Of the end of a file. A driver keeps 60 events for each of its queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressHistory:
    """Events of one driver's queries, oldest first within a query."""

    events: tuple[ProgressEvent, ...] = ()
    broken: int = 0
    """Lines that are no event."""
    is_readable: bool = True
    """False for a file that is too large or closed: something is known to be there, not what it says."""

    def of_query(self, query_id: str) -> "ProgressHistory":
        """The part of one query."""
        events = tuple(event for event in self.events if event.query_id == query_id)
        return ProgressHistory(events=events, broken=self.broken, is_readable=self.is_readable)

    @property
    def newest(self) -> ProgressEvent | None:
        return self.events[-1] if self.events else None

    @property
    def newest_state(self) -> tuple[StateProgress, ...]:
        """The operators with state after the last batch; none for a query without state, and before its first batch."""
        batches = [event for event in self.events if event.has_run]
        return batches[-1].state if batches else ()

    def batch_durations(self, *, last: int) -> tuple[timedelta, ...]:
        """How long the last batches took, their planning included; idle triggers are none."""
        durations = [event.duration for event in self.events if event.has_run and event.duration is not None]
        return tuple(durations[-last:])

    def planning_durations(self, *, last: int) -> tuple[timedelta, ...]:
        """How long the last triggers planned; idle ones plan like any other."""
        return tuple(event.planning for event in self.events if event.durations)[-last:]


def parse_progress(content: bytes) -> ProgressHistory:
    """The events in the last lines of a progress file; a line that is none is counted."""
    lines = deque((line for line in content.decode(errors="replace").split("\n") if line.strip()), maxlen=LINES_READ)
    parsed = tuple(_parse_each(lines))
    events = tuple(event for event in parsed if event)
    return ProgressHistory(events=events, broken=len(parsed) - len(events))


def read_progress(storage: ReadableStorage, address: str) -> ProgressHistory:
    """The events in a driver's progress file, none before its first. Raises StorageError when it can't be asked."""
    try:
        return parse_progress(read_file(storage, FileKind.PROGRESS, address))
    except ObjectNotFoundError:
        return ProgressHistory()
    except ObjectUnreadableError:
        return ProgressHistory(is_readable=False)


def _parse_each(lines: deque[str]) -> Iterator[ProgressEvent | None]:
    for line in lines:
        try:
            yield parse_event(line)
        except ValueError:
            yield None
