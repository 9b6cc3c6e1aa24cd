"""Whether what Spark will do if started on a checkpoint now is acceptable.

What that is, `predict` says, and the findings on the checkpoint that name an effect on the next start: so a finding that says
that a start fails, loses or repeats never stands beside a plan that calls it safe.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.source_offsets import OffsetForm
from streamops.control.records import Position
from streamops.health.checkpoint import Expectations
from streamops.health.checkpoint.judge import findings_at_start
from streamops.health.verdict import AtStart, Finding, StartEffect
from streamops.restart.engines import PINNED, Engine
from streamops.restart.predict import Prediction, SourceRange, predict_start
from streamops.restart.predict_depth import predict_in_depth


class Safety(StrEnum):
    """What a start would mean for the data."""

    SAFE = "safe"
    """Nothing is repeated, nothing is lost."""
    SAFE_IF_IDEMPOTENT = "safe-if-idempotent"
    """A batch that the sink may have accepted already is run again."""
    FUTILE = "futile"
    """It can only fail, the same way each time."""
    UNSAFE = "unsafe"
    """It would lose or repeat data in silence."""
    BLOCKED = "blocked"
    """Something else must be settled first: another owner, a person's word."""
    UNKNOWN = "unknown"
    """What decides the next batch could not be read."""


class SinkGuarantee(StrEnum):
    """What the sink makes of a batch that it gets twice."""

    IDEMPOTENT = "idempotent"
    """It recognises the batch by its number, as Delta's own sink does."""
    IDEMPOTENT_BY_KEY = "idempotent-by-key"
    """It recognises each row by its key, as a MERGE does: the same rows may come in other batches, too."""
    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE_OR_NOTHING = "exactly-once-or-nothing"
    """A repeated batch would be wrong, and the sink can't recognise it."""

    def accepts(self, safety: Safety) -> bool:
        """Whether a start with this safety may go ahead without a person."""
        if safety is Safety.SAFE_IF_IDEMPOTENT:
            return self is not SinkGuarantee.EXACTLY_ONCE_OR_NOTHING
        return safety is Safety.SAFE


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPlan:
    """One answer before a start."""

    safety: Safety
    summary: str
    next_batch: int | None = None
    reruns: tuple[int, ...] = ()
    expected_error: str = ""
    ranges: tuple[SourceRange, ...] = ()
    """What the first batch reads of each source, where it runs again."""


def plan_restart(
    facts: CheckpointFacts,
    *,
    known: Position | None,
    engine: Engine = PINNED,
    tracks_progress_async: bool = False,
    is_continuous: bool = False,
    source_form: OffsetForm | None = None,
) -> RestartPlan:
    """The plan for a start now; `known` is the position that the control log recorded last, `source_form` what the declared
    source writes.

    Order: what keeps Spark from running a batch comes first, then what our own log knows better, then what it would do in
    silence, then the healthy shapes.
    """
    if tracks_progress_async:
        facts, known = replace(facts, has_previous_offset=True), None
    if is_continuous:
        facts = facts.as_continuous()
    expected = _expected(engine, source_form)
    return with_findings(_judged(predict_start(facts, engine), facts, known), findings_at_start(facts, expected))


def plan_in_depth(
    snapshot: CheckpointSnapshot,
    *,
    known: Position | None,
    engine: Engine = PINNED,
    tracks_progress_async: bool | None = False,
    is_continuous: bool | None = False,
    source_form: OffsetForm | None = None,
) -> RestartPlan:
    """As `plan_restart`, from everything that can be read: the sources' logs, the input, the state.

    With async progress tracking a hole below the newest entry is no obstacle, with the trigger continuous a blank header is
    none; None where nobody has said. With the former drivers tell of batches that no log has when they die: what is `known` of
    them then proves no loss of entries.
    """
    if is_continuous:
        snapshot = replace(snapshot, facts=snapshot.facts.as_continuous())
    plan = _plan_in_depth(
        snapshot, None if tracks_progress_async else known, engine, tracks_progress_async, is_continuous=is_continuous
    )
    return with_findings(plan, findings_at_start(snapshot.facts, _expected(engine, source_form), snapshot))


def _plan_in_depth(
    snapshot: CheckpointSnapshot,
    known: Position | None,
    engine: Engine,
    tracks_progress_async: bool | None,
    *,
    is_continuous: bool | None,
) -> RestartPlan:
    facts = snapshot.facts
    if is_continuous is None and facts.looks_continuous:
        return RestartPlan(
            safety=Safety.UNKNOWN,
            summary="the headers are blank: a start works with the trigger continuous, and fails with any other",
        )
    leaves_holes = facts.looks_async if tracks_progress_async is None else tracks_progress_async
    if facts.has_previous_offset or not leaves_holes:
        return _judged(predict_in_depth(snapshot, engine), facts, known)
    if tracks_progress_async:
        bridged = replace(facts, has_previous_offset=True)
        return _judged(predict_in_depth(replace(snapshot, facts=bridged), engine), bridged, known)
    return RestartPlan(
        safety=Safety.UNKNOWN,
        summary="both logs lack the same batches: a start works with async progress tracking, and fails without it",
    )


def with_findings(plan: RestartPlan, findings: Iterable[Finding]) -> RestartPlan:
    """The plan as it is once these findings are known; one that is worse already stays."""
    effects = [finding.start for finding in findings if finding.start]
    if not effects:
        return plan
    worst = max(effects, key=lambda effect: SAFETIES.index(_SAFETY[effect.kind]))
    return _with_effect(plan, worst)


def _with_effect(plan: RestartPlan, effect: StartEffect) -> RestartPlan:
    safety = _SAFETY[effect.kind]
    if SAFETIES.index(plan.safety) >= SAFETIES.index(safety):
        return plan
    if effect.kind is AtStart.FAILS:
        return RestartPlan(safety=safety, summary=effect.summary, expected_error=effect.error)
    return replace(plan, safety=safety, summary=effect.summary)


def _expected(engine: Engine, source_form: OffsetForm | None) -> Expectations:
    return Expectations(
        offset_formats=engine.offset_formats, commit_formats=engine.commit_formats, source_form=source_form
    )


SAFETIES = (
    Safety.SAFE,
    Safety.SAFE_IF_IDEMPOTENT,
    Safety.UNKNOWN,
    Safety.BLOCKED,
    Safety.UNSAFE,
    Safety.FUTILE,
)
"""From best to worst."""
_SAFETY = {
    AtStart.FAILS: Safety.FUTILE,
    AtStart.LOSES: Safety.UNSAFE,
    AtStart.REPEATS: Safety.UNSAFE,
    # A person decides: to look again would never tell more.
    AtStart.UNDECIDED: Safety.BLOCKED,
}


def _judged(prediction: Prediction, facts: CheckpointFacts, known: Position | None) -> RestartPlan:
    if prediction.next_batch is None:
        return _planned(prediction, Safety.FUTILE, advice=_advice(facts, prediction))
    if plan := _moved_back(facts, known):
        return plan
    if prediction.expected_error or prediction.repeats or prediction.loses_identity or prediction.loses_input:
        return _planned(prediction, Safety.UNSAFE, advice=_advice(facts, prediction))
    if prediction.is_undecided:
        return _planned(prediction, Safety.UNKNOWN)
    return _planned(prediction, Safety.SAFE_IF_IDEMPOTENT if prediction.reruns else Safety.SAFE)


def _planned(prediction: Prediction, safety: Safety, *, advice: str = "") -> RestartPlan:
    return RestartPlan(
        safety=safety,
        summary=f"{prediction.summary}: {advice}" if advice else prediction.summary,
        next_batch=prediction.next_batch,
        reruns=prediction.reruns,
        expected_error=prediction.expected_error,
        ranges=prediction.ranges,
    )


def _advice(facts: CheckpointFacts, prediction: Prediction) -> str:
    """What to do, in half a sentence; empty where the reason says it."""
    if prediction.loses_identity:
        return "it goes on under a new query id, and idempotent sinks take batches twice; put metadata back"
    if not facts.has_metadata and not facts.is_new:
        return "put the file with the old query id back"
    return "" if facts.has_previous_offset else "restore it"


def _moved_back(facts: CheckpointFacts, known: Position | None) -> RestartPlan | None:
    """The checkpoint is behind its own past: Delta would drop the re-used batch ids in silence [P16c, restored backup]."""
    if known is None or not known.query_id or known.offset < 0:
        return None
    has_lost_batches = facts.last_offset < known.offset
    if not has_lost_batches or (facts.query_id and facts.query_id != known.query_id):
        return None
    return RestartPlan(
        safety=Safety.UNSAFE,
        summary=f"the control log has seen batch {known.offset}, the checkpoint ends at {facts.last_offset}: it was"
        " restored from an older copy or partly deleted; idempotent sinks would drop the batches that come again",
        next_batch=max(facts.last_offset, 0),
    )
