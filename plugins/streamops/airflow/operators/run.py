"""The task of a bounded run: asks for it, sees it through without a worker slot, and tells what came of it."""

import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NoReturn

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from streamops.airflow.operators.act_log import tell_act
from streamops.airflow.run_end import RunOfTask
from streamops.airflow.services import build_run_desk
from streamops.airflow.triggers.run import RunTrigger
from streamops.backfill.report import RunOutcome, RunReport
from streamops.backfill.run_service import RunService
from streamops.control.records import ClaimMode
from streamops.control.state import Desire
from streamops.errors import ControlLogError, SettingsError, StreamOpsError
from streamops.spec import Mode
from streamops.supervision.decision import NEEDS_A_PERSON, Action, Decision
from streamops.supervision.observation import Observation

KILL_PATIENCE = timedelta(seconds=3)
"""How long the handler of a SIGTERM waits for the answer of Airflow's server."""


class RunOperator(BaseOperator):
    """Runs a declared stream once by availableNow: until it has read all that its source held at the start.

    A live query yields meanwhile. Skipped where nothing waits, and while somebody has stopped the stream or runs it. It succeeds
    only if the query has ended by itself. Marking it failed or done ends the run between two batches; a worker or a triggerer
    that dies or is shut down touches nothing, and a retry goes on with the same run.

    :param stream: name of a stream in the settings.
    :param config: path of the settings file.
    :param reason: why, for the record.
    :param budget_hours: after it the run is stopped between two batches; empty for what the stream declares.
    """

    template_fields = ("stream", "reason", "budget_hours")
    _run: RunOfTask | None = None
    """What this slice is about, as soon as it is on record."""
    _was_signalled: bool = False
    """Whether a SIGTERM came."""
    ui_color = "#d8f0e8"

    def __init__(
        self, *, stream: str, config: str, reason: str = "scheduled", budget_hours: str = "", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.stream = stream
        self.config = config
        self.reason = reason
        self.budget_hours = budget_hours

    def execute(self, context: Context) -> dict[str, Any]:
        """First slice of a try: go on with the run that an earlier try has asked for, or ask for one."""
        run = context["dag_run"]
        mark = f"[{run.dag_id} {run.run_id}]"
        try:
            runs = self.run_desk(context)
        except SettingsError as error:
            raise AirflowFailException(str(error)) from error
        found = runs.find(mark, since=run.run_after)
        number = self.go_on(runs, found.number, mark) if found else self.ask(runs, mark)
        return self._see_through(context, runs, number)

    def resume(self, context: Context, event: Mapping[str, str]) -> dict[str, Any]:
        """A further slice, woken by the trigger."""
        self.log.info("stream=%s woken for %s: %s", self.stream, event["wake"], event["reason"])
        number, memory = int(event["run"]), event.get("memory", "")
        try:
            runs = self.run_desk(context)
        except StreamOpsError as error:
            # A mistake in the settings must not disarm a run that is under way.
            self.log.warning("stream=%s can't be run now, trying again: %s", self.stream, error)
            self._sleep(context, number)
        return self._see_through(context, runs, number, memory=memory)

    def on_kill(self) -> None:
        """End the run where a person has given its task an end while a slice of it runs; any other SIGTERM leaves it alone.

        Airflow 3.3 calls this inside the handler of the signal, at any instruction, and kills the process 5 s later. The slice
        may be at the line to Airflow's server just then, and hold its lock: so another thread asks, and is waited for only so
        long.
        """
        self._was_signalled = True
        if self._run is None:
            return
        ending = threading.Thread(target=self._run.end_if_given, name="streamops-end-run", daemon=True)
        ending.start()
        ending.join(KILL_PATIENCE.total_seconds())

    def run_desk(self, context: Context) -> RunService:
        """Where the run is asked for and followed. SettingsError."""
        return build_run_desk(
            self.stream, self.config, actor=actor_of(context), may_submit=True, backfill=self.backfill_id(context)
        )

    @property
    def release_by(self) -> str:
        """How a person lets it go on after a park."""
        return f"streamops release {self.stream} --reason '…'"

    def missing(self, context: Context) -> tuple[str, ...]:
        """What of the source it can't read any more, a line each; empty where it does not look."""
        return ()

    def backfill_id(self, context: Context) -> str:
        """Which backfill of the stream is meant; empty for the stream itself."""
        return ""

    def go_on(self, runs: RunService, number: int, mark: str) -> int:
        """A further try: the number of the run that an earlier one asked for.

        Whoever clears a task whose run was stopped before it had read everything wants another one.
        """
        report = runs.report(number)
        return self.ask(runs, mark) if report.is_over and report.outcome is not RunOutcome.FINISHED else number

    def ask(self, runs: RunService, mark: str) -> int:
        """Put the run on record, unless there is nothing to do or somebody else is at work; its number."""
        look = runs.look()
        if (left := runs.left_run(look)) is not None:
            self.log.info(
                "stream=%s run=%d was asked for, and nobody sees it through: it is taken over", self.stream, left
            )
            return left
        if runs.spec.mode is not Mode.LIVE and look.observation.state.maintenance is None:
            # Nothing is to run, so this only puts on record what is left of earlier drivers: nobody else may be there for it.
            runs.supervisor.settle(on_act=lambda seen: tell_act(self.log, self.stream, seen))
            look = runs.look()
        if why := _why_skipped(look.observation, runs.spec.mode):
            raise AirflowSkipException(f"stream {self.stream}: {why}")
        if look.decision.action in NEEDS_A_PERSON:
            raise AirflowFailException(_standstill(self.stream, look.decision, self.release_by))
        try:
            planned = runs.plan(reason=f"{self.reason} {mark}", budget=self._budget())
        except ControlLogError as error:
            raise AirflowFailException(str(error)) from error
        if not planned.plan.is_needed:
            raise AirflowSkipException(f"stream {self.stream}: {planned.news.reason}")
        self.log.info("\n".join(planned.plan.lines))
        try:
            return runs.begin(planned).number
        except ControlLogError as error:
            # Somebody was faster than this task: stopped it, or asked for a run as well.
            raise AirflowSkipException(str(error)) from error

    def _see_through(self, context: Context, runs: RunService, number: int, *, memory: str = "") -> dict[str, Any]:
        """Do what is to be done now; the result when it is over. Trouble with files or connections is a wait."""
        self._run = self._of_task(context, number)
        if self._was_signalled:
            self._run.end_if_given()  # It came before the run was on record.
        try:
            supervisor = runs.supervisor
            supervisor.take_over(memory)
            decision = supervisor.settle(on_act=lambda look: tell_act(self.log, self.stream, look))
            report = runs.report(number)
        except StreamOpsError as error:
            self.log.warning("stream=%s can't be run now, trying again: %s", self.stream, error)
            self._sleep(context, number)
        self.log.info("stream=%s run=%d %s: %s", self.stream, number, decision.action, decision.reason)
        if report.is_over:
            return self._result(report)
        if decision.action in NEEDS_A_PERSON:
            told = (_standstill(self.stream, decision, self.release_by), *self.missing(context))
            raise AirflowFailException("\n".join(told))
        self._sleep(context, number)

    def _result(self, report: RunReport) -> dict[str, Any]:
        self.log.info("stream=%s run=%d %s", self.stream, report.record, report.line)
        if report.outcome is not RunOutcome.FINISHED:
            goes_on = "; the next run goes on from there" if report.outcome is RunOutcome.BUDGET_SPENT else ""
            raise AirflowFailException(f"stream {self.stream}: {report.line}: {report.reason}{goes_on}")
        return report.values()

    def _budget(self) -> timedelta | None:
        """As the form says; AirflowFailException for what is no number of hours, or no time at all."""
        if not str(self.budget_hours or "").strip():
            return None
        try:
            budget = timedelta(hours=float(self.budget_hours))
        except (ValueError, OverflowError):
            budget = timedelta(0)
        if budget <= timedelta(0):
            raise AirflowFailException(f"expected a budget in hours, more than 0, found {self.budget_hours!r}")
        return budget

    def _of_task(self, context: Context, number: int) -> RunOfTask:
        task = context["ti"]
        return RunOfTask(
            stream=self.stream,
            config=self.config,
            number=number,
            backfill=self.backfill_id(context),
            dag_id=task.dag_id,
            run_id=task.run_id,
            task_id=task.task_id,
        )

    def _sleep(self, context: Context, number: int) -> NoReturn:
        """Leave the watch to the trigger, unless a person has given the task an end meanwhile.

        Airflow tells a task so by SIGTERM at its next beat, 5 s or more later: most slices are over by then. The server then
        refuses to defer the task, and no trigger would ever see its end.
        """
        run = self._of_task(context, number)
        if state := run.end_if_given():
            raise AirflowFailException(f"stream {self.stream}: run {number} is ended, its task was marked {state}")
        trigger = RunTrigger(
            stream=run.stream,
            config=run.config,
            run=run.number,
            backfill=run.backfill,
            dag_id=run.dag_id,
            run_id=run.run_id,
            task_id=run.task_id,
        )
        self.defer(trigger=trigger, method_name="resume")


def actor_of(context: Context) -> str:
    """The person who has filled in a form, or else the DAG."""
    run = context["dag_run"]
    user = run.triggering_user_name
    return f"person:{user}@airflow" if user else f"airflow:{run.dag_id}"


def _why_skipped(observation: Observation, mode: Mode) -> str:
    """Why no run is to be made now, although nothing is wrong; empty where one is."""
    state = observation.state
    if state.desire is Desire.STOPPED and state.desired:
        return f"stopped on purpose by {state.desired.by.actor}: {state.desired.reason}"
    open_one = state.maintenance
    if open_one and open_one.until > observation.now:
        return f"{open_one.note.by.actor} is at work on it until {open_one.until.isoformat(timespec='seconds')}"
    newest = state.newest
    if mode is Mode.SCHEDULED and newest and newest.is_open and newest.claim.mode is ClaimMode.LIVE:
        return f"its live query of before still holds the claim (epoch {newest.number}): `streamops stop` ends it"
    return ""


def _standstill(stream: str, decision: Decision, release_by: str) -> str:
    text = f"stream {stream} is {decision.action}: {decision.reason}"
    if decision.action is not Action.PARKED:
        return text
    return f"{text}\nWhen the cause is mended: {release_by}"
