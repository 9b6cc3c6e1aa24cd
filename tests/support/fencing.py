"""Streams in a state from which a second writer could come, and what became of them."""

import pytest

from streamops.control.log import ControlLog
from streamops.control.records import DriverEnded, Parked, Submitted
from streamops.storage import join
from streamops.supervision.act import new_record
from support.checkpoints import commit
from support.driver import planned
from support.model_tasks import Gone
from support.specs import SUPERVISOR, seconds


def a_running_stream(world, *, host="host-1"):
    """A supervisor and a driver that has committed batches."""
    supervisor = world.supervisor(host=host)
    supervisor.settle()
    world.run(seconds(20), supervisor)
    assert world.driver.batches
    return supervisor


def a_stopped_stream(world):
    """Its driver has obeyed, and a person has asked for a start that nobody has seen yet."""
    supervisor = a_running_stream(world)
    world.person().stop("night")
    world.run(seconds(20), supervisor)
    world.person().start("morning")
    return supervisor


def a_submit_without_a_record(world, *, host="host-1"):
    """The supervisor died right after its submit."""

    def die(moment):
        if moment == "after submit":
            raise Gone

    with pytest.raises(Gone):
        world.supervisor(host=host, tick=die).settle()
    return world.driver


def when(moment, act):
    """A tick that does something once, at a call of a kind."""
    pending = [act]

    def tick(call):
        if call.startswith(moment) and pending:
            pending.pop()()

    return tick


def last_batch(world):
    """The newest batch that was begun."""
    return max(batch for _, batch in world.writes)


def write_batch(world, batch, *, at=None):
    """A batch as somebody plans and commits it who asked nobody."""
    checkpoint = world.spec.checkpoint
    world.storage.write(join(checkpoint, "offsets", str(batch)), planned(at or world.clock.now(), batch))
    world.storage.write(join(checkpoint, "commits", str(batch)), commit())


def put_checkpoint_back(world):
    """As a copy holds it that is one batch older."""
    for folder in ("offsets", "commits"):
        address = join(world.spec.checkpoint, folder)
        world.storage.delete(join(address, max(world.storage.list(address), key=int)))


def park(world):
    """Some supervisor parks the stream."""
    number = world.state.next_number
    record = new_record(Parked(), number=number, clock=world.clock, author=SUPERVISOR, reason="too many failures")
    ControlLog(world.storage, world.control).append(record)


def remove_log(world, *, keep=0):
    """The log is deleted, but for its first records."""
    for name in world.storage.list(join(world.control, "log"))[keep:]:
        world.storage.delete(join(world.control, "log", name))


def outcomes(world):
    """How the drivers ended, as it is on record."""
    return [record.body.outcome for record in world.records if isinstance(record.body, DriverEnded)]


def submits(world):
    """Epochs whose submit is on record."""
    return [record.body.epoch for record in world.records if isinstance(record.body, Submitted)]
