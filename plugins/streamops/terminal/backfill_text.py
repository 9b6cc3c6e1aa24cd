"""A backfill for people and for programs: its plan, how far it has come, what came of it."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from streamops.backfill import BackfillProgress, Missing
from streamops.backfill.backfill_service import PlannedBackfill
from streamops.backfill.backfill_text import plan_lines
from streamops.backfill.report import RunOutcome, RunReport
from streamops.backfill.status import BackfillStatus
from streamops.control.backfill_plan import BackfillPlan
from streamops.formatting import moment
from streamops.supervision.cli_hints import resume_command


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
    is_to_end: bool = False
    """Whether a person has just asked for its end."""
    missing: tuple[Missing, ...] = ()
    """What of its rest is deleted."""

    @property
    def exit_code(self) -> int:
        """1 for one that was begun, is not done, and does not go on by itself, unless it is to end."""
        is_well = self.run is None or self.is_to_end or self.run.outcome in (RunOutcome.FINISHED, RunOutcome.UNDER_WAY)
        return 0 if is_well and not self.trouble else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedBackfill:
    """A backfill in the list of all."""

    standing: BackfillStatus
    answer: BackfillAnswer | None
    """None where its plan or its log can't be read."""


def backfill_table(listed: Sequence[ListedBackfill]) -> Table:
    """One backfill a line."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in ("backfill", "phase", "done", "epoch", "driver", "last sign", "attended by", "range"):
        table.add_column(column, justify="right" if column in ("done", "epoch") else "left", overflow="fold")
    for one in listed:
        standing = one.standing
        table.add_row(
            standing.id,
            Text(standing.phase, style="bold red" if standing.needs_a_person else ""),
            "" if standing.percent is None else f"{standing.percent} %",
            "" if standing.epoch is None else str(standing.epoch),
            standing.driver or "none",
            "" if standing.moved_at is None else f"{moment(standing.moved_at)} UTC",
            standing.attended_by or "nobody",
            Text(one.answer.plan.asked if one.answer else ""),
        )
    return table


def listed_notes(listed: ListedBackfill) -> Iterator[str]:
    """What the table has no room for: where it stands, or what came of it."""
    run = listed.answer.run if listed.answer else None
    if run and run.is_over:
        yield f"backfill {listed.standing.id}: {run.line}"
    if listed.standing.is_unfinished:
        yield listed.standing.line


def listed_fields(listed: ListedBackfill) -> dict[str, object]:
    """The same as values."""
    standing = {**dataclasses.asdict(listed.standing), "needs_a_person": listed.standing.needs_a_person}
    own = answer_fields(listed.answer) if listed.answer else {"backfill": listed.standing.id}
    return {**own, "standing": standing}


def answer_lines(answer: BackfillAnswer) -> Iterator[str]:
    """What became of it."""
    plan, progress = answer.plan, answer.progress
    if progress is None and answer.planned:
        yield from plan_lines(answer.planned)
        return
    where = f"backfill {plan.id} of {plan.stream}"
    if progress:
        yield (
            f"{where}: {progress.percent} % done, {progress.records_done} of {progress.records} {plan.counted_in},"
            f" {progress.steps_done} of {progress.steps} steps"
        )
    if answer.run:
        yield f"{where}: {answer.run.line}"
    if answer.trouble:
        yield f"{where}: it does not go on without a person: {answer.trouble}"
        yield f"{where}: when the cause is mended: `{resume_command(plan.stream, plan.id)} --reason …`"
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
        "counted_in": plan.counted_in,
        "start": plan.start.source_text,
        "end": plan.end.source_text,
        "not_before": plan.not_before,
        "before": plan.before,
        "table": plan.table,
        "dead_letters": plan.dead_letters,
        "is_redirected": plan.is_redirected,
        "is_approximate": plan.is_approximate,
        "notes": list(plan.notes),
    }
