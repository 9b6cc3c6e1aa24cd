"""What keeps a backfill from doing something else than its plan says, looked at before the first batch."""

from collections.abc import Iterator, Sequence
from typing import Any

from streamops.control.assignment import Assignment
from streamops.control.backfill_plan import BackfillPlan, derived_name
from streamops.control.layout import backfill_checkpoint
from streamops.errors import BackfillError
from streamops.spark.context import StreamContext
from streamops.spark.query import PlannedQuery
from streamops.storage import join, parent

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
