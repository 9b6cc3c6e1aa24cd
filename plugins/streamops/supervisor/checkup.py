"""Any checkpoint, declared or not: its facts, what a start would do, and what is wrong with it. Reads only."""

from dataclasses import dataclass
from enum import StrEnum

from streamops.checkpoint.inspect import CheckpointSnapshot, inspect_checkpoint
from streamops.health.checkpoint import Expectations, judge_checkpoint
from streamops.health.verdict import Finding, Severity, worst_of
from streamops.restart import RestartPlan, Safety
from streamops.restart.engines import Engine
from streamops.restart.plan import plan_in_depth
from streamops.storage import ReadableStorage


class Verdict(StrEnum):
    """What a check comes to."""

    OK = "ok"
    WARNING = "warning"
    UNKNOWN = "unknown"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """One checkpoint at one moment."""

    verdict: Verdict
    engine: Engine
    snapshot: CheckpointSnapshot
    restart: RestartPlan
    findings: tuple[Finding, ...]


def check(
    storage: ReadableStorage,
    address: str,
    *,
    engine: Engine,
    is_sink_idempotent: bool | None = None,
    tracks_progress_async: bool | None = None,
) -> Checkup:
    """Judge a checkpoint for a start with a version of Spark. Raises StorageError where it can't be asked."""
    snapshot = inspect_checkpoint(storage, address)
    expected = Expectations(
        offset_formats=engine.offset_formats,
        commit_formats=engine.commit_formats,
        is_sink_idempotent=is_sink_idempotent,
        tracks_progress_async=tracks_progress_async,
    )
    restart = plan_in_depth(snapshot, known=None, engine=engine, tracks_progress_async=tracks_progress_async)
    findings = judge_checkpoint(snapshot, expected)
    return Checkup(
        verdict=_VERDICTS[max(worst_of(findings), _SEVERITIES[restart.safety])],
        engine=engine,
        snapshot=snapshot,
        restart=restart,
        findings=findings,
    )


_VERDICTS = {
    Severity.NOTE: Verdict.OK,
    Severity.WARNING: Verdict.WARNING,
    Severity.UNKNOWN: Verdict.UNKNOWN,
    Severity.CRITICAL: Verdict.CRITICAL,
}

# A batch in flight is the ordinary shape of a running query: whether it matters, the rule on it says.
_SEVERITIES = {
    Safety.SAFE: Severity.NOTE,
    Safety.SAFE_IF_IDEMPOTENT: Severity.NOTE,
    Safety.UNKNOWN: Severity.UNKNOWN,
    Safety.BLOCKED: Severity.CRITICAL,
    Safety.UNSAFE: Severity.CRITICAL,
    Safety.FUTILE: Severity.CRITICAL,
}
