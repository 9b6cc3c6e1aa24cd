"""What became of a bounded run that was asked for at the terminal."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from streamops.backfill.report import RunOutcome, RunReport
from streamops.operations.act_plan import ActPlan


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
