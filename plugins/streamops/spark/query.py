"""Starting the queries of a driver and seeing them to their end."""

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from streamops.control.assignment import Assignment
from streamops.control.drivers import DriverPhase
from streamops.control.layout import companion_checkpoint
from streamops.spark.report import DriverReport

if TYPE_CHECKING:
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

log = logging.getLogger(__name__)

_TICK = timedelta(milliseconds=500)
GRACE_SHARE = 0.7
"""Of the declared stop grace, what all queries together may wait for a gap between two batches; then they are stopped in
the middle of one, which runs again at the next start. The rest is for the stop itself, before the supervisor kills."""


class RunningQueries:
    """The stream's query, first, and its companions."""

    def __init__(self, queries: "list[StreamingQuery]", report: DriverReport, *, stop_grace: timedelta) -> None:
        self._queries = queries
        self._report = report
        self._stop_grace = stop_grace
        self._seen = -1

    @classmethod
    def start(
        cls,
        writer: "DataStreamWriter",
        companions: "tuple[DataStreamWriter, ...]",
        assignment: Assignment,
        report: DriverReport,
    ) -> "RunningQueries":
        """Name, checkpoint and trigger are the runner's: so one job serves as live query, catch-up and backfill."""
        running = cls([], report, stop_grace=assignment.stop * GRACE_SHARE)
        try:
            running._start_all(writer, companions, assignment)
        except Exception:
            running.stop()
            raise
        first = running._queries[0]
        report.query_started(str(first.id))
        log.info("stream=%s started, query_id=%s run_id=%s", assignment.stream, first.id, first.runId)
        return running

    @property
    def is_active(self) -> bool:
        """Whether a query may still start a batch."""
        return any(query.isActive for query in self._queries)

    def _start_all(
        self, writer: "DataStreamWriter", companions: "tuple[DataStreamWriter, ...]", assignment: Assignment
    ) -> None:
        self._queries.append(_start(writer, assignment, name=assignment.stream, checkpoint=assignment.checkpoint))
        for number, companion in enumerate(companions):
            checkpoint = companion_checkpoint(assignment.checkpoint, number)
            name = f"{assignment.stream}-{number}"
            self._queries.append(_start(companion, assignment, name=name, checkpoint=checkpoint))

    def run(self, *, is_stop_wanted: Callable[[], bool]) -> bool:
        """Until all have ended by themselves (True), or were stopped on request (False).

        Raises the StreamingQueryException of the first query that fails.
        """
        while not self._have_all_ended():
            self._collect_progress()
            if is_stop_wanted():
                self._stop_between_batches()
                self._collect_progress()
                return False
            time.sleep(_TICK.total_seconds())
        self._collect_progress()
        return True

    def stop(self) -> None:
        """Stop every query that still runs, in the middle of a batch if need be."""
        for query in self._queries:
            if query.isActive:
                query.stop()

    def _have_all_ended(self) -> bool:
        ended = 0
        for query in self._queries:
            if not query.isActive:
                query.awaitTermination()
                ended += 1
        return ended == len(self._queries)

    def _stop_between_batches(self) -> None:
        # `stop()` interrupts a running batch, which then runs again: so a gap is waited for. Not free of a race: a
        # batch may begin between look and stop; then it is run again, as after any crash.
        self._report.enter(DriverPhase.STOPPING)
        deadline = time.monotonic() + self._stop_grace.total_seconds()
        for query in self._queries:
            batch = _last_batch(query)
            while query.isActive and time.monotonic() < deadline:
                if not query.status["isTriggerActive"] or _last_batch(query) != batch:
                    break
                time.sleep(0.05)
            query.stop()

    def _collect_progress(self) -> None:
        last = self._queries[0].lastProgress
        if last is None or last.batchId <= self._seen:
            return
        events: list[Any] = [event for event in self._queries[0].recentProgress if event.batchId > self._seen]
        self._report.add_progress(event.json for event in events)
        # Not `last`: a batch may have ended between the two questions.
        self._seen = max((event.batchId for event in events), default=self._seen)


def _last_batch(query: "StreamingQuery") -> int:
    progress = query.lastProgress
    return -1 if progress is None else int(progress.batchId)


def _start(writer: "DataStreamWriter", assignment: Assignment, *, name: str, checkpoint: str) -> "StreamingQuery":
    writer = writer.queryName(name).option("checkpointLocation", checkpoint)
    match assignment.trigger_kind:
        case "processing_time":
            writer = writer.trigger(processingTime=f"{assignment.trigger_interval.total_seconds():g} seconds")
        case "available_now":
            writer = writer.trigger(availableNow=True)
    return writer.start()
