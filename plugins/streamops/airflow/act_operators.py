"""The tasks of an act: plan, act, verify. Whoever is on call reads the plan, and sees the first batch."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from streamops.airflow.act_trigger import ActTrigger
from streamops.airflow.services import build_desk
from streamops.errors import ControlLogError, SettingsError
from streamops.operations.act_plan import Act, ActPlan, AwaitedStart, Stage
from streamops.operations.log_tail import FoundRequest
from streamops.operations.stream_operations import StreamOperations

ACTS = (Act.RESTART, Act.STOP, Act.START, Act.RELEASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActRequest:
    """What one run was asked to do."""

    act: Act
    stream: str
    reason: str
    """With the mark of the run, by which a retry knows that the act is on record."""
    force: bool
    actor: str
    mark: str
    since: datetime

    @classmethod
    def by(cls, context: Context) -> "ActRequest":
        """The run's form and who filled it in; AirflowFailException for what no form would have let pass."""
        params, run = context["params"], context["dag_run"]
        try:
            act = Act(params["act"])
        except ValueError:
            act = Act.ADOPT
        reason = str(params["reason"]).strip()
        if act not in ACTS or not reason:
            raise AirflowFailException(f"expected one of {', '.join(ACTS)} and a reason, found {dict(params)}")
        mark = f"[{run.dag_id} {run.run_id}]"
        user = run.triggering_user_name
        return cls(
            act=act,
            stream=str(params["stream"]),
            reason=f"{reason} {mark}",
            force=bool(params["force"]) and act in (Act.RESTART, Act.STOP),
            actor=f"person:{user}@airflow" if user else f"airflow:{run.dag_id}/{run.run_id}",
            mark=mark,
            since=run.run_after,
        )


class _ActsOperator(BaseOperator):
    """What the three tasks share: the form, and the desk that it is about."""

    def __init__(self, *, config: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = config

    def _desk(self, asked: ActRequest) -> StreamOperations:
        try:
            return build_desk(asked.stream, self.config, actor=asked.actor)
        except SettingsError as error:
            raise AirflowFailException(str(error)) from error

    def _plan(self, desk: StreamOperations, asked: ActRequest) -> ActPlan:
        """The plan, in the log. Trouble with files is tried again; an act that makes no sense is not."""
        try:
            plan = desk.plan(asked.act, reason=asked.reason, force=asked.force)
        except (ControlLogError, SettingsError) as error:
            raise AirflowFailException(str(error)) from error
        self.log.info("\n".join(plan.lines))
        for warning in plan.warnings:
            self.log.warning("stream=%s %s", asked.stream, warning)
        return plan

    def _on_record(self, desk: StreamOperations, asked: ActRequest) -> FoundRequest | None:
        found = desk.find(asked.mark, since=asked.since)
        if found:
            self.log.info("stream=%s %s is on record already: record %d", asked.stream, asked.act, found.record.number)
        return found


class PlanActOperator(_ActsOperator):
    """Shows what an act will do; fails when there is nothing to do, or when it would do harm."""

    ui_color = "#e8e8f8"

    def execute(self, context: Context) -> None:
        """Read, judge, show; nothing is changed."""
        asked = ActRequest.by(context)
        desk = self._desk(asked)
        if self._on_record(desk, asked):
            return
        plan = self._plan(desk, asked)
        if not plan.is_needed:
            raise AirflowFailException(f"{asked.act} {asked.stream}: nothing to do: {'; '.join(plan.effects)}")


class ActOperator(_ActsOperator):
    """Puts the act on record, once for a run however often the task is tried."""

    ui_color = "#f8d8d0"

    def execute(self, context: Context) -> dict[str, int]:
        """Append the request; what shows that it has come about, for `verify`."""
        asked = ActRequest.by(context)
        desk = self._desk(asked)
        if found := self._on_record(desk, asked):
            return _scalars(found.awaits)
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
        limit = self._desk(asked).limit(asked.act, force=asked.force)
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
        raise AirflowFailException(f"{asked.act} {asked.stream} {missing}: {event['evidence']}")


def _scalars(awaits: AwaitedStart | None) -> dict[str, int]:
    return {"epoch": awaits.epoch, "commit": awaits.commit} if awaits else {}
