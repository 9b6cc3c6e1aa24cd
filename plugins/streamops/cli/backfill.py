"""`streamops backfill`: a range of the source once more, exactly, to the same table or to another one."""

from dataclasses import replace
from datetime import timedelta

import typer

from streamops.backfill import RequestedRange
from streamops.backfill.asked_text import FILES, range_of
from streamops.backfill.backfill_service import CHUNK, BackfillService, PlannedBackfill, RequestedBackfill
from streamops.backfill.backfill_text import plan_lines, refusal_lines
from streamops.backfill.status import BackfillStatus
from streamops.cli.acting import ask_whether
from streamops.cli.backfill_options import (
    AcceptExpired,
    AcceptUnsafe,
    Approximate,
    Chunk,
    ConfirmDead,
    DeadLetters,
    End,
    From,
    Listed,
    Resume,
    Slack,
    Table,
    To,
)
from streamops.cli.backfill_text import BackfillAnswer, ListedBackfill
from streamops.cli.backfill_watch import BackfillWatch
from streamops.cli.options import AsJson, DryRun, Reason, Stream, Yes, given, session_of
from streamops.cli.output import output
from streamops.cli.stderr import say
from streamops.cli.wiring import Session
from streamops.control.backfill_store import id_at
from streamops.errors import SettingsError, StreamOpsError
from streamops.settings.folders import asked_folder
from streamops.settings.load import project_root


def backfill(
    context: typer.Context,
    stream: Stream,
    begin: From = "",
    end: To = "",
    reason: Reason = "",
    table: Table = "",
    dead_letters: DeadLetters = "",
    slack: Slack = "0s",  # type: ignore[assignment]  # Typer parses defaults as well.
    chunk: Chunk = CHUNK,
    accept_expired: AcceptExpired = False,
    approximate: Approximate = False,
    resume: Resume = "",
    confirm_dead: ConfirmDead = None,
    accept_unsafe: AcceptUnsafe = False,
    stop: End = "",
    listed: Listed = False,
    wait: bool = typer.Option(True, "--wait/--no-wait", help="Watch it to its end; its driver needs nobody for that."),
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Read a range of a stream's source once more, through the stream's own job.

    Both ends are exact. It runs on a checkpoint of its own beside the live query, in steps, and goes on after a kill where it
    stood. What it does is told first. To the stream's own table only if that knows rows by their key; else name another one.

    Exit code 1: refused, or not done and not going on by itself.
    """
    session = session_of(context)
    desk = session.backfill_desk(session.spec(stream))
    if listed:
        output(as_json=as_json).backfills(stream, [_listed(session, desk, one) for one in session.backfills(desk.spec)])
        return
    _vouch(session, desk, stop or resume, reason, dead=confirm_dead, accepts_unsafe=accept_unsafe)
    if stop:
        answer = BackfillWatch(session, desk, desk.read(stop)).stop(given(reason), wait=wait)
    elif resume:
        answer = _gone_on(session, desk, resume, reason=reason, wait=wait, accepts_unsafe=accept_unsafe)
    else:
        asked = RequestedBackfill(
            range=_range(begin, end, slack),
            reason=given(reason),
            table=_folder(session, "--table", table),
            dead_letters=_folder(session, "--dead-letters", dead_letters),
            chunk=chunk,
            accepts_expired=accept_expired,
            is_approximate=approximate,
        )
        answer = _begun(session, desk, asked, wait=wait, yes=yes, dry_run=dry_run)
    output(as_json=as_json).backfill(answer)
    raise typer.Exit(answer.exit_code)


def _begun(
    session: Session, desk: BackfillService, asked: RequestedBackfill, *, wait: bool, yes: bool, dry_run: bool
) -> BackfillAnswer:
    planned = desk.plan(asked, backfill=id_at(session.clock.now()))
    if planned.plan is None:
        for line in refusal_lines(desk.spec.name, planned):
            say(line)
        raise typer.Exit(1)
    if dry_run:
        return BackfillAnswer(plan=planned.plan, planned=planned)
    for line in plan_lines(planned):
        say(line)
    ask_whether(f"backfill {desk.spec.name}", yes=yes)
    desk.keep(planned.plan)
    answer = BackfillWatch(session, desk, planned.plan).go(asked.reason, estimate=_seconds(planned), wait=wait)
    return replace(answer, planned=planned)


def _vouch(
    session: Session, desk: BackfillService, name: str, reason: str, *, dead: int | None, accepts_unsafe: bool
) -> None:
    if dead is None and not accepts_unsafe:
        return
    if not name:
        raise SettingsError(
            "whose word is that about? --confirm-dead and --accept-unsafe go with --resume ID or --stop ID"
        )
    watch = BackfillWatch(session, desk, desk.read(name))
    watch.vouch(given(reason), dead=dead, accepts_unsafe=accepts_unsafe)


def _gone_on(
    session: Session, desk: BackfillService, name: str, *, reason: str, wait: bool, accepts_unsafe: bool
) -> BackfillAnswer:
    plan = desk.read(name)
    if not accepts_unsafe:
        desk.refuse_another_source(plan)
    watch = BackfillWatch(session, desk, plan)
    if desk.progress(plan).is_done and not watch.is_open:
        return watch.follow(wait=wait)
    return watch.go(reason or plan.reason, estimate=None, wait=wait)


def _listed(session: Session, desk: BackfillService, standing: BackfillStatus) -> ListedBackfill:
    """One that can't be read hides no other."""
    try:
        answer = BackfillWatch(session, desk, desk.read(standing.id)).answer()
    except StreamOpsError:
        return ListedBackfill(standing=standing, answer=None)
    return ListedBackfill(standing=standing, answer=answer)


def _seconds(planned: PlannedBackfill) -> timedelta | None:
    known = planned.estimate.seconds if planned.estimate else None
    return timedelta(seconds=known) if known is not None else None


def _range(begin: str, end: str, slack: timedelta) -> RequestedRange:
    if not begin or not (end or begin.startswith(FILES)):
        raise SettingsError("which range? --from and --to name its ends; --list shows the backfills that there are")
    return range_of(begin, end, slack=slack)


def _folder(session: Session, option: str, text: str) -> str:
    return asked_folder(option, text, root=project_root(session.path))
