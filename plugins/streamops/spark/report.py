"""What a driver knows about its queries, shared between the queries' thread and the beat's.

The beat's thread only reads what is noted here, so a call to the JVM that hangs never holds a beat up: it shows as the age
of the last look.
"""

import itertools
import json
import logging
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from streamops.clock import Clock, SystemClock
from streamops.control.drivers import DriverPhase, QueryBeat
from streamops.progress.event import has_run
from streamops.spark.query_watch import MESSAGE_LENGTH, QueryView
from streamops.storage import FileKind
from streamops.storage.bounds import BOUNDS

PROGRESS_KEPT = 50
"""Progress events of batches in the driver's folder; Spark keeps a hundred in memory."""
IDLE_KEPT = 10
"""Idle events beside them. An idle query makes one every ten seconds: they must not push the batches out, and more of
them in a row are not worth a write each."""
PROGRESS_BYTES = 512 * 1024
"""Bound of a query's progress: an event of a source with thousands of partitions is as long as a book."""


class QueryReport:
    """Not thread-safe: the report around it is."""

    def __init__(self, *, now: timedelta) -> None:
        self.batch = -1
        """The newest batch that has run, or epoch that is committed."""
        self._run = self._input_rows = 0
        self.has_news = False
        """Whether there is progress that nobody has taken."""
        self._sight: QueryView | None = None
        self._step_since = self._progress_since = now
        self._numbers = itertools.count()
        self._batches: deque[tuple[int, str]] = deque(maxlen=PROGRESS_KEPT)
        self._idle: deque[tuple[int, str]] = deque(maxlen=IDLE_KEPT)
        self._idle_in_a_row = 0
        self._has_missed = False
        self._first_epoch: int | None = None

    def see(self, sight: QueryView, *, now: timedelta) -> None:
        """Note where the query stands; the same as before means that it has stood there since."""
        if sight != self._sight:
            self._sight, self._step_since = sight, now
        if sight.epoch is not None:
            self._note_epoch(sight.epoch)

    def add(self, event: str, batch: int | None, *, now: timedelta) -> None:
        """Note one progress event and the batch that it tells of; None for an idle one's."""
        self.renew(now=now)
        if batch is not None:
            self.batch = max(self.batch, batch)
            self._run += 1
            self._input_rows += input_rows_of(event)
            self._batches.append((next(self._numbers), event))
            self._idle_in_a_row = 0
        else:
            self._idle.append((next(self._numbers), event))
            self._idle_in_a_row += 1
        self.has_news = self.has_news or self._idle_in_a_row <= IDLE_KEPT

    def _note_epoch(self, epoch: int) -> None:
        """Of a continuous query, which tells no progress: what lies between two looks was committed in this run."""
        if self._first_epoch is None:
            self._first_epoch = epoch
        done = epoch - 1
        if done >= self._first_epoch and done > self.batch:
            self._run += done - max(self.batch, self._first_epoch - 1)
            self.batch = done

    def renew(self, *, now: timedelta) -> None:
        """Any progress event is a sign of life, whatever it says."""
        self._step_since = self._progress_since = now

    def miss(self) -> bool:
        """Note that progress could not be read; True the first time."""
        is_first, self._has_missed = not self._has_missed, True
        return is_first

    @property
    def is_exact(self) -> bool:
        """Whether `batch` rests on progress events alone, and all of them could be read."""
        return not self._has_missed and self._first_epoch is None

    def beat(self, *, now: timedelta) -> QueryBeat | None:
        """What a beat says of the query; None before it was seen."""
        if self._sight is None:
            return None
        return QueryBeat(
            query_id=self._sight.query_id,
            name=self._sight.name,
            step=self._sight.step,
            step_seconds=seconds_between(self._step_since, now),
            progress_seconds=seconds_between(self._progress_since, now),
            batch=self.batch,
            batches=self._run,
            input_rows=self._input_rows,
            is_exact=self.is_exact,
            message=self._sight.message,
        )

    def lines(self, most: int = PROGRESS_BYTES) -> list[str]:
        """The kept events, oldest first, as many of the newest as fit into so many bytes, their line ends included."""
        kept, size = deque[str](), 0
        for _, event in sorted((*self._batches, *self._idle), reverse=True):
            size += len(event.encode()) + 1
            if size > most:
                break
            kept.appendleft(event)
        return list(kept)


def batch_of(event: str) -> int | None:
    """The number of the batch that an event tells of, None for an idle trigger's. Raises anything for an odd event."""
    fields = json.loads(event)
    event.encode()  # What can't be written to the driver's folder must not wait there for the beat.
    return int(fields["batchId"]) if has_run(fields.get("durationMs", {"addBatch": 0})) else None


def input_rows_of(event: str) -> int:
    """Rows that the batch of an event read; 0 where it does not tell."""
    rows = json.loads(event).get("numInputRows", 0)
    return rows if isinstance(rows, int) else 0


def seconds_between(begin: timedelta, end: timedelta) -> float:
    """A duration as beats carry it."""
    return round((end - begin).total_seconds(), 1)


__all__ = ["PROGRESS_KEPT", "UNKNOWN_EXECUTORS", "DriverReport", "ReportState"]

log = logging.getLogger(__name__)

UNKNOWN_EXECUTORS = -1

QUERIES_TOLD = 100
"""Queries in a beat, the stream's own first: a job may start as many as it likes, and a beat has a bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportState:
    """One moment of the report."""

    phase: DriverPhase
    query_id: str
    batch: int
    phase_seconds: float = 0.0
    report_age_seconds: float = 0.0
    executors: int = UNKNOWN_EXECUTORS
    queries: tuple[QueryBeat, ...] = ()
    is_batch_final: bool = False
    """Whether the own query has ended and `batch` is the newest that it has run."""


class DriverReport:
    """Thread-safe: written by the queries' thread, read by the beat's."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._phase = DriverPhase.STARTING
        self._phase_since = self._looked_at = self._clock.monotonic()
        self._query_id = ""
        self._executors = UNKNOWN_EXECUTORS
        self._queries: list[QueryReport] = []
        self._has_ended = False

    def enter(self, phase: DriverPhase) -> None:
        """The driver has come to another phase."""
        with self._lock:
            self._enter(phase)

    def query_started(self, query_id: str) -> None:
        """The stream's own query runs under this id."""
        with self._lock:
            self._query_id = query_id
            self._has_ended = False
            self._looked_at = self._clock.monotonic()
            self._enter(DriverPhase.RUNNING)

    def saw(self, sights: Sequence[QueryView], *, executors: int = UNKNOWN_EXECUTORS) -> None:
        """One look at all queries that there are now."""
        with self._lock:
            now = self._looked_at = self._clock.monotonic()
            self._executors = executors
            for sight in sights:
                self._query(sight.number).see(sight, now=now)

    def queries_ended(self) -> None:
        """All queries have ended, and their last progress has been noted."""
        with self._lock:
            self._has_ended = True

    def add_progress(self, events: Iterable[str], *, query: int = 0) -> None:
        """Spark's progress events of one query, one line of JSON each, oldest first; 0 is the stream's own query.

        One that can't be read is left out.
        """
        for event in events:
            self._add(event, query)

    def miss_progress(self, trouble: Exception, *, query: int = 0) -> None:
        """Progress of a query can't be read: no reason to end it, and told once in the driver's log."""
        with self._lock:
            is_first = self._query(query).miss()
        if is_first:
            log.warning("progress unreadable: query=%d %s", query, repr(trouble)[:MESSAGE_LENGTH])

    def state(self) -> ReportState:
        """How things stand."""
        with self._lock:
            now = self._clock.monotonic()
            return ReportState(
                phase=self._phase,
                query_id=self._query_id,
                batch=self._queries[0].batch if self._queries else -1,
                phase_seconds=seconds_between(self._phase_since, now),
                report_age_seconds=seconds_between(self._looked_at, now),
                executors=self._executors,
                queries=tuple(beat for query in self._queries[:QUERIES_TOLD] if (beat := query.beat(now=now))),
                is_batch_final=self._has_ended and bool(self._queries) and self._queries[0].is_exact,
            )

    def keep_progress(self) -> None:
        """What was taken could not be written: it is news still."""
        with self._lock:
            for query in self._queries:
                query.has_news = bool(query.lines())

    def take_progress(self) -> bytes | None:
        """The kept events as lines, query after query, or None when there is no news since the last call."""
        with self._lock:
            if not any(query.has_news for query in self._queries):
                return None
            for query in self._queries:
                query.has_news = False
            share = min(PROGRESS_BYTES, BOUNDS[FileKind.PROGRESS].written // len(self._queries))
            return "".join(line + "\n" for query in self._queries for line in query.lines(share)).encode()

    def _add(self, event: str, query: int) -> None:
        try:
            batch = batch_of(event)
        except Exception as error:
            with self._lock:
                self._query(query).renew(now=self._clock.monotonic())
            self.miss_progress(error, query=query)
            return
        with self._lock:
            self._query(query).add(event, batch, now=self._clock.monotonic())

    def _enter(self, phase: DriverPhase) -> None:
        if phase is not self._phase:
            self._phase, self._phase_since = phase, self._clock.monotonic()

    def _query(self, number: int) -> QueryReport:
        while len(self._queries) <= number:
            self._queries.append(QueryReport(now=self._clock.monotonic()))
        return self._queries[number]
