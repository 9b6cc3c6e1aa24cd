"""A checkpoint that moves while a driver of ours runs, and not by it: ours ends, and the stream is parked at once."""

import pytest

from streamops.control.records import KillBegun, Outcome
from streamops.storage import join
from streamops.supervision.decision import Action
from support.checkpoints import commit
from support.driver import planned
from support.fencing import a_running_stream, last_batch, write_batch
from support.specs import seconds

ENOUGH = seconds(60)


def committed(world):
    return {int(name) for name in world.storage.list(join(world.spec.checkpoint, "commits"))}


def kills(world):
    return [record.body for record in world.records if isinstance(record.body, KillBegun)]


def test_a_batch_that_the_running_driver_can_t_have_planned_ends_it_and_parks_the_stream(world):
    supervisor = a_running_stream(world)
    world.driver.is_idle = True
    newest = last_batch(world)
    write_batch(world, newest + 1)
    write_batch(world, newest + 2)

    decision = world.run(ENOUGH, supervisor)

    assert decision.action is Action.PARKED
    assert "a foreign writer was here" in decision.reason
    assert (len(world.drivers), world.alive) == (1, [])
    assert [body.foreign_batch for body in kills(world)] == [newest + 2]
    assert world.state.position.offset == newest + 1


def test_batches_of_somebody_else_between_the_claim_and_the_first_batch_are_noticed_by_their_numbers(world):
    """The query begins behind them as if they were its own, so only their count tells."""
    supervisor = world.supervisor()
    world.on_start = lambda driver: [write_batch(world, batch) for batch in (0, 1, 2)]

    decision = world.run(ENOUGH, supervisor)

    assert decision.action is Action.PARKED
    assert "a foreign writer was here" in decision.reason
    assert [body.foreign_batch for body in kills(world)] == [0]


@pytest.mark.parametrize("beats_to_come", [1, 2])
def test_a_batch_that_the_next_beats_explain_is_the_driver_s_own(world, beats_to_come):
    """It runs several batches between two beats."""
    supervisor = a_running_stream(world)
    for _ in range(beats_to_come):
        for _ in range(6):
            world.driver.work()
        supervisor.settle()

    decision = world.run(ENOUGH, supervisor)

    assert (decision.action, kills(world)) == (Action.KEEP, [])


def test_a_driver_that_takes_over_a_batch_in_flight_is_no_stranger_to_it(world):
    supervisor = a_running_stream(world)
    while last_batch(world) in committed(world):
        world.driver.work()
    world.kill(world.driver)

    decision = world.run(seconds(200), supervisor)

    assert (decision.action, kills(world), len(world.drivers)) == (Action.KEEP, [], 2)


def test_what_a_stranger_wrote_beside_a_driver_that_failed_parks_the_stream_even_without_a_word_of_it(world):
    supervisor = a_running_stream(world)
    newest = last_batch(world)
    for batch in (newest + 1, newest + 2, newest + 3):
        world.storage.write(join(world.spec.checkpoint, "offsets", str(batch)), planned(world.clock.now(), batch))
        world.storage.write(join(world.spec.checkpoint, "commits", str(batch)), commit())
    world.driver.leave(Outcome.FAILED, "java.lang.IllegalStateException: boom")

    decision = world.run(ENOUGH, supervisor)

    assert decision.action is Action.PARKED
    assert "a foreign writer was here" in decision.reason
    assert len(world.drivers) == 1
