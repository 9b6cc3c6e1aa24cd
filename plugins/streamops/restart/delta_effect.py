"""What a start makes of a Delta source whose table no longer fits the offsets: an error, each time."""

from dataclasses import replace

from streamops.checkpoint import CheckpointFacts
from streamops.delta_source import Fit, delta_source, is_in_flight, needed_files
from streamops.deltalog import DeltaTableFacts, PendingVersions
from streamops.restart.plan import RestartPlan, Safety


def with_delta_source(
    plan: RestartPlan, facts: CheckpointFacts, table: DeltaTableFacts, pending: PendingVersions | None = None
) -> RestartPlan:
    """The plan as it is once the table that the query reads was asked; a plan that is worse already stays.

    Delta's source refuses another table and, with `failOnDataLoss`, versions that are gone or yet to come; its tasks fail on
    data files that VACUUM has deleted. Tried on Spark 4.2.0 with delta-spark 4.4.0. `pending`: what lies in the table's log from
    the first commit on that a start reads. A batch in flight may still run where only later ones have lost their files.
    """
    if plan.safety not in (Safety.SAFE, Safety.SAFE_IF_IDEMPOTENT):
        return plan
    source = delta_source(facts, table)
    if source.fit is Fit.ANOTHER_TABLE:
        return _refused(plan, "the table is another one than the offsets were taken from", _ANOTHER_TABLE)
    if source.fit is Fit.REMOVED:
        why = f"the start reads version {source.version}, the table's commits begin at {table.earliest_commit}"
        return _refused(plan, why, _MISSING_SNAPSHOT if source.reads_snapshot else _MISSING_FILES)
    if source.fit is Fit.BEYOND:
        why = f"the offsets reach version {source.version}, the table has come to {table.version} only"
        return _refused(plan, why, _TRAILING_MISSING)
    gone = [file for file in needed_files(source, pending) if file.is_there is False] if pending else []
    if gone and (source.in_flight is None or is_in_flight(source, gone[0])):
        why = f"version {gone[0].version} of the table, which is read next, has lost data files: it fails there"
        return _refused(plan, why, _MISSING_DATA)
    return plan


def _refused(plan: RestartPlan, why: str, error: str) -> RestartPlan:
    return replace(plan, safety=Safety.FUTILE, next_batch=None, reruns=(), ranges=(), summary=why, expected_error=error)


_ANOTHER_TABLE = "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"
_TRAILING_MISSING = "DELTA_STREAMING_TRAILING_COMMIT_MISSING"
_MISSING_DATA = "FAILED_READ_FILE"
_MISSING_SNAPSHOT = "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE"
_MISSING_FILES = "DELTA_MISSING_FILES_UNEXPECTED_VERSION"
