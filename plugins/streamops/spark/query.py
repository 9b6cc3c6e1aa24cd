"""Starting the queries of a driver and seeing them to their end."""

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from streamops.control.assignment import Assignment
from streamops.control.drivers import DriverPhase
from streamops.control.layout import companion_checkpoint
from streamops.spark.query_watch import QueryWatch
from streamops.spark.report import UNKNOWN_EXECUTORS, DriverReport

if TYPE_CHECKING:
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

log = logging.getLogger(__name__)

_TICK = timedelta(milliseconds=500)
_LOOKS_BETWEEN_COUNTS = 10
"""Executors are counted every tenth tick only: it takes Spark some milliseconds."""
GRACE_SHARE = 0.7
"""Of the declared stop grace, what all queries together may wait for a gap between two batches; then they are stopped in
the middle of one, which runs again at the next start. The rest is for the stop itself, before the supervisor kills."""


class RunningQueries:
    """The stream's query, first, and its companions."""

    def __init__(
        self,
        queries: "list[StreamingQuery]",
        report: DriverReport,
        *,
        stop_grace: timedelta,
        count_executors: Callable[[], int] = lambda: UNKNOWN_EXECUTORS,
    ) -> None:
        self._watches = [QueryWatch(query) for query in queries]
        self._report = report
        self._stop_grace = stop_grace
        self._count_executors = count_executors
        self._executors = UNKNOWN_EXECUTORS
        self._looks = 0

    @classmethod
    def start(
        cls,
        writer: "DataStreamWriter",
        companions: "tuple[DataStreamWriter, ...]",
        assignment: Assignment,
        report: DriverReport,
    ) -> "RunningQueries":
        """Name, checkpoint and trigger are the runner's: so one job serves as live query, catch-up and backfill."""
        running = cls([], report, stop_grace=assignment.stop * GRACE_SHARE, count_executors=_executors_of_session())
        try:
            running._start_all(writer, companions, assignment)
        except Exception:
            running.stop()
            raise
        first = running._watches[0].query
        report.query_started(str(first.id))
        log.info("stream=%s started, query_id=%s run_id=%s", assignment.stream, first.id, first.runId)
        return running

    @property
    def is_active(self) -> bool:
        """Whether a query may still start a batch."""
        return any(watch.query.isActive for watch in self._watches)

    def _start_all(
        self, writer: "DataStreamWriter", companions: "tuple[DataStreamWriter, ...]", assignment: Assignment
    ) -> None:
        self._watches.append(_start(writer, assignment, name=assignment.stream, checkpoint=assignment.checkpoint))
        for number, companion in enumerate(companions):
            checkpoint = companion_checkpoint(assignment.checkpoint, number)
            name = f"{assignment.stream}-{number}"
            self._watches.append(_start(companion, assignment, name=name, checkpoint=checkpoint))

    def run(self, *, is_stop_wanted: Callable[[], bool]) -> bool:
        """Until all have ended by themselves (True), or were stopped on request (False).

        Raises the StreamingQueryException of the first query that fails.
        """
        while not self._have_all_ended():
            self._look()
            if is_stop_wanted():
                self._stop_between_batches()
                self._look()
                return False
            time.sleep(_TICK.total_seconds())
        self._look()
        return True

    def stop(self) -> None:
        """Stop every query that still runs, in the middle of a batch if need be."""
        for watch in self._watches:
            if watch.query.isActive:
                watch.query.stop()

    def _have_all_ended(self) -> bool:
        ended = 0
        for watch in self._watches:
            if not watch.query.isActive:
                watch.query.awaitTermination()
                ended += 1
        return ended == len(self._watches)

    def _stop_between_batches(self) -> None:
        # `stop()` interrupts a running batch, which then runs again: so a gap is waited for. Not free of a race: a
        # batch may begin between look and stop; then it is run again, as after any crash.
        self._report.enter(DriverPhase.STOPPING)
        deadline = time.monotonic() + self._stop_grace.total_seconds()
        for watch in self._watches:
            mark = watch.last_mark()
            while watch.query.isActive and time.monotonic() < deadline:
                if watch.is_between_batches or watch.last_mark() != mark:
                    break
                time.sleep(0.05)
            watch.query.stop()

    def _look(self) -> None:
        """Tell the report where every query stands, and what is new of each."""
        if self._looks % _LOOKS_BETWEEN_COUNTS == 0:
            self._executors = self._count_or_unknown()
        self._looks += 1
        self._report.saw([watch.look() for watch in self._watches], executors=self._executors)
        for number, watch in enumerate(self._watches):
            self._tell_progress(number, watch)

    def _tell_progress(self, number: int, watch: QueryWatch) -> None:
        try:
            events = watch.new_progress()
        except Exception as error:
            # The query goes on without being measured; a JVM that is gone shows in every other question.
            self._report.miss_progress(error, query=number)
            return
        self._report.add_progress(events, query=number)

    def _count_or_unknown(self) -> int:
        try:
            return self._count_executors()
        except Exception as error:
            # A context that is being stopped: the queries tell why, and that must not be hidden behind this.
            log.warning("executors could not be counted: %s", error)
            return UNKNOWN_EXECUTORS


def _executors_of_session() -> Callable[[], int]:
    """How many executors the driver has; the driver itself is one where it runs tasks.

    Asked of the status store in its own JVM, never of another process (SparkStatusTracker, 4.2).
    """
    from pyspark.sql import SparkSession

    context = SparkSession.active().sparkContext._jsc.sc()
    if context.isLocal():
        return lambda: 1
    # The driver is on the list as well.
    return lambda: max(0, len(context.statusTracker().getExecutorInfos()) - 1)


def _start(writer: "DataStreamWriter", assignment: Assignment, *, name: str, checkpoint: str) -> QueryWatch:
    writer = writer.queryName(name).option("checkpointLocation", checkpoint)
    match assignment.trigger_kind:
        case "processing_time":
            writer = writer.trigger(processingTime=f"{assignment.trigger_interval.total_seconds():g} seconds")
        case "available_now":
            writer = writer.trigger(availableNow=True)
        case "once":
            writer = writer.trigger(once=True)
    return QueryWatch(writer.start())
