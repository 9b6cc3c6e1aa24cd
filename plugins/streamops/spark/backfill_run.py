"""A backfill under way: step after step, each by a query of its own that ends with it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamops.clock import Clock
from streamops.control.assignment import Assignment
from streamops.control.backfill_places import FilesPlace
from streamops.control.backfill_plan import BackfillPlan, decode_plan
from streamops.control.kafka_offsets import Offsets
from streamops.control.layout import backfill_plan_address
from streamops.errors import BackfillError, ObjectNotFoundError
from streamops.spark.prepared_batch import PreparedFacts, next_step, prepare_step, read_prepared
from streamops.spark.query import PlannedQuery, RunningQueries
from streamops.spark.report import DriverReport
from streamops.storage import FileKind, ReadableStorage, WritableStorage, read_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
