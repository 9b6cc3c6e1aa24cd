"""The trigger, as the triggerer runs it: rebuilt from the database, on a real control log and a real process."""

import asyncio
import importlib
import json
import threading
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from airflow.triggers.base import BaseTrigger

from streamops.airflow.triggers import StreamTrigger
from streamops.airflow.triggers import stream as triggers
from streamops.control import attendance
from streamops.control.log import ControlLog
from streamops.control.records import Parked
from streamops.settings import in_force, load_settings
from streamops.spec.wire import spec_text
from streamops.storage.address import local_path
from streamops.storage.local import LocalStorage
from support.records import a_claim, a_log, a_record, a_submit, write_log
from support.waiting import eventually

PATIENCE = 60
"""Seconds that anything may take before a test gives up."""


def rebuilt(trigger: StreamTrigger) -> StreamTrigger:
    """The trigger after its way through Airflow's database."""
    path, arguments = trigger.serialize()
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)(**json.loads(json.dumps(arguments)))


def a_trigger(place, **changes) -> StreamTrigger:
    arguments = {"stream": "orders", "config": place.config, "quiet_seconds": 0, "interval_seconds": 0.02}
    return rebuilt(StreamTrigger(**{**arguments, **changes}))


async def events(trigger: StreamTrigger) -> list[dict]:
    return [event.payload async for event in trigger.run()]


def the_event(trigger: StreamTrigger) -> dict:
    """The one event of a trigger that has something to tell."""

    async def run():
        async with asyncio.timeout(PATIENCE):
            return await events(trigger)

    (event,) = asyncio.run(run())
    return event


@asynccontextmanager
async def watching(trigger: StreamTrigger):
    """The trigger runs beside the test, and is cancelled at its end."""
    task = asyncio.create_task(events(trigger))
    try:
        yield task
    finally:
        while not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=0.1)


async def off_loop(work, *arguments):
    """What blocks, away from the loop that runs the trigger."""
    async with asyncio.timeout(PATIENCE):
        return await asyncio.to_thread(work, *arguments)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(triggers, "TROUBLE_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(in_force, "ASK_INTERVAL", timedelta(0))


def park(place):
    """The log says that the stream stands still until somebody releases it."""
    log = ControlLog(LocalStorage(), place.control)
    log.append(a_record(Parked(), place.state.next_number, reason="six failures in a row"))


def sign_of(place) -> Path:
    """The file with the newest sign of attendance."""
    address = attendance.attendance_address(load_settings(place.config).state_root, "orders")
    return Path(local_path(address))


def _memory(place) -> str:
    """What a look at the stream leaves behind."""
    supervisor = place.supervisor()
    supervisor.look()
    return supervisor.hand_over()


# The way through the database


def test_every_argument_comes_back_from_the_database():
    trigger = StreamTrigger(
        stream="orders",
        config="c.yaml",
        end_at="x",
        memory="{}",
        still_since="y",
        quiet_seconds=3,
        interval_seconds=4,
    )

    assert vars(rebuilt(trigger)) == vars(trigger)


def test_the_arguments_are_plain_scalars():
    _, arguments = StreamTrigger(stream="orders", config="c.yaml").serialize()

    assert all(isinstance(value, str | int | float) for value in arguments.values())


def test_arguments_of_another_release_are_accepted():
    """A trigger row may be older or newer than the code that reads it."""
    oldest = StreamTrigger(stream="orders", config="c.yaml")
    newest = StreamTrigger(stream="orders", config="c.yaml", colour="blue", poll_interval=30)

    assert newest.serialize() == oldest.serialize()


@pytest.mark.parametrize("end_at", ["tomorrow", "2001-01-01T00:00:00"], ids=["no moment", "a moment without a zone"])
def test_an_end_that_makes_no_sense_is_none(place, eyes, end_at):
    place.start()

    async def watch():
        async with watching(a_trigger(place, end_at=end_at)) as task:
            assert await off_loop(eyes.have_looked, 3)
            return task.done()

    assert asyncio.run(watch()) is False


# Waking up


def test_nothing_fires_while_the_driver_lives(place, eyes):
    place.start()

    async def watch():
        async with watching(a_trigger(place)) as task:
            assert await off_loop(eyes.have_looked, 10)
            return task.done()

    assert asyncio.run(watch()) is False


def test_a_dead_driver_is_told_once(place, eyes):
    handle = place.start()

    async def watch():
        async with watching(a_trigger(place)) as task, asyncio.timeout(PATIENCE):
            await off_loop(eyes.have_looked, 2)
            await off_loop(place.kill, handle)
            return await task

    (event,) = asyncio.run(watch())
    assert event["wake"] == "record-end"
    assert "epoch 1" in event["reason"]


def test_an_event_is_text_through_and_through(place):
    """It goes through the database too."""
    place.kill(place.start())

    event = the_event(a_trigger(place, end_at="2999-01-01T00:00:00+00:00"))

    assert all(isinstance(value, str) for value in event.values())
    assert event["end_at"] == "2999-01-01T00:00:00+00:00"
    assert "beat 1 submitted" in json.loads(event["memory"])


def test_looking_changes_nothing(place):
    place.kill(place.start())
    before = place.kinds

    the_event(a_trigger(place))

    assert place.kinds == before


@pytest.mark.fault("B78")
def test_nothing_fires_within_the_quiet_seconds(place, eyes):
    """A task that resumes seconds after it was deferred is taken for one that has ended (Airflow 72716, 71580)."""
    place.kill(place.start())

    async def watch():
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.timeout(PATIENCE):
            (event,) = await events(a_trigger(place, quiet_seconds=0.4))
        return event, loop.time() - began

    event, lasted = asyncio.run(watch())
    assert event["wake"] == "record-end"
    assert lasted >= 0.4
    assert eyes.looks >= 2


def test_the_quiet_time_outlasts_what_airflow_needs_unless_told_otherwise():
    assert StreamTrigger(stream="orders", config="c.yaml").quiet_seconds >= 15


def test_a_stopped_stream_wakes_its_task_which_then_ends(place):
    handle = place.start()
    place.person().stop("maintenance")
    place.kill(handle)
    place.supervisor().settle()

    assert the_event(a_trigger(place))["wake"] == "stopped"


def test_a_stream_that_does_not_get_on_wakes_its_task_after_a_while(place, monkeypatch):
    monkeypatch.setattr(triggers, "PASSING_GRACE", timedelta(0))
    place.declare(restart={"initial_delay": "1h", "max_delay": "2h"})
    place.kill(place.start())
    place.supervisor().settle()

    event = the_event(a_trigger(place, still_since="2026-03-01T12:00:00+00:00"))

    assert (event["wake"], event["reason"][:8]) == ("standstill", "back-off")
    assert event["still_since"] == "2026-03-01T12:00:00+00:00"


def test_a_wait_that_ends_by_watching_is_watched_to_its_end(place, eyes, monkeypatch):
    """Of a claim that another supervisor has not submitted yet it is watched for how long it stays so."""
    monkeypatch.setattr(triggers, "PASSING_GRACE", timedelta(0))
    write_log(LocalStorage(), place.control, a_log(a_claim(1)))

    async def watch():
        async with watching(a_trigger(place)) as task:
            assert await off_loop(eyes.have_looked, 5)
            return task.done()

    assert asyncio.run(watch()) is False


def test_what_the_slice_before_has_watched_counts(place):
    """A claim that was left behind is superseded after 30 s."""
    write_log(LocalStorage(), place.control, a_log(a_claim(1)))
    seen = json.loads(_memory(place))
    memory = json.dumps({subject: [mark, 3600.0] for subject, (mark, _) in seen.items()})

    assert the_event(a_trigger(place, memory=memory))["wake"] == "claim"


def test_files_that_can_not_be_looked_at_are_a_standstill(place, eyes, monkeypatch):
    monkeypatch.setattr(triggers, "PASSING_GRACE", timedelta(0))
    eyes.storage.unreachable = "/"

    event = the_event(a_trigger(place))

    assert event["wake"] == "standstill"
    assert event["reason"]


def test_the_log_says_where_a_stream_stands_and_nothing_twice(place, eyes, caplog, monkeypatch):
    monkeypatch.setattr(triggers, "TOLD_EVERY_SECONDS", 0.0)
    handle = place.start()

    async def watch():
        async with watching(a_trigger(place)):
            assert await off_loop(eyes.have_looked, 5)

    with caplog.at_level("INFO", triggers.__name__):
        asyncio.run(watch())

    told = [record.getMessage() for record in caplog.records if " keep: " in record.getMessage()]
    assert len(told) == len(set(told)) > 0
    assert f"process {handle.process.partition(':')[0]} on {handle.host}, log {handle.log}" in told[-1]


def test_a_started_stream_wakes_its_task(place, eyes):
    handle = place.start()
    place.person().stop("maintenance")
    place.kill(handle)
    place.supervisor().settle()
    place.person().start("maintenance is over")

    assert the_event(a_trigger(place))["wake"] == "claim"


def test_a_driver_that_only_a_worker_can_see_wakes_its_task_now_and_then(place, eyes, monkeypatch):
    """Triggerer and worker may be two containers: what the one can't see the other may."""
    monkeypatch.setattr(triggers, "ATTENTION_SECONDS", 0.0)
    place.declare(timings={"beat": "100ms", "halt": "300ms", "takeover": "600ms"})
    claim = replace(a_claim(), spec=spec_text(place.spec))
    write_log(LocalStorage(), place.control, a_log(claim, a_submit()))

    event = the_event(a_trigger(place))

    assert event["wake"] == "wait"
    assert "can't be seen from here" in event["reason"]


# The end of a run


@pytest.mark.fault("B76")
def test_a_run_ends_when_its_time_is_up_and_the_driver_lives_on(place):
    handle = place.start()
    passed = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()

    event = the_event(a_trigger(place, end_at=passed))

    assert event["wake"] == "end-of-run"
    assert place.is_alive(handle)


def test_a_run_does_not_end_before_its_time(place, eyes):
    place.start()
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()

    async def watch():
        async with watching(a_trigger(place, end_at=later)) as task:
            assert await off_loop(eyes.have_looked, 5)
            return task.done()

    assert asyncio.run(watch()) is False


def test_work_to_be_done_comes_before_the_end_of_the_run(place):
    place.kill(place.start())
    passed = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()

    assert the_event(a_trigger(place, end_at=passed))["wake"] == "record-end"


def test_a_run_ends_in_time_even_when_nothing_can_be_looked_at(place):
    place.project.file.unlink()
    passed = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()

    assert the_event(a_trigger(place, end_at=passed))["wake"] == "end-of-run"


# The settings change


def test_a_declaration_that_changes_is_seen_while_its_task_sleeps(place, eyes):
    place.start()

    async def watch():
        async with watching(a_trigger(place)) as task, asyncio.timeout(PATIENCE):
            await off_loop(eyes.have_looked, 2)
            place.declare(checkpoint="data/checkpoints/elsewhere")
            return await task

    (event,) = asyncio.run(watch())
    assert event["wake"] == "blocked"
    assert "moved" in event["reason"]


@pytest.mark.parametrize("text", ["streams: [", "state_root: data/state\nstreams: {}"], ids=["no YAML", "without it"])
def test_a_stream_whose_declaration_is_gone_is_watched_as_before(place, eyes, monkeypatch, text):
    monkeypatch.setattr(attendance, "SIGN_INTERVAL", timedelta(0))
    handle, sign = place.start(), sign_of(place)

    async def watch():
        async with watching(a_trigger(place)) as task, asyncio.timeout(PATIENCE):
            await off_loop(eyes.have_looked, 2)
            place.project.file.write_text(text)
            await off_loop(eyes.have_looked, 2)
            sign.unlink()
            assert await off_loop(eventually, sign.exists)
            await off_loop(place.kill, handle)
            return await task

    (event,) = asyncio.run(watch())
    assert event["wake"] == "record-end"


def test_a_parked_stream_wakes_its_supervising_task(place):
    """The task then fails, visibly, with the report."""
    place.kill(place.start())
    park(place)
    place.supervisor().settle()

    assert the_event(a_trigger(place))["wake"] == "parked"


# A driver is nobody's


def test_marking_or_clearing_a_task_never_stops_a_stream():
    """`on_kill` is what Airflow calls then."""
    assert StreamTrigger.on_kill is BaseTrigger.on_kill
    assert StreamTrigger.cleanup is BaseTrigger.cleanup


def test_a_cancelled_trigger_leaves_the_driver_alone(place, eyes):
    handle = place.start()
    before = place.kinds

    async def watch():
        trigger = a_trigger(place)
        async with watching(trigger) as task:
            assert await off_loop(eyes.have_looked, 2)
            task.cancel()
            await trigger.on_kill()
            await trigger.cleanup()

    asyncio.run(watch())
    assert place.is_alive(handle)
    assert place.kinds == before


def test_a_cancellation_is_obeyed_even_when_a_look_has_just_ended(place, eyes):
    """A trigger that misses it would go on beside the one that takes over; `asyncio.wait_for` of Python 3.11 does."""
    place.start()
    looking, go_on = threading.Event(), threading.Event()

    def hold_up(checkpoint):
        looking.set()
        go_on.wait(PATIENCE)

    eyes.on_look = hold_up

    async def watch():
        async with watching(a_trigger(place)) as task:
            await off_loop(looking.wait, PATIENCE)
            go_on.set()
            threading.Event().wait(0.3)  # The loop is busy elsewhere while the look ends.
            task.cancel()
            done, _ = await asyncio.wait({task}, timeout=5)
            return task in done

    assert asyncio.run(watch())


# Trouble


@pytest.mark.fault("B76")
def test_a_place_that_cannot_be_reached_is_waited_out(place, eyes):
    """Unreachable is not dead."""
    place.kill(place.start())
    eyes.storage.unreachable = "/"

    async def watch():
        async with watching(a_trigger(place)) as task, asyncio.timeout(PATIENCE):
            await off_loop(eyes.have_asked, 5)
            slept = not task.done()
            eyes.storage.unreachable = ""
            return slept, await task

    slept, (event,) = asyncio.run(watch())
    assert slept
    assert event["wake"] == "record-end"


def test_settings_that_are_wrong_for_a_while_are_waited_out(place):
    place.kill(place.start())
    good = place.project.file.read_text()
    place.project.file.write_text("streams: [")
    tried = threading.Event()

    class Watched(StreamTrigger):
        def _build(self):
            try:
                return super()._build()
            finally:
                tried.set()

    trigger = Watched(stream="orders", config=place.config, quiet_seconds=0, interval_seconds=0.02)

    async def watch():
        async with watching(trigger) as task, asyncio.timeout(PATIENCE):
            await off_loop(tried.wait, PATIENCE)
            slept = not task.done()
            place.project.file.write_text(good)
            return slept, await task

    slept, (event,) = asyncio.run(watch())
    assert slept
    assert event["wake"] == "record-end"


def test_whatever_a_look_raises_is_waited_out(place, eyes):
    place.kill(place.start())
    failures = iter([RuntimeError("no such thing"), MemoryError(), KeyError("x")])

    def fail_three_times(checkpoint):
        if failure := next(failures, None):
            raise failure

    eyes.on_look = fail_three_times

    assert the_event(a_trigger(place))["wake"] == "record-end"
    assert eyes.looks >= 4


# One loop for all


@pytest.mark.fault("B78")
def test_a_slow_look_does_not_hold_up_the_loop(place, eyes):
    """The triggerer runs every trigger of the installation on one loop."""
    place.start()
    looking, go_on = threading.Event(), threading.Event()

    def hang(checkpoint):
        looking.set()
        go_on.wait(PATIENCE)

    eyes.on_look = hang

    async def watch():
        turns = 0
        try:
            async with watching(a_trigger(place)), asyncio.timeout(PATIENCE / 2):
                while not looking.is_set():
                    await asyncio.sleep(0.01)
                while turns < 20:
                    await asyncio.sleep(0.01)
                    turns += 1
        finally:
            go_on.set()
        return turns

    assert asyncio.run(watch()) == 20


def test_a_look_that_never_answers_is_given_up_and_tried_again(place, eyes, monkeypatch):
    monkeypatch.setattr(triggers, "LOOK_TIMEOUT_SECONDS", 0.2)
    place.kill(place.start())
    go_on = threading.Event()

    def hang_the_first_time(checkpoint):
        if eyes.looks == 1:
            go_on.wait(PATIENCE)

    eyes.on_look = hang_the_first_time
    try:
        assert the_event(a_trigger(place))["wake"] == "record-end"
    finally:
        go_on.set()


def test_a_place_that_hangs_for_one_stream_does_not_blind_the_others(place, eyes, monkeypatch, tmp_path):
    """A hung mount never answers: if each try took a thread for good, soon no stream would be looked at."""
    monkeypatch.setattr(triggers, "LOOK_TIMEOUT_SECONDS", 0.25)
    other = type(place)(tmp_path / "other")
    other.declare()
    other.kill(other.start())
    go_on = threading.Event()

    def hang(checkpoint):
        if checkpoint == place.spec.checkpoint:
            go_on.wait(PATIENCE)

    eyes.on_look = hang

    async def watch():
        async with watching(a_trigger(place)):
            for _ in range(35):  # Time for more tries than there are threads.
                await asyncio.sleep(0.1)
            async with asyncio.timeout(PATIENCE / 4):
                return await events(a_trigger(other))

    try:
        (event,) = asyncio.run(watch())
    finally:
        go_on.set()
    assert event["wake"] == "record-end"
