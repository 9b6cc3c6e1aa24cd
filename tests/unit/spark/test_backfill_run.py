"""A backfill step after step, with queries that run as Spark does: an entry that is not committed, and then they end."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from streamops.control.assignment import KafkaInput
from streamops.control.backfill_plan import encode_plan
from streamops.control.layout import backfill_plan_address
from streamops.control.records import ClaimMode
from streamops.errors import BackfillError, CorruptRecordError
from streamops.spark import query
from streamops.spark.backfill_run import BackfillRun, read_plan, refuse_unfit_job, refuse_unfit_plan
from streamops.spark.backfill_source import backfill_options
from streamops.spark.context import StreamContext
from streamops.spark.query import PlannedQuery
from streamops.spark.report import DriverReport
from streamops.storage.memory import MemoryStorage
from support.assignments import an_assignment
from support.backfills import a_plan, offsets
from support.clock import FakeClock

CHECKPOINT = "file:///c/orders.backfills/march/checkpoint"
COMPANION = f"{CHECKPOINT}.companion-0"
PLAN = a_plan(chunks=(offsets(7, 10), offsets(8, 11), offsets(9, 12)))


@dataclass
class FakeSpark:
    """Writers and what their queries do to their checkpoints."""

    storage: MemoryStorage = field(default_factory=MemoryStorage)
    ran: list[tuple[str, int, str]] = field(default_factory=list)
    """Name of the query, batch, and how many entries lay there then."""
    triggers: set[str] = field(default_factory=set)
    breaks_at: tuple[str, int] | None = None
    forgets_commit: bool = False
    runs_until_stopped: tuple[str, int] | None = None
    """Query and batch."""
    is_cut_off: bool = False
    """Whether the stop comes before the commit of that batch."""

    def writer(self) -> "FakeWriter":
        return FakeWriter(self)

    def run(self, name: str, checkpoint: str) -> Exception | None:
        planned, committed = (self._newest(checkpoint, log) for log in ("offsets", "commits"))
        assert planned == committed + 1, "a query that finds nothing in flight would read on to the newest record"
        self.ran.append((name, planned))
        if self.breaks_at == (name, planned):
            return RuntimeError(f"step {planned} of {name} broke")
        is_cut_off = self.is_cut_off and self.runs_until_stopped == (name, planned)
        if not self.forgets_commit and not is_cut_off:
            self.storage.write(f"{checkpoint}/commits/{planned}", b'v1\n{"nextBatchWatermarkMs":0}')
        return None

    def _newest(self, checkpoint: str, log: str) -> int:
        return max((int(name) for name in self.storage.list(f"{checkpoint}/{log}")), default=-1)


@dataclass
class FakeWriter:
    spark: FakeSpark
    name: str = ""
    checkpoint: str = ""

    def queryName(self, name: str) -> "FakeWriter":  # noqa: N802 # Spark's name
        self.name = name
        return self

    def option(self, key: str, value: str) -> "FakeWriter":
        assert key == "checkpointLocation"
        self.checkpoint = value
        return self

    def trigger(self, **given: object) -> "FakeWriter":
        self.spark.triggers |= given.keys()
        return self

    def start(self) -> "FakeQuery":
        failure = self.spark.run(self.name, self.checkpoint)
        is_active = self.spark.ran[-1] == self.spark.runs_until_stopped
        return FakeQuery(id=f"id of {self.name}", name=self.name, failure=failure, isActive=is_active)


@dataclass
class FakeQuery:
    """Has ended, unless it is said to run until somebody stops it."""

    id: str
    name: str
    failure: Exception | None
    runId: str = "run"  # noqa: N815
    isActive: bool = False  # noqa: N815
    lastProgress: None = None  # noqa: N815
    status: dict = field(default_factory=lambda: {"isTriggerActive": False, "message": "Stopped"})

    def awaitTermination(self) -> None:  # noqa: N802
        if self.failure:
            raise self.failure

    def stop(self) -> None:
        self.isActive = False


@pytest.fixture(autouse=True)
def no_session(monkeypatch):
    monkeypatch.setattr(query, "_executors_of_session", lambda: lambda: 1)


@pytest.fixture
def spark():
    return FakeSpark()


def a_run(spark: FakeSpark, report: DriverReport | None = None) -> BackfillRun:
    queries = (
        PlannedQuery(number=0, name="orders", checkpoint=CHECKPOINT, writer=spark.writer()),
        PlannedQuery(number=1, name="orders-0", checkpoint=COMPANION, writer=spark.writer()),
    )
    return BackfillRun(
        PLAN,
        queries,
        an_assignment(checkpoint=CHECKPOINT, trigger_kind="processing_time"),
        report or DriverReport(),
        storage=spark.storage,
        clock=FakeClock(),
        conf={"spark.sql.shuffle.partitions": "1"},
    )


def never() -> bool:
    return False


def test_every_query_runs_every_step_once_and_in_order(spark):
    assert a_run(spark).run(is_stop_wanted=never)

    assert spark.ran == [(name, batch) for batch in range(3) for name in ("orders", "orders-0")]


def test_whatever_the_claim_says_a_query_ends_with_its_step(spark):
    a_run(spark).run(is_stop_wanted=never)

    assert spark.triggers == {"once"}


def test_a_stop_comes_between_two_steps_and_the_next_driver_goes_on(spark):
    stops = iter([False, False, True])
    assert not a_run(spark).run(is_stop_wanted=lambda: next(stops))
    before = list(spark.ran)

    assert a_run(spark).run(is_stop_wanted=never)

    assert 0 < len(before) < 6
    assert len(spark.ran) == len(set(spark.ran)) == 6


def test_a_stop_that_waited_for_the_end_of_the_last_step_finds_the_backfill_done(spark):
    spark.runs_until_stopped = ("orders-0", 2)

    assert a_run(spark).run(is_stop_wanted=lambda: spark.runs_until_stopped in spark.ran)


def test_a_stop_that_cuts_the_last_step_off_leaves_it_to_the_next_driver(spark):
    spark.runs_until_stopped, spark.is_cut_off = ("orders-0", 2), True

    assert not a_run(spark).run(is_stop_wanted=lambda: spark.runs_until_stopped in spark.ran)

    spark.runs_until_stopped = None
    assert a_run(spark).run(is_stop_wanted=never)
    assert spark.ran[-2:] == [("orders-0", 2), ("orders-0", 2)]


def test_each_query_goes_on_where_it_stands_after_a_kill_between_two_commits(spark):
    spark.breaks_at = ("orders-0", 1)
    with pytest.raises(RuntimeError, match="step 1 of orders-0 broke"):
        a_run(spark).run(is_stop_wanted=never)
    spark.breaks_at, spark.ran = None, []

    assert a_run(spark).run(is_stop_wanted=never)

    assert spark.ran == [("orders", 2), ("orders-0", 1), ("orders-0", 2)]


def test_a_companion_that_is_behind_is_reported_as_the_companion(spark):
    spark.breaks_at = ("orders-0", 2)
    with pytest.raises(RuntimeError):
        a_run(spark).run(is_stop_wanted=never)
    spark.breaks_at = None
    report = DriverReport()

    a_run(spark, report).run(is_stop_wanted=never)

    assert [one.name for one in report.state().queries] == ["orders-0"]
    assert report.state().phase == "running"


def test_a_step_that_ends_without_its_commit_is_no_success(spark):
    spark.forgets_commit = True

    with pytest.raises(BackfillError, match="step 0 of orders ended and is not committed"):
        a_run(spark).run(is_stop_wanted=never)


def test_when_all_is_done_nothing_is_started(spark):
    a_run(spark).run(is_stop_wanted=never)
    spark.ran.clear()

    run = a_run(spark)

    assert run.run(is_stop_wanted=never)
    assert (spark.ran, run.is_active) == ([], False)


# --- the plan -----------------------------------------------------------------


def test_the_plan_is_read_from_beside_the_checkpoint(spark):
    spark.storage.write(backfill_plan_address(CHECKPOINT), encode_plan(PLAN))

    assert read_plan(spark.storage, an_assignment(checkpoint=CHECKPOINT)) == PLAN


def test_a_plan_that_is_gone_or_broken_is_named(spark):
    with pytest.raises(BackfillError, match=r"its plan is gone: .*march/plan\.json"):
        read_plan(spark.storage, an_assignment(checkpoint=CHECKPOINT))
    spark.storage.write(backfill_plan_address(CHECKPOINT), b"{}")
    with pytest.raises(CorruptRecordError, match=r"march/plan\.json"):
        read_plan(spark.storage, an_assignment(checkpoint=CHECKPOINT))


UNFIT = {
    "another backfill": ({"checkpoint": "file:///c/orders.backfills/april/checkpoint"}, {}, "is of backfill march"),
    "another stream": ({"stream": "audit"}, {}, "is of stream orders, the claim is of audit"),
    "the live checkpoint": ({"checkpoint": "file:///c/march"}, {}, "is of backfill march"),
    "another table": ({}, {"table": "file:///data/other"}, "table is file:///data/other by the plan"),
    "other dead letters": ({}, {"dead_letters": "file:///data/x"}, "dead letters is file:///data/x by the plan"),
}


@pytest.mark.parametrize(("claimed", "planned", "trouble"), UNFIT.values(), ids=UNFIT)
def test_a_plan_that_is_not_the_claims_is_refused(claimed, planned, trouble):
    assignment = an_assignment(**{"checkpoint": CHECKPOINT, **claimed})

    with pytest.raises(BackfillError, match=trouble):
        refuse_unfit_plan(a_plan(**planned), assignment)


def test_the_plan_of_the_claim_is_fit():
    refuse_unfit_plan(PLAN, an_assignment(checkpoint=CHECKPOINT, mode=ClaimMode.BACKFILL))
    refuse_unfit_plan(PLAN, an_assignment(checkpoint=CHECKPOINT, stream="orders__march"))


# --- the job ------------------------------------------------------------------


def a_node(name: str, *children: SimpleNamespace, streams: bool = True) -> SimpleNamespace:
    """An operator of a logical plan, as py4j shows it."""
    listed = SimpleNamespace(size=lambda: len(children), apply=lambda index: children[index])
    return SimpleNamespace(nodeName=lambda: name, children=lambda: listed, isStreaming=lambda: streams)


def a_query_of(plan: SimpleNamespace) -> PlannedQuery:
    frame = SimpleNamespace(_jdf=SimpleNamespace(queryExecution=lambda: SimpleNamespace(analyzed=lambda: plan)))
    return PlannedQuery(number=0, name="orders", checkpoint=CHECKPOINT, writer=SimpleNamespace(_df=frame))


def a_context(*, reads: int = 1, asks_for_sink: bool = True) -> StreamContext:
    context = StreamContext(an_assignment(), PLAN)
    context.source_reads, context.has_given_sink = reads, asks_for_sink
    return context


STREAM, BATCH = a_node("StreamingRelationV2"), a_node("Relation", streams=False)
STATELESS = {
    "rows": a_node("Project", a_node("Filter", STREAM)),
    "beside a table": a_node("Join", STREAM, BATCH),
    "an aggregate of a table": a_node("Join", STREAM, a_node("Aggregate", BATCH, streams=False)),
}
STATEFUL = {
    "counts": (a_node("Project", a_node("Aggregate", STREAM)), "Aggregate"),
    "two streams": (a_node("Join", STREAM, STREAM), "Join"),
    "duplicates": (a_node("DeduplicateWithinWatermark", STREAM), "DeduplicateWithinWatermark"),
}


@pytest.mark.parametrize("plan", STATELESS.values(), ids=STATELESS)
def test_a_job_without_state_is_fit(plan):
    refuse_unfit_job(PLAN, a_context(), [a_query_of(plan)])


@pytest.mark.parametrize(("plan", "operator"), STATEFUL.values(), ids=STATEFUL)
def test_a_job_with_state_is_refused_unless_it_may_be_approximate(plan, operator):
    with pytest.raises(
        BackfillError, match=rf"query orders keeps state \({operator}\).*plan the backfill as approximate"
    ):
        refuse_unfit_job(PLAN, a_context(), [a_query_of(plan)])

    refuse_unfit_job(a_plan(is_approximate=True), a_context(), [a_query_of(plan)])


@pytest.mark.parametrize("reads", [0, 2])
def test_a_job_with_another_number_of_sources_is_refused(reads):
    with pytest.raises(BackfillError, match=f"the source {reads} times"):
        refuse_unfit_job(PLAN, a_context(reads=reads), [a_query_of(STREAM)])


def test_a_job_that_does_not_ask_where_to_write_can_not_be_redirected():
    refuse_unfit_job(PLAN, a_context(asks_for_sink=False), [a_query_of(STREAM)])

    with pytest.raises(BackfillError, match="it would write to its own"):
        refuse_unfit_job(a_plan(is_redirected=True), a_context(asks_for_sink=False), [a_query_of(STREAM)])


def test_asking_for_the_table_is_asking_where_to_write():
    context = StreamContext(an_assignment(table="file:///data/other"), PLAN)

    assert not context.has_given_sink
    assert context.table == "file:///data/other"
    assert context.has_given_sink


# --- the source ---------------------------------------------------------------


def test_the_source_is_the_plans_partitions_from_its_start_on_and_the_rest_as_declared():
    declared = {
        "subscribePattern": "o.*",
        "StartingOffsets": "latest",
        "maxOffsetsPerTrigger": "10",
        "failOnDataLoss": "false",
        "kafka.isolation.level": "read_committed",
        "minPartitions": "8",
    }

    source = KafkaInput(bootstrap_servers="broker:9092", topics=("orders",), options=tuple(declared.items()))

    assert backfill_options(source, PLAN) == {
        "assign": '{"orders":[0,1]}',
        "startingOffsets": '{"orders":{"0":5,"1":3}}',
        "failOnDataLoss": "true",
        "kafka.isolation.level": "read_committed",
        "minPartitions": "8",
    }
