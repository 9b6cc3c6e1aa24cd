"""What a driver knows about its queries, shared between the queries' thread and the beat's.

The beat's thread only reads what is noted here, so a call to the JVM that hangs never holds a beat up: it shows as the age
of the last look.
"""

import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from streamops.clock import Clock, SystemClock
from streamops.control.drivers import DriverPhase, QueryBeat
from streamops.spark.query_report import PROGRESS_BYTES, PROGRESS_KEPT, QueryReport, batch_of, seconds_between
from streamops.spark.query_watch import MESSAGE_LENGTH, QueryView
from streamops.storage import FileKind
from streamops.storage.bounds import BOUNDS

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
