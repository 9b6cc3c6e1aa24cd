"""A world whose everybody can be held, killed and misled at any call: supervisors, both threads of each driver, people."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from streamops.checkpoint.reader import read_checkpoint
from streamops.control.layout import log_folder
from streamops.control.log import ControlLog
from streamops.control.records import MaintenanceBegun, MaintenanceEnded
from streamops.errors import StreamOpsError
from streamops.failures.policy import RestartPolicy
from streamops.spec.sinks import SinkGuarantee
from streamops.storage import Storage, join
from streamops.supervision.act import new_record
from streamops.supervision.decision import Decision
from streamops.supervision.supervisor import Supervisor
from support.checkpoints import commit
from support.driver import SimulatedDriver, planned
from support.model_invariants import assert_policy_allows_a_start
from support.model_tasks import Fate, Task, is_late, pass_call
from support.specs import PERSON, a_scheduled_stream, a_stream, seconds
from support.storage import InterruptibleStorage, LateStorage, SwitchableStorage
from support.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Who supervises from where, and who runs the drivers."""

    name: str
    supervisors: tuple[str, ...]
    is_managed: bool = False
    lost: str = ""
    """A host that burns down in the end, with the drivers on it and those who could have seen them."""


SAME_HOST = Fleet(name="same-host", supervisors=("host-1", "host-1"))
TWO_HOSTS = Fleet(name="two-hosts", supervisors=("host-1", "host-2", "host-1"))
MANAGER = Fleet(name="manager", supervisors=("host-1", "host-2"), is_managed=True)
LOST_HOST = Fleet(name="lost-host", supervisors=("host-1", "host-2"), lost="host-1")
FLEETS = (SAME_HOST, TWO_HOSTS, MANAGER, LOST_HOST)

POLICY = RestartPolicy(budget_per_hour=4, thrash_limit=2, max_delay=seconds(60), jitter=0)
"""So tight that a short schedule comes to its bounds."""


def after_calls(number: int) -> Callable[[str], bool]:
    """Due at the n-th call from now on."""
    left = iter(range(number - 1))
    return lambda moment: next(left, None) is None


def at(kind: str) -> Callable[[str], bool]:
    """Due at the next call of a kind: `before submit`."""
    return lambda moment: moment.startswith(kind)


class Stage:
    """Everybody takes their steps when a schedule says so."""

    def __init__(
        self,
        state_root: Path,
        fleet: Fleet,
        guarantee: SinkGuarantee = SinkGuarantee.IDEMPOTENT,
        *,
        is_scheduled: bool = False,
    ) -> None:
        self.fleet = fleet
        declared = a_scheduled_stream if is_scheduled else a_stream
        self.world = World(state_root, spec=declared(guarantee=guarantee, restart=POLICY), is_managed=fleet.is_managed)
        self.batches_to_read = 3
        """How many batches a run finds that is begun from now on."""
        self.late: list[Callable[[], None]] = []
        """Requests under way that nobody waits for any more."""
        self.switches: dict[str, SwitchableStorage] = {}
        self.tasks: dict[str, Task] = {}
        self.excuses: set[str] = set()
        """What happened that may well end in a parking."""
        self.world.storage_on = self.storage_on
        self.world.on_start = self._begin_driver
        self._files = self.world.storage
        self.supervisors = [self._new_supervisor(host) for host in fleet.supervisors]
        self.decisions: dict[int, Decision | None] = {}
        self.lost: set[int] = set()
        """Supervisors whose host is gone."""

    # Supervisors

    @property
    def attending(self) -> list[int]:
        """Supervisors whose host is there."""
        return [who for who in range(len(self.supervisors)) if who not in self.lost]

    def lose(self, host: str) -> None:
        """A host is gone, with all that ran on it."""
        for driver in self.world.alive:
            if driver.process.handle.host == host:
                self.world.kill(driver)
        self.lost |= {who for who, place in enumerate(self.fleet.supervisors) if place == host}

    def settle(self, who: int, until: Callable[[str], bool] | None = None) -> None:
        """One of the supervisors does what it can; held where it is due. One that is held stays so."""
        name = f"supervisor {who}"
        if name in self.held:
            return
        self.decisions[who] = None
        work = self.supervisors[who].settle
        if until:
            self._begin(name, work, until)
            return
        with suppress(StreamOpsError):
            self.decisions[who] = work()

    def crash(self, who: int, *, hands_over: bool = False) -> None:
        """The process is gone, and another one takes its place, with or without what was seen so far."""
        memory = self.supervisors[who].hand_over()
        if task := self.tasks.pop(f"supervisor {who}", None):
            task.kill()
        self.supervisors[who] = self._new_supervisor(self.fleet.supervisors[who])
        if hands_over:
            self.supervisors[who].take_over(memory)

    # Drivers

    def drive(self, driver: SimulatedDriver, step: str, until: Callable[[str], bool] | None = None) -> None:
        """One thread of a driver takes one step."""
        name = f"driver {self.world.drivers.index(driver)} {step}"
        driver.watch()
        if name in self.held or not driver.is_moving:
            return
        work: Callable[[], None] = getattr(driver, step)
        if until:
            self._begin(name, work, until, is_gone=lambda: not driver.is_alive)
        else:
            work()

    def is_held(self, driver: SimulatedDriver) -> bool:
        """Whether one of its threads is in the middle of a step."""
        return any(name.startswith(f"driver {self.world.drivers.index(driver)} ") for name in self.held)

    # Everybody

    @property
    def held(self) -> dict[str, Task]:
        """Who is in the middle of something."""
        return {name: task for name, task in self.tasks.items() if not task.is_done}

    def go_on(self, name: str, until: Callable[[str], bool] | None = None, fate: Fate = Fate.DONE) -> None:
        """Somebody who was held goes on; a driver's watchdog comes first."""
        kind, number, *_ = name.split()
        driver = self.world.drivers[int(number)] if kind == "driver" else None
        if driver:
            driver.watch()
        if driver and driver.is_paused and driver.is_alive:
            return
        self.tasks[name].go_on(until=until or (lambda moment: False), fate=fate)

    def person(self, request: Callable[[], object], until: Callable[[str], bool] | None = None) -> None:
        """Somebody asks for something; one at a time."""
        if "person 0" in self.held:
            return
        self._begin("person 0", request, until or (lambda moment: False))

    def pass_time(self, duration: timedelta, *, supervised: bool, only: int | None = None) -> None:
        """Who is not held does what they always do; of the supervisors all, or only one."""
        watching = [who for who in self.attending if supervised and only in (None, who)]
        end = self.world.clock.monotonic() + duration
        while self.world.clock.monotonic() < end:
            self.world.freeze(seconds(5))
            for driver in self.world.alive:
                self.drive(driver, "beat")
                self.drive(driver, "work")
            for who in watching:
                self.settle(who)

    def land(self) -> None:
        """The oldest request under way takes effect; whom it would have pleased has gone on."""
        if self.late:
            with suppress(StreamOpsError):
                self.late.pop(0)()

    def storage_on(self, host: str) -> Storage:
        """The storage as a host reaches it: each call may be held, late, or without an answer."""
        switch = self.switches.setdefault(host, SwitchableStorage(self._files))
        return InterruptibleStorage(LateStorage(switch, self.late, is_late=is_late), pass_call)

    def end(self) -> None:
        """Let no thread outlive the schedule."""
        for task in self.tasks.values():
            task.kill()

    # The world around

    def write_as_a_stranger(self) -> None:
        """Somebody else runs the query while nothing of ours lives."""
        facts = read_checkpoint(self._files, self.world.spec.checkpoint)
        if self.world.alive or facts.query_id is None:
            return
        self.excuses.add("foreign")
        batch = facts.last_offset + 1
        self._files.write(join(facts.address, "offsets", str(batch)), planned(self.world.clock.now(), batch))
        self._files.write(join(facts.address, "commits", str(batch)), commit())

    def put_checkpoint_back(self) -> None:
        """An older copy of the checkpoint, while nothing of ours lives."""
        facts = read_checkpoint(self._files, self.world.spec.checkpoint)
        if self.world.alive or facts.last_offset < 1:
            return
        self.excuses.add("moved back")
        for folder in ("offsets", "commits"):
            self._files.delete(join(facts.address, folder, str(facts.last_offset)))

    def cut_log(self, length: int) -> None:
        """The log as a backup holds it that was made when it had so many records; 0 is a log that was deleted."""
        folder = log_folder(self.world.control)
        for name in self._files.list(folder)[length:]:
            self._files.delete(join(folder, name))
        self._files.delete(join(self.world.control, "snapshot.json"))

    def begin_maintenance(self, duration: timedelta) -> None:
        """Somebody needs the checkpoint."""
        self._append_as_person(MaintenanceBegun(until=self.world.clock.now() + duration))

    def end_maintenance(self) -> None:
        """… and is done. A bounded run is none of that."""
        open_one = self.world.state.maintenance
        if open_one and open_one.run is None:
            self._append_as_person(MaintenanceEnded())

    def _append_as_person(self, body: MaintenanceBegun | MaintenanceEnded) -> None:
        number = self.world.state.next_number
        record = new_record(body, number=number, clock=self.world.clock, author=PERSON, reason="compaction")
        ControlLog(self._files, self.world.control).append(record)

    def _begin(
        self,
        name: str,
        work: Callable[[], object],
        until: Callable[[str], bool],
        is_gone: Callable[[], bool] = lambda: False,
    ) -> None:
        self.tasks[name] = task = Task(work, is_gone=is_gone)
        task.go_on(until=until)

    def _new_supervisor(self, host: str) -> Supervisor:
        self.world.hosts[host].clock.on_sleep = self._sleep
        return self.world.supervisor(host=host, storage=self.storage_on(host), tick=pass_call)

    def _sleep(self, duration: timedelta) -> None:
        pass_call("before sleep")
        self.world.freeze(duration)

    def _begin_driver(self, driver: SimulatedDriver) -> None:
        driver.batches_to_read = self.batches_to_read
        self._check_policy(driver)

    def _check_policy(self, driver: SimulatedDriver) -> None:
        """At a submit; one that comes long after its claim was superseded starts a driver that halts at once."""
        newest = self.world.state.newest
        if newest is None or newest.number != driver.epoch or "clock" in self.excuses:
            return
        now = timedelta(seconds=self.world.clock.now().timestamp())
        assert_policy_allows_a_start(self.world.records, POLICY, now=now)
