"""`stop`, `start`, `restart`, `release`, `acknowledge`, `adopt`: a plan, a question, a record. A supervisor does the rest."""

from datetime import timedelta
from typing import Annotated

import typer

from streamops.cli.acting import ActOptions, perform
from streamops.cli.options import (
    AsJson,
    ConfirmStopped,
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
from streamops.cli.wiring import Session
from streamops.errors import SettingsError
from streamops.operations.act_plan import Act, ActTerms
from streamops.supervision.supervisor import Look
from streamops.terminal.output import output


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
    manner = ActOptions(yes=yes, dry_run=dry_run, wait=wait, limit=wait_limit)
    result = perform(session, desk, desk.plan(Act.STOP, reason=reason, terms=ActTerms(force=force)), manner)
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
    manner = ActOptions(yes=yes, dry_run=dry_run, wait=wait, limit=wait_limit)
    result = perform(session, desk, desk.plan(Act.RESTART, reason=reason, terms=ActTerms(force=force)), manner)
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
    confirm_stopped: ConfirmStopped = False,
    wait: Wait = False,
    wait_limit: WaitLimit = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a stopped stream run again.

    A supervisor starts it at its next look. Signs that somebody outside of streamops runs the query are watched or refused
    first. With --confirm-dead the driver of an epoch counts as gone by your word.
    That is refused when the driver is seen alive, or when its beat moves while this command watches it. With --wait the
    exit code is 1 when no batch was committed in time.
    """
    session = session_of(context)
    desk = session.desk(session.spec(stream))
    terms = ActTerms(confirm_dead=confirm_dead, is_vouched=confirm_stopped)
    plan = desk.plan(Act.START, reason=reason, terms=terms)
    result = perform(session, desk, plan, ActOptions(yes=yes, dry_run=dry_run, wait=wait, limit=wait_limit))
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
    accept_expired: Annotated[
        bool,
        typer.Option(
            "--accept-expired",
            help="Let the next start, and only that one, pass over records that Kafka has deleted: they are lost. Its driver"
            " gets failOnDataLoss false; the settings stay as they are.",
            show_default=False,
        ),
    ] = False,
    confirm_stopped: ConfirmStopped = False,
    wait: Wait = False,
    wait_limit: WaitLimit = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let a parked stream run again.

    Its failures are forgotten, and a supervisor starts it at its next look if a start is safe. Signs that somebody outside
    of streamops runs the query are watched or refused first. With --wait the exit
    code is 1 when no batch was committed in time.
    """
    session = session_of(context)
    desk = session.desk(session.spec(stream))
    terms = ActTerms(accepts_unsafe=accept_unsafe, accepts_expired=accept_expired, is_vouched=confirm_stopped)
    plan = desk.plan(Act.RELEASE, reason=reason, terms=terms)
    result = perform(session, desk, plan, ActOptions(yes=yes, dry_run=dry_run, wait=wait, limit=wait_limit))
    output(as_json=as_json).result(result)
    raise typer.Exit(result.exit_code)


def acknowledge(
    context: typer.Context,
    stream: Stream,
    reason: Reason,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Say that the unsafe starts of a stream so far are known.

    A start that lost or repeated data by somebody's word, `--accept-unsafe` or `--accept-expired`, stays in `status` and
    `reconcile` until then, so that a night's loss is not forgotten by day. `history` keeps it for ever.
    """
    session = session_of(context)
    desk = session.desk(session.spec(stream))
    plan = desk.plan(Act.ACKNOWLEDGE, reason=reason)
    output(as_json=as_json).result(perform(session, desk, plan, ActOptions(yes=yes, dry_run=dry_run)))


def adopt(
    context: typer.Context,
    stream: Stream,
    reason: Reason,
    watch: Annotated[
        timedelta,
        typer.Option(
            parser=duration,
            metavar="DURATION",
            help="How long the checkpoint must not move, at least: 30, 30s, 5m. Longer where a batch is in flight.",
        ),
    ] = "30s",  # type: ignore[assignment]  # Typer parses defaults as well.
    confirm_stopped: ConfirmStopped = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Take over a checkpoint with a history of others.

    It was written before streamops looked after it, its control log is lost, or the stream was renamed: the log is that of
    another name, which no settings declare any more. Stop the program that runs the query first, and what starts it again.
    This is refused when a process of this host names the checkpoint, and when that moves while it is watched: for half as
    long again as its slowest batch where a batch is planned and not committed.
    """
    session = session_of(context)
    desk = session.desk(session.spec(stream))
    former = _former_owner(session, desk.supervisor.look(), stream)
    terms = ActTerms(is_vouched=confirm_stopped, watch=watch, from_stream=former)
    plan = desk.plan(Act.ADOPT, reason=reason, terms=terms)
    result = perform(session, desk, plan, ActOptions(yes=yes, dry_run=dry_run))
    output(as_json=as_json).result(result)


def _former_owner(session: Session, look: Look, stream: str) -> str:
    """Whose log it is, where that is another stream's; SettingsError while that one is declared, well or not."""
    owner = look.observation.state.stream
    if owner in ("", stream):
        return ""
    settings = session.settings()
    if owner in {spec.name for spec in settings.streams} | {problem.stream for problem in settings.errors}:
        raise SettingsError(
            f"stream {stream}: its control log belongs to {owner}, which {settings.path} declares as well: remove that"
            " declaration if it was renamed, or choose another checkpoint"
        )
    return owner
