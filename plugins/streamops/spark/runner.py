"""The driver's main program: everything operational, so that a job has none of it.

Order matters. The first beat is written before the log is read, and the query starts only when the newest claim was
found to be ours and the watchdog counts from the start of that first beat.
"""

import argparse
import importlib.util
import logging
import sys
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamops.clock import Clock, SystemClock
from streamops.control.assignment import Assignment, assignment_of
from streamops.control.drivers import DriverPhase
from streamops.control.follow import LeaseState
from streamops.control.records import ClaimMode, Outcome
from streamops.errors import JobChangedError, StorageError, StreamOpsError
from streamops.spark.backfill_run import (
    BackfillRun,
    keep_source_logs_plain,
    pinned_confs,
    read_plan,
    refuse_unfit_job,
    refuse_unfit_plan,
)
from streamops.spark.context import StreamContext
from streamops.spark.driver_process import CappedLog, StopSignal, go_round_faults, refuse_changed_job
from streamops.spark.failure import exit_record, failure_text
from streamops.spark.hadoop import HadoopStorage
from streamops.spark.lease import BeatThread, DriverIdentity, DriverProcesses, Lease, Watchdog
from streamops.spark.query import RunningQueries, planned_queries
from streamops.spark.query_guard import QueryGuard
from streamops.spark.report import DriverReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

EXIT_CODES = {Outcome.FINISHED: 0, Outcome.STOPPED: 0, Outcome.FAILED: 1, Outcome.LEASE_LOST: 3}
_JVM_GRACE_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEnd:
    """How the run came out."""

    outcome: Outcome
    text: str = ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one driver to its end; the exit code tells the outcome, the exit record tells more."""
    arguments = _arguments(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    stop_signal = StopSignal()
    stop_signal.listen()
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    go_round_faults(spark)
    stop_signal.listen_in_jvm(spark)
    ending = _Driver(spark, arguments, stop_signal, clock=SystemClock()).run()
    log.info("driver of epoch=%d ends: %s %s", arguments.epoch, ending.outcome, ending.text.partition("\n")[0])
    _stop_session(spark)
    return EXIT_CODES[ending.outcome]


class _Driver:
    """One run under one claim."""

    def __init__(
        self, spark: "SparkSession", arguments: argparse.Namespace, stop_signal: StopSignal, *, clock: Clock
    ) -> None:
        self._spark = spark
        self._clock = clock
        self._stop_signal = stop_signal
        self._processes = DriverProcesses(int(spark._jvm.java.lang.ProcessHandle.current().pid()))  # type: ignore[union-attr]
        self._identity = DriverIdentity(
            control=arguments.control,
            record=arguments.record,
            epoch=arguments.epoch,
            token=arguments.token,
            instance=uuid.uuid4().hex[:16],
            application_id=str(spark.sparkContext.applicationId),
        )
        self._report = DriverReport(clock=clock)
        self._lease = Lease(HadoopStorage(spark), self._identity, self._report, clock=clock)
        self._log_file = CappedLog(arguments.log)
        self._queries: RunningQueries | BackfillRun | None = None

    def run(self) -> QueryEnd:
        started = self._clock.monotonic()
        try:
            standing = self._lease.first_beat()
            assignment = assignment_of(self._lease.watch.claim()) if standing.holds_claim else None
        except StreamOpsError as error:
            return self._end(QueryEnd(outcome=Outcome.FAILED, text=f"the claim could not be checked: {error}"))
        if assignment is None:
            return self._end(QueryEnd(outcome=Outcome.LEASE_LOST, text=standing.lost))
        if standing.stop:
            return self._end(QueryEnd(outcome=Outcome.STOPPED, text=f"asked before the query started: {standing.stop}"))
        watchdog = Watchdog(clock=self._clock, halt=assignment.halt, kill=self._processes.kill)
        watchdog.acknowledge(started)
        watchdog.start()
        beats = BeatThread(
            self._lease,
            watchdog,
            self._log_file,
            clock=self._clock,
            interval=assignment.beat,
            on_lost=self._halt,
        )
        beats.start()
        with QueryGuard(self._spark, assignment.job) as guard:
            ending = self._run_queries(assignment, beats, guard)
            beats.end()
            self._report.enter(DriverPhase.ENDED)
            ending = self._end(ending)
        if self._queries is None or not self._queries.is_active:
            # Otherwise it stays on guard, and without beats it ends what does not stop.
            watchdog.stand_down()
        return ending

    def _run_queries(self, assignment: Assignment, beats: BeatThread, guard: QueryGuard) -> QueryEnd:
        def is_stop_wanted() -> bool:
            # Asked twice a second: a thread of the job may start a query at any time.
            guard.refuse_strangers()
            return bool(self._why_stop(beats))

        try:
            with guard.watching():
                make = self._defined(assignment)
            if not self._why_stop(beats):
                self._queries = make()
                if self._queries.run(is_stop_wanted=is_stop_wanted):
                    # A query that was started on the stream's own checkpoint has stopped the stream's without an error.
                    guard.refuse_strangers()
                    return QueryEnd(outcome=Outcome.FINISHED)
            return QueryEnd(outcome=Outcome.STOPPED, text=self._why_stop(beats))
        except JobChangedError as error:
            return QueryEnd(outcome=Outcome.LEASE_LOST, text=str(error))
        except Exception as error:
            ending = self._failed(error)
            log.exception("stream=%s failed", assignment.stream)
            if self._queries:
                self._report.enter(DriverPhase.STOPPING)
                self._stop_rest(self._queries)
            return ending

    def _defined(self, assignment: Assignment) -> "Callable[[], RunningQueries | BackfillRun]":
        """Let the job define its queries; what is returned makes them run."""
        if assignment.mode is ClaimMode.BACKFILL:
            return self._defined_backfill(assignment)
        context = StreamContext(assignment)
        writer = load_claimed(assignment)(self._spark, context)
        queries = planned_queries(writer, context.companions, assignment)
        return lambda: RunningQueries.start(queries, assignment, self._report)

    def _defined_backfill(self, assignment: Assignment) -> "Callable[[], BackfillRun]":
        storage = HadoopStorage(self._spark)
        plan = read_plan(storage, assignment)
        refuse_unfit_plan(plan, assignment)
        context = StreamContext(assignment, plan)
        writer = load_claimed(assignment)(self._spark, context)
        queries = planned_queries(writer, context.companions, assignment)
        refuse_unfit_job(plan, context, queries)
        keep_source_logs_plain(self._spark, plan)
        conf = pinned_confs(self._spark)
        return lambda: BackfillRun(
            plan, queries, assignment, self._report, storage=storage, clock=self._clock, conf=conf
        )

    def _why_stop(self, beats: BeatThread) -> str:
        """Who wants the driver to stop between two batches; empty while nobody does."""
        return beats.standing.stop or ("SIGTERM" if self._stop_signal.has_come else "")

    def _failed(self, error: Exception) -> QueryEnd:
        """A batch that a stop had to interrupt fails, and that failure says nothing about the stream."""
        text = failure_text(error)
        if self._report.state().phase is DriverPhase.STOPPING:
            return QueryEnd(outcome=Outcome.STOPPED, text=f"stopped in the middle of a batch, which runs again: {text}")
        return QueryEnd(outcome=Outcome.FAILED, text=text)

    def _stop_rest(self, queries: "RunningQueries | BackfillRun") -> None:
        try:
            queries.stop()
        except Exception:
            log.exception("a query did not stop after another had failed")

    def _halt(self, standing: LeaseState) -> None:
        """A graceful stop can hang, and a batch may start meanwhile: a lost claim ends in SIGKILL."""
        self._end(QueryEnd(outcome=Outcome.LEASE_LOST, text=standing.lost))
        log.error("claim lost, halting: %s", standing.lost)
        logging.shutdown()
        self._processes.kill()

    def _end(self, ending: QueryEnd) -> QueryEnd:
        state = self._report.state()
        record = exit_record(
            epoch=self._identity.epoch,
            instance=self._identity.instance,
            outcome=ending.outcome,
            at=self._clock.now().isoformat(),
            text=ending.text,
            batch=state.batch,
            input_rows=state.queries[0].input_rows if state.queries else 0,
            is_batch_final=state.is_batch_final,
        )
        try:
            self._lease.leave(record)
        except StorageError as error:
            log.error("exit record not written: %s", error)
        return ending


def load_claimed(assignment: Assignment) -> Callable[["SparkSession", StreamContext], Any]:
    """The function `define` of the job as it was claimed. JobChangedError where the file is another one by now.

    Asked before and after: a file that was replaced while Python read it is found out as well.
    """
    refuse_changed_job(assignment)
    define = load_define(assignment.job)
    refuse_changed_job(assignment)
    return define


def load_define(job: str) -> Callable[["SparkSession", StreamContext], Any]:
    """The function `define` of the file of a job; ImportError where it has none."""
    from pyspark import cloudpickle

    spec = importlib.util.spec_from_file_location("streamops_job", job)
    if spec is None or spec.loader is None:
        raise ImportError(f"{job} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    # Python workers have no module of this name: the job's functions travel to them whole.
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        raise ImportError(f"{job} ends its program when it is imported: a job only defines") from error
    define: Callable[[SparkSession, StreamContext], Any] | None = getattr(module, "define", None)
    if define is None:
        raise ImportError(f"{job} has no function define(spark, stream)")
    return define


def _stop_session(spark: "SparkSession") -> None:
    """Bounded: a session that does not stop must not keep an ended driver in the process list."""
    stopper = threading.Thread(target=spark.stop, daemon=True)
    stopper.start()
    stopper.join(_JVM_GRACE_SECONDS)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="streamops-driver", description="Run one stream under its claim.")
    parser.add_argument("--control", required=True, help="address of the control folder")
    parser.add_argument("--record", required=True, type=int, help="number of the claim's record in the control log")
    parser.add_argument("--epoch", required=True, type=int, help="epoch of the claim")
    parser.add_argument("--token", required=True, help="token of the claim")
    parser.add_argument("--log", default="", help="path of the log to keep below its cap")
    return parser.parse_args(argv)
