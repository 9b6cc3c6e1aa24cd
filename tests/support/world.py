"""One stream, its drivers and any number of supervisors, in one process and on one clock."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from streamops.control.fold import LogState
from streamops.control.layout import control_folder
from streamops.control.log import LogReader
from streamops.control.records import Author, DriverHandle, Record
from streamops.control.snapshot import load_state
from streamops.errors import LaunchError, StreamOpsError
from streamops.launch import DriverState, DriverStatus, FoundDriver, SubmitRequest
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.storage.memory import MemoryStorage
from streamops.supervisor import Decision, Supervisor
from streamops.supervisor.requests import Requests
from support.clock import FakeClock
from support.driver import SimulatedDriver
from support.launcher import FakeDriver, FakeLauncher
from support.specs import PERSON, a_stream, seconds

BEAT = seconds(5)


class World:
    """Builds the parts and lets time pass; every double writer and every second submit of a token is an error at once."""

    def __init__(self, state_root: Path, *, spec: StreamSpec | None = None) -> None:
        self.spec = spec or a_stream()
        self.storage: Storage = MemoryStorage()
        self.clock = FakeClock()
        self.processes = FakeLauncher()
        self.drivers: list[SimulatedDriver] = []
        self.writes: list[tuple[int, int]] = []
        """Epoch and batch of every batch that was begun."""
        self.state_root = f"file://{state_root}"

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
        return Supervisor(
            spec or self.spec,
            storage=storage or self.storage,
            launcher=HostLauncher(self, host, tick),
            clock=self.clock,
            state_root=state_root or self.state_root,
            author=Author(actor="supervise", host=host, pid=11),
        )

    def person(self) -> Requests:
        """Somebody at a terminal."""
        return Requests(self.spec, storage=self.storage, clock=self.clock, author=PERSON)

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
            storage=self.storage,
            clock=self.clock,
            on_batch=self._begin_batch,
            on_end=self.processes.end,
        )
        older = [other.epoch for other in self.drivers if other.epoch < driver.epoch and other.may_write]
        assert not older, f"epoch {driver.epoch} was submitted while epoch {older} may still write"
        self.drivers.append(driver)

    def kill(self, driver: SimulatedDriver) -> None:
        """Out of memory, a person's kill -9, power."""
        self.processes.end(driver.process)

    def drive(self) -> None:
        """Every driver beats and gets on with its query."""
        for driver in self.alive:
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
        self.writes.append((driver.epoch, batch))


class HostLauncher:
    """A launcher of one host: it sees and signals the drivers of its own host only."""

    def __init__(self, world: World, host: str, tick: Callable[[str], None]) -> None:
        self._world = world
        self._host = host
        self._tick = tick

    def submit(self, request: SubmitRequest) -> DriverHandle:
        self._tick("before submit")
        processes = self._world.processes
        assert all(driver.token != request.token for driver in processes.drivers), f"{request.token} submitted twice"
        if processes.submit_error:
            raise processes.submit_error
        process = processes.add(request.token, host=self._host, log=request.log, request=request)
        self._world.start(process, request)
        self._tick("after submit")
        return process.handle

    def find(self, token: str) -> tuple[DriverHandle, ...]:
        self._tick("before find")
        return tuple(handle for handle in self._world.processes.find(token) if handle.host == self._host)

    def living(self) -> tuple[FoundDriver, ...]:
        self._tick("before living")
        return tuple(driver for driver in self._world.processes.living() if driver.handle.host == self._host)

    def poll(self, handle: DriverHandle) -> DriverStatus:
        self._tick("before poll")
        if handle.host != self._host:
            return DriverStatus(state=DriverState.UNKNOWN, evidence=f"it was started on {handle.host}")
        return self._world.processes.poll(handle)

    def stop(self, handle: DriverHandle) -> None:
        self._refuse_elsewhere(handle)
        self._world.processes.stop(handle)

    def kill(self, handle: DriverHandle) -> None:
        self._tick("before kill")
        self._refuse_elsewhere(handle)
        self._world.processes.kill(handle)
        self._tick("after kill")

    def _refuse_elsewhere(self, handle: DriverHandle) -> None:
        if handle.host != self._host:
            raise LaunchError(f"{handle.process} runs on {handle.host}, not on {self._host}")
