"""A log that was lost and adopted is another log: whoever knew the old one goes on with the new."""

import pytest

from streamops.control.layout import record_address
from streamops.control.log import ControlLog
from streamops.control.records import StartRequested
from streamops.control.snapshot import SNAPSHOT_INTERVAL, save_snapshot_if_due
from streamops.errors import ControlLogError, CorruptRecordError
from streamops.storage import join
from streamops.supervision.decision import Action
from support.records import a_record
from support.specs import seconds


def a_watched_stream(world):
    supervisor = world.supervisor()
    world.run(seconds(20), supervisor)
    assert world.driver.batches
    return supervisor


def with_snapshot(world):
    """As each fiftieth record leaves one."""
    log = ControlLog(world.storage, world.control)
    while world.state.next_number < SNAPSHOT_INTERVAL:
        before = world.state
        record = log.append(a_record(StartRequested(), before.next_number))
        save_snapshot_if_due(world.storage, world.control, before, record)
    assert "snapshot.json" in world.storage.list(world.control)


def lose_log(world):
    for name in world.storage.list(join(world.control, "log")):
        world.storage.delete(join(world.control, "log", name))


def test_a_living_supervisor_goes_on_after_the_lost_log_was_adopted(world):
    supervisor = a_watched_stream(world)
    lose_log(world)
    world.run(seconds(30))
    world.person().adopt("the log is lost", watch=seconds(60))

    world.run_through_trouble(seconds(30), supervisor)

    assert world.driver.epoch == 2
    assert supervisor.last_look.decision.action is Action.KEEP


def test_a_living_supervisor_tells_of_the_loss_once_and_then_what_a_person_can_do(world):
    supervisor = a_watched_stream(world)
    lose_log(world)
    with pytest.raises(CorruptRecordError, match="removed"):
        supervisor.look()

    decision = supervisor.look().decision

    assert decision.action is Action.BLOCKED
    assert "streamops adopt orders" in decision.reason


def test_what_stood_still_in_the_old_log_says_nothing_of_the_new_one(world):
    """Its epochs may have the same numbers."""
    supervisor = a_watched_stream(world)
    lose_log(world)

    with pytest.raises(CorruptRecordError):
        supervisor.look()

    assert supervisor.hand_over() == "{}"


def test_a_snapshot_of_the_lost_log_does_not_keep_it_from_being_adopted(world):
    a_watched_stream(world)
    with_snapshot(world)
    lose_log(world)
    with pytest.raises(CorruptRecordError, match=r"Restore the log; where that can't be done.*then `streamops adopt`"):
        world.supervisor().look()
    world.run(seconds(120))

    adopted = world.person().adopt("the log is lost", watch=seconds(60))
    world.run_through_trouble(seconds(30), world.supervisor())

    assert adopted.number == 0
    assert world.driver.epoch == 2


def test_the_snapshot_stays_while_the_adoption_is_refused(world):
    """It still tells that records are lost, which the traces of drivers alone may not."""
    a_watched_stream(world)
    with_snapshot(world)
    lose_log(world)
    world.clock.on_sleep = world.driver.beat

    with pytest.raises(ControlLogError, match="somebody runs it"):
        world.person().adopt("the log is lost", watch=seconds(30))

    assert "snapshot.json" in world.storage.list(world.control)


def test_the_snapshot_stays_where_what_is_left_of_the_log_is_broken(world):
    a_watched_stream(world)
    with_snapshot(world)
    lose_log(world)
    world.storage.write(record_address(world.control, 0), b"{")
    world.run(seconds(120))

    with pytest.raises(CorruptRecordError, match="not a control record"):
        world.person().adopt("the log is lost", watch=seconds(60))

    assert "snapshot.json" in world.storage.list(world.control)


def test_a_broken_record_is_told_each_time(world):
    supervisor = a_watched_stream(world)
    world.storage.write(record_address(world.control, world.state.next_number), b"{")

    for _ in range(3):
        with pytest.raises(CorruptRecordError, match="not a control record"):
            supervisor.look()
