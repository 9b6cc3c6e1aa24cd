"""One backfill from the terminal: begun, supervised by this very command, followed with a bar.

Its driver goes from step to step by itself. A supervisor is there to start it, and to start it again.
"""

from dataclasses import replace
from datetime import timedelta

import typer

from streamops.backfill import Missing
from streamops.backfill.backfill_service import BackfillService
from streamops.backfill.budget import BUDGET
from streamops.backfill.derived import backfill_spec
from streamops.backfill.outcome import outcome_of
from streamops.backfill.run_service import RunService
from streamops.cli.backfill_text import BackfillAnswer
from streamops.cli.progress_bar import Tell, counted
from streamops.cli.stderr import say
from streamops.cli.wiring import Session
from streamops.control.backfill_plan import BackfillPlan
from streamops.control.records import ClaimMode
from streamops.errors import StreamOpsError
from streamops.storage.kinds import storage_for
from streamops.supervision import Action, Supervisor
from streamops.supervision.cli_hints import resume_command
from streamops.supervision.decision import NEEDS_A_PERSON, Decision

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
