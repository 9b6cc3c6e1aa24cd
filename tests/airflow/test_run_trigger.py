"""The trigger of a bounded run: what wakes its task, and when the end of its task is the end of the run."""

import asyncio
import importlib
import json
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import ErrorResponse, GetTaskStates, TaskStatesResult

from streamops.airflow.triggers import run as run_trigger
from streamops.airflow.triggers import stream as triggers
from streamops.airflow.triggers.run import RunTrigger
from streamops.control.records import Outcome
from streamops.settings import in_force
from support.airflow_runs import RunPlace

pytestmark = pytest.mark.filterwarnings("ignore:.*cannot be called outside of the Task Runner")

PATIENCE = 60
"""Seconds that anything may take before a test gives up."""

SERVER_IS_AWAY = AirflowRuntimeError(
    ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail={"status_code": 503, "message": "away"})
)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(triggers, "TROUBLE_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(run_trigger, "ASK_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(in_force, "ASK_INTERVAL", timedelta(0))


@pytest.fixture
def run_place(place, monkeypatch):
    """A run is under way."""
    run_place = RunPlace(place, monkeypatch)
    run_place.begin()
    return run_place


@dataclass
class Server:
    """Says what state the task has, once it has failed to so many times."""

    state: str | None = "deferred"
    failures: int = 0
    asked: list[object] = field(default_factory=list)

    def send(self, msg: object) -> object:
        self.asked.append(msg)
        assert isinstance(msg, GetTaskStates)
        if len(self.asked) <= self.failures:
            raise SERVER_IS_AWAY
        (run_id,), (task_id,) = msg.run_ids, msg.task_ids
        return TaskStatesResult(task_states={run_id: {task_id: self.state}})


@pytest.fixture
def server(monkeypatch):
    server = Server()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", server, raising=False)
    return server


def rebuilt(trigger: RunTrigger) -> RunTrigger:
    """The trigger after its way through Airflow's database."""
    path, arguments = trigger.serialize()
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)(**json.loads(json.dumps(arguments)))


def a_trigger(run_place, **changes) -> RunTrigger:
    arguments = {"stream": "orders", "config": run_place.place.config, "quiet_seconds": 0, "interval_seconds": 0.02}
    task = {"run": run_place.run_number, "dag_id": "catchup__orders", "run_id": "scheduled__1", "task_id": "run"}
    return rebuilt(RunTrigger(**{**arguments, **task, **changes}))


def the_event(trigger: RunTrigger) -> dict:
    """The one event of a trigger that has something to tell."""

    async def run():
        async with asyncio.timeout(PATIENCE):
            return [event.payload async for event in trigger.run()]

    (event,) = asyncio.run(run())
    return event


def killed(trigger: RunTrigger) -> None:
    """Airflow cancels the trigger because somebody did something to its task; what it began then is waited for."""

    async def kill():
        async with asyncio.timeout(PATIENCE):
            await trigger.on_kill()
            await asyncio.gather(*run_trigger._ENDINGS)

    asyncio.run(kill())


# The way through the database


def test_every_argument_comes_back_from_the_database():
    trigger = RunTrigger(
        stream="orders", config="c.yaml", run=7, backfill="b1", dag_id="d", run_id="r", task_id="t", quiet_seconds=3
    )

    assert vars(rebuilt(trigger)) == vars(trigger)


def test_the_arguments_are_plain_scalars():
    _, arguments = RunTrigger(stream="orders", config="c.yaml", run=7).serialize()

    assert all(isinstance(value, str | int | float) for value in arguments.values())


def test_arguments_of_another_release_are_accepted():
    oldest = RunTrigger(stream="orders", config="c.yaml")
    newest = RunTrigger(stream="orders", config="c.yaml", colour="blue")

    assert newest.serialize() == oldest.serialize()


# Waking up


def test_nothing_fires_while_the_run_gets_on(run_place, eyes):
    async def watch():
        trigger = a_trigger(run_place)
        task = asyncio.create_task(anext(trigger.run()))
        assert await asyncio.to_thread(eyes.have_looked, 10)
        done = task.done()
        task.cancel()
        return done

    assert asyncio.run(watch()) is False


def test_the_end_of_its_driver_wakes_the_task_with_the_number_of_the_run(run_place):
    run_place.finish()

    event = the_event(a_trigger(run_place))

    assert event["wake"] == "record-end"
    assert event["run"] == str(run_place.run_number)
    assert all(isinstance(value, str) for value in event.values())


def test_a_run_that_another_supervisor_saw_through_wakes_the_task(place, run_place):
    run_place.finish()
    place.supervisor().settle()

    assert the_event(a_trigger(run_place))["wake"] == "idle"


def test_the_run_of_a_live_stream_that_another_supervisor_saw_through_wakes_the_task(place, run_place):
    """The live query runs again, and nothing is to be done for it."""
    place.declare()
    run_place.finish()
    place.supervisor().settle()
    assert place.kinds[-2:] == ["claimed", "submitted"]

    assert the_event(a_trigger(run_place))["wake"] == "keep"


@pytest.mark.parametrize(
    ("act", "wake"),
    [
        pytest.param(lambda run_place: run_place.park(), "parked", id="parked"),
        pytest.param(lambda run_place: run_place.place.person().stop("moving house"), "stopped", id="stopped"),
    ],
)
def test_a_run_that_stands_still_wakes_the_task(place, run_place, act, wake):
    """The task fails then, and says why; a stream's own task would sleep on through a stop."""
    act(run_place)
    run_place.finish(outcome=Outcome.STOPPED)
    place.supervisor().settle()

    assert the_event(a_trigger(run_place))["wake"] == wake


# The end of the task


@pytest.mark.parametrize("state", ["failed", "success", "skipped"])
def test_a_task_that_somebody_gives_an_end_ends_the_run(place, run_place, server, state):
    server.state = state

    killed(a_trigger(run_place))

    record = run_place.records[-1]
    assert record.body.kind == "maintenance_ended"
    assert record.reason == f"its task was marked {state}"
    assert record.by.actor == "airflow:catchup__orders/run"
    assert place.state.end_wish is not None


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(None, id="cleared"),
        pytest.param("scheduled", id="cleared and scheduled again"),
        pytest.param("deferred", id="moved to another triggerer"),
        pytest.param("up_for_retry", id="tried again"),
    ],
)
def test_a_task_that_goes_on_leaves_the_run_alone(place, run_place, server, state):
    server.state = state
    before = place.kinds

    killed(a_trigger(run_place))

    assert place.kinds == before
    assert place.is_alive(place.handles[-1])


def test_it_asks_for_its_own_task(run_place, server):
    killed(a_trigger(run_place))

    (asked,) = server.asked
    assert (asked.dag_id, asked.run_ids, asked.task_ids) == ("catchup__orders", ["scheduled__1"], ["run"])


def test_a_server_that_is_away_for_a_moment_is_asked_again(run_place, server):
    server.state, server.failures = "failed", 4

    killed(a_trigger(run_place))

    assert len(server.asked) == 5
    assert run_place.records[-1].body.kind == "maintenance_ended"


def test_a_server_that_stays_away_leaves_the_run_alone(place, run_place, server):
    """Unknown is no wish: the run ends by itself or when its time is over."""
    server.state, server.failures = "failed", 5
    before = place.kinds

    killed(a_trigger(run_place))

    assert place.kinds == before


def test_a_run_that_is_over_is_not_ended_again(place, run_place, server):
    run_place.finish()
    place.supervisor().settle()
    server.state = "failed"
    before = place.kinds

    killed(a_trigger(run_place))

    assert place.kinds == before


def test_the_run_of_somebody_else_is_not_ended(place, run_place, server):
    run = run_place.run_number
    run_place.finish()
    place.supervisor().settle()
    run_place.ask_elsewhere()
    server.state = "failed"
    before = place.kinds

    killed(a_trigger(run_place, run=run))

    assert place.kinds == before


def test_an_end_is_only_begun_because_airflow_waits_no_longer(run_place, server):
    """Airflow gives `on_kill` a moment; an API server that does not answer must not eat it up."""
    server.failures = 99

    async def kill():
        trigger = a_trigger(run_place)
        async with asyncio.timeout(PATIENCE):
            await trigger.on_kill()
            asked_by_then = len(server.asked)
            await asyncio.gather(*run_trigger._ENDINGS)
        return asked_by_then

    assert asyncio.run(kill()) == 0
    assert len(server.asked) == 5
