"""The tasks of a backfill: one shows the plan and fails where it is refused, one runs it without a worker slot."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from streamops.airflow.operators.run import RunOperator, actor_of
from streamops.airflow.services import build_backfill_desk
from streamops.backfill.asked import EXPECTED as RANGE_FORM
from streamops.backfill.asked import range_of
from streamops.backfill.backfill_service import (
    BUDGET,
    CHUNK,
    BackfillService,
    PlannedBackfill,
    RequestedBackfill,
)
from streamops.backfill.backfill_text import plan_lines, refusal_lines
from streamops.backfill.report import RunOutcome
from streamops.backfill.run_service import RunService
from streamops.control.backfill_plan import BackfillPlan, id_from
from streamops.errors import BackfillError, ControlLogError, ObjectExistsError, SettingsError, StreamOpsError
from streamops.settings.folders import asked_folder
from streamops.settings.load import project_root

__all__ = ["CHUNK", "RANGE_FORM", "BackfillForm", "BackfillOperator", "PlanBackfillOperator"]
"""What a DAG file needs, the texts and defaults of its form among it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillForm:
    """What was filled in."""

    stream: str
    asked: RequestedBackfill
    is_dry_run: bool

    @classmethod
    def of(cls, context: Context, config: str) -> "BackfillForm":
        """AirflowFailException for what no form should have let pass."""
        params = context["params"]
        try:
            return cls(
                stream=str(params["stream"]),
                asked=RequestedBackfill(
                    range=range_of(str(params["from"]), str(params["to"]), slack=_slack(params["slack_minutes"])),
                    reason=str(params["reason"]).strip(),
                    table=_folder(params, "table", config),
                    dead_letters=_folder(params, "dead_letters", config),
                    chunk=int(params["chunk"]),
                    accepts_expired=bool(params["accept_expired"]),
                    is_approximate=bool(params["approximate"]),
                ),
                is_dry_run=bool(params["dry_run"]),
            )
        except (SettingsError, ValueError) as error:
            raise AirflowFailException(str(error)) from error


def _folder(params: Mapping[str, Any], name: str, config: str) -> str:
    return asked_folder(name, str(params[name] or ""), root=project_root(config))


def _slack(minutes: Any) -> timedelta:
    try:
        return timedelta(minutes=float(minutes))
    except (TypeError, ValueError, OverflowError) as error:
        raise SettingsError(f"slack_minutes: found {minutes!r}, expected a number of minutes") from error


def _desk(form: BackfillForm, config: str, context: Context) -> BackfillService:
    try:
        return build_backfill_desk(form.stream, config, actor=actor_of(context))
    except SettingsError as error:
        raise AirflowFailException(str(error)) from error


def _planned(desk: BackfillService, form: BackfillForm, name: str) -> PlannedBackfill:
    planned = desk.plan(form.asked, backfill=name)
    if planned.plan is None:
        raise AirflowFailException("\n".join(refusal_lines(form.stream, planned)))
    return planned


def _refuse_another(plan: BackfillPlan, form: BackfillForm) -> None:
    """A further try has the form of the first one; AirflowFailException where a plan of that id says something else."""
    if (plan.stream, plan.asked) != (form.stream, str(form.asked.range)):
        raise AirflowFailException(
            f"backfill {plan.id} of {plan.stream} was planned {plan.asked}, the form says {form.asked.range}: begin another run"
        )


class PlanBackfillOperator(BaseOperator):
    """Shows what a backfill will read and where it will write; fails where it is refused. Changes nothing.

    :param config: path of the settings file.
    """

    ui_color = "#e8e8f8"

    def __init__(self, *, config: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = config

    def execute(self, context: Context) -> None:
        """Read, judge, show."""
        form = BackfillForm.of(context, self.config)
        desk, name = _desk(form, self.config, context), id_from(context["dag_run"].run_id)
        if name in desk.known():
            _refuse_another(desk.read(name), form)
            self.log.info("stream=%s backfill=%s has its plan already", form.stream, name)
            return
        self.log.info("\n".join(plan_lines(_planned(desk, form, name))))


class BackfillOperator(RunOperator):
    """Runs the backfill that the form asks for; a further try goes on with it.

    It succeeds only when the whole range is read. Marking it failed or done stops it between two steps.

    :param config: path of the settings file.
    """

    def __init__(self, *, config: str, **kwargs: Any) -> None:
        super().__init__(stream="{{ params.stream }}", config=config, reason="{{ params.reason }}", **kwargs)

    def execute(self, context: Context) -> dict[str, Any]:
        """First slice of a try: keep the plan, unless an earlier try has, and go on as any run."""
        form = BackfillForm.of(context, self.config)
        if form.is_dry_run:
            raise AirflowSkipException("a dry run: the plan is in the log of the task before")
        desk, name = _desk(form, self.config, context), self.backfill_id(context)
        self._estimate: timedelta | None = None
        if name in desk.known():
            plan = desk.read(name)
            _refuse_another(plan, form)
            try:
                desk.refuse_another_source(plan)
            except BackfillError as error:
                raise AirflowFailException(str(error)) from error
        else:
            planned = _planned(desk, form, name)
            seconds = planned.estimate.seconds if planned.estimate else None
            self._estimate = timedelta(seconds=seconds) if seconds is not None else None
            try:
                desk.keep(planned.refuse())
            except ObjectExistsError:
                self.log.info("stream=%s backfill=%s another try was faster: its plan counts", form.stream, name)
        return super().execute(context)

    @property
    def release_by(self) -> str:
        """A further try releases it."""
        return "clear this task, and it goes on; what is deleted by then takes another backfill that accepts it"

    def missing(self, context: Context) -> tuple[str, ...]:
        """What of the rest of the range is deleted, as far as its source can be asked."""
        try:
            desk = build_backfill_desk(self.stream, self.config, actor=actor_of(context))
            lost = desk.missing(desk.read(self.backfill_id(context)))
        except StreamOpsError as error:
            return (f"what of the rest is deleted can't be told: {error}",)
        return tuple(f"  MISSING  {one}" for one in lost)

    def backfill_id(self, context: Context) -> str:
        """By the run of the DAG: a further try finds its plan."""
        return id_from(context["dag_run"].run_id)

    def go_on(self, runs: RunService, number: int, mark: str) -> int:
        """A further try goes on where the earlier one stood, after a park or an end too: whoever clears the task wants that."""
        report = runs.report(number)
        if report.is_over:
            return number if report.outcome is RunOutcome.FINISHED else self.ask(runs, mark)
        runs.release(f"{self.reason} {mark}")
        return number

    def ask(self, runs: RunService, mark: str) -> int:
        """Put the run on record. What was parked is tried again: whoever starts the task anew wants that."""
        runs.release(f"{self.reason} {mark}")
        try:
            return runs.ask(f"{self.reason} {mark}", budget=BUDGET, estimate=self._estimate).number
        except ControlLogError as error:
            raise AirflowFailException(str(error)) from error
