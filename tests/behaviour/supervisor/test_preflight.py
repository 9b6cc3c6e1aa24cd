"""Before each start all that Spark would come across is read, not the logs alone."""

import json
from dataclasses import replace

import pytest

from streamops.checkpoint.layout import OFFSETS
from streamops.control.layout import companion_checkpoint
from streamops.control.records import Outcome
from streamops.errors import StorageError
from streamops.spec import CustomSource
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from streamops.supervision.decision import Action
from support.base_checkpoint import source_entry
from support.checkpoints import offsets, write_checkpoint
from support.fencing import a_stopped_stream, last_batch
from support.specs import seconds


@pytest.fixture
def stopped(world):
    """A stream with batches, whose driver is gone and which is wanted again."""
    # Of no form that is compared: these tests write offsets of several sources.
    world.spec = replace(world.spec, source=CustomSource(format="any"))
    return a_stopped_stream(world)


def reads_files(world, address, *, source_log_ends_at):
    """The checkpoint's newest two entries are of a file source; its own log may lack what they name."""
    newest = last_batch(world) if address == world.spec.checkpoint else 0
    for batch in {max(newest - 1, 0), newest}:
        content = offsets(json.dumps({"logOffset": batch}, separators=(",", ":")))
        world.storage.write(join(address, OFFSETS, str(batch)), content)
    for entry in range(source_log_ends_at + 1):
        world.storage.write(join(address, "sources", "0", str(entry)), source_entry(entry))


def test_a_start_that_its_source_would_fail_is_refused(world, stopped):
    reads_files(world, world.spec.checkpoint, source_log_ends_at=last_batch(world) - 1)
    begun = len(world.drivers)

    decision = stopped.settle()

    assert decision.action is Action.PARKED
    assert "a start now is futile: sources/0 ends at" in decision.reason
    assert len(world.drivers) == begun


def test_it_goes_ahead_when_the_source_has_all_that_the_offsets_name(world, stopped):
    reads_files(world, world.spec.checkpoint, source_log_ends_at=last_batch(world))

    assert stopped.settle().action is Action.KEEP


def test_damage_between_claim_and_submit_is_found(world, stopped):
    assert stopped.step().action is Action.CLAIM
    reads_files(world, world.spec.checkpoint, source_log_ends_at=0)

    decision = stopped.settle()

    assert decision.action is Action.PARKED
    end = world.records[-2]
    assert end.body.outcome is Outcome.NEVER_STARTED
    assert "not submitted, a start is futile by now: sources/0 ends at 0" in end.reason


def test_a_companion_is_read_in_depth_too(world, stopped):
    companion = companion_checkpoint(world.spec.checkpoint, 0)
    write_checkpoint(world.storage, companion, planned=[0], committed=[0])
    reads_files(world, companion, source_log_ends_at=-1)

    decision = stopped.settle()

    assert decision.action is Action.PARKED
    assert "sources/0 has no entry, offsets has 0" in decision.reason


class WithoutSources(MemoryStorage):
    """A place where one folder does not answer."""

    def list(self, directory, *, after=""):
        if directory.endswith("/sources"):
            raise StorageError(f"{directory}: time-out")
        return super().list(directory, after=after)


def test_what_cannot_be_read_keeps_a_start_back_and_parks_nothing(world, stopped):
    hidden = WithoutSources()
    vars(hidden).update(vars(world.storage))
    before = world.state.next_number

    with pytest.raises(StorageError, match="time-out"):
        world.supervisor(storage=hidden).settle()

    assert world.state.next_number == before


def test_a_running_driver_is_never_looked_at_in_depth(world):
    supervisor = world.supervisor()
    world.run(seconds(30), supervisor)
    hidden = WithoutSources()
    vars(hidden).update(vars(world.storage))

    assert world.supervisor(storage=hidden).look().decision.action is Action.KEEP
