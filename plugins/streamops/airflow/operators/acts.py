"""The tasks of an act: plan, approve, act, verify. Whoever is on call reads the plan, and sees the first batch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import BaseOperator, Context, Param
from airflow.sdk.exceptions import AirflowFailException

from streamops.airflow.page_text import as_markdown, fitting
from streamops.airflow.services import build_desk
from streamops.airflow.triggers.act import ActTrigger
from streamops.control.records import DriverEnded
from streamops.control.state import Desire
from streamops.diagnosis.checkup_text import printable
from streamops.errors import ControlLogError, SettingsError
from streamops.operations.act_plan import Act, ActPlan, ActTerms, AwaitedStart, Stage
from streamops.operations.log_tail import FoundRequest
from streamops.operations.stream_operations import StreamOperations

ACTS = (Act.START, Act.STOP, Act.RELEASE, Act.RESTART, Act.ADOPT, Act.ACKNOWLEDGE)
"""In this order: who types `start` into the form and takes the first that fits gets `start`."""


def act_param() -> Param:
    """Which act, for the form."""
    return Param(
        type="string",
        title="Act",
        enum=[str(act) for act in ACTS],
        values_display={
            "restart": "replace the driver (restart)",
            "release": "let a parked stream run again (release)",
            "adopt": "take over a checkpoint that others have written (adopt)",
            "acknowledge": "its unsafe starts are known (acknowledge)",
        },
        description="restart: another driver, with the present settings and job file. stop: no driver until start.",
    )


APPROVED_WITHIN = timedelta(minutes=30)
NAME_LIMIT = 60
"""Characters of a user's name in a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActRequest:
    """What one run was asked to do."""

    act: Act
    stream: str
    reason: str
    """With the mark of the run, by which a retry knows that the act is on record."""
    terms: ActTerms
    actor: str
    mark: str
    since: datetime

    @property
    def needs_approval(self) -> bool:
        """Whether another person's word is asked for first."""
        return self.terms.needs_approval(self.act)

    @classmethod
    def by(cls, context: Context, *, approved_by: str = "") -> "ActRequest":
        """The run's form and who filled it in; AirflowFailException for what no form would have let pass."""
        params, run = context["params"], context["dag_run"]
        act = next((known for known in ACTS if known == params["act"]), None)
        reason = str(params["reason"]).strip()
        if act is None or not reason:
            raise AirflowFailException(f"expected one of {', '.join(ACTS)} and a reason, found {dict(params)}")
        mark = f"[{run.dag_id} {run.run_id}]"
        # Behind the mark: what somebody types stands before it.
        approval = f" approved by {approved_by[:NAME_LIMIT]}" if approved_by else ""
        user = run.triggering_user_name
        return cls(
            act=act,
            stream=str(params["stream"]),
            reason=f"{reason} {mark}{approval}",
            terms=ActTerms(
                force=bool(params["force"]),
                accepts_unsafe=bool(params["accept_unsafe"]),
                # A run of an earlier release has no such fields.
                accepts_expired=bool(params.get("accept_expired")),
                confirm_dead=int(params.get("confirm_dead") or 0) or None,
                is_vouched=bool(params.get("confirm_stopped")),
            ).of_use_to(act),
            actor=f"person:{user}@airflow" if user else f"airflow:{run.dag_id}/{run.run_id}",
            mark=mark,
            since=run.run_after,
        )


def desk_of(asked: ActRequest, config: str) -> StreamOperations:
    """Where it is planned and put on record. AirflowFailException where the settings don't have the stream."""
    try:
        return build_desk(asked.stream, config, actor=asked.actor)
    except SettingsError as error:
        raise AirflowFailException(str(error)) from error


def plan_of(desk: StreamOperations, asked: ActRequest) -> ActPlan:
    """The plan. Trouble with files is tried again; an act that makes no sense is not: AirflowFailException."""
    try:
        return desk.plan(asked.act, reason=asked.reason, terms=asked.terms)
    except (ControlLogError, SettingsError) as error:
        raise AirflowFailException(fitting(printable(str(error)))) from error


def lines_of(plan: ActPlan) -> list[str]:
    """The plan as a log may show it: what people typed can't move a cursor there, nor turn a line round."""
    return [printable(line) for line in plan.lines]


def find_on_record(desk: StreamOperations, asked: ActRequest, log: Any) -> FoundRequest | None:
    """The act that an earlier try has put on record, told in the log; None where it is still to be done."""
    found = desk.find(asked.mark, since=asked.since)
    if found:
        log.info("stream=%s %s is on record already: record %d", asked.stream, asked.act, found.record.number)
    return found


class _ActsOperator(BaseOperator):
    """What the tasks share: the form, and the desk that it is about."""

    def __init__(self, *, config: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = config

    def _plan(self, desk: StreamOperations, asked: ActRequest) -> ActPlan:
        """The plan, in the log."""
        plan = plan_of(desk, asked)
        self.log.info("\n".join(lines_of(plan)))
        for warning in plan.warnings:
            self.log.warning("stream=%s %s", asked.stream, warning)
        return plan


class PlanActOperator(_ActsOperator):
    """Shows what an act will do; fails when there is nothing to do, or when it could only fail."""

    ui_color = "#e8e8f8"

    def execute(self, context: Context) -> None:
        """Read, judge, show; nothing is changed."""
        asked = ActRequest.by(context)
        desk = desk_of(asked, self.config)
        if find_on_record(desk, asked, self.log):
            return
        plan = self._plan(desk, asked)
        if not plan.is_needed:
            raise AirflowFailException(f"{asked.act} {asked.stream}: nothing to do: {'; '.join(plan.effects)}")
        if plan.in_vain and asked.act is Act.ADOPT:
            self.log.warning("stream=%s is adopted, and no start follows yet: %s", asked.stream, plan.in_vain)
        elif plan.in_vain:
            why = f"{plan.in_vain}\nNothing is put on record: no driver would come of {asked.act}."
            raise AirflowFailException(fitting(why))


class ApproveActOperator(ApprovalOperator):
    """Asks a person to approve what may cut off a batch, lose or repeat data, and shows them the plan; lets all else pass.

    Where it is rejected nothing more happens, and where nobody answers in time it fails: either way nothing is put on record.
    """

    def __init__(self, *, config: str, **kwargs: Any) -> None:
        super().__init__(subject="Approve an act on a stream", response_timeout=APPROVED_WITHIN, **kwargs)
        self.config = config

    def execute(self, context: Context) -> Any:
        """Wait for the answer, without a worker slot; at once where none is needed."""
        asked = ActRequest.by(context)
        if not asked.needs_approval:
            self.log.info("stream=%s %s needs no approval", asked.stream, asked.act)
            return None
        desk = desk_of(asked, self.config)
        if find_on_record(desk, asked, self.log):
            return None
        self.subject = f"Approve: {asked.act} {asked.stream}"
        self.body = as_markdown(lines_of(plan_of(desk, asked)))
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Who approved it, for the record; None where it was rejected."""
        answer = super().execute_complete(context, event)
        user = answer["responded_by_user"] or {}
        is_approved = answer["chosen_options"] == [self.APPROVE]
        return str(user.get("name") or user.get("id") or "an unnamed user") if is_approved else None

    def process_trigger_event_error(self, event: dict[str, Any]) -> None:
        """No retry asks again: who comes late finds the question closed."""
        minutes = APPROVED_WITHIN.total_seconds() / 60
        raise AirflowFailException(
            f"nobody approved it within {minutes:.0f} minutes, and nothing was put on record: {event}"
        )


class ActOperator(_ActsOperator):
    """Puts the act on record, once for a run however often the task is tried.

    :param approved_by: what `approve` returned.
    """

    template_fields = ("approved_by",)
    ui_color = "#f8d8d0"

    def __init__(self, *, approved_by: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.approved_by = approved_by

    def execute(self, context: Context) -> dict[str, int]:
        """Append the request; what shows that it has come about, for `verify`."""
        asked = ActRequest.by(context, approved_by=str(self.approved_by or ""))
        desk = desk_of(asked, self.config)
        if found := find_on_record(desk, asked, self.log):
            if not (isinstance(found.record.body, DriverEnded) and desk.requests.state().desire is Desire.STOPPED):
                return _scalars(found.awaits)
            # A try came as far as the word; the start is left.
            asked = replace(asked, terms=replace(asked.terms, confirm_dead=None))
        if asked.needs_approval and not self.approved_by:
            raise AirflowFailException(f"{asked.act} {asked.stream} is not approved: nothing is put on record")
        plan = self._plan(desk, asked)
        try:
            carried = desk.carry_out(plan)
        except (ControlLogError, SettingsError) as error:
            raise AirflowFailException(str(error)) from error
        if carried.record is None:
            self.log.warning("stream=%s somebody was faster: %s", asked.stream, "; ".join(carried.plan.effects))
        else:
            self.log.info("stream=%s %s recorded (record %d)", asked.stream, asked.act, carried.record.number)
        return _scalars(carried.awaits)


class VerifyActOperator(_ActsOperator):
    """Waits, without a worker slot, until the act has come about: a committed batch, or the end of the driver.

    :param awaited: what `act` returned.
    """

    template_fields = ("awaited",)
    ui_color = "#d8f8d8"

    def __init__(self, *, awaited: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.awaited = awaited

    def execute(self, context: Context) -> None:
        """Sleep until it is known."""
        asked = ActRequest.by(context)
        awaited = self.awaited if isinstance(self.awaited, Mapping) else {}
        if not awaited and asked.act is not Act.STOP:
            self.log.info("stream=%s no start follows from this %s: nothing to verify", asked.stream, asked.act)
            return
        limit = desk_of(asked, self.config).limit(asked.act, force=asked.terms.force)
        self.log.info("stream=%s waiting at most %.0f s", asked.stream, limit.total_seconds())
        self.defer(
            trigger=ActTrigger(
                stream=asked.stream,
                config=self.config,
                act=str(asked.act),
                end_at=(datetime.now(UTC) + limit).isoformat(),
                **awaited,
            ),
            method_name="resume",
        )

    def resume(self, context: Context, event: Mapping[str, Any]) -> dict[str, Any]:
        """Report what was seen; fail when it did not come about."""
        asked = ActRequest.by(context)
        if event["stage"] == Stage.DONE:
            self.log.info("stream=%s %s: %s", asked.stream, asked.act, event["evidence"])
            return dict(event)
        missing = "did not come about" if event["stage"] == Stage.FAILED else "has not come about in time"
        raise AirflowFailException(fitting(f"{event['evidence']}\n{asked.act} {asked.stream} {missing}"))


def _scalars(awaits: AwaitedStart | None) -> dict[str, int]:
    return {"epoch": awaits.epoch, "commit": awaits.commit} if awaits else {}
