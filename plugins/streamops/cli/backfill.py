"""`streamops backfill`: a range of the source once more, exactly, to the same table or to another one.

Its driver goes from step to step by itself. A supervisor is there to start it, and to start it again.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import typer

from streamops.backfill import Missing, RequestedRange
from streamops.backfill.asked import EXPECTED, FILES, range_of
from streamops.backfill.backfill_service import (
    BUDGET,
    CHUNK,
    BackfillService,
    PlannedBackfill,
    RequestedBackfill,
    backfill_spec,
)
from streamops.backfill.backfill_text import plan_lines, refusal_lines
from streamops.backfill.report import outcome_of
from streamops.backfill.run_service import RunService
from streamops.backfill.status import BackfillStatus
from streamops.cli.acting import ask_whether
from streamops.cli.options import AsJson, DryRun, Reason, Stream, Yes, duration, given, session_of
from streamops.cli.wiring import Session
from streamops.control.backfill_plan import BackfillPlan, id_at
from streamops.control.records import ClaimMode
from streamops.errors import SettingsError, StreamOpsError
from streamops.settings.folders import asked_folder
from streamops.settings.load import project_root
from streamops.storage.kinds import storage_for
from streamops.supervision.cli_hints import resume_command
from streamops.supervision.decision import NEEDS_A_PERSON, Action, Decision
from streamops.supervision.supervisor import Supervisor
from streamops.terminal.backfill_text import BackfillAnswer, ListedBackfill
from streamops.terminal.console import Tell, counted, say
from streamops.terminal.output import output

From = Annotated[
    str,
    typer.Option(
        "--from", metavar="TIME|OFFSETS|VERSION|FILES", help=f"The first record: {EXPECTED}.", show_default=False
    ),
]
To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="TIME|OFFSETS|VERSION",
        help="Behind the last record, as --from; the last version; nothing for files.",
        show_default=False,
    ),
]
Slack = Annotated[
    timedelta,
    typer.Option(
        parser=duration,
        metavar="DURATION",
        help="How late a record of the time range may have come: read on so far, and leave out what is too young.",
    ),
]
Table = Annotated[
    str, typer.Option(metavar="PATH", help="Write there instead of the stream's own table.", show_default=False)
]
DeadLetters = Annotated[
    str,
    typer.Option(
        metavar="PATH", help="Where records go that can't be parsed. Default: beside the table.", show_default=False
    ),
]
Chunk = Annotated[
    int, typer.Option(metavar="N", min=1, help=f"Records of a step at most, or versions or files. Default: {CHUNK}.")
]
AcceptExpired = Annotated[
    bool,
    typer.Option("--accept-expired", help="Go on although records of the range are deleted.", show_default=False),
]
Approximate = Annotated[
    bool,
    typer.Option(
        "--approximate",
        help="Run a job that keeps state, though it sees the range alone.",
        show_default=False,
    ),
]
Resume = Annotated[
    str, typer.Option("--resume", metavar="ID", help="Go on with a backfill, or watch it.", show_default=False)
]
ConfirmDead = Annotated[
    int | None,
    typer.Option(
        "--confirm-dead",
        metavar="EPOCH",
        min=1,
        help="With --resume or --stop: vouch for the end of this epoch's driver, where no machine can tell. Make sure first.",
        show_default=False,
    ),
]
AcceptUnsafe = Annotated[
    bool,
    typer.Option(
        "--accept-unsafe",
        help="With --resume: let the next start go ahead although it may lose or repeat data.",
        show_default=False,
    ),
]
End = Annotated[
    str, typer.Option("--stop", metavar="ID", help="Stop a backfill between two steps.", show_default=False)
]
Listed = Annotated[bool, typer.Option("--list", help="Show the stream's backfills.", show_default=False)]


POLL = timedelta(seconds=2)


class BackfillWatch:
    """One backfill, for the person at this terminal."""

    def __init__(self, session: Session, desk: BackfillService, plan: BackfillPlan) -> None:
        self._session = session
        self._desk = desk
        self._plan = plan
        self._spec = backfill_spec(desk.spec, plan)
        self._acts = session.desk(self._spec)
        self._runs = RunService(
            self._acts, storage=storage_for(self._spec.checkpoint, access=self._spec.file_access), clock=session.clock
        )

    @property
    def is_open(self) -> bool:
        """Whether a run of it is under way."""
        open_one = self._acts.requests.state().maintenance
        return open_one is not None and open_one.until > self._session.clock.now()

    def go(self, reason: str, *, estimate: timedelta | None, wait: bool) -> BackfillAnswer:
        """Begin or go on, and with `wait` stay until it is over or can't go on by itself."""
        requests = self._acts.requests
        requests.release(reason)
        requests.start(reason)
        if not self.is_open:
            until = self._session.clock.now() + BUDGET
            requests.begin_run(ClaimMode.BACKFILL, reason, until=until, estimated=estimate)
        answer = self.follow(wait=wait)
        if answer.run and not answer.run.is_over and not answer.trouble:
            resume = resume_command(self._plan.stream, self._plan.id)
            say(f"the driver goes on by itself; nobody starts another one when it dies, until `{resume}`")
        return answer

    def stop(self, reason: str, *, wait: bool) -> BackfillAnswer:
        """Let it end between two steps, and with `wait` stay until its driver has ended and that is on record."""
        self._acts.requests.end_run(reason)
        return replace(self.follow(wait=wait, driver="ends between two steps"), is_to_end=True)

    def follow(self, *, wait: bool, driver: str = "goes on") -> BackfillAnswer:
        """Supervise it: with `wait` until it is over or can't go on by itself, else until there is nothing to do at once.

        `driver`: what its driver does when somebody ends the watching.
        """
        supervisor = self._session.wiring.supervisor(
            self._spec, state_root=self._session.settings().state_root, actor="backfill", kind=Supervisor
        )
        try:
            with counted(f"backfilling {self._plan.stream}", total=self._plan.records) as tell:
                return self._watched(supervisor, tell, wait=wait)
        except KeyboardInterrupt:
            say(f"the driver {driver}; `{resume_command(self._plan.stream, self._plan.id)}` goes on with it")
            raise typer.Exit(130) from None

    def vouch(self, reason: str, *, dead: int | None, accepts_unsafe: bool) -> None:
        """A person's word where the machine can't tell: an epoch's driver is gone, the next start may be unsafe.

        ControlLogError where that epoch is not open, or its driver is seen alive or beats while it is watched.
        """
        requests = self._acts.requests
        if dead is not None:
            self._acts.confirm_dead(dead, reason)
        if accepts_unsafe:
            requests.release(reason, accepts_unsafe=True)

    def answer(self) -> BackfillAnswer:
        """Where it stands."""
        number, progress = self._newest_run(), self._desk.progress(self._plan)
        report = self._runs.report(number) if number is not None else None
        return BackfillAnswer(plan=self._plan, progress=progress, run=outcome_of(report, progress) if report else None)

    def _watched(self, supervisor: Supervisor, tell: Tell, *, wait: bool) -> BackfillAnswer:
        while True:
            try:
                decision = supervisor.settle()
                done = self._desk.progress(self._plan)
                tell(done.records_done, "all steps are done" if done.is_done else decision.reason)
                answer = self.answer()
                is_begun = decision.action is Action.KEEP and not wait
                if is_begun or answer.run is None or answer.run.is_over:
                    return answer
                if _needs_a_person(decision):
                    return replace(answer, trouble=decision.reason, missing=self._missing())
            except StreamOpsError as error:
                # A look that fails is no answer: the driver needs none.
                tell(0, str(error))
            self._session.clock.sleep(POLL)

    def _newest_run(self) -> int | None:
        open_one = self._acts.requests.state().maintenance
        return open_one.record if open_one else self._runs.newest()

    def _missing(self) -> tuple[Missing, ...]:
        try:
            return self._desk.missing(self._plan)
        except StreamOpsError as error:
            say(f"what of the rest is deleted can't be told: {error}")
            return ()


def _needs_a_person(decision: Decision) -> bool:
    """Whether nothing more happens until a person acts.

    A wait without an end is for a word on a driver that is out of sight.
    """
    is_endless = decision.action is Action.WAIT and decision.needs_attention and decision.until is None
    return is_endless or decision.action in NEEDS_A_PERSON


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
