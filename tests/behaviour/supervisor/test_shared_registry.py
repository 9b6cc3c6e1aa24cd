"""The registry is one place for all streams: it is no common fate, and no cost that each of them pays for all."""

import pytest

from streamops.control.layout import control_folder
from streamops.control.registry import SharedRegistry, entry_address
from streamops.storage.memory import MemoryStorage
from streamops.supervision.decision import Action
from streamops.supervision.supervisor import Supervisor
from support.clock import FakeClock
from support.counting_storage import CountingStorage
from support.launcher import FakeLauncher
from support.specs import SUPERVISOR, a_stream, seconds
from support.state_root import init

STATE = "file:///state"
BROKEN = entry_address(STATE, "broken")
EMPTY_OR_FOREIGN = [b"", b'{"stream":"returns","checkpoint":"file:///cp","sink":"s","query_id":""}']


class Fleet:
    """Streams with a supervisor each, in one process."""

    def __init__(self, count: int) -> None:
        self.storage = CountingStorage(MemoryStorage())
        init(self.storage, STATE)
        self.clock = FakeClock()
        self.launcher = FakeLauncher()
        self.registry = SharedRegistry(self.clock)
        self.supervisors = [self.supervisor(f"s{number}") for number in range(count)]

    def supervisor(self, name: str) -> Supervisor:
        return Supervisor(
            a_stream(name, checkpoint=f"file:///cp/{name}"),
            storage=self.storage,
            launcher=self.launcher,
            clock=self.clock,
            state_root=STATE,
            author=SUPERVISOR,
            registry=self.registry,
        )

    def settle(self) -> list[Action]:
        return [supervisor.settle().action for supervisor in self.supervisors]

    def go_down(self) -> None:
        """Every driver dies, as with the host; the back-off passes."""
        for driver in self.launcher.drivers:
            self.launcher.end(driver)
        self.settle()
        self.clock.advance(seconds(60))

    def calls_of_a_restart(self) -> int:
        self.settle()
        self.go_down()
        before = self.storage.total
        assert set(self.settle()) == {Action.KEEP}
        return self.storage.total - before


def test_twice_as_many_streams_down_at_once_cost_twice_as_many_calls():
    assert Fleet(80).calls_of_a_restart() - Fleet(40).calls_of_a_restart() == pytest.approx(
        Fleet(40).calls_of_a_restart(), rel=0.01
    )


@pytest.mark.parametrize("content", EMPTY_OR_FOREIGN)
def test_a_broken_entry_keeps_no_other_stream_from_being_restarted(content):
    fleet = Fleet(2)
    fleet.settle()
    fleet.storage.write(BROKEN, content)

    fleet.go_down()

    assert fleet.settle() == [Action.KEEP, Action.KEEP]
    assert len(fleet.launcher.drivers) == 4


@pytest.mark.parametrize("content", EMPTY_OR_FOREIGN)
def test_a_broken_entry_stops_its_own_stream_and_first_starts_and_names_the_file(content):
    fleet = Fleet(0)
    fleet.storage.write(BROKEN, content)

    for name in ("broken", "fresh"):
        decision = fleet.supervisor(name).settle()

        assert (decision.action, decision.needs_attention) == (Action.BLOCKED, True)
        assert BROKEN in decision.reason
        assert fleet.storage.list(control_folder(f"file:///cp/{name}")) == ()
