"""Real volumes that are not mounted for a while: nothing starts, nothing is written below, and then everything goes on.

A file system in memory is laid over an empty folder, as a disk over its mount point. Skipped where this process may not mount.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from streamops.errors import StorageError
from streamops.operations.stream_operations import StreamOperations
from streamops.storage.local import LocalStorage
from streamops.supervision.decision import Action
from streamops_sandbox.chaos import mounts
from support.specs import PERSON, a_stream, seconds
from support.world import World


@dataclass(frozen=True, slots=True)
class Volume:
    """A disk and the folder where it belongs."""

    disk: Path
    point: Path

    def mount(self) -> None:
        self.point.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "--bind", str(self.disk), str(self.point)], check=True)

    def unmount(self) -> None:
        mounts.unmount(self.point)

    @property
    def below(self) -> list[str]:
        """What lies below the bare mount point."""
        return os.listdir(self.point)


WHERE = {
    "the checkpoint": ("volume/cp/orders", "here/state"),
    "the checkpoint right at the mount point": ("volume/orders", "here/state"),
    "the state root": ("here/cp/orders", "volume/streamops/state"),
    "the state root itself": ("here/cp/orders", "volume"),
    "both": ("volume/cp/orders", "volume/state"),
}
"""By what lies on the volume: checkpoint and state root."""


@pytest.fixture
def volume(tmp_path):
    if why := mounts.why_no_mounts(tmp_path / "probe"):
        pytest.skip(why)
    mounts.mount_small_disk(tmp_path / "disk")
    volume = Volume(tmp_path / "disk", tmp_path / "volume")
    volume.mount()
    yield volume
    for place in mounts.mounts_below(tmp_path):
        mounts.unmount(place)


def a_world(tmp_path, checkpoint, state_root):
    world = World(tmp_path / state_root, spec=a_stream(checkpoint=f"file://{tmp_path}/{checkpoint}"))
    world.storage = LocalStorage()
    return world


@pytest.fixture(params=WHERE.values(), ids=WHERE)
def world(request, tmp_path, volume):
    """A stream that has run; its host was rebooted, and the volume is not mounted."""
    world = a_world(tmp_path, *request.param)
    world.run(seconds(60), world.supervisor())
    assert world.driver.batches
    world.kill(world.driver)
    volume.unmount()
    return world


def refused_by(supervisor):
    """Why nothing was started."""
    try:
        decision = supervisor.settle()
    except StorageError as error:
        return str(error)
    assert decision.action is Action.BLOCKED
    return decision.reason


def test_nothing_starts_and_nothing_is_made_below_the_bare_mount_point(world, volume):
    reason = refused_by(world.supervisor())

    assert "mount" in reason
    assert world.alive == []
    assert volume.below == []


def test_nobody_can_ask_for_anything_either(world, volume):
    desk = StreamOperations(
        world.supervisor(), storage=world.storage, clock=world.clock, state_root=world.state_root, author=PERSON
    )
    with pytest.raises(StorageError, match="mount"):
        desk.requests.stop("why")

    assert volume.below == []


def test_mounted_again_everything_goes_on_as_before(world, volume):
    refused_by(world.supervisor())
    last = max(batch for _, batch in world.writes)

    volume.mount()
    world.run(seconds(120), world.supervisor())

    assert world.driver.epoch == 2
    assert world.driver.batches[0] in (last, last + 1)


@pytest.mark.parametrize("places", WHERE.values(), ids=WHERE)
def test_whoever_watches_while_the_volume_goes_is_not_fooled_and_goes_on_when_it_is_back(tmp_path, volume, places):
    world = a_world(tmp_path, *places)
    supervisor = world.supervisor()
    world.run(seconds(60), supervisor)
    world.kill(world.driver)
    volume.unmount()

    world.run_through_trouble(seconds(60), supervisor)
    assert (world.alive, volume.below) == ([], [])

    volume.mount()
    world.run_through_trouble(seconds(180), supervisor)
    assert world.driver.epoch == 2
    assert world.driver.batches


def test_a_checkpoint_that_is_a_volume_by_itself_is_parked_and_released(tmp_path, volume):
    """Its control log lies beside the mount point, and is there."""
    world = a_world(tmp_path, "volume", "here/state")
    world.run(seconds(60), world.supervisor())
    world.person().stop("night")
    world.run(seconds(20), world.supervisor())
    world.person().start("morning")
    volume.unmount()

    assert world.supervisor().settle().action is Action.PARKED
    assert (world.alive, volume.below) == ([], [])

    volume.mount()
    world.person().release("it is mounted again")
    world.run(seconds(60), world.supervisor())
    assert world.driver.epoch == 2
