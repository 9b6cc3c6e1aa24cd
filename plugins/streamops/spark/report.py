"""What a driver knows about its query, shared between the query's thread and the beat's."""

import json
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from streamops.control.drivers import DriverPhase

PROGRESS_KEPT = 50
"""Progress events in the driver's folder; Spark keeps a hundred in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportState:
    """One moment of the report."""

    phase: DriverPhase
    query_id: str
    batch: int


class DriverReport:
    """Thread-safe: written by the query's thread, read by the beat's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._phase = DriverPhase.STARTING
        self._query_id = ""
        self._batch = -1
        self._progress: deque[str] = deque(maxlen=PROGRESS_KEPT)
        self._has_news = False

    def enter(self, phase: DriverPhase) -> None:
        """The driver has come to another phase."""
        with self._lock:
            self._phase = phase

    def query_started(self, query_id: str) -> None:
        """The query runs under this id."""
        with self._lock:
            self._query_id = query_id
            self._phase = DriverPhase.RUNNING

    def add_progress(self, events: Iterable[str]) -> None:
        """Spark's progress events, one line of JSON each, oldest first."""
        with self._lock:
            for event in events:
                self._progress.append(event)
                self._batch = max(self._batch, int(json.loads(event)["batchId"]))
                self._has_news = True

    def state(self) -> ReportState:
        """How things stand."""
        with self._lock:
            return ReportState(phase=self._phase, query_id=self._query_id, batch=self._batch)

    def keep_progress(self) -> None:
        """What was taken could not be written: it is news still."""
        with self._lock:
            self._has_news = True

    def take_progress(self) -> bytes | None:
        """The kept events as lines, or None when none was added since the last call."""
        with self._lock:
            if not self._has_news:
                return None
            self._has_news = False
            return "".join(event + "\n" for event in self._progress).encode()
