"""What a start makes of a Delta source whose table no longer fits the offsets: an error, or rows passed over in silence."""

from dataclasses import replace

from streamops.checkpoint import CheckpointFacts
from streamops.delta_source import Fit, delta_source
from streamops.deltalog import DeltaTableFacts
from streamops.restart.plan import RestartPlan, Safety


def with_delta_source(plan: RestartPlan, facts: CheckpointFacts, table: DeltaTableFacts) -> RestartPlan:
    """The plan as it is once the table that the query reads was asked; a plan that is worse already stays.

    Delta's source refuses another table and, with `failOnDataLoss`, versions that are gone (delta-spark 4.4: its error
    classes are in the texts below). A start beyond the newest version waits, and passes over
    what comes until then.
    """
    if plan.safety not in (Safety.SAFE, Safety.SAFE_IF_IDEMPOTENT):
        return plan
    source = delta_source(facts, table)
    if source.fit is Fit.ANOTHER_TABLE:
        return _refused(plan, "the table is another one than the offsets were taken from", _ANOTHER_TABLE)
    if source.fit is Fit.REMOVED:
        why = f"the source needs version {source.version}, the table's log begins at {table.earliest_commit}"
        return _refused(plan, why, _MISSING_FILES)
    if source.fit is Fit.BEYOND:
        return replace(
            plan,
            safety=Safety.UNSAFE,
            summary=f"{plan.summary}; but it would read from version {source.version} of a table that has {table.version}, and"
            " pass over what comes until then",
        )
    return plan


def _refused(plan: RestartPlan, why: str, error: str) -> RestartPlan:
    return replace(plan, safety=Safety.FUTILE, next_batch=None, reruns=(), ranges=(), summary=why, expected_error=error)


_ANOTHER_TABLE = "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"
_MISSING_FILES = "DELTA_MISSING_FILES_UNEXPECTED_VERSION"
