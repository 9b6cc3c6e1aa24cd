"""What a supervisor asks of its storage while a stream runs: on an object store each question has a price."""

import pytest

from streamops.control.codec import encode_record
from streamops.control.layout import driver_folder, record_address
from streamops.control.log import LOOKED_PAST
from streamops.control.records import StartRequested
from streamops.storage import join
from streamops.supervision.decision import Action
from streamops.supervision.observe import LISTED_EVERY
from support.counting_storage import CountingStorage
from support.records import a_record
from support.specs import TIMINGS, a_stream, seconds
from support.world import World

LOOK = seconds(30)
HOURS_A_DAY = 24


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def a_watched_stream(world):
    """A running stream, and a supervisor whose calls are counted from now on."""
    counting = CountingStorage(world.storage)
    supervisor = world.supervisor(storage=counting)
    world.run(seconds(60), supervisor)
    assert world.driver.batches
    counting.calls.clear()
    return supervisor, counting


def test_a_day_of_looks_at_a_running_stream_is_few_reads_and_next_to_no_listings(world):
    """At a look every 30 s seven questions each are 20 160 reads a day; a listing every five minutes is 288."""
    supervisor, counting = a_watched_stream(world)

    for _ in range(120):
        world.run(LOOK - seconds(5))
        assert world.run(seconds(5), supervisor).action is Action.KEEP

    assert counting.calls["read"] + counting.calls["details"] == 7 * 120
    assert counting.calls["list"] * HOURS_A_DAY <= 300


@pytest.mark.parametrize("records", [10, 1_000])
def test_a_look_asks_the_same_whatever_the_length_of_the_log(tmp_path, records):
    world = World(tmp_path, spec=a_stream())
    for number in range(records):
        record = a_record(StartRequested(), number)
        world.storage.write(record_address(world.control, number), encode_record(record))
    supervisor, counting = a_watched_stream(world)

    supervisor.look()

    assert counting.calls["list"] == 0
    assert counting.calls["read"] <= 2 + LOOKED_PAST + 4


def test_a_second_process_of_the_epoch_is_noticed_within_the_time_between_two_listings(world):
    supervisor, _ = a_watched_stream(world)
    beat = join(driver_folder(world.control, 1, "00aa00aa00aa00aa"), "heartbeat.json")
    world.storage.write(beat, b"{")

    world.run(LISTED_EVERY, supervisor)

    assert len(supervisor.last_look.observation.epochs[0].traces) == 2


def test_whatever_is_amiss_is_judged_on_a_fresh_listing(world):
    """The driver is gone: who else has left traces decides what its end is called, and what comes next."""
    supervisor, counting = a_watched_stream(world)
    supervisor.look()
    counting.calls.clear()
    world.kill(world.driver)

    supervisor.look()

    assert counting.calls["list"] >= 1


def test_a_beat_that_stands_still_is_judged_on_a_fresh_listing(world):
    supervisor, counting = a_watched_stream(world)
    world.driver.is_paused = True
    world.freeze(TIMINGS.halt)
    supervisor.look()
    counting.calls.clear()
    world.freeze(TIMINGS.halt + seconds(1))

    supervisor.look()

    assert counting.calls["list"] == 1
