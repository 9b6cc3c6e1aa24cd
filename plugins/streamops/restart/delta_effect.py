"""What a start makes of a Delta source whose table no longer fits the offsets: an error, each time."""

from dataclasses import replace

from streamops.checkpoint import CheckpointFacts
from streamops.delta_source import Fit, delta_source
from streamops.deltalog import DeltaTableFacts
from streamops.restart.plan import RestartPlan, Safety


def with_delta_source(plan: RestartPlan, facts: CheckpointFacts, table: DeltaTableFacts) -> RestartPlan:
    """The plan as it is once the table that the query reads was asked; a plan that is worse already stays.

    Delta's source refuses another table and, with `failOnDataLoss`, versions that are gone or yet to come. Tried on Spark 4.2.0
    with delta-spark 4.4.0.
    """
    if plan.safety not in (Safety.SAFE, Safety.SAFE_IF_IDEMPOTENT):
        return plan
    source = delta_source(facts, table)
    if source.fit is Fit.ANOTHER_TABLE:
        return _refused(plan, "the table is another one than the offsets were taken from", _ANOTHER_TABLE)
    if source.fit is Fit.REMOVED:
        why = f"the start reads version {source.version}, the table's commits begin at {table.earliest_commit}"
        return _refused(plan, why, _MISSING_FILES)
    if source.fit is Fit.BEYOND:
        why = f"the offsets reach version {source.version}, the table has come to {table.version} only"
        return _refused(plan, why, _TRAILING_MISSING)
    return plan


def _refused(plan: RestartPlan, why: str, error: str) -> RestartPlan:
    return replace(plan, safety=Safety.FUTILE, next_batch=None, reruns=(), ranges=(), summary=why, expected_error=error)


_ANOTHER_TABLE = "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"
_TRAILING_MISSING = "DELTA_STREAMING_TRAILING_COMMIT_MISSING"
_MISSING_FILES = "DELTA_MISSING_FILES_UNEXPECTED_VERSION"
