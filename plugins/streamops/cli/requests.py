"""`streamops stop`, `start`, `restart`, `release`, `adopt`: a plan, a question, a record. A supervisor does the rest."""

from datetime import timedelta
from typing import Annotated

import typer

from streamops.cli.acting import Manner, carry_out, perform
from streamops.cli.options import (
    AsJson,
    DryRun,
    Force,
    Reason,
    Stream,
    Wait,
    WaitLimit,
    Yes,
    duration,
    session_of,
)
from streamops.cli.output import output
from streamops.cli.talk import waiting
from streamops.cli.wiring import Session
from streamops.control.records import Record
from streamops.errors import ControlLogError
from streamops.supervisor.act_plan import Act
from streamops.supervisor.act_plans import plan_adopt, plan_release, plan_start, refuse_if_seen_alive
from streamops.supervisor.desk import Desk


def stop(
    context: typer.Context,
    stream: Stream,
    reason: Reason,
    force: Force = False,
    wait: Wait = False,
    wait_limit: WaitLimit = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a stream finish its batch and stand still.

    Nobody starts it again until `streamops start`. The driver obeys at its next beat, supervised or not. Killing it
    when the grace is over, or at once with --force, takes a supervisor. With --wait the exit code is 1 when a driver
    still lives at the end of the wait.
    """
    session = session_of(context)
    desk = session.desk(session.spec(stream))
    manner = Manner(yes=yes, dry_run=dry_run, wait=wait, limit=wait_limit)
    result = perform(session, desk, desk.plan(Act.STOP, reason=reason, force=force), manner)
    output(as_json=as_json).result(result)
    raise typer.Exit(result.exit_code)


def restart(
    context: typer.Context,
    stream: Stream,
    reason: Reason,
    force: Force = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for the first committed batch of the new driver.")
    ] = True,
    wait_limit: WaitLimit = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Replace the driver of a stream by one with the present settings and job file.

    The driver finishes its batch first (with --force it is killed), and a supervisor starts the next one at once. A
    parked stream is released. The command waits until the new driver has committed a batch, or has shown that there is
    nothing to read; the exit code is 1 when that did not come in time.
    """
    session = session_of(context)
    desk = session.desk(session.spec(stream))
    manner = Manner(yes=yes, dry_run=dry_run, wait=wait, limit=wait_limit)
    result = perform(session, desk, desk.plan(Act.RESTART, reason=reason, force=force), manner)
    output(as_json=as_json).result(result)
    raise typer.Exit(result.exit_code)


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
    wait: Wait = False,
    wait_limit: WaitLimit = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a stopped stream run again.

    A supervisor starts it at its next look. With --confirm-dead the driver of an epoch counts as gone by your word.
    That is refused when the driver is seen alive, or when its beat moves while this command watches it. With --wait the
    exit code is 1 when no batch was committed in time.
    """
    session = session_of(context)
    desk = session.desk(session.spec(stream))
    plan = plan_start(desk.sight(), desk.spec, reason=reason, confirm_dead=confirm_dead)
    manner = Manner(yes=yes, dry_run=dry_run, wait=wait, limit=wait_limit)
    if confirm_dead is None:
        result = perform(session, desk, plan, manner)
    else:
        result = carry_out(
            session, desk, plan, manner, act=lambda: _start_over_dead(session, desk, confirm_dead, reason)
        )
    output(as_json=as_json).result(result)
    raise typer.Exit(result.exit_code)


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
    wait: Wait = False,
    wait_limit: WaitLimit = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a parked stream run again.

    Its failures are forgotten, and a supervisor starts it at its next look if a start is safe. With --wait the exit
    code is 1 when no batch was committed in time.
    """
    session = session_of(context)
    desk = session.desk(session.spec(stream))
    plan = plan_release(desk.sight(), desk.spec, reason=reason, accepts_unsafe=accept_unsafe)

    def act() -> tuple[Record, ...]:
        record = desk.requests.release(reason, accepts_unsafe=accept_unsafe)
        return (record,) if record else ()

    manner = Manner(yes=yes, dry_run=dry_run, wait=wait, limit=wait_limit)
    result = carry_out(session, desk, plan, manner, act=act)
    output(as_json=as_json).result(result)
    raise typer.Exit(result.exit_code)


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
    desk = session.desk(session.spec(stream))
    plan = plan_adopt(desk.sight(), desk.spec, reason=reason, watch=watch)

    def act() -> tuple[Record, ...]:
        with waiting(f"watching the checkpoint of {stream} for {watch.total_seconds():.0f} s"):
            return (desk.requests.adopt(reason, watch=watch),)

    result = carry_out(session, desk, plan, Manner(yes=yes, dry_run=dry_run), act=act)
    output(as_json=as_json).result(result)


def _start_over_dead(session: Session, desk: Desk, epoch: int, reason: str) -> tuple[Record, ...]:
    _refuse_if_it_beats(session, desk, epoch)
    dead = desk.requests.confirm_dead(epoch, reason)
    started = desk.requests.start(reason)
    return (dead, started) if started else (dead,)


def _refuse_if_it_beats(session: Session, desk: Desk, epoch: int) -> None:
    """A driver that can't beat for the halt time kills itself: one that has not moved for as long does not write."""
    spec = desk.spec
    before = refuse_if_seen_alive(desk.supervisor.look(), spec, epoch=epoch)
    with waiting(f"watching the beat of epoch {epoch} for {spec.timings.halt.total_seconds():.0f} s"):
        session.clock.sleep(spec.timings.halt)
    after = refuse_if_seen_alive(desk.supervisor.look(), spec, epoch=epoch)
    if before.heartbeat != after.heartbeat:
        raise ControlLogError(f"stream {spec.name}: epoch {epoch} is not dead: its beat moved while it was watched")
