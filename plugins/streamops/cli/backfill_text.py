"""A backfill for people and for programs: its plan, how far it has come, what came of it."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from streamops.backfill import BackfillProgress, Expired
from streamops.control.backfill_plan import BackfillPlan
from streamops.supervisor.backfills.backfill_desk import PlannedBackfill
from streamops.supervisor.runs.report import RunOutcome, RunReport

_SHOWN = 12
"""Partitions that a plan names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillAnswer:
    """A backfill that was planned, is under way, or is over."""

    plan: BackfillPlan
    planned: PlannedBackfill | None = None
    """Where it was planned by this very command."""
    progress: BackfillProgress | None = None
    """None where nothing was begun."""
    run: RunReport | None = None
    """The newest run of it; None where nothing was begun."""
    trouble: str = ""
    """Why it does not go on without a person."""
    missing: tuple[Expired, ...] = ()
    """What of its rest is deleted."""

    @property
    def exit_code(self) -> int:
        """1 for one that was begun, is not done, and does not go on by itself."""
        has_failed = self.trouble or (self.run and self.run.outcome not in (RunOutcome.FINISHED, RunOutcome.UNDER_WAY))
        return 1 if has_failed else 0


def plan_lines(planned: PlannedBackfill) -> Iterator[str]:
    """The plan, a fact a line."""
    plan = planned.refuse()
    yield f"backfill {plan.id} of {plan.stream}: {plan.asked}"
    yield f"  because  {plan.reason}"
    yield f"  reads    {plan.records} offsets of {len(plan.start.positions)} partitions in {len(plan.chunks)} steps"
    yield from (f"           {line}" for line in partition_lines(plan))
    yield f"  writes   {plan.table}{'' if plan.is_redirected else ', the table of the stream itself'}"
    if planned.estimate and planned.estimate.seconds is not None:
        at_most = "at most " if planned.estimate.is_ceiling else ""
        yield f"  takes    about {at_most}{planned.estimate.seconds:.0f} s ({planned.estimate.reason})"
    elif planned.estimate:
        yield f"  takes    nobody knows how long: {planned.estimate.reason}"
    yield from (f"  note     {note}" for note in plan.notes)
    yield from (f"  MISSING  {one}" for one in planned.expired)


def partition_lines(plan: BackfillPlan) -> Iterator[str]:
    """`orders-0 [5, 105): 100`"""
    places = list(zip(plan.start.positions, plan.end.positions, strict=True))
    for start, end in places[:_SHOWN]:
        yield f"{start.topic}-{start.partition} [{start.offset}, {end.offset}): {end.offset - start.offset}"
    if len(places) > _SHOWN:
        yield f"and {len(places) - _SHOWN} partitions more"


def refusal_lines(stream: str, planned: PlannedBackfill) -> Iterator[str]:
    """Why it is refused, and what is missing."""
    for refusal in planned.refusals:
        yield f"backfill of {stream} refused: {refusal}"
    yield from (f"  MISSING  {one}" for one in planned.expired)


def answer_lines(answer: BackfillAnswer) -> Iterator[str]:
    """What became of it."""
    plan, progress = answer.plan, answer.progress
    if progress is None and answer.planned:
        yield from plan_lines(answer.planned)
        return
    where = f"backfill {plan.id} of {plan.stream}"
    if progress:
        yield (
            f"{where}: {progress.percent} % done, {progress.records_done} of {progress.records} offsets,"
            f" {progress.steps_done} of {progress.steps} steps"
        )
    if answer.run:
        yield f"{where}: {answer.run.line}"
    if answer.trouble:
        yield f"{where}: it does not go on without a person: {answer.trouble}"
    yield from (f"  MISSING  {one}" for one in answer.missing)


def answer_fields(answer: BackfillAnswer) -> dict[str, object]:
    """The same as values."""
    plan, planned, run = answer.plan, answer.planned, answer.run
    return {
        **plan_fields(plan),
        "estimate": dataclasses.asdict(planned.estimate) if planned and planned.estimate else None,
        "progress": {**dataclasses.asdict(answer.progress), "percent": answer.progress.percent}
        if answer.progress
        else None,
        "run": {**dataclasses.asdict(run), "estimate_error": run.estimate_error} if run else None,
        "trouble": answer.trouble,
        "missing": [str(one) for one in (answer.missing or (planned.expired if planned else ()))],
    }


def plan_fields(plan: BackfillPlan) -> dict[str, object]:
    """A plan as values; of its steps only how many there are."""
    return {
        "backfill": plan.id,
        "stream": plan.stream,
        "asked": plan.asked,
        "reason": plan.reason,
        "by": plan.by,
        "at": plan.at,
        "records": plan.records,
        "steps": len(plan.chunks),
        "start": plan.start.kafka_json(),
        "end": plan.end.kafka_json(),
        "not_before": plan.not_before,
        "before": plan.before,
        "table": plan.table,
        "dead_letters": plan.dead_letters,
        "is_redirected": plan.is_redirected,
        "is_approximate": plan.is_approximate,
        "notes": list(plan.notes),
    }
