"""`streamops catchup`: a bounded run, in the live query's place or of a scheduled stream."""

from datetime import timedelta
from typing import Annotated

import typer

from streamops.backfill.report import RunReport
from streamops.backfill.run_service import PlannedRun, RunService
from streamops.cli.acting import ask
from streamops.cli.options import AsJson, DryRun, Reason, Stream, Yes, duration, given, session_of
from streamops.cli.wiring import Session
from streamops.errors import SettingsError, StreamOpsError
from streamops.operations.act_plan import Stage
from streamops.terminal.console import Tell, counted, say
from streamops.terminal.output import output
from streamops.terminal.results import RunResult

POLL = timedelta(seconds=2)


def catchup(
    context: typer.Context,
    stream: Stream,
    reason: Reason,
    budget: Annotated[
        timedelta | None,
        typer.Option(
            parser=duration,
            metavar="DURATION",
            help="Stop the run between two batches after this time: 90m, 6h. Default: what is declared.",
            show_default=False,
        ),
    ] = None,
    finish_batch: Annotated[
        bool,
        typer.Option(
            "--finish-batch",
            help="Finish the batch in flight and no more, by the trigger once: the way past a batch that availableNow refuses.",
            show_default=False,
        ),
    ] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the run is over.")] = True,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a stream read all that its source holds now, by availableNow, and end.

    A live query finishes its batch and yields, the run has the resources of the stream's `catchup` section, then the live query
    is started again. Any supervisor goes on with it: ending this command ends only the watching. Nothing is done where nothing
    waits. Exit code 1: the run has not read all that there was.
    """
    session = session_of(context)
    runs = session.run_desk(session.spec(stream))
    given(reason)
    if budget is not None and budget <= timedelta(0):
        raise SettingsError("--budget is no time at all: expected more than 0 s, or none for what is declared")
    plan = runs.plan_once if finish_batch else runs.plan
    planned = plan(reason=reason, budget=budget)
    result = RunResult(plan=planned.plan)
    if planned.plan.is_needed and not dry_run:
        for line in planned.plan.lines:
            say(line)
        ask(planned.plan, yes=yes)
        result = RunResult(plan=planned.plan, number=runs.begin(planned).number)
    if wait and result.number is not None:
        result = _watched(session, runs, planned, result.number)
    output(as_json=as_json).run(result)
    raise typer.Exit(result.exit_code)


def _watched(session: Session, runs: RunService, planned: PlannedRun, number: int) -> RunResult:
    """The run when it is over, or when it can't go on by itself."""
    try:
        with counted(f"catching {runs.spec.name} up", total=planned.news.offsets) as tell:
            while True:
                report, trouble = _looked(runs, number, tell)
                if trouble or (report and report.is_over):
                    return RunResult(plan=planned.plan, number=number, report=report, trouble=trouble)
                session.clock.sleep(POLL)
    except KeyboardInterrupt:
        say(f"{runs.spec.name}: the run goes on, only the watching has ended (record {number})")
        raise typer.Exit(130) from None


def _looked(runs: RunService, number: int, tell: Tell) -> tuple[RunReport | None, str]:
    """One look; a look that fails is no answer."""
    try:
        report, progress = runs.report(number), runs.progress(number)
    except StreamOpsError as error:
        tell(0, str(error))
        return None, ""
    tell(report.rows or 0, progress.evidence)
    return report, progress.evidence if progress.stage is Stage.FAILED and not report.is_over else ""
