"""How a person acts: the plan is shown, the question asked, the record appended, and what follows is waited for."""

import sys
from dataclasses import dataclass, replace
from datetime import timedelta

import typer

from streamops.cli.options import given
from streamops.cli.wiring import Session
from streamops.errors import SettingsError
from streamops.operations.act_plan import Act, ActPlan, ActProgress, AwaitedStart, Stage
from streamops.operations.stream_operations import StreamOperations
from streamops.spec import StreamSpec
from streamops.terminal.console import confirmed, say, waiting
from streamops.terminal.results import ActOutcome, ActResult

WAIT_POLL = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActOptions:
    """How the person wants it done."""

    yes: bool
    dry_run: bool
    wait: bool = False
    limit: timedelta | None = None

    @property
    def waits(self) -> bool:
        """Whether to wait for what follows: a limit is a wish to wait."""
        return self.wait or self.limit is not None


def perform(session: Session, desk: StreamOperations, plan: ActPlan, manner: ActOptions) -> ActResult:
    """Show the plan, ask, act, wait. What was asked for is checked once more by the act itself."""
    given(plan.reason)
    if manner.dry_run:
        outcome = ActOutcome.PLANNED if plan.is_needed else ActOutcome.NOTHING_TO_DO
        return ActResult(plan=plan, outcome=outcome)
    awaits, result = plan.awaits, ActResult(plan=plan, outcome=ActOutcome.NOTHING_TO_DO)
    if plan.is_needed:
        for line in plan.lines:
            say(line)
        ask(plan, yes=manner.yes)
        done = desk.carry_out(plan)
        outcome = ActOutcome.RECORDED if done.records else ActOutcome.NOTHING_TO_DO
        numbers = tuple(record.number for record in done.records)
        awaits, result = done.awaits, ActResult(plan=done.plan, outcome=outcome, numbers=numbers)
    if manner.waits and (awaits or plan.act is Act.STOP):
        return _waited(session, desk, result, awaits, manner.limit or desk.limit(plan.act, force=plan.terms.force))
    return result


def ask(plan: ActPlan, *, yes: bool) -> None:
    """As `ask_whether`, for a plan."""
    ask_whether(f"{plan.act} {plan.stream}", yes=yes)


def ask_whether(what: str, *, yes: bool) -> None:
    """Go on only if the person says so, or has said so before. SettingsError where there is nobody to ask."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise SettingsError(f"{what}: there is no terminal to ask at; add --yes, or --dry-run to look")
    if not confirmed(f"{what}?"):
        say("nothing was done")
        raise typer.Exit(1)


def _waited(
    session: Session, desk: StreamOperations, result: ActResult, awaits: AwaitedStart | None, limit: timedelta
) -> ActResult:
    begun = session.clock.monotonic()
    plan = result.plan
    try:
        progress = _watch(session, desk, plan.act, awaits, limit)
    except KeyboardInterrupt:
        say(f"{plan.stream}: what was asked for stands, only the watching has ended")
        raise typer.Exit(130) from None
    waited = session.clock.monotonic() - begun
    if plan.act is Act.STOP:
        return replace(result, has_ended=progress.stage is Stage.DONE, progress=progress, waited=waited)
    return replace(result, progress=progress, waited=waited)


def _watch(
    session: Session, desk: StreamOperations, act: Act, awaits: AwaitedStart | None, limit: timedelta
) -> ActProgress:
    """How far the act has come when it is done, has failed, or at the latest after the limit."""
    deadline = session.clock.monotonic() + limit
    with waiting(f"waiting at most {limit.total_seconds():.0f} s until {_goal(act, desk.spec)}") as tell:
        told = ""
        while True:
            progress = desk.progress(act, awaits)
            if progress.stage is not Stage.PENDING or session.clock.monotonic() >= deadline:
                return progress
            if progress.evidence != told:
                told = progress.evidence
                tell(f"{desk.spec.name}: {told}")
            session.clock.sleep(WAIT_POLL)


def _goal(act: Act, spec: StreamSpec) -> str:
    if act is Act.STOP:
        return f"no driver of {spec.name} lives"
    return f"a new driver of {spec.name} has committed a batch"
