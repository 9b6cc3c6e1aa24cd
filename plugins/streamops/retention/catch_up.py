"""How long a query needs to have read what waits, by the batches that it ran last. Pure."""

from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from streamops.progress import ProgressEvent, ProgressHistory
from streamops.retention.growth import LONGEST

BATCHES = 20
"""The last ones that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """What a query was seen to get through."""

    records_per_second: float
    is_loaded: bool
    """Whether its batches left something behind, so that it is what it can do. Else it can do at least so much: a small
    batch costs nearly as much time as a large one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """Until nothing waits any more."""

    duration: timedelta | None
    """None where it is not known, and for never."""
    is_never: bool = False
    """Whether more is written than it gets through."""
    reason: str = ""


def throughput_of(
    history: ProgressHistory, *, most: int | None = None, interval: timedelta = timedelta(0)
) -> Throughput | None:
    """The throughput of a driver's queries; None before a batch has read anything.

    `most`: records of one batch, Spark's `maxOffsetsPerTrigger`; `interval`: from one batch to the next, at least.
    """
    batches = [event for event in history.events if event.has_run and event.input_rows and event.duration][-BATCHES:]
    loaded = [event for event in batches if event.has_backlog]
    if not batches:
        return None
    seen = median(map(_speed, loaded)) if loaded else max(map(_speed, batches))
    limit = most / interval.total_seconds() if most and interval else seen
    return Throughput(records_per_second=min(seen, limit), is_loaded=bool(loaded) or limit < seen)


def catch_up(lag: int, throughput: Throughput | None, *, growth: float) -> CatchUp:
    """How long it takes from a start on, while `growth` more records a second are written."""
    if not lag:
        return CatchUp(duration=timedelta(0))
    if throughput is None:
        return CatchUp(duration=None, reason="how fast the query reads is not known: no batch of it was seen")
    reads = throughput.records_per_second
    told = f"it reads {reads:.0f} records a second and {growth:.0f} are written"
    if reads > growth:
        seconds = min(lag / (reads - growth), LONGEST.total_seconds())
        return CatchUp(duration=timedelta(seconds=round(seconds)), reason=told)
    if throughput.is_loaded:
        return CatchUp(duration=None, is_never=True, reason=f"{told}: as it is, it never catches up")
    return CatchUp(duration=None, reason=f"it was only seen to read {reads:.0f} records a second while nothing waited")


def _speed(event: ProgressEvent) -> float:
    return event.input_rows / max(0.001, event.duration.total_seconds() if event.duration else 0.0)
