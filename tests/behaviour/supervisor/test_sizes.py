"""Whatever sizes people, drivers and Spark produce, every later look works, and so do stop, start and release."""

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamops.control.codec import encode_record
from streamops.control.drivers import driver_instances
from streamops.control.layout import EXIT, HEARTBEAT, PROGRESS, driver_folder, record_address
from streamops.control.log import ControlLog
from streamops.control.records import DriverEnded, Outcome, StartRequested, StopRequested
from streamops.errors import LaunchError, SettingsError
from streamops.failures.policy import RestartPolicy
from streamops.storage import join
from streamops.storage.local import LocalStorage
from streamops.supervision.act import new_record
from streamops.supervision.decision import Action
from support.records import a_record
from support.specs import PERSON, TIMINGS, a_stream, seconds
from support.world import World

MIB = 1024 * 1024
LONGEST_BACKOFF = RestartPolicy().max_delay + seconds(30)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def a_running_stream(world):
    supervisor = world.supervisor()
    world.run(seconds(20), supervisor)
    assert world.driver.batches
    return supervisor


def words(size):
    """A text of so many distinct words in brackets, as an application may put a bad record into its message."""
    return "".join(f"[WORD_{number:07d}]" for number in range(size // 14))


def folder_of(world):
    """Of the newest driver."""
    epoch, instance = driver_instances(world.storage, world.control)[-1]
    return driver_folder(world.control, epoch, instance)


def can_be_managed(world):
    """A process that knows nothing yet looks, and a person stops, starts and releases; the stream runs in the end."""
    supervisor = world.supervisor()
    supervisor.look()
    world.person().stop("tried")
    world.run(TIMINGS.stop + seconds(30), supervisor)
    assert world.alive == []
    world.person().start("tried")
    world.person().release("tried")
    world.run(LONGEST_BACKOFF, world.supervisor())
    return bool(world.driver.batches)


# What a person says


def test_a_reason_of_five_megabytes_is_refused_and_nothing_is_on_record(world):
    supervisor = a_running_stream(world)
    before = world.records

    with pytest.raises(SettingsError, match="the reason is too long: it has 5242880 characters"):
        world.person().stop("x" * 5 * MIB)

    assert world.records == before
    assert world.run(seconds(20), supervisor).action is Action.KEEP
    assert can_be_managed(world)


def test_a_reason_that_an_older_version_let_pass_can_be_lived_with(world):
    """The record is there for good: the driver obeys it, and everybody reads it."""
    supervisor = a_running_stream(world)
    record = a_record(StopRequested(epoch=1), world.state.next_number, reason="x" * 5 * MIB)
    world.storage.create(record_address(world.control, record.number), encode_record(record))

    world.run(seconds(60), supervisor)

    assert world.alive == []
    assert world.records[-1].body.outcome is Outcome.STOPPED
    assert can_be_managed(world)


# What a driver leaves


def test_a_failure_of_six_megabytes_of_words_leaves_a_stream_that_is_restarted(world):
    supervisor = a_running_stream(world)

    world.driver.leave(Outcome.FAILED, f"[STREAM_FAILED] {words(6 * MIB)}")
    world.run(seconds(120), supervisor)

    assert world.driver.epoch == 2
    assert can_be_managed(world)


@pytest.mark.parametrize("file", [EXIT, HEARTBEAT])
@pytest.mark.parametrize("content", [pytest.param(b"x" * 6 * MIB, id="too large"), pytest.param(b"{", id="broken")])
def test_a_dead_driver_whose_file_cannot_be_read_is_replaced(world, file, content):
    supervisor = a_running_stream(world)
    world.kill(world.driver)
    world.storage.write(join(folder_of(world), file), content)

    world.run(seconds(120), supervisor)

    assert world.driver.epoch == 2
    assert can_be_managed(world)


def test_a_folder_in_the_place_of_an_exit_record_hides_the_reason_and_nothing_else(tmp_path):
    world = World(tmp_path / "state", spec=a_stream(checkpoint=f"file://{tmp_path}/checkpoint"))
    world.storage = LocalStorage()
    supervisor = a_running_stream(world)
    world.kill(world.driver)
    (tmp_path / "checkpoint.streamops" / folder_of(world).partition(".streamops/")[2] / EXIT).mkdir()

    world.run(seconds(120), supervisor)

    assert world.driver.epoch == 2


def test_a_beat_that_cannot_be_read_never_stands_still(world):
    """Somewhere else a driver of this claim may beat all the time: unreadable is not dead."""
    world.supervisor().step()
    world.storage.write(join(driver_folder(world.control, 1, "0123456789abcdef"), HEARTBEAT), b"x" * 6 * MIB)
    other = world.supervisor(host="host-2")

    decision = world.run(TIMINGS.claim + 2 * TIMINGS.takeover, other)

    assert world.drivers == []
    assert decision.needs_attention
    assert "--confirm-dead" in decision.reason


def test_a_progress_file_beyond_all_bounds_is_no_reason_to_lose_sight_of_a_stream(world):
    supervisor = a_running_stream(world)
    world.storage.write(join(folder_of(world), PROGRESS), b"x" * 6 * MIB)

    assert world.run(seconds(10), supervisor).action is Action.KEEP
    assert can_be_managed(world)


@pytest.mark.parametrize("first", range(44, 50))
def test_failures_of_megabytes_around_the_record_of_a_snapshot_leave_a_state_that_is_read(tmp_path, first):
    world = World(tmp_path, spec=a_stream(restart=RestartPolicy(budget_per_hour=50, thrash_limit=50)))
    supervisor = a_running_stream(world)
    fill(world, up_to=first)
    for _ in range(3):
        world.driver.leave(Outcome.FAILED, f"[STREAM_FAILED] {words(3 * MIB // 2)}")
        world.run(seconds(300), supervisor)

    assert sum(isinstance(record.body, DriverEnded) for record in world.records) == 3
    assert can_be_managed(world)


def fill(world, *, up_to):
    """Records that change nothing."""
    log = ControlLog(world.storage, world.control)
    for number in range(world.state.next_number, up_to):
        log.append(new_record(StartRequested(), number=number, clock=world.clock, author=PERSON, reason="fill"))


# What a launcher says


def test_a_launch_that_fails_with_a_book_is_on_record_with_its_ends(world):
    world.processes.submit_error = LaunchError(f"no driver: {'x' * 6 * MIB} at the end")

    world.run(seconds(30), world.supervisor())
    end = next(record for record in world.records if isinstance(record.body, DriverEnded))

    assert end.body.text.startswith("no driver")
    assert end.body.text.endswith("at the end")
    assert max(len(encode_record(record)) for record in world.records) < 100_000
    world.processes.submit_error = None
    assert can_be_managed(world)


# Everything together

SIZES = st.sampled_from([0, 1, 1_999, 2_000, 2_001, 20_000, 300_000])
TEXTS = st.builds(lambda unit, size: (unit * (size // len(unit) + 1))[:size], st.text(min_size=1, max_size=20), SIZES)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("says"), TEXTS),
        st.tuples(st.just("fails"), TEXTS),
        st.tuples(st.just("fails with words"), SIZES.map(words)),
        st.tuples(st.just("cannot be launched"), TEXTS),
        st.tuples(st.sampled_from([EXIT, HEARTBEAT, PROGRESS]), SIZES.map(lambda size: b"[" * size * 20)),
        st.tuples(st.just("tells progress"), SIZES),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=EVENTS)
def test_whatever_sizes_come_every_later_look_works(tmp_path_factory, events):
    world = World(
        tmp_path_factory.mktemp("state"), spec=a_stream(restart=RestartPolicy(budget_per_hour=50, thrash_limit=50))
    )
    supervisor = a_running_stream(world)
    for what, content in events:
        happen(world, what, content)
        world.run(seconds(120), supervisor)
        world.supervisor().look()

    world.processes.submit_error = None
    assert can_be_managed(world)


def happen(world, what, content):
    match what:
        case "says":
            with suppress(SettingsError):
                world.person().stop(content)
            world.person().start("go on")
        case "fails" | "fails with words" if world.alive:
            world.driver.leave(Outcome.FAILED, content)
        case "cannot be launched" if world.alive:
            world.processes.submit_error = LaunchError(content)
            world.kill(world.driver)
        case "tells progress" if world.alive:
            sources = [{"description": "KafkaV2", "endOffset": {"orders": {"0": "9" * content * 10}}}]
            world.driver._report.add_progress([json.dumps({"batchId": 0, "sources": sources})])
        case _ if isinstance(content, bytes):
            world.storage.write(join(folder_of(world), what), content)
