"""Tasks that supervise a stream. A task never owns the driver: each slice attaches to what the control log says."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from streamops.airflow.operators.act_log import tell_act
from streamops.airflow.page_text import fitting
from streamops.airflow.services import build_supervisor
from streamops.airflow.triggers import StreamTrigger
from streamops.airflow.triggers.stream import STANDSTILL, moment
from streamops.errors import StreamOpsError
from streamops.status import StreamStatus, stream_status
from streamops.supervision.decision import Action, Decision
from streamops.supervision.standstill import PASSING_GRACE, standstill


class StreamOperator(BaseOperator):
    """Keeps a declared stream running: starts it, watches it without a worker slot, restarts it within its policy.

    The task ends green after `run_for` (with jitter), so that a run's log stays readable, and when somebody stops the stream;
    the next run attaches to the living driver. It fails when the stream is parked or blocked, or has not got on for a while:
    what it waits for is then named, and a driver that lives goes on. The asset `run_due` begins the next run as soon as one is
    of use. Marking the task failed or success, clearing or killing it never stops the stream: `streamops stop` does.

    :param stream: name of a stream in the settings.
    :param config: path of the settings file.
    :param run_for: how long one run lasts, about.
    """

    template_fields = ("stream",)
    ui_color = "#d8e8f8"

    def __init__(self, *, stream: str, config: str, run_for: timedelta = timedelta(days=1), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stream = stream
        self.config = config
        self.run_for = run_for

    def execute(self, context: Context) -> None:
        """First slice of a try: attach to the driver or start one."""
        end_at = datetime.now(UTC) + self.run_for * random.uniform(0.9, 1.1)
        self._supervise(end_at=end_at.isoformat(), memory=_memory_of(context))

    def resume(self, context: Context, event: Mapping[str, str]) -> None:
        """A further slice, woken by the trigger."""
        self.log.info("stream=%s woken for %s: %s", self.stream, event["wake"], event["reason"])
        if event["wake"] == "end-of-run":
            return
        self._supervise(
            end_at=event.get("end_at", ""),
            memory=event.get("memory", ""),
            still_since=event.get("still_since", ""),
            # Woken for a wait, it was to look with its own eyes: what they don't see either is late by then.
            is_late=event["wake"] in (STANDSTILL, Action.WAIT),
        )

    def _supervise(self, *, end_at: str, memory: str, still_since: str = "", is_late: bool = False) -> None:
        """Do what is to be done now, then sleep. Trouble with files, settings or connections is a wait, not a failure.

        `is_late`: the stream has not got on for longer than a restart takes, as far as its trigger could see. `still_since`: as
        the slices before this one saw it.
        """
        try:
            supervisor = build_supervisor(self.stream, self.config, actor=_actor(self), may_submit=True)
            supervisor.take_over(memory)
            decision = supervisor.settle(on_act=lambda look: tell_act(self.log, self.stream, look))
        except StreamOpsError as error:
            if is_late:
                raise AirflowFailException(f"stream {self.stream} can't be supervised: {error}") from error
            self.log.warning("stream=%s can't be supervised now, trying again: %s", self.stream, error)
            self._sleep(end_at, memory=memory, still_since=still_since)
        except Exception:
            # A fault of our own must not end the supervision either; it is shown in full, each time.
            self.log.exception("stream=%s can't be supervised now, trying again", self.stream)
            self._sleep(end_at, memory=memory, still_since=still_since)
        self.log.info("stream=%s %s: %s", self.stream, decision.action, decision.reason)
        look = supervisor.last_look
        if look:
            self._tell_prospects(stream_status(look, supervisor.spec))
        still = standstill(look) if look else None
        if still and still.is_wanted:
            return
        since = (moment(still_since) or datetime.now(UTC)) if still else None
        is_late = is_late or (since is not None and datetime.now(UTC) - since >= PASSING_GRACE)
        if still and (still.needs_a_person or is_late):
            raise AirflowFailException(fitting(_told(self.stream, decision)))
        self._sleep(end_at, memory=supervisor.hand_over(), still_since=since.isoformat() if since else "")

    def _tell_prospects(self, status: StreamStatus) -> None:
        """What the restart policy makes of the failures so far."""
        if not status.failures_last_hour and status.next_attempt is None:
            return
        self.log.info(
            "stream=%s next attempt: %s; failures within the hour: %s, restarts left: %s, in a row without a batch: %s",
            self.stream,
            status.next_attempt.isoformat(timespec="seconds") if status.next_attempt else "none is due",
            status.failures_last_hour,
            status.budget_left,
            status.failures_in_row,
        )

    def _sleep(self, end_at: str, *, memory: str, still_since: str) -> NoReturn:
        trigger = StreamTrigger(
            stream=self.stream, config=self.config, end_at=end_at, memory=memory, still_since=still_since
        )
        self.defer(trigger=trigger, method_name="resume")


def _memory_of(context: Context) -> str:
    """What whoever found that this run is due has seen of beats that stand still; empty for any other run."""
    by_asset: Any = context.get("triggering_asset_events") or {}
    events = [event for events in by_asset.values() for event in events]
    payload = events[-1].extra.get("payload") if events else None
    return str(payload.get("memory", "")) if isinstance(payload, dict) else ""


def _actor(task: BaseOperator) -> str:
    return f"airflow:{task.dag_id}/{task.task_id}"


def _told(stream: str, decision: Decision) -> str:
    if decision.action is Action.PARKED:
        return (
            f"stream {stream} is parked: {decision.reason}\n"
            f"When the cause is mended: streamops release {stream} --reason '…'"
        )
    if decision.action is Action.BLOCKED:
        return f"stream {stream} is blocked: {decision.reason}"
    goes_on = "its driver is left alone" if decision.action is Action.KEEP else "it is started as soon as it may be"
    # What does not answer first: Airflow's page shows some 90 characters of a line.
    why = decision.waits_for or decision.reason
    return f"{stream} does not get on: {why}\nThe next run begins when it does; {goes_on}"
