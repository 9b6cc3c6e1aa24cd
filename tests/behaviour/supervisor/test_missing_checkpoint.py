"""A checkpoint that is not where it was is missing, not new: a volume that is not mounted, a folder that was removed."""

import pytest

from streamops.diagnosis.checkup import check_stream
from streamops.diagnosis.restart_plan import Safety
from streamops.errors import StorageError
from streamops.storage.memory import MemoryStorage
from streamops.supervision.decision import Action
from support.fencing import a_stopped_stream
from support.specs import seconds


class Volume(MemoryStorage):
    """Everything below the checkpoint's folder is on a volume that can be taken away, and what was there comes back."""

    def __init__(self, mount_point: str) -> None:
        super().__init__()
        self._mount_point = mount_point
        self._away: dict[str, bytes] = {}

    def unmount(self) -> None:
        self._away = {address: content for address, content in self._files.items() if self._is_on(address)}
        for address in self._away:
            self.delete(address)

    def mount(self) -> None:
        assert self.below == [], "something was written below the bare mount point"
        self._files.update(self._away)

    @property
    def below(self) -> list[str]:
        return [address for address in self._files if self._is_on(address)]

    def _is_on(self, address: str) -> bool:
        return address.startswith(self._mount_point)


@pytest.fixture
def away(world):
    """A stream that has run, whose host was rebooted, and whose volume is not mounted."""
    world.storage = Volume("file:///data/checkpoints/")
    supervisor = world.supervisor()
    world.run(seconds(60), supervisor)
    assert world.driver.batches
    world.kill(world.driver)
    world.storage.unmount()
    return world


def test_a_volume_that_is_not_mounted_is_no_new_stream(away):
    supervisor = away.supervisor()

    decision = supervisor.settle()

    assert (decision.action, decision.needs_attention) == (Action.BLOCKED, True)
    assert decision.plan.safety is Safety.UNSAFE
    assert "not mounted" in decision.reason
    assert "streamops forget orders --reason" in decision.reason
    assert away.alive == []
    assert away.storage.below == []


def test_after_mounting_everything_goes_on_as_before(away):
    away.supervisor().settle()
    away.storage.mount()
    last = max(batch for _, batch in away.writes)

    away.run(seconds(120), away.supervisor())

    assert away.driver.epoch == 2
    assert away.driver.batches[0] in (last, last + 1)


def test_whoever_was_watching_when_the_volume_went_is_not_fooled_either(world):
    world.storage = Volume("file:///data/checkpoints/")
    supervisor = world.supervisor()
    world.run(seconds(60), supervisor)
    world.kill(world.driver)
    world.storage.unmount()

    world.run_through_trouble(seconds(60), supervisor)

    assert supervisor.last_look.decision.action is Action.BLOCKED
    assert world.storage.below == []


def test_the_plan_and_check_say_what_the_supervisor_says(away):
    look = away.supervisor().look()
    checked = check_stream(
        away.spec, storage_for=lambda _: away.storage, now=away.clock.now(), state_root=away.state_root
    )

    assert look.observation.plan.safety is checked.restart.safety is Safety.UNSAFE
    assert look.observation.plan.summary == checked.restart.summary


@pytest.fixture
def emptied(world):
    """The control log is still there, as where the checkpoint is a volume by itself."""
    world.storage = Volume(f"{world.spec.checkpoint}/")
    supervisor = a_stopped_stream(world)
    world.run(seconds(20), supervisor)
    world.person().stop("noon")
    world.run(seconds(20), supervisor)
    world.person().start("afternoon")
    world.storage.unmount()
    return world


def test_a_checkpoint_that_is_gone_beside_its_log_is_parked(emptied):
    decision = emptied.run(seconds(60), emptied.supervisor())

    assert decision.action is Action.PARKED
    assert "unsafe" in decision.reason
    assert emptied.alive == []


def test_a_person_may_start_anew_on_purpose(emptied):
    emptied.run(seconds(60), emptied.supervisor())
    emptied.person().release("begin anew", accepts_unsafe=True)

    emptied.run(seconds(60), emptied.supervisor())
    assert emptied.driver.batches
    emptied.kill(emptied.driver)
    emptied.run(seconds(120), emptied.supervisor())

    assert emptied.driver.epoch == 4, "the new query is taken for no stranger's"


def test_a_control_log_that_is_gone_is_not_begun_anew_beside_its_checkpoint(world):
    """Its folder is a volume by itself, or was deleted. Parking the stream would be record 0 of another log."""
    world.storage = Volume(f"{world.control}/")
    a_stopped_stream(world)
    world.storage.unmount()

    decision = world.run(seconds(60), world.supervisor())

    assert decision.action is Action.BLOCKED
    assert "streamops adopt orders" in decision.reason
    assert (world.alive, world.storage.below) == ([], [])


def test_nothing_is_recorded_behind_a_record_that_is_gone(world):
    """The volume goes between the look and the act."""
    world.storage = Volume(f"{world.control}/")
    a_stopped_stream(world)
    supervisor = world.supervisor()
    look = supervisor.look()
    assert look.decision.action is Action.CLAIM
    world.storage.unmount()

    with pytest.raises(StorageError, match="does not exist"):
        supervisor.act(look)

    assert (world.alive, world.storage.below) == ([], [])


def test_a_driver_that_left_nothing_is_started_again(world):
    """Its claim is in the log: nothing is missing."""
    world.on_start = lambda driver: world.kill(driver)
    world.run(seconds(60), world.supervisor())
    world.on_start = lambda driver: None

    world.run(seconds(300), world.supervisor())

    assert world.driver.batches
