"""A backfill under way: what keeps it to its plan, then step after step, each by a query of its own."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from streamops.clock import Clock
from streamops.control.assignment import Assignment
from streamops.control.backfill_places import FilesPlace
from streamops.control.backfill_plan import BackfillPlan, decode_plan, derived_name
from streamops.control.kafka_offsets import Offsets
from streamops.control.layout import backfill_checkpoint, backfill_plan_address
from streamops.errors import BackfillError, ObjectNotFoundError
from streamops.spark.context import StreamContext
from streamops.spark.prepared_batch import PreparedFacts, next_step, prepare_step, read_prepared
from streamops.spark.query import PlannedQuery, RunningQueries
from streamops.spark.report import DriverReport
from streamops.storage import FileKind, ReadableStorage, WritableStorage, join, parent, read_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_STATEFUL = frozenset(
    {
        "Aggregate",
        "Deduplicate",
        "DeduplicateWithinWatermark",
        "Distinct",
        "FlatMapGroupsInPandasWithState",
        "FlatMapGroupsWithState",
        "GlobalLimit",
        "TransformWithState",
        "TransformWithStateInPySpark",
    }
)
"""Operators of a logical plan that keep state when their input is a stream (UnsupportedOperationChecker, 4.2)."""


def refuse_unfit_plan(plan: BackfillPlan, assignment: Assignment) -> None:
    """BackfillError where the plan is not the one of the claim: another backfill's, or one that writes elsewhere."""
    if assignment.stream not in (plan.stream, derived_name(plan.stream, plan.id)):
        raise BackfillError(f"the plan is of stream {plan.stream}, the claim is of {assignment.stream}")
    folder = parent(assignment.checkpoint)
    if folder.rpartition("/")[2] != plan.id or join(folder, "checkpoint") != assignment.checkpoint:
        raise BackfillError(
            f"the plan is of backfill {plan.id}, the claim is on {assignment.checkpoint}, which is none of its own"
            f" ({backfill_checkpoint('…', plan.id)})"
        )
    for what, planned, claimed in (
        ("table", plan.table, assignment.table),
        ("dead letters", plan.dead_letters, assignment.dead_letters),
    ):
        if planned != claimed:
            raise BackfillError(f"backfill {plan.id}: {what} is {planned} by the plan, {claimed} by the claim")


def refuse_unfit_job(plan: BackfillPlan, context: StreamContext, queries: Sequence[PlannedQuery]) -> None:
    """BackfillError where the job would read or write something that the plan does not say, or keeps state unasked."""
    if context.source_reads != 1:
        raise BackfillError(
            f"backfill {plan.id}: the job asked its context for the source {context.source_reads} times; a range can be read"
            " of one source only: call from_kafka, from_delta or from_files once and derive everything from what it gives"
        )
    if plan.is_redirected and not context.has_given_sink:
        raise BackfillError(
            f"backfill {plan.id} is to write to {plan.table}, and the job did not ask its context for the sink: it would"
            " write to its own. Use to_delta or the context's `table` in the job, or plan a backfill to the stream's own"
            " table"
        )
    if not plan.is_redirected and context.has_appended:
        raise BackfillError(
            f"backfill {plan.id} is to write to {plan.table}, the stream's own table, and the job appends to it by to_delta: rows"
            " that are there would be there twice, whatever its guarantee is declared to be. Plan it to another table, or let the"
            " job merge by key"
        )
    if plan.is_approximate:
        return
    for query in queries:
        for operator in stateful_operators(_analysed(query.writer)):
            raise BackfillError(
                f"backfill {plan.id}: query {query.name} keeps state ({operator}), and over a range alone it comes to"
                " other results than the live query did: plan the backfill as approximate if they will do"
            )


def stateful_operators(plan: Any) -> Iterator[str]:
    """Names of the operators of a logical plan (JVM) that keep state."""
    children = [plan.children().apply(index) for index in range(plan.children().size())]
    name = str(plan.nodeName())
    streams = sum(bool(child.isStreaming()) for child in children)
    if (name in _STATEFUL and streams) or (name == "Join" and streams == 2):
        yield name
    for child in children:
        yield from stateful_operators(child)


def _analysed(writer: Any) -> Any:
    return writer._df._jdf.queryExecution().analyzed()


log = logging.getLogger(__name__)

PINNED_CONFS = (
    "spark.sql.dropDuplicates.deterministicKeyOrder.enabled",
    "spark.sql.function.protobufExtensions.enabled",
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan",
    "spark.sql.shuffle.partitions",
    "spark.sql.streaming.aggregation.stateFormatVersion",
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion",
    "spark.sql.streaming.join.stateFormatVersion",
    "spark.sql.streaming.multipleWatermarkPolicy",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution",
    "spark.sql.streaming.stateStore.compression.codec",
    "spark.sql.streaming.stateStore.encodingFormat",
    "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.streaming.stateStore.rocksdb.formatVersion",
    "spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion",
    "spark.sql.streaming.stateStore.rowChecksum.enabled",
    "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled",
    "spark.sql.streaming.statefulOperator.useStrictDistribution",
)
"""What Spark pins for a query in its first entry (OffsetSeqMetadata.relevantSQLConfs, 3.5 to 4.3); a version has some of them."""


class BackfillRun:
    """The queries of one backfill, each where it stands: after a kill one may be a step ahead of another."""

    def __init__(
        self,
        plan: BackfillPlan,
        queries: Sequence[PlannedQuery],
        assignment: Assignment,
        report: DriverReport,
        *,
        storage: WritableStorage,
        clock: Clock,
        conf: Mapping[str, str],
    ) -> None:
        self._plan = plan
        self._queries = queries
        # Whatever the claim's trigger is: every other one would go on behind the prepared entry.
        self._assignment = replace(assignment, trigger_kind="once")
        self._report = report
        self._storage = storage
        self._clock = clock
        self._conf = conf
        self._running: RunningQueries | None = None

    @property
    def is_active(self) -> bool:
        """Whether a query may still run its step."""
        return self._running is not None and self._running.is_active

    def stop(self) -> None:
        """Stop every query that still runs, in the middle of its step if need be."""
        if self._running is not None:
            self._running.stop()

    def run(self, *, is_stop_wanted: Callable[[], bool]) -> bool:
        """Until the plan is done (True), or the driver was asked to stop (False).

        Raises the StreamingQueryException of the first query that fails; BackfillError where a checkpoint does not hold
        what the plan says; StorageError.
        """
        expected: dict[int, int] = {}
        while True:
            standings = self._standings()
            for one in standings:
                if one.step != expected.get(one.query.number, one.step):
                    raise BackfillError(f"step {one.step} of {one.query.name} ended and is not committed")
            due = self._due(standings)
            if not due:
                return True
            if is_stop_wanted():
                return False
            if not self._run_step(due, is_stop_wanted=is_stop_wanted):
                # It may have been the last step, and a stop waits for the end of a step: then nothing is left.
                return not self._due(self._standings())
            expected = {one.query.number: one.step + 1 for one in due}

    def _standings(self) -> "list[_Standing]":
        return [self._standing(query) for query in self._queries]

    def _due(self, standings: "Sequence[_Standing]") -> "list[_Standing]":
        """Those that have a step to do still."""
        return [one for one in standings if one.step < len(self._plan.chunks)]

    def _standing(self, query: PlannedQuery) -> "_Standing":
        keeps_begin = isinstance(self._plan.start, Offsets)
        facts = read_prepared(self._storage, query.checkpoint, keeps_begin=keeps_begin)
        return _Standing(query=query, facts=facts, step=next_step(facts, self._plan))

    def _run_step(self, due: "Sequence[_Standing]", *, is_stop_wanted: Callable[[], bool]) -> bool:
        """The next step of each of these queries; False when the driver was asked to stop meanwhile."""
        for one in due:
            prepare_step(self._storage, one.facts, self._plan, conf=self._conf, now=self._clock.now())
            log.info("query=%s step=%d of %d", one.query.name, one.step + 1, len(self._plan.chunks))
        self._running = RunningQueries.start([one.query for one in due], self._assignment, self._report)
        return self._running.run(is_stop_wanted=is_stop_wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """Where one query stands."""

    query: PlannedQuery
    facts: PreparedFacts
    step: int
    """The first that is not committed."""


def read_plan(storage: ReadableStorage, assignment: Assignment) -> BackfillPlan:
    """The plan that a claim for a backfill is about. StorageError; ControlLogError, BackfillError for one that can't be used."""
    address = backfill_plan_address(assignment.checkpoint)
    try:
        return decode_plan(read_file(storage, FileKind.BACKFILL_PLAN, address), address=address)
    except ObjectNotFoundError as error:
        raise BackfillError(f"the claim is for a backfill, and its plan is gone: {error}") from error


def keep_source_logs_plain(spark: "SparkSession", plan: BackfillPlan) -> None:
    """Keep Spark's file source from looking for a compact file of its log, which nobody writes for prepared steps.

    It demands one at each tenth entry (spark.sql.streaming.fileSource.log.compactInterval, seen with 4.2.0).
    """
    if isinstance(plan.start, FilesPlace):
        spark.conf.set("spark.sql.streaming.fileSource.log.compactInterval", str(_NEVER))


_NEVER = 1_000_000
"""Entries between two compact files: more than a plan has steps."""


def pinned_confs(spark: "SparkSession") -> dict[str, str]:
    """The confs of the session that Spark pins for a query, as far as its version has them."""
    from pyspark.errors import PySparkException

    found = {}
    for name in PINNED_CONFS:
        try:
            found[name] = str(spark.conf.get(name))
        except PySparkException:
            # SQL_CONF_NOT_FOUND: a conf of another version.
            continue
    return found
