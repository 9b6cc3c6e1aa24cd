"""Starting the queries of a driver and seeing them to their end."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from streamops.control.assignment import Assignment
from streamops.control.drivers import DriverPhase
from streamops.control.layout import companion_checkpoint
from streamops.spark.query_guard import runner_starts
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedQuery:
    """A query that the job defined. Name and checkpoint are the runner's, and so is the trigger."""

    number: int
    """0 is the stream's own, the others are its companions."""
    name: str
    checkpoint: str
    writer: "DataStreamWriter"


def planned_queries(
    writer: "DataStreamWriter", companions: "tuple[DataStreamWriter, ...]", assignment: Assignment
) -> tuple[PlannedQuery, ...]:
    """The stream's query, first, and its companions: so one job serves as live query, catch-up and backfill."""
    own = PlannedQuery(number=0, name=assignment.stream, checkpoint=assignment.checkpoint, writer=writer)
    others = (
        PlannedQuery(
            number=index + 1,
            name=f"{assignment.stream}-{index}",
            checkpoint=companion_checkpoint(assignment.checkpoint, index),
            writer=companion,
        )
        for index, companion in enumerate(companions)
    )
    return (own, *others)


class RunningQueries:
    """The queries that a driver runs at one time."""

    def __init__(
        self,
        queries: "list[StreamingQuery]",
        report: DriverReport,
        *,
        stop_grace: timedelta,
        count_executors: Callable[[], int] = lambda: UNKNOWN_EXECUTORS,
    ) -> None:
        self._watches = [QueryWatch(query, number=number) for number, query in enumerate(queries)]
        self._report = report
        self._stop_grace = stop_grace
        self._count_executors = count_executors
        self._executors = UNKNOWN_EXECUTORS
        self._looks = 0

    @classmethod
    def start(cls, queries: Sequence[PlannedQuery], assignment: Assignment, report: DriverReport) -> "RunningQueries":
        """Start these; where one does not start, none is left running."""
        running = cls([], report, stop_grace=assignment.stop * GRACE_SHARE, count_executors=_executors_of_session())
        try:
            for query in queries:
                with runner_starts():
                    started = _start(query, assignment)
                running._watches.append(QueryWatch(started, number=query.number))
        except Exception:
            running.stop()
            raise
        for watch in running._watches:
            log.info("query=%s started, query_id=%s run_id=%s", watch.query.name, watch.query.id, watch.query.runId)
            if watch.number == 0:
                report.query_started(str(watch.query.id))
        # The stream's own is not always among them: its part of a backfill may be done before its companion's.
        report.enter(DriverPhase.RUNNING)
        return running

    @property
    def is_active(self) -> bool:
        """Whether a query may still start a batch."""
        return any(watch.query.isActive for watch in self._watches)

    def run(self, *, is_stop_wanted: Callable[[], bool]) -> bool:
        """Until all have ended by themselves (True), or were stopped on request (False).

        Raises the StreamingQueryException of the first query that fails.
        """
        try:
            while not self._have_all_ended():
                self._look()
                if is_stop_wanted():
                    self._stop_between_batches()
                    return False
                time.sleep(_TICK.total_seconds())
            return True
        finally:
            # Also of a query that failed: whose batch the checkpoint ends with is told by its last progress.
            self._look_a_last_time()

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

    def _look_a_last_time(self) -> None:
        """Nothing depends on it but the report: a JVM that is gone must not hide why the query ended."""
        try:
            self._look()
        except Exception as error:
            log.warning("no last look at the queries: %s", error)
            return
        if not self.is_active:
            self._report.queries_ended()

    def _look(self) -> None:
        """Tell the report where every query stands, and what is new of each."""
        if self._looks % _LOOKS_BETWEEN_COUNTS == 0:
            self._executors = self._count_or_unknown()
        self._looks += 1
        self._report.saw([watch.look() for watch in self._watches], executors=self._executors)
        for watch in self._watches:
            self._tell_progress(watch)

    def _tell_progress(self, watch: QueryWatch) -> None:
        try:
            events = watch.new_progress()
        except Exception as error:
            # The query goes on without being measured; a JVM that is gone shows in every other question.
            self._report.miss_progress(error, query=watch.number)
            return
        self._report.add_progress(events, query=watch.number)

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


_WITHOUT_BATCHES = ("continuous", "real_time")
COMPANION_INTERVAL = "10 seconds"
"""From batch to batch of a companion whose stream's own query is none of batches. It needs a core of its own: the tasks of
such a query never end."""


def _start(query: PlannedQuery, assignment: Assignment) -> "StreamingQuery":
    writer = query.writer.queryName(query.name).option("checkpointLocation", query.checkpoint)
    interval = f"{assignment.trigger_interval.total_seconds():g} seconds"
    if query.number and assignment.trigger_kind in _WITHOUT_BATCHES:
        return writer.trigger(processingTime=COMPANION_INTERVAL).start()
    match assignment.trigger_kind:
        case "processing_time":
            writer = writer.trigger(processingTime=interval)
        case "continuous":
            writer = writer.trigger(continuous=interval)
        case "real_time":
            # Update is the only mode it takes, and without state, which it can't have, that is the same as append (4.2.0).
            writer = writer.outputMode("update")
            writer = writer.trigger(realTime=interval)  # type: ignore[call-overload]  # PySpark 4.2.0 has it, and no overload
        case "available_now":
            writer = writer.trigger(availableNow=True)
        case "once":
            writer = writer.trigger(once=True)
    return writer.start()
