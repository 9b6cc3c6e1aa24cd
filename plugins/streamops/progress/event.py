"""One progress event of a streaming query, and the recent ones that a driver keeps in its `progress.jsonl`.

Spark class: StreamingQueryProgress, as 4.0 to 4.2 write its JSON. Only `batchId` and `timestamp` must be there: a source
leaves out what it does not know, and a version adds what we do not.
"""

import json
import math
from collections import deque
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from streamops.errors import ObjectNotFoundError, ObjectUnreadableError
from streamops.storage import FileKind, ReadableStorage, read_file

_BROKEN = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What reading of arbitrary JSON may raise."""

_SHOWN = 200
"""Characters of such an error: it may repeat the whole event."""

_LONGEST = timedelta(days=365)

_LARGEST = 2**63 - 1
"""Spark counts in longs; what is larger no later arithmetic should meet."""

_LAG = "maxOffsetsBehindLatest"
"""Kafka's source only (4.0 to 4.2): records in the partition that lies furthest behind the newest offset, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProgress:
    """One source in a trigger. Offsets are the source's own JSON, opaque here; None where it had none."""

    description: str
    start_offset: str | None = None
    end_offset: str | None = None
    latest_offset: str | None = None
    input_rows: int = 0
    metrics: tuple[tuple[str, str], ...] = ()

    @property
    def has_backlog(self) -> bool | None:
        """Whether the trigger left something to read behind; None where the source does not say."""
        lag = _number(dict(self.metrics).get(_LAG))
        if lag is not None:
            return lag > 0
        if self.latest_offset is None or self.end_offset is None:
            return None
        # Unequal is no proof: a source may write one position in two ways.
        return False if self.latest_offset == self.end_offset else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateProgress:
    """The state of one operator after a trigger."""

    operator: str
    rows: int
    updated_rows: int = 0
    memory_bytes: int = 0
    late_rows: int = 0
    """Rows dropped because they came behind the watermark."""
    removed_rows: int = 0
    commit_time: timedelta = timedelta(0)
    """Of all partitions together: tasks that ran side by side are added up (`commitTimeMs`, a sum over tasks, 4.2.0)."""
    partitions: int = 0
    """Of the state; 0 where the event does not tell."""
    metrics: tuple[tuple[str, int], ...] = ()
    """What the kind of state store tells besides, by the store's own names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressEvent:
    """One trigger."""

    query_id: str
    run_id: str
    name: str
    batch: int
    """The batch that ran; of an idle trigger the number that the next batch will have."""
    started_at: datetime
    """Begin of the trigger, by the driver's wall clock."""
    input_rows: int = 0
    durations: tuple[tuple[str, timedelta], ...] = ()
    """Spark's steps and how long each took; `triggerExecution` is the whole."""
    sources: tuple[SourceProgress, ...] = ()
    state: tuple[StateProgress, ...] = ()
    watermark: datetime | None = None

    @property
    def has_run(self) -> bool:
        """Whether a batch ran."""
        return has_run(dict(self.durations))

    @property
    def duration(self) -> timedelta | None:
        """How long the trigger took."""
        return dict(self.durations).get("triggerExecution")

    @property
    def planning(self) -> timedelta:
        """How long it took to learn what there is to read and to write the plan down."""
        taken = dict(self.durations)
        return taken.get("latestOffset", timedelta(0)) + taken.get("walCommit", timedelta(0))

    @property
    def has_backlog(self) -> bool | None:
        """Whether any source had more to read; None where none says yes and not all say no."""
        answers = [source.has_backlog for source in self.sources]
        if True in answers:
            return True
        return None if None in answers or not answers else False


def has_run(durations: Container[str]) -> bool:
    """Whether a trigger with these steps ran a batch: an idle one plans and adds nothing (seen on 4.2)."""
    return "addBatch" in durations


def parse_event(line: str) -> ProgressEvent:
    """The event in a line of JSON; ValueError when it is none."""
    try:
        return _event(json.loads(line))
    except _BROKEN as error:
        raise ValueError(f"not a progress event: {error!r:.{_SHOWN}}") from error


def _event(fields: Mapping[str, Any]) -> ProgressEvent:
    return ProgressEvent(
        query_id=str(fields.get("id") or ""),
        run_id=str(fields.get("runId") or ""),
        name=str(fields.get("name") or ""),
        batch=_whole(fields["batchId"]),
        started_at=_moment(fields["timestamp"]),
        input_rows=_whole(fields.get("numInputRows") or 0),
        durations=_durations(fields.get("durationMs") or {}),
        sources=tuple(_source(source) for source in fields.get("sources") or ()),
        state=tuple(_state(operator) for operator in fields.get("stateOperators") or ()),
        watermark=_watermark(fields.get("eventTime") or {}),
    )


def _source(fields: Mapping[str, Any]) -> SourceProgress:
    return SourceProgress(
        description=str(fields.get("description") or ""),
        start_offset=_offset(fields.get("startOffset")),
        end_offset=_offset(fields.get("endOffset")),
        latest_offset=_offset(fields.get("latestOffset")),
        input_rows=_whole(fields.get("numInputRows") or 0),
        metrics=tuple((str(key), str(value)) for key, value in (fields.get("metrics") or {}).items()),
    )


def _state(fields: Mapping[str, Any]) -> StateProgress:
    return StateProgress(
        operator=str(fields.get("operatorName") or ""),
        rows=_whole(fields.get("numRowsTotal") or 0),
        updated_rows=_whole(fields.get("numRowsUpdated") or 0),
        memory_bytes=_whole(fields.get("memoryUsedBytes") or 0),
        late_rows=_whole(fields.get("numRowsDroppedByWatermark") or 0),
        removed_rows=_whole(fields.get("numRowsRemoved") or 0),
        commit_time=_duration(_whole(fields.get("commitTimeMs") or 0)),
        partitions=_whole(fields.get("numShufflePartitions") or 0),
        metrics=tuple(_metrics(fields.get("customMetrics") or {})),
    )


def _metrics(fields: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Those that are whole numbers: what another store tells in another way is not worth the event."""
    return ((str(name), value) for name, value in fields.items() if type(value) is int and abs(value) <= _LARGEST)


def _durations(fields: Mapping[str, Any]) -> tuple[tuple[str, timedelta], ...]:
    return tuple((str(step), _duration(_whole(taken))) for step, taken in fields.items())


def _duration(milliseconds: int) -> timedelta:
    """The wall clock measures it: set back within a trigger it leaves a negative one, set forth a senseless one."""
    duration = timedelta(milliseconds=max(0, milliseconds))
    if duration > _LONGEST:
        raise ValueError(f"a step of {duration.days} days")
    return duration


def _watermark(fields: Mapping[str, Any]) -> datetime | None:
    """None before the first: Spark writes the epoch then."""
    text = fields.get("watermark")
    moment = _moment(text) if text else None
    return moment if moment and moment > datetime.fromtimestamp(0, UTC) else None


def _offset(value: Any) -> str | None:
    """Sorted, so that equal positions have equal texts."""
    return None if value is None else json.dumps(value, sort_keys=True)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    number = int(value)
    if abs(number) > _LARGEST:
        raise ValueError("a number beyond Spark's own")
    return number


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return None if math.isnan(number) else number


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
