"""`streamops stop`, `start`, `release`, `adopt`: a plan, a question, a record. A supervisor does the rest."""

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated

import typer

from streamops.cli.options import AsJson, DryRun, Reason, Stream, Yes, duration, session_of
from streamops.cli.output import confirmed, output, plan_lines, say, waiting
from streamops.cli.plans import (
    ActOutcome,
    ActPlan,
    ActResult,
    plan_adopt,
    plan_release,
    plan_start,
    plan_stop,
    refuse_if_seen_alive,
)
from streamops.cli.wiring import Session
from streamops.control.records import Record
from streamops.errors import ControlLogError, SettingsError, StreamOpsError
from streamops.launch import DriverState
from streamops.spec import StreamSpec
from streamops.supervisor import Action, Supervisor

WAIT_POLL = timedelta(seconds=1)

Records = tuple[Record | None, ...]


def stop(
    context: typer.Context,
    stream: Stream,
    reason: Reason,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until no driver lives.", show_default=False)] = False,
    wait_limit: Annotated[
        timedelta | None,
        typer.Option(
            parser=duration,
            metavar="DURATION",
            help="Wait, but no longer than this: 90, 90s, 5m. Default: the grace of a stop and a minute.",
            show_default=False,
        ),
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a stream finish its batch and stand still.

    Nobody starts it again until `streamops start`. The driver obeys at its next beat, supervised or not. Killing it
    when the grace is over takes a supervisor. With --wait the exit code is 1 when a driver still lives at the end of
    the wait.
    """
    session = session_of(context)
    spec = session.spec(stream)
    plan = plan_stop(session.look(spec), spec, reason=reason)
    result = _carry_out(plan, lambda: (session.requests(spec).stop(reason),), yes=yes, dry_run=dry_run)
    if (wait or wait_limit is not None) and result.outcome is not ActOutcome.PLANNED:
        limit = wait_limit if wait_limit is not None else spec.timings.stop + timedelta(minutes=1)
        result = _waited(result, _wait_until_ended(session, spec, limit))
    output(as_json=as_json).result(result)
    raise typer.Exit(1 if result.has_ended is False else 0)


def start(
    context: typer.Context,
    stream: Stream,
    reason: Reason,
    confirm_dead: Annotated[
        int | None,
        typer.Option(
            metavar="EPOCH",
            min=1,
            help="Vouch for the end of this epoch's driver, where no machine can tell. Make sure of it first.",
            show_default=False,
        ),
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a stopped stream run again.

    A supervisor starts it at its next look. With --confirm-dead the driver of an epoch counts as gone by your word.
    That is refused when the driver is seen alive, or when its beat moves while this command watches it.
    """
    session = session_of(context)
    spec = session.spec(stream)
    plan = plan_start(session.look(spec), spec, reason=reason, confirm_dead=confirm_dead)

    def act() -> Records:
        requests = session.requests(spec)
        if confirm_dead is None:
            return (requests.start(reason),)
        _refuse_if_it_beats(session, spec, confirm_dead)
        return requests.confirm_dead(confirm_dead, reason), requests.start(reason)

    result = _carry_out(plan, act, yes=yes, dry_run=dry_run)
    output(as_json=as_json).result(result)


def release(
    context: typer.Context,
    stream: Stream,
    reason: Reason,
    accept_unsafe: Annotated[
        bool,
        typer.Option(
            "--accept-unsafe",
            help="Let the next start go ahead although it may lose or repeat data, or can only fail.",
            show_default=False,
        ),
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a parked stream run again.

    Its failures are forgotten, and a supervisor starts it at its next look if a start is safe.
    """
    session = session_of(context)
    spec = session.spec(stream)
    plan = plan_release(session.look(spec), spec, reason=reason, accepts_unsafe=accept_unsafe)
    result = _carry_out(
        plan,
        lambda: (session.requests(spec).release(reason, accepts_unsafe=accept_unsafe),),
        yes=yes,
        dry_run=dry_run,
    )
    output(as_json=as_json).result(result)


def adopt(
    context: typer.Context,
    stream: Stream,
    reason: Reason,
    watch: Annotated[
        timedelta,
        typer.Option(
            parser=duration,
            metavar="DURATION",
            help="How long the checkpoint must not move: 30, 30s, 5m. Take longer than its slowest batch.",
        ),
    ] = "30s",  # type: ignore[assignment]  # Typer parses defaults as well.
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Take over a checkpoint with a history of others.

    It was written before streamops looked after it, or its control log is lost. This is refused when the checkpoint
    moves between two looks: then somebody still runs the query.
    """
    session = session_of(context)
    spec = session.spec(stream)
    plan = plan_adopt(session.look(spec), spec, reason=reason, watch=watch)

    def act() -> Records:
        with waiting(f"watching the checkpoint of {spec.name} for {watch.total_seconds():.0f} s"):
            return (session.requests(spec).adopt(reason, watch=watch),)

    result = _carry_out(plan, act, yes=yes, dry_run=dry_run)
    output(as_json=as_json).result(result)


def _carry_out(plan: ActPlan, act: Callable[[], Records], *, yes: bool, dry_run: bool) -> ActResult:
    """Show the plan, ask, act. What was asked for is checked once more by the act itself."""
    if not plan.reason.strip():
        raise SettingsError("--reason is empty: say why, others will read it")
    if not plan.is_needed:
        return ActResult(plan=plan, outcome=ActOutcome.NOTHING_TO_DO)
    if dry_run:
        return ActResult(plan=plan, outcome=ActOutcome.PLANNED)
    for line in plan_lines(plan):
        say(line)
    _ask(plan, yes=yes)
    numbers = tuple(record.number for record in act() if record)
    return ActResult(plan=plan, outcome=ActOutcome.RECORDED if numbers else ActOutcome.NOTHING_TO_DO, numbers=numbers)


def _ask(plan: ActPlan, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise SettingsError(
            f"{plan.act} {plan.stream}: there is no terminal to ask at; add --yes, or --dry-run to look"
        )
    if not confirmed(f"{plan.act} {plan.stream}?"):
        say("nothing was done")
        raise typer.Exit(1)


def _refuse_if_it_beats(session: Session, spec: StreamSpec, epoch: int) -> None:
    """A driver that can't beat for the halt time kills itself: one that has not moved for as long does not write."""
    supervisor = session.supervisor(spec)
    before = refuse_if_seen_alive(supervisor.look(), spec, epoch=epoch)
    with waiting(f"watching the beat of epoch {epoch} for {spec.timings.halt.total_seconds():.0f} s"):
        session.clock.sleep(spec.timings.halt)
    after = refuse_if_seen_alive(supervisor.look(), spec, epoch=epoch)
    if before.heartbeat != after.heartbeat:
        raise ControlLogError(f"stream {spec.name}: epoch {epoch} is not dead: its beat moved while it was watched")


def _wait_until_ended(session: Session, spec: StreamSpec, limit: timedelta) -> bool:
    """Whether no driver of the stream lives, at the latest after the limit."""
    supervisor = session.supervisor(spec)
    deadline = session.clock.monotonic() + limit
    with waiting(f"waiting at most {limit.total_seconds():.0f} s until no driver of {spec.name} lives"):
        while True:
            living = _living(supervisor)
            if not living:
                return True
            if session.clock.monotonic() >= deadline:
                say(f"{spec.name}: {living}")
                return False
            session.clock.sleep(WAIT_POLL)


def _living(supervisor: Supervisor) -> str:
    """Why a driver may still live; empty when none does. What can't be read is no end."""
    try:
        look = supervisor.look()
    except StreamOpsError as error:
        return str(error)
    for facts in look.observation.epochs:
        if facts.status is None:
            # A driver that was submitted without a record sees the request at its first beat, before its first batch.
            if facts.found or look.decision.action is not Action.STOPPED:
                return f"epoch {facts.epoch.number} is claimed, and nothing says yet that it won't be submitted"
        elif facts.status.state is not DriverState.ENDED:
            return f"epoch {facts.epoch.number}: {facts.status.evidence}"
    return ""


def _waited(result: ActResult, has_ended: bool) -> ActResult:
    return ActResult(plan=result.plan, outcome=result.outcome, numbers=result.numbers, has_ended=has_ended)
