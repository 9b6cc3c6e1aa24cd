"""Answers of acts, runs, `plan`, `history` and `logs`, for people."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from streamops.backfill.report import RunOutcome, RunReport
from streamops.diagnosis.restart_plan import Safety
from streamops.formatting import brief, moment
from streamops.operations.act_plan import ActPlan, ActProgress, Stage
from streamops.operations.history import History, HistoryEntry
from streamops.operations.snapshot import StartForecast


class ActOutcome(StrEnum):
    """What became of a plan."""

    PLANNED = "planned"
    """A dry run: nothing was done."""
    NOTHING_TO_DO = "nothing-to-do"
    RECORDED = "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActResult:
    """A request after it was made, or not."""

    plan: ActPlan
    outcome: ActOutcome
    numbers: tuple[int, ...] = ()
    """Of the records in the control log."""
    has_ended: bool | None = None
    """Of a stop: whether the driver is gone; None when nobody waited for it."""
    progress: ActProgress | None = None
    """How far it came while this command waited; None when it did not."""
    waited: timedelta | None = None
    """From the request until that was seen."""

    @property
    def exit_code(self) -> int:
        """1 when what was waited for did not come."""
        return 0 if self.progress is None or self.progress.stage is Stage.DONE else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A run that was asked for, or not."""

    plan: ActPlan
    number: int | None = None
    """Of its record; None where none was appended."""
    report: RunReport | None = None
    """None where nobody waited for it."""
    trouble: str = ""
    """Why it will not come to an end without a person."""

    @property
    def exit_code(self) -> int:
        """1 for a run that was waited for and has not read all that there was."""
        is_finished = self.report is None or self.report.outcome is RunOutcome.FINISHED
        return 0 if is_finished and not self.trouble else 1


def run_lines(result: RunResult) -> Iterator[str]:
    """The run for people: its plan, its record, or what came of it."""
    plan = result.plan
    if result.number is None:
        if plan.is_needed:
            yield from plan.lines
        else:
            yield f"{plan.stream}: nothing to do: {'; '.join(plan.effects)}"
        return
    if result.report is None:
        yield f"{plan.stream}: a run is asked for (record {result.number})"
        return
    yield f"{plan.stream}: {result.report.line}"
    if result.trouble:
        yield f"{plan.stream}: it does not go on without a person: {result.trouble}"
    elif result.report.outcome is not RunOutcome.FINISHED:
        yield f"{plan.stream}: {result.report.reason}"


def run_fields(result: RunResult) -> dict[str, object]:
    """The same as values."""
    report = result.report
    return {
        "plan": dataclasses.asdict(result.plan),
        "record": result.number,
        "run": {**dataclasses.asdict(report), "estimate_error": report.estimate_error} if report else None,
        "trouble": result.trouble,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverLog:
    """The end of the log of one epoch's driver."""

    stream: str
    epoch: int
    path: str
    lines: tuple[str, ...]


def history_lines(history: History) -> Iterator[str]:
    """All entries, oldest first, as the log has them."""
    if not history.entries:
        yield f"{history.stream}: nothing is on record"
        return
    if not history.is_whole:
        yield f"{history.stream}: the newest entries; older ones are in the log (--limit)"
    for entry in history.entries:
        yield from _entry_lines(entry)


def _entry_lines(entry: HistoryEntry) -> Iterator[str]:
    at = moment(entry.at) if entry.at else "?"
    who = f"{entry.actor} on {entry.host}" if entry.actor else "?"
    yield f"{at}  #{entry.number}  {entry.what}  by {who}{_outcome(entry)}"
    if entry.why:
        yield f"    why: {entry.why}"
    if entry.error:
        yield f"    error: {entry.error}"


def _outcome(entry: HistoryEntry) -> str:
    if not entry.outcome:
        return ""
    return f"  → {entry.outcome}{f' after {brief(entry.took)}' if entry.took is not None else ''}"


def outlook_lines(outlook: StartForecast) -> Iterator[str]:
    """Line by line."""
    plan = outlook.plan
    yield f"{outlook.stream}: a start is {plan.safety}: {plan.summary}"
    if plan.expected_error:
        yield f"  Spark will say: {plan.expected_error}"
    for source in plan.ranges:
        yield f"  its range: {source.start or 'the beginning'} to {source.end or 'open'}"
    if len(outlook.checkpoints) > 1:
        for one in outlook.checkpoints:
            yield f"  {one.checkpoint or 'a companion'}: {one.plan.safety}: {one.plan.summary}"
    if outlook.living_epoch:
        yield f"  the driver of epoch {outlook.living_epoch} may live: this is for the moment after its end"
    if not outlook.is_accepted:
        yield f"  {_refusal(outlook)}"
    until = f" until {moment(outlook.until)} UTC" if outlook.until else ""
    yield f"  next step of its supervisor: {outlook.next_step}{until}, {outlook.reason}"


def _refusal(outlook: StartForecast) -> str:
    if outlook.plan.safety is Safety.UNKNOWN:
        return "no supervisor starts this before what decides can be read"
    if outlook.plan.safety is Safety.FUTILE:
        return "no supervisor starts this: it could only fail"
    return (
        "no supervisor starts this without a person's word:"
        f" `streamops release {outlook.stream} --accept-unsafe --reason …`"
    )
