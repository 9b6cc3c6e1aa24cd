"""When the DAG of a stream begins a run: on a real control log and a real process; how many runs there are, the test says."""

import asyncio
import importlib
import json

import pytest
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

from streamops.airflow.triggers import run_due
from streamops.airflow.triggers.run_due import RunDueTrigger
from streamops.control import attendance
from streamops.control.log import ControlLog
from streamops.control.records import Parked
from streamops.settings import load_settings
from streamops.storage.local import LocalStorage
from support.records import a_record

PATIENCE = 60


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    for name in ("WHILE_RUNNING_SECONDS", "LOOK_SECONDS", "TROUBLE_PAUSE_SECONDS"):
        monkeypatch.setattr(run_due, name, 0.02)
    monkeypatch.setattr(run_due, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(run_due, "BEGIN_SECONDS", 0.1)


class Airflow:
    """How many runs of the DAG there are; None where the server does not answer."""

    def __init__(self) -> None:
        self.runs: int | None = 0
        self.asked = 0

    def count(self, dag_id: str, states: list[str]) -> int:
        self.asked += 1
        if self.runs is None:
            raise ConnectionError("no answer")
        return self.runs


@pytest.fixture
def airflow(monkeypatch):
    airflow = Airflow()
    monkeypatch.setattr(RuntimeTaskInstance, "get_dr_count", staticmethod(airflow.count))
    return airflow


class Watch:
    """The trigger runs beside the test; what it gave."""

    def __init__(self, place) -> None:
        path, arguments = RunDueTrigger(dag_id="stream__orders", stream="orders", config=place.config).serialize()
        module, _, name = path.rpartition(".")
        self._trigger = getattr(importlib.import_module(module), name)(
            **json.loads(json.dumps(arguments)), colour="new"
        )
        self.events: list[dict] = []

    async def __aenter__(self):
        self._task = asyncio.create_task(self._take())
        return self

    async def __aexit__(self, *_):
        while not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=0.1)

    async def has(self, count: int) -> bool:
        async with asyncio.timeout(PATIENCE):
            while len(self.events) < count:
                await asyncio.sleep(0.02)
        return True

    async def _take(self) -> None:
        async for event in self._trigger.run():
            self.events.append(event.payload)


async def asks_again(airflow, times=5) -> None:
    """The watch goes round that often."""
    wanted = airflow.asked + times
    async with asyncio.timeout(PATIENCE):
        while airflow.asked < wanted:
            await asyncio.sleep(0.02)


def park(place) -> None:
    """Its driver has ended, and it stands still until somebody releases it."""
    place.kill(place.start())
    ControlLog(LocalStorage(), place.control).append(a_record(Parked(), place.state.next_number, reason="six failures"))
    place.supervisor().settle()


async def behind_a_failed_run(place, airflow, *acts) -> tuple[list[dict], str]:
    """What is given while no run is there but one that has told of the standstill, and what after these acts."""
    airflow.runs = 1
    async with Watch(place) as watched:
        await asks_again(airflow)
        airflow.runs = 0
        await asks_again(airflow, 10)
        before = list(watched.events)
        for act in acts:
            await asyncio.to_thread(act, "tried")
        await watched.has(1)
        return before, watched.events[-1]["action"]


def place_sign(place):
    """The newest sign of whoever looks after the stream."""
    return attendance.read_attendance(LocalStorage(), load_settings(place.config).state_root, "orders")


def test_a_run_is_due_for_a_stream_that_is_to_be_started(place, airflow):
    async def watch():
        async with Watch(place) as watched:
            await watched.has(1)
            airflow.runs = 1
            given = len(watched.events)
            await asks_again(airflow)
            return watched.events[0]["action"], len(watched.events) - given

    assert asyncio.run(watch()) == ("claim", 0)


def test_no_run_is_due_while_there_is_one_or_airflow_does_not_say(place, airflow):
    async def watch(runs):
        airflow.runs = runs
        async with Watch(place) as watched:
            await asks_again(airflow)
            return watched.events

    assert [asyncio.run(watch(runs)) for runs in (1, None)] == [[], []]


def test_the_run_that_failed_stays_the_latest_until_a_parked_stream_is_released(place, airflow):
    park(place)

    assert asyncio.run(behind_a_failed_run(place, airflow, place.person().release)) == ([], "claim")


def test_a_standstill_that_no_run_has_told_of_is_told_once(place, airflow):
    """After a restart of the triggerer, or where somebody else has parked it."""
    park(place)

    async def watch():
        async with Watch(place) as watched:
            await watched.has(1)
            await asks_again(airflow, 10)
            return [event["action"] for event in watched.events]

    assert asyncio.run(watch()) == ["parked"]


def test_a_run_is_due_for_a_driver_that_lives_and_that_nobody_looks_after(place, airflow):
    place.start()

    async def watch():
        async with Watch(place) as watched:
            await watched.has(1)
            return watched.events[0]["action"]

    assert asyncio.run(watch()) == "keep"


def test_a_stream_that_is_stopped_while_it_stands_still_is_no_longer_red(place, airflow):
    park(place)

    _, action = asyncio.run(behind_a_failed_run(place, airflow, place.person().stop, place.person().release))

    assert action == "stopped"


def test_events_that_come_to_nothing_new_are_given_less_and_less_often(place, airflow, monkeypatch):
    """A worker that can't start the stream, for example, though this place could."""
    monkeypatch.setattr(run_due, "FIRST_PAUSE_SECONDS", 1000.0)

    async def watch():
        async with Watch(place) as watched:
            await watched.has(1)
            await asks_again(airflow, 30)
            return len(watched.events)

    assert asyncio.run(watch()) == 1


def test_where_no_run_comes_of_an_event_nobody_looks_after_the_stream(place, airflow):
    """The DAG's file may have an import error: Airflow begins no run then, and leaves its watcher alone."""

    async def watch():
        async with Watch(place) as watched:
            await watched.has(1)
            await asks_again(airflow, 20)
            before = place_sign(place)
            await asks_again(airflow, 20)
            return before, place_sign(place)

    before, after = asyncio.run(watch())
    assert before == after


def test_a_stream_that_runs_at_set_times_now_is_left_to_its_own_dag(place, airflow, eyes):
    """Airflow keeps the watcher of a DAG that is gone for as long as the DAG's file is there."""
    place.declare(mode="scheduled", schedule={"cron": "0 * * * *"}, trigger={"available_now": True})

    async def watch():
        async with Watch(place) as watched:
            await asks_again(airflow, 10)
            return watched.events

    assert asyncio.run(watch()) == []
    assert place_sign(place) is None


def test_whoever_waits_for_a_release_looks_after_the_stream_and_touches_nothing(place, airflow):
    park(place)
    before = place.kinds

    async def watch():
        async with Watch(place) as watched:
            await watched.has(1)
            await asks_again(airflow)

    asyncio.run(watch())

    signed = place_sign(place)
    assert signed is not None
    assert signed.by.actor == "airflow:trigger"
    assert place.kinds == before


def test_files_that_can_not_be_looked_at_make_no_run_due(place, airflow, eyes):
    eyes.storage.unreachable = "/"

    async def watch():
        async with Watch(place) as watched:
            await asks_again(airflow)
            before = list(watched.events)
            eyes.storage.unreachable = ""
            await watched.has(1)
            return before

    assert asyncio.run(watch()) == []
