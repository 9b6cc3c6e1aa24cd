"""The design's table on the control log: a log or a checkpoint that is not what it was, and what people say."""

import pytest

from streamops.control.records import Claimed
from streamops.control.registry import entry_address
from streamops.errors import ControlLogError
from streamops.supervision.decision import Action
from support.fencing import (
    a_running_stream,
    a_stopped_stream,
    last_batch,
    park,
    put_checkpoint_back,
    remove_log,
    submits,
    when,
    write_batch,
)
from support.specs import TIMINGS, a_stream, seconds
from support.storage import InterruptibleStorage

# The log and the checkpoint


def test_a_deleted_log_is_not_begun_anew_by_a_supervisor_that_never_saw_it(world):
    a_running_stream(world)
    remove_log(world)

    decision = world.run(seconds(300), world.supervisor())

    assert decision.action is Action.BLOCKED
    assert (world.alive, world.records) == ([], ())


def test_a_driver_that_came_between_a_look_at_the_log_and_one_at_the_traces_is_no_sign_of_a_lost_log(world):
    def start_meanwhile():
        world.supervisor().settle()
        world.drive()

    tick = when(f"before list {world.control}/drivers", start_meanwhile)
    supervisor = world.supervisor(storage=InterruptibleStorage(world.storage, tick))

    decision = supervisor.look().decision

    assert decision.action is not Action.BLOCKED


def test_a_log_that_was_deleted_before_its_driver_left_a_trace_gets_no_second_writer(world):
    """Only the registry shows that it ever was. Where a person has let that go, the next claim has the same number, but not
    the same token.
    """
    world.supervisor().settle()
    first = world.driver
    remove_log(world)
    assert world.supervisor().settle().action is Action.BLOCKED
    world.storage.delete(entry_address(world.state_root, world.spec.name))
    world.supervisor().settle()

    first.beat()
    world.run(seconds(60), world.supervisor())

    assert not first.is_alive
    assert {epoch for epoch, _ in world.writes} == {2}


def test_a_log_restored_from_a_backup_gets_no_record_and_no_driver(world):
    supervisor = a_running_stream(world)
    backup = world.records
    world.kill(world.driver)
    world.run(seconds(30), supervisor)
    remove_log(world, keep=len(backup))

    decision = world.run(seconds(300), world.supervisor())

    assert decision.action is Action.BLOCKED
    assert (world.alive, world.records) == ([], backup)


@pytest.mark.parametrize("request_", ["stop", "release"])
def test_a_person_appends_nothing_to_a_deleted_log(world, request_):
    a_running_stream(world)
    remove_log(world)

    with pytest.raises(ControlLogError):
        getattr(world.person(), request_)("because", **({"accepts_unsafe": True} if request_ == "release" else {}))

    assert world.records == ()


def test_a_checkpoint_restored_from_an_older_copy_is_not_run(world):
    supervisor = a_stopped_stream(world)
    put_checkpoint_back(world)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert "unsafe" in decision.reason


def test_a_checkpoint_that_was_put_back_between_claim_and_submit_is_not_run(world):
    supervisor = a_stopped_stream(world)
    supervisor.step()
    put_checkpoint_back(world)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert world.alive == []


def test_a_checkpoint_that_was_put_back_before_the_end_of_its_driver_is_on_record_is_not_run(world):
    """To where it was before that driver was claimed."""
    supervisor = a_stopped_stream(world)
    supervisor.settle()
    world.kill(world.driver)
    put_checkpoint_back(world)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert "unsafe" in decision.reason


def test_a_checkpoint_that_is_behind_the_last_beat_of_its_driver_is_not_run(world):
    supervisor = a_running_stream(world)
    world.run(seconds(20))
    world.kill(world.driver)
    put_checkpoint_back(world)
    put_checkpoint_back(world)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert "unsafe" in decision.reason


@pytest.mark.fault("B27")
def test_progress_between_two_looks_is_a_foreign_writer(world):
    supervisor = a_stopped_stream(world)
    write_batch(world, last_batch(world) + 1)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert "foreign writer" in decision.reason


def test_progress_between_claim_and_submit_is_a_foreign_writer(world):
    supervisor = a_stopped_stream(world)
    supervisor.step()
    write_batch(world, last_batch(world) + 1)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert world.alive == []


def test_a_batch_newer_than_the_last_beat_is_a_foreign_writer(world):
    """It came before anybody looked at the checkpoint again: its position alone could be our own driver's."""
    supervisor = a_running_stream(world)
    world.kill(world.driver)
    world.freeze(10 * TIMINGS.takeover)
    write_batch(world, last_batch(world) + 1)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert "last sign" in decision.reason


@pytest.mark.fault("B28")
def test_a_checkpoint_that_moved_to_another_folder_is_not_begun_there(world):
    a_running_stream(world)
    moved = a_stream(checkpoint=world.spec.checkpoint + "_new")

    decision = world.supervisor(spec=moved).settle()

    assert decision.action is Action.BLOCKED
    assert "moved" in decision.reason
    assert len(world.drivers) == 1


# What people say


def test_a_persons_word_for_a_driver_that_lives_leaves_one_writer_after_its_next_beat(world):
    """Outside of the promise, and this is what holds: the lie is found out by the next claim, at the next beat."""
    a_running_stream(world)
    liar = world.driver
    world.person().confirm_dead(1, "it must be")
    liar.beat()

    world.supervisor(host="host-2").step()
    liar.beat()
    liar.work()

    assert not liar.is_alive
    assert isinstance(world.records[-1].body, Claimed)


def test_a_driver_whose_end_is_on_record_halts_at_its_next_beat(world):
    """Whoever recorded it was wrong, and the next driver may be started any moment."""
    a_running_stream(world)
    driver = world.driver
    world.person().confirm_dead(1, "it must be")

    driver.beat()

    assert not driver.is_alive


def test_a_stream_that_was_parked_between_claim_and_submit_is_not_started(world):
    """By another supervisor, for a reason that this one need not see."""
    supervisor = a_stopped_stream(world)
    supervisor.step()
    park(world)

    decision = world.run(seconds(60), supervisor, world.supervisor())

    assert decision.action is Action.PARKED
    assert world.alive == []


def test_a_stream_that_was_parked_over_a_claim_left_behind_can_be_released_to_an_unsafe_start(world):
    a_stopped_stream(world).step()
    write_batch(world, last_batch(world) + 1)
    other = world.supervisor()
    world.run(TIMINGS.claim + seconds(10), other)

    world.person().release("it is closed", accepts_unsafe=True)
    decision = world.run(seconds(60), other)

    assert decision.action is Action.KEEP


def test_an_unsafe_start_that_was_accepted_and_turned_out_safe_leaves_nothing_for_a_later_one(world):
    supervisor = a_stopped_stream(world)
    supervisor.step()
    park(world)
    world.person().release("let it go on", accepts_unsafe=True)

    supervisor.settle()

    assert submits(world) == [1, 2]
    assert not world.state.accepts_unsafe


def test_an_unsafe_start_is_not_accepted_behind_a_submit_that_came_meanwhile(world):
    supervisor = a_stopped_stream(world)
    overtake = when("before create", supervisor.settle)
    person = world.person(storage=InterruptibleStorage(world.storage, overtake))

    with pytest.raises(ControlLogError):
        person.release("looked at it", accepts_unsafe=True)

    assert not world.state.accepts_unsafe
