"""Facts in the progress that a driver's queries leave: events as Spark wrote them, read without Spark."""

from streamops.progress.event import (
    ProgressEvent,
    ProgressHistory,
    SourceProgress,
    StateProgress,
    parse_event,
    parse_progress,
    read_progress,
)

__all__ = [
    "ProgressEvent",
    "ProgressHistory",
    "SourceProgress",
    "StateProgress",
    "parse_event",
    "parse_progress",
    "read_progress",
]
