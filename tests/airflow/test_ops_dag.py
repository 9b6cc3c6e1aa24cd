"""The DAG of acts: its form, its three tasks as a worker runs them, and its trigger as the triggerer does."""

import asyncio
import importlib
import json
import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from airflow.providers.standard.operators import hitl
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException, ParamValidationError, TaskAwaitingInput, TaskDeferred
from airflow.serialization.serialized_objects import DagSerialization
from airflow.triggers.base import BaseTrigger

from streamops.airflow import services
from streamops.airflow.operators.acts import (
    APPROVED_WITHIN,
    ActOperator,
    ActRequest,
    ApproveActOperator,
    PlanActOperator,
    VerifyActOperator,
)
from streamops.airflow.page_text import LINE
from streamops.airflow.triggers import act as act_trigger
from streamops.airflow.triggers.act import ActTrigger
from streamops.control.layout import record_address
from streamops.control.log import ControlLog, LogReader
from streamops.control.records import Acknowledged, Parked, Released, StopRequested
from streamops.errors import StorageError
from streamops.storage import join
from streamops.storage.local import LocalStorage
from support.brokers import FakeBroker
from support.checkpoints import offsets, write_checkpoint
from support.clock import FakeClock
from support.dags import OPS_DAG, only_dag
from support.records import a_claim, a_log, a_record, a_submit, write_log
from support.settings import a_declared_stream

pytestmark = pytest.mark.filterwarnings("ignore:.*cannot be called outside of the Task Runner")

PATIENCE = 60


@dataclass(frozen=True)
class Run:
    """As much of a DAG run as the tasks look at."""

    dag_id: str = OPS_DAG
    run_id: str = "manual__1"
    triggering_user_name: str | None = "ana"
    run_after: datetime = datetime(2026, 1, 1, tzinfo=UTC)


class OnCall:
    """Somebody fills in the form; the tasks then run slice by slice."""

    def __init__(self, place) -> None:
        self.place = place

    def task(self, task_id: str):
        return only_dag(self.place.config, "on_call.py").get_task(task_id)

    def context(
        self,
        act: str,
        *,
        force: bool = False,
        accept_unsafe: bool = False,
        accept_expired: bool = False,
        confirm_stopped: bool = False,
        confirm_dead: int = 0,
        reason: str = "new job",
        stream: str = "orders",
        **run,
    ):
        params = {
            "stream": stream,
            "act": act,
            "reason": reason,
            "force": force,
            "accept_unsafe": accept_unsafe,
            "accept_expired": accept_expired,
            "confirm_stopped": confirm_stopped,
            "confirm_dead": confirm_dead,
        }
        return {"params": params, "dag_run": Run(**run), "task_instance": SimpleNamespace(id=uuid4())}

    def plan(self, act: str, **form) -> None:
        self.task("plan").execute(self.context(act, **form))

    def act(self, act: str, *, approved_by: str | None = None, **form) -> dict:
        task = self.task("act")
        task.approved_by = approved_by
        return task.execute(self.context(act, **form))

    def ask_for_approval(self, act: str, **form) -> ApproveActOperator:
        """The task after it has begun to wait for an answer."""
        task = self.task("approve")
        with pytest.raises(TaskAwaitingInput) as waits:
            task.execute(self.context(act, **form))
        assert waits.value.timeout == APPROVED_WITHIN
        return task

    def verify(self, act: str, awaited: dict, **form) -> TaskDeferred:
        """How the verifying task was deferred."""
        task = self.task("verify")
        task.awaited = awaited
        with pytest.raises(TaskDeferred) as deferred:
            task.execute(self.context(act, **form))
        return deferred.value

    def resume(self, act: str, **event):
        return self.task("verify").resume(self.context(act), event)

    @property
    def records(self):
        return LogReader(LocalStorage(), self.place.control).read()


@pytest.fixture
def on_call(place):
    return OnCall(place)


def park(place) -> None:
    log = ControlLog(LocalStorage(), place.control)
    log.append(a_record(Parked(), place.state.next_number, reason="six failures in a row"))


# The form


@pytest.fixture
def dag(place):
    return only_dag(place.config, "on_call.py")


def test_plan_comes_before_act_before_verify(dag):
    tasks = dag.topological_sort()

    assert [task.task_id for task in tasks] == ["plan", "approve", "act", "verify"]
    assert [type(task) for task in tasks] == [PlanActOperator, ApproveActOperator, ActOperator, VerifyActOperator]
    assert tasks[2].upstream_task_ids == {"approve"}
    assert tasks[3].upstream_task_ids == {"act"}


def test_the_dag_runs_only_when_somebody_asks_and_is_not_paused(dag):
    assert dag.schedule is None
    assert dag.is_paused_upon_creation is False


def test_the_form_offers_the_declared_streams_and_the_acts(place):
    place.project.load(streams={name: a_declared_stream(name) for name in ("orders", "clicks")})

    form = only_dag(place.config, "on_call.py").params

    assert sorted(form.get_param("stream").schema["enum"]) == ["clicks", "orders"]
    assert form.get_param("act").schema["enum"] == ["start", "stop", "release", "restart", "adopt", "acknowledge"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("reason", "", id="no reason"),
        pytest.param("reason", "x" * 1_501, id="a reason that leaves no room for the mark of the run"),
        pytest.param("stream", "returns", id="a stream that is not declared"),
        pytest.param("act", "rewind", id="an act for another place"),
        pytest.param("force", "yes", id="a word for a switch"),
    ],
)
def test_the_form_refuses_what_makes_no_sense(dag, field, value):
    with pytest.raises(ParamValidationError):
        dag.params.get_param(field).resolve(value)


def test_where_every_stream_is_wrong_the_file_of_dags_is_whole_all_the_same(place):
    place.project.load(streams={"clicks": a_declared_stream("clicks", job="jobs/gone.py")})
    dag = only_dag(place.config, "on_call.py")

    back = DagSerialization.from_dict(DagSerialization.to_dict(dag))

    assert set(back.task_ids) == {"plan", "approve", "act", "verify"}
    assert dag.params.get_param("stream").resolve("any") == "any"


def test_the_dag_survives_the_way_through_the_database(dag):
    back = DagSerialization.from_dict(DagSerialization.to_dict(dag))

    assert back.params.get_param("stream").schema["enum"] == ["orders"]
    assert back.get_task("verify").upstream_task_ids == {"act"}


# Plan


def test_the_plan_is_shown_and_changes_nothing(place, on_call, task_log):
    place.start()
    before = place.kinds

    on_call.plan("restart")

    assert "epoch 1 finishes its batch and stops" in task_log.text
    assert "brings nothing new" in task_log.text
    assert place.kinds == before


@pytest.mark.parametrize(
    ("act", "why"),
    [
        pytest.param("start", "nothing to do: it is meant to run already", id="it runs"),
        pytest.param("release", "nothing to do: it is not parked", id="it is not parked"),
    ],
)
def test_an_act_that_makes_no_sense_fails_at_once(place, on_call, act, why):
    place.start()

    with pytest.raises(AirflowFailException, match=why):
        on_call.plan(act)


def ended(place, *, stopped: bool = False) -> None:
    """Its driver has committed two batches and is gone."""
    place.start()
    write_checkpoint(LocalStorage(), place.spec.checkpoint, planned=range(2), committed=range(2))
    if stopped:
        place.person().stop("migration")
    place.kill(place.handles[-1])
    supervisor = place.supervisor()
    while place.state.newest.is_open:
        supervisor.act(supervisor.look())


def break_checkpoint(place) -> None:
    """No start can come through."""
    LocalStorage().write(f"{place.spec.checkpoint}/commits/1", b"")


def test_a_start_that_can_only_fail_is_red_before_anything_is_written(place, on_call):
    ended(place, stopped=True)
    break_checkpoint(place)
    before = place.kinds

    with pytest.raises(AirflowFailException) as refused:
        on_call.plan("start")

    lines = str(refused.value).splitlines()
    assert lines[0].startswith("a start now is futile: ")
    assert max(map(len, lines)) <= LINE
    assert "`streamops check orders`" in " ".join(str(refused.value).split())
    assert "Nothing is put on record" in str(refused.value)
    assert place.kinds == before


def test_a_release_that_would_be_parked_again_is_red_as_well(place, on_call):
    ended(place)
    park(place)
    break_checkpoint(place)

    with pytest.raises(AirflowFailException, match="futile"):
        on_call.plan("release")


def test_what_was_typed_can_t_paint_the_log(place, on_call, task_log):
    place.start()

    on_call.plan("restart", reason="red \x1b[31m and \u202e turned round")

    assert "\x1b" not in task_log.text
    assert "\u202e" not in task_log.text
    assert r"red \x1b[31m and \u202e turned round" in task_log.text


# Approve


@pytest.fixture
def requests(monkeypatch):
    """What was put before people, instead of into Airflow's database."""
    asked: list[dict] = []
    monkeypatch.setattr(hitl, "upsert_hitl_detail", lambda **request: asked.append(request))
    return asked


def answered(task: ApproveActOperator, context: dict, option: str):
    event = {
        "chosen_options": [option],
        "params_input": {},
        "responded_at": datetime(2026, 1, 1, tzinfo=UTC),
        "responded_by_user": {"id": "7", "name": "bo"},
    }
    skipped: list[str] = []
    task.skip = lambda *, ti, tasks: skipped.extend(one.task_id for one in tasks)
    answer = task.execute_complete({**context, "task": task, "ti": None}, event)
    return answer, skipped


@pytest.mark.parametrize("act", ["restart", "stop"])
def test_what_is_harmless_needs_nobody_s_approval(place, on_call, requests, act):
    place.start()

    assert on_call.task("approve").execute(on_call.context(act)) is None
    assert requests == []


def test_a_forced_act_is_put_before_a_person_with_its_plan(place, on_call, requests):
    place.start()

    on_call.ask_for_approval("restart", force=True)

    (request,) = requests
    assert request["subject"] == "Approve: restart orders"
    assert "restart orders, forced" in request["body"]
    assert "- ` because new job" in request["body"]
    assert request["options"] == ["Approve", "Reject"]
    assert place.kinds.count("restart_requested") == 0


def test_an_approved_act_is_recorded_with_who_approved_it(place, on_call, requests):
    place.start()
    task = on_call.ask_for_approval("stop", force=True)
    approved_by, skipped = answered(task, on_call.context("stop", force=True), "Approve")

    on_call.act("stop", force=True, approved_by=approved_by)

    record = on_call.records[-1]
    assert skipped == []
    assert record.by.actor == "person:ana@airflow"
    assert record.reason == f"new job [{OPS_DAG} manual__1] approved by bo"


def test_a_rejected_act_changes_nothing(place, on_call, requests):
    place.start()
    before = place.kinds
    task = on_call.ask_for_approval("stop", force=True)

    answer, skipped = answered(task, on_call.context("stop", force=True), "Reject")

    assert (answer, skipped) == (None, ["act"])
    assert place.kinds == before


def test_an_act_whose_approval_was_passed_over_is_refused(place, on_call):
    """Somebody marked `approve` as successful."""
    place.start()
    before = place.kinds

    with pytest.raises(AirflowFailException, match="is not approved"):
        on_call.act("stop", force=True)

    assert place.kinds == before


def test_an_act_that_nobody_approves_in_time_fails_and_changes_nothing(place, on_call, requests):
    place.start()
    before = place.kinds
    task = on_call.ask_for_approval("stop", force=True)

    with pytest.raises(AirflowFailException, match="nobody approved it within 30 minutes"):
        task.execute_complete(on_call.context("stop", force=True), {"error": "no answer", "error_type": "timeout"})

    assert place.kinds == before


def test_an_unsafe_start_can_be_accepted_in_the_form(place, on_call, requests):
    """Batch 2 was committed by nobody of ours: a foreign writer, whom a person vouches for."""
    ended(place)
    write_checkpoint(LocalStorage(), place.spec.checkpoint, planned=range(3), committed=range(3))
    park(place)

    with pytest.raises(AirflowFailException, match="foreign writer"):
        on_call.plan("release")
    on_call.plan("release", accept_unsafe=True)
    on_call.ask_for_approval("release", accept_unsafe=True)
    on_call.act("release", accept_unsafe=True, approved_by="bo")

    (request,) = requests
    assert "the next start, and only that one, goes ahead although its plan is not safe" in request["body"]
    assert on_call.records[-1].body == Released(accepts_unsafe=True)


def test_the_loss_of_expired_records_is_accepted_with_approval(place, on_call, requests, monkeypatch):
    """The plan names them, the approval's page shows it, and the control log says that they were accepted."""
    broker = FakeBroker(FakeClock())
    broker.has("orders", (400, 450))
    monkeypatch.setattr(services, "cluster_of", lambda clock, access=None: lambda spec: broker)
    ended(place)
    write_checkpoint(LocalStorage(), place.spec.checkpoint, planned=range(2), committed=range(2))
    for batch, text in enumerate(('{"orders":{"0":100}}', '{"orders":{"0":150}}')):
        LocalStorage().write(join(place.spec.checkpoint, "offsets", str(batch)), offsets(text))
    park(place)

    on_call.plan("release", accept_expired=True)
    on_call.ask_for_approval("release", accept_expired=True)
    on_call.act("release", accept_expired=True, approved_by="bo")

    (request,) = requests
    assert "passes over what is gone: orders-0: 250 offsets [150, 400)" in request["body"]
    assert on_call.records[-1].body == Released(accepts_unsafe=True, accepts_expired=True)


def test_unsafe_starts_are_acknowledged_in_the_form_without_an_approval(place, on_call):
    log = ControlLog(LocalStorage(), place.control)
    claim = replace(a_claim(1, stream=place.spec.name), accepts_unsafe=True, is_unsafe=True, given_up=7)
    for body in (claim, a_submit(1)):
        log.append(a_record(body, place.state.next_number))

    on_call.plan("acknowledge")
    assert on_call.task("approve").execute(on_call.context("acknowledge")) is None
    awaited = on_call.act("acknowledge")

    assert on_call.records[-1].body == Acknowledged(epoch=1)
    assert awaited == {}


def test_a_restart_of_a_stopped_stream_fails_with_the_hint(place, on_call):
    place.person().stop("migration")

    with pytest.raises(AirflowFailException, match=r"streamops\s+start\s+orders"):
        on_call.plan("restart")


def test_a_stream_that_left_the_settings_fails_with_its_name(on_call):
    with pytest.raises(AirflowFailException, match="returns"):
        on_call.plan("stop", stream="returns")


def test_trouble_with_files_is_tried_again(place, on_call, monkeypatch):
    """AirflowFailException would end the retries."""

    def fail(*arguments, **options):
        raise StorageError("disk on fire")

    place.start()
    monkeypatch.setattr(LocalStorage, "read", fail)

    with pytest.raises(StorageError):
        on_call.plan("restart")


# Act


def test_the_act_is_on_record_with_its_actor_its_reason_and_its_run(place, on_call):
    place.start()

    on_call.act("stop", reason="upgrade")

    record = on_call.records[-1]
    assert record.body.kind == "stop_requested"
    assert record.by.actor == "person:ana@airflow"
    assert record.reason == "upgrade [streamops_ops manual__1]"


@pytest.fixture
def quick(monkeypatch):
    """What an act watches for half a minute takes no time."""
    monkeypatch.setattr(services, "SystemClock", FakeClock)


def test_a_checkpoint_of_others_is_adopted_in_the_form(place, on_call, requests, quick):
    write_checkpoint(LocalStorage(), place.spec.checkpoint, planned=range(3), committed=range(3))

    on_call.plan("adopt")
    on_call.ask_for_approval("adopt")
    on_call.act("adopt", approved_by="bo")
    again = on_call.act("adopt", approved_by="bo")

    (request,) = requests
    assert "at batch 2 becomes ours" in request["body"]
    assert place.kinds == ["adopted"]
    assert again == {}


def test_the_end_of_a_driver_that_nobody_can_see_is_vouched_for_in_the_form(place, on_call, requests, quick):
    """With the start behind it, where somebody had stopped the stream."""
    write_log(LocalStorage(), place.control, a_log(a_claim(1), a_submit(), StopRequested(epoch=1)))

    on_call.ask_for_approval("start", confirm_dead=1)
    awaited = on_call.act("start", confirm_dead=1, approved_by="bo")

    (request,) = requests
    assert "epoch 1 is recorded as ended, by your word alone" in request["body"]
    assert place.kinds[-2:] == ["driver_ended", "start_requested"]
    assert awaited == {"epoch": 2, "commit": -1}


def test_a_try_that_came_as_far_as_the_word_leaves_the_start_to_the_next_one(place, on_call, quick):
    write_log(LocalStorage(), place.control, a_log(a_claim(1), a_submit(), StopRequested(epoch=1)))
    on_call.act("start", confirm_dead=1, approved_by="bo")
    LocalStorage().delete(record_address(place.control, place.state.next_number - 1))

    again = on_call.act("start", confirm_dead=1, approved_by="bo")

    assert place.kinds.count("driver_ended") == 1
    assert place.kinds[-1] == "start_requested"
    assert again == {"epoch": 2, "commit": -1}


@pytest.mark.parametrize("act", ["start", "release", "adopt"])
def test_a_word_against_signs_of_another_program_needs_approval(on_call, act):
    assert ActRequest.by(on_call.context(act, confirm_stopped=True)).needs_approval


def test_a_form_of_an_earlier_release_has_fewer_fields(on_call):
    context = on_call.context("start")
    del context["params"]["confirm_stopped"], context["params"]["confirm_dead"]

    assert not ActRequest.by(context).needs_approval


def test_a_run_that_nobody_triggered_by_name_is_its_own_actor(place, on_call):
    place.start()

    on_call.act("stop", triggering_user_name=None)

    assert on_call.records[-1].by.actor == "airflow:streamops_ops/manual__1"


def test_a_second_try_acts_no_second_time(place, on_call, task_log):
    place.start()

    first = on_call.act("restart")
    again = on_call.act("restart")
    on_call.plan("restart")

    assert place.kinds.count("restart_requested") == 1
    assert first == again == {"epoch": 2, "commit": -1}
    assert "restart is on record already: record 2" in task_log.text


def test_a_second_try_does_not_restart_the_new_driver(place, on_call):
    """The worker died between the record and its answer, and the supervisor was quick."""
    handle = place.start()
    first = on_call.act("restart")
    place.kill(handle)
    place.start()
    assert place.state.newest.number == 2

    assert on_call.act("restart") == first
    assert place.kinds.count("restart_requested") == 1


def test_another_run_acts_anew(place, on_call):
    place.start()
    on_call.act("stop")
    on_call.act("start", run_id="manual__2")

    on_call.act("stop", run_id="manual__3")

    assert place.kinds[-3:] == ["stop_requested", "start_requested", "stop_requested"]


def test_force_is_for_stop_and_restart(place, on_call):
    place.start()

    on_call.act("restart", force=True, approved_by="bo")

    assert on_call.records[-1].body.force


def test_a_parked_stream_is_released(place, on_call):
    place.kill(place.start())
    place.supervisor().step()
    park(place)

    awaited = on_call.act("release")

    assert place.state.parked is None
    assert awaited == {"epoch": 2, "commit": -1}


# Verify


def test_verifying_takes_no_worker_slot_and_no_longer_than_an_act_may_take(place, on_call):
    deferred = on_call.verify("restart", {"epoch": 2, "commit": 7})

    trigger, left = deferred.trigger, datetime.fromisoformat(deferred.trigger.end_at) - datetime.now(UTC)
    assert (trigger.stream, trigger.act, trigger.epoch, trigger.commit) == ("orders", "restart", 2, 7)
    assert timedelta(minutes=7) < left < timedelta(minutes=9)
    assert deferred.timeout is None


def test_a_stop_is_verified_by_the_end_of_its_driver(on_call):
    assert on_call.verify("stop", {}).trigger.act == "stop"


def test_a_release_from_which_no_start_follows_needs_no_verifying(on_call):
    assert on_call.task("verify").execute(on_call.context("release")) is None


def test_the_first_batch_is_reported(on_call, task_log):
    event = {"stage": "done", "evidence": "epoch 2 has committed batch 5", "epoch": 2, "batch": 5}

    assert on_call.resume("restart", **event) == event
    assert "epoch 2 has committed batch 5" in task_log.text


@pytest.mark.parametrize(
    ("stage", "why"),
    [
        pytest.param("failed", "^parked\nrestart orders did not come about$", id="it can't come"),
        pytest.param("pending", "^parked\nrestart orders has not come about in time$", id="it took too long"),
    ],
)
def test_what_did_not_come_about_fails_with_what_was_seen(on_call, stage, why):
    with pytest.raises(AirflowFailException, match=why):
        on_call.resume("restart", stage=stage, evidence="parked", epoch=None, batch=None)


# The trigger


def rebuilt(trigger: ActTrigger) -> ActTrigger:
    path, arguments = trigger.serialize()
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)(**json.loads(json.dumps(arguments)))


def a_trigger(place, act: str = "restart", *, seconds: float = PATIENCE, **changes) -> ActTrigger:
    end_at = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
    arguments = {"stream": "orders", "config": place.config, "end_at": end_at, "interval_seconds": 0.02}
    return rebuilt(ActTrigger(act=act, **{**arguments, "quiet_seconds": 0, **changes}))


def the_event(trigger: ActTrigger) -> dict:
    async def run():
        async with asyncio.timeout(PATIENCE):
            return [event.payload async for event in trigger.run()]

    (event,) = asyncio.run(run())
    return event


def test_the_arguments_are_scalars_and_those_of_another_release_are_accepted(place):
    trigger = a_trigger(place, epoch=3, commit=4, quiet_seconds=5)
    _, arguments = trigger.serialize()

    assert vars(rebuilt(trigger)) == vars(trigger)
    assert all(isinstance(value, str | int | float) for value in arguments.values())
    assert ActTrigger(stream="o", config="c", act="stop", colour="blue").act == "stop"


def test_the_first_batch_of_the_new_driver_wakes_the_task(place, on_call):
    place.kill(place.start())
    place.supervisor().settle()
    write_checkpoint(LocalStorage(), place.spec.checkpoint, planned=[0], committed=[0])

    event = the_event(a_trigger(place, epoch=2))

    assert event == {"stage": "done", "evidence": "epoch 2 has committed batch 0", "epoch": 2, "batch": 0}


def test_the_end_of_a_stopped_driver_wakes_the_task(place):
    handle = place.start()
    place.person().stop("upgrade")
    place.kill(handle)

    assert the_event(a_trigger(place, "stop"))["stage"] == "done"


def test_a_parked_stream_wakes_the_task_at_once(place):
    place.kill(place.start())
    place.supervisor().step()
    park(place)

    event = the_event(a_trigger(place, epoch=2))

    assert event["stage"] == "failed"
    assert "parked: six failures in a row" in event["evidence"]


def test_waiting_is_bounded_and_ends_with_what_was_seen(place):
    place.start()

    event = the_event(a_trigger(place, epoch=2, seconds=0))

    assert event["stage"] == "pending"
    assert "epoch 1 is starting" in event["evidence"]


@pytest.mark.parametrize("end_at", ["", "tomorrow"])
def test_a_trigger_without_an_end_that_makes_sense_does_not_wait_for_ever(place, end_at):
    place.start()

    assert the_event(a_trigger(place, epoch=2, end_at=end_at))["stage"] == "pending"


def test_settings_that_are_gone_are_waited_out_and_told(place):
    place.project.file.unlink()

    event = the_event(a_trigger(place, epoch=2, seconds=0.3))

    assert event["stage"] == "pending"
    assert "streams.yaml" in event["evidence"]


def test_a_place_that_never_answers_ends_in_time(place, monkeypatch):
    monkeypatch.setattr(act_trigger, "LOOK_TIMEOUT_SECONDS", 0.05)

    go_on = threading.Event()

    class Hanging(ActTrigger):
        def _build(self):
            go_on.wait(PATIENCE)
            return super()._build()

    try:
        event = the_event(Hanging(**a_trigger(place, epoch=2, seconds=0.3).serialize()[1]))
    finally:
        go_on.set()
    assert "no answer for" in event["evidence"]


def test_nothing_fires_in_the_first_seconds(place):
    """Issues 72716 and 71580 of apache/airflow."""
    assert ActTrigger(stream="o", config="c", act="stop").quiet_seconds == 15.0

    async def run():
        loop = asyncio.get_running_loop()
        begun = loop.time()
        events = [event async for event in a_trigger(place, "stop", seconds=0, quiet_seconds=0.3).run()]
        return events, loop.time() - begun

    place.person().stop("upgrade")
    events, took = asyncio.run(run())
    assert len(events) == 1
    assert took >= 0.3


def test_neither_task_nor_trigger_stops_a_stream_when_it_is_killed():
    assert ActTrigger.on_kill is BaseTrigger.on_kill
    assert ActTrigger.cleanup is BaseTrigger.cleanup
    assert {task.on_kill for task in (PlanActOperator, ActOperator, VerifyActOperator)} == {BaseOperator.on_kill}
