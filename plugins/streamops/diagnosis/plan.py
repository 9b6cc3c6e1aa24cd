"""What a start on a checkpoint now would do, and whether that is acceptable. Pure.

Two healthy logs tell which batch comes next; whatever else counts is a finding of the catalogue that names its effect on a start
(`diagnosis.judge`). So a finding that says that a start fails, loses or repeats never stands beside a plan that is safe.
"""

from collections.abc import Iterable
from dataclasses import replace

from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.layout import json_part
from streamops.checkpoint.source_offsets import UnknownOffset, says_nothing
from streamops.diagnosis.judge import Evidence
from streamops.diagnosis.restart_plan import SAFETIES, RestartPlan, Safety, SourceRange
from streamops.places.sink import SinkView, newest_batch, recognises_batches
from streamops.verdict import AtStart, Finding, Severity, StartEffect


def plan_restart(evidence: Evidence, findings: Iterable[Finding]) -> RestartPlan:
    """The plan for a start now; `findings` are those on this evidence."""
    plan = _by_the_logs(evidence.facts)
    if evidence.expected.leaves_holes(evidence.facts) and not evidence.facts.is_new:
        plan = _behind_async_logs(plan)
    if evidence.sink and plan.reruns:
        plan = _with_sink(plan, evidence, evidence.sink)
    if _has_unjudged_source(evidence.facts):
        plan = replace(
            plan, summary=f"{plan.summary}; as far as Spark's own logs tell: a source's offsets are not judged"
        )
    found = tuple(findings)
    return with_findings(_without_what_is_unknown(plan, found), found)


def _without_what_is_unknown(plan: RestartPlan, findings: Iterable[Finding]) -> RestartPlan:
    """What could not be asked keeps no start from going ahead, and whoever reads of one that is safe is told."""
    unknown = [one.rule for one in findings if one.severity is Severity.UNKNOWN and one.start is None]
    if not unknown:
        return plan
    return replace(plan, summary=f"{plan.summary}; not known: {', '.join(dict.fromkeys(unknown))}")


def _has_unjudged_source(facts: CheckpointFacts) -> bool:
    offsets = facts.newest.offsets if facts.newest else ()
    return any(isinstance(offset, UnknownOffset) and not says_nothing(offset) for offset in offsets)


def _by_the_logs(facts: CheckpointFacts) -> RestartPlan:
    """As Spark finds its next batch (MicroBatchExecution, 3.5 to 4.3)."""
    batch = facts.next_batch
    if facts.is_new:
        return RestartPlan(safety=Safety.SAFE, summary="new checkpoint: batch 0 is the first", next_batch=0)
    if facts.last_offset == facts.last_commit:
        summary = f"batch {facts.last_commit} is committed: batch {batch} is planned next"
        return RestartPlan(safety=Safety.SAFE, summary=summary, next_batch=batch)
    return RestartPlan(
        safety=Safety.SAFE_IF_IDEMPOTENT,
        summary=f"batch {batch} was planned but not committed: it runs again with exactly its range",
        next_batch=batch,
        reruns=(batch,),
        ranges=_ranges(facts),
    )


def _behind_async_logs(plan: RestartPlan) -> RestartPlan:
    """With async progress tracking (SPARK-39591) the batches of the last interval are in no log, and come again."""
    again = "batches since then are in no log (async progress tracking): what they read comes again, in other batches"
    return replace(plan, safety=Safety.SAFE_IF_IDEMPOTENT, summary=f"{plan.summary}; {again}")


def _ranges(facts: CheckpointFacts) -> tuple[SourceRange, ...]:
    """From the end of the entry below to the end of the newest one; sources pair up by position, or by id in v2."""
    newest, previous = facts.newest, facts.previous
    if newest is None or (previous is None and newest.batch > 0):
        return ()
    starts = previous.text_by_source if previous else {}
    return tuple(
        SourceRange(start=_offset_text(starts.get(name)), end=_offset_text(end))
        for name, end in newest.text_by_source.items()
    )


def _offset_text(text: str | None) -> str | None:
    return None if text is None else json_part(text)


def _with_sink(plan: RestartPlan, evidence: Evidence, view: SinkView) -> RestartPlan:
    """A batch that runs again repeats nothing where the sink was seen to know batches."""
    if newest_batch(view.latest) is None or not recognises_batches(view.latest):
        return plan
    following = evidence.facts.last_offset + 1
    told = (
        f"the sink has it, and drops it then: nothing is repeated, batch {following} is the next to count"
        if evidence.sink_drops_batch_in_flight
        else "the sink does not have it yet"
    )
    return replace(plan, safety=Safety.SAFE, summary=f"{plan.summary}; {told}")


def with_findings(plan: RestartPlan, findings: Iterable[Finding]) -> RestartPlan:
    """The plan as it is once these findings are known; one that is worse already stays."""
    effects = [finding.start for finding in findings if finding.start]
    if not effects:
        return plan
    # Of equals the first: it is what a start meets first.
    return _with_effect(plan, max(effects, key=lambda effect: SAFETIES.index(_SAFETY[effect.kind])))


def _with_effect(plan: RestartPlan, effect: StartEffect) -> RestartPlan:
    safety = _SAFETY[effect.kind]
    if SAFETIES.index(plan.safety) >= SAFETIES.index(safety):
        return plan
    if effect.kind is AtStart.FAILS:
        return RestartPlan(safety=safety, summary=effect.summary, expected_error=effect.error)
    return replace(plan, safety=safety, summary=effect.summary, expected_error=effect.error)


_SAFETY = {
    AtStart.FAILS: Safety.FUTILE,
    AtStart.LOSES: Safety.UNSAFE,
    AtStart.REPEATS: Safety.UNSAFE,
    # A person decides: to look again would never tell more.
    AtStart.UNDECIDED: Safety.BLOCKED,
    AtStart.UNREAD: Safety.UNKNOWN,
}
