"""One stream, its drivers and any number of supervisors, in one process; time passes for all of them alike."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from streamops.control.drivers import Heartbeat
from streamops.control.layout import control_folder
from streamops.control.log import LogReader
from streamops.control.records import Author, DriverHandle, Record
from streamops.control.snapshot import load_state
from streamops.control.state import LogState
from streamops.errors import LaunchError, StreamOpsError
from streamops.failures.failure_class import Remedy
from streamops.launch import DriverState, DriverStatus, FoundDriver, SubmitRequest
from streamops.operations.requests import Requests
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.storage.memory import MemoryStorage
from streamops.supervision.decision import Decision
from streamops.supervision.observation import Reachability
from streamops.supervision.supervisor import Supervisor
from support.clock import FakeClock
from support.driver import SimulatedDriver
from support.launcher import FakeDriver, FakeLauncher
from support.model_hosts import Hosts
from support.specs import PERSON, a_stream, seconds
from support.state_root import init

BEAT = seconds(5)
CLUSTER = "cluster"
"""Where a manager runs the drivers."""


class World:
    """Builds the parts and lets time pass; every double writer and every second submit of a token is an error at once."""

    def __init__(self, state_root: Path, *, spec: StreamSpec | None = None, is_managed: bool = False) -> None:
        self.spec = spec or a_stream()
        self.state_root = f"file://{state_root}"
        self.storage = MemoryStorage()
        self.storage_on: Callable[[str], Storage] = lambda host: self.storage
        """The storage as a driver on a host reaches it."""
        self.clock = FakeClock()
        self.hosts = Hosts(self.clock)
        self.is_managed = is_managed
        """Whether a manager runs the drivers, which every host can ask, instead of each host its own."""
        self.processes = FakeLauncher()
        self.words: dict[str, DriverState] = {}
        """What the place says of a process, where that is not what is so."""
        self.misreported: set[str] = set()
        """Processes of which it ever did: a lie that goes with a still beat is believed."""
        self.are_source_and_sink_down = False
        self.drivers: list[SimulatedDriver] = []
        self.on_start: Callable[[SimulatedDriver], None] = lambda driver: None
        self.writes: list[tuple[int, int]] = []
        """Epoch and batch of every batch that was begun."""

    @property
    def storage(self) -> Storage:
        """Where everything lies; a new one is a state root from the start."""
        return self._storage

    @storage.setter
    def storage(self, storage: Storage) -> None:
        init(storage, self.state_root)
        self._storage = storage

    def supervisor(
        self,
        *,
        spec: StreamSpec | None = None,
        host: str = "host-1",
        storage: Storage | None = None,
        tick: Callable[[str], None] = lambda _: None,
        state_root: str = "",
    ) -> Supervisor:
        """A supervisor that knows nothing yet, on one of the hosts."""
        if state_root:
            init(self._storage, state_root)
        return Supervisor(
            spec or self.spec,
            storage=storage or self.storage,
            launcher=HostLauncher(self, host, tick),
            clock=self.hosts[host].clock,
            state_root=state_root or self.state_root,
            author=Author(actor="supervise", host=host, pid=11),
            prober=WorldProber(self),
        )

    def person(self, *, storage: Storage | None = None) -> Requests:
        """Somebody at a terminal."""
        return Requests(
            self.spec,
            storage=storage or self.storage,
            clock=self.hosts[PERSON.host].clock,
            author=PERSON,
            find_outsiders=lambda path: (),
        )

    @property
    def control(self) -> str:
        return control_folder(self.spec.checkpoint)

    @property
    def state(self) -> LogState:
        """The fold of the log now."""
        return load_state(self.storage, self.control)

    @property
    def records(self) -> tuple[Record, ...]:
        return LogReader(self.storage, self.control).read()

    @property
    def alive(self) -> list[SimulatedDriver]:
        return [driver for driver in self.drivers if driver.is_alive]

    @property
    def driver(self) -> SimulatedDriver:
        """The one driver that lives."""
        (driver,) = self.alive
        return driver

    def start(self, process: FakeDriver, request: SubmitRequest) -> None:
        """What a submit sets off. No older driver may be left that could begin a batch."""
        driver = SimulatedDriver(
            process,
            request,
            storage=self.storage_on(process.handle.host),
            clock=self.hosts[process.handle.host].clock,
            on_batch=self._begin_batch,
            on_end=self.processes.end,
        )
        older = [other.epoch for other in self.drivers if other.epoch < driver.epoch and other.may_write]
        assert not older, f"epoch {driver.epoch} was submitted while epoch {older} may still write"
        self.drivers.append(driver)
        self.on_start(driver)

    def kill(self, driver: SimulatedDriver) -> None:
        """Out of memory, a person's kill -9, power."""
        self.processes.end(driver.process)

    def misreport(self, driver: SimulatedDriver, state: DriverState) -> None:
        """The place says something of the driver that is not so."""
        self.words[driver.process.handle.process] = state
        self.misreported.add(driver.process.handle.process)

    def drive(self) -> None:
        """Every driver beats and gets on with its query."""
        for driver in self.alive:
            driver.watch()
            driver.beat()
            driver.work()

    def freeze(self, duration: timedelta) -> None:
        """Time passes and nobody does anything, but for the watchdogs."""
        self.clock.advance(duration)
        for driver in self.drivers:
            driver.watch()

    def run(self, duration: timedelta, *supervisors: Supervisor) -> Decision | None:
        """Everybody does what they do, every five seconds; the last supervisor's last decision."""
        decision = None
        end = self.clock.monotonic() + duration
        while self.clock.monotonic() < end:
            self.freeze(BEAT)
            self.drive()
            for supervisor in supervisors:
                decision = supervisor.settle()
        return decision

    def run_through_trouble(self, duration: timedelta, *supervisors: Supervisor) -> None:
        """As `run`, where a look may fail: whoever drives a supervisor waits and looks again."""
        end = self.clock.monotonic() + duration
        while self.clock.monotonic() < end:
            for supervisor in supervisors:
                try:
                    self.run(BEAT, supervisor)
                except StreamOpsError:
                    continue

    def _begin_batch(self, driver: SimulatedDriver, batch: int) -> None:
        others = [other.epoch for other in self.drivers if other is not driver and other.may_write]
        assert not others, f"epoch {driver.epoch} begins batch {batch} while epoch {others} may write too"
        newer = [epoch for epoch, _ in self.writes if epoch > driver.epoch]
        assert not newer, f"epoch {driver.epoch} begins batch {batch} after epoch {newer[-1]} began one"
        self.writes.append((driver.epoch, batch))


class WorldProber:
    """Knows whether source and sink answer."""

    def __init__(self, world: World) -> None:
        self._world = world

    def probe(self, remedy: Remedy, spec: StreamSpec) -> Reachability:
        is_up = not self._world.are_source_and_sink_down
        return Reachability(target=str(remedy), is_reachable=is_up, evidence="up" if is_up else "down")


class HostLauncher:
    """A launcher as one host has it: it sees and signals its own drivers, or every driver of the manager."""

    def __init__(self, world: World, host: str, tick: Callable[[str], None]) -> None:
        self._world = world
        self._host = host
        self._tick = tick

    def missing(self, variables: tuple[str, ...]) -> tuple[str, ...]:
        return self._world.processes.missing(variables)

    def submit(self, request: SubmitRequest) -> DriverHandle:
        self._ask("before submit")
        processes = self._world.processes
        assert all(driver.token != request.token for driver in processes.drivers), f"{request.token} submitted twice"
        if processes.submit_error:
            raise processes.submit_error
        process = processes.add(request.token, host=self._place, log=request.log, request=request)
        self._world.start(process, request)
        self._tick("after submit")
        return process.handle

    def find(self, token: str) -> tuple[DriverHandle, ...]:
        self._ask("before find")
        return tuple(handle for handle in self._world.processes.find(token) if self._sees(handle))

    def living(self) -> tuple[FoundDriver, ...]:
        self._ask("before living")
        return tuple(driver for driver in self._world.processes.living() if self._sees(driver.handle))

    def why_unseen(self, beat: Heartbeat) -> str:
        is_seen = self._world.is_managed or beat.host == self._host
        return "" if is_seen else f"it was started on {beat.host}, this is {self._host}"

    def poll(self, handle: DriverHandle) -> DriverStatus:
        self._ask("before poll")
        if handle.host != self._place:
            return DriverStatus(state=DriverState.UNKNOWN, evidence=f"it was started on {handle.host}")
        if word := self._world.words.get(handle.process):
            return DriverStatus(state=word, evidence=f"driver {handle.process} is {word}, they say")
        status = self._world.processes.poll(handle)
        if self._world.is_managed and status.state is DriverState.ENDED:
            return DriverStatus(state=DriverState.GONE, evidence=status.evidence)
        return status

    def stop(self, handle: DriverHandle) -> None:
        self._ask("before stop")
        self._refuse_elsewhere(handle)
        self._world.processes.stop(handle)
        self._tick("after stop")

    def kill(self, handle: DriverHandle) -> None:
        self._ask("before kill")
        self._refuse_elsewhere(handle)
        self._world.processes.kill(handle)
        self._tick("after kill")

    @property
    def _place(self) -> str:
        return CLUSTER if self._world.is_managed else self._host

    def _ask(self, moment: str) -> None:
        self._tick(moment)
        if self._world.hosts[self._host].is_cut_off:
            raise LaunchError(f"drivers can't be asked for from {self._host}")

    def _sees(self, handle: DriverHandle) -> bool:
        """One that is said to be gone is not found either."""
        return handle.host == self._place and handle.process not in self._world.words

    def _refuse_elsewhere(self, handle: DriverHandle) -> None:
        if handle.host != self._place:
            raise LaunchError(f"{handle.process} runs on {handle.host}, not on {self._host}")
