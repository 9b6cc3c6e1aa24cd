"""A launcher without processes: drivers are entries of a list, and a test decides how they fare."""

from dataclasses import dataclass, field
from itertools import count

from streamops.control.drivers import Heartbeat
from streamops.control.records import DriverHandle
from streamops.errors import LaunchError
from streamops.launch import DriverState, DriverStatus, FoundDriver, SubmitRequest
from streamops.launch.environment import missing_variables


@dataclass(slots=True, kw_only=True)
class FakeDriver:
    """One driver and what became of it."""

    token: str
    handle: DriverHandle
    request: SubmitRequest | None = None
    """None for a driver that no submit of this launcher started."""
    state: DriverState = DriverState.RUNNING
    signals: list[str] = field(default_factory=list)
    """`stop` and `kill`, as they came."""

    @property
    def is_alive(self) -> bool:
        return self.state in (DriverState.RUNNING, DriverState.BROKEN)

    @property
    def found(self) -> FoundDriver:
        """As its own arguments name it."""
        arguments = dict(zip(self.request.arguments[::2], self.request.arguments[1::2], strict=True))
        control, epoch = arguments["--control"], int(arguments["--epoch"])
        return FoundDriver(handle=self.handle, control=control, epoch=epoch, token=self.token)


class FakeLauncher:
    """Keeps the promises of a launcher, and fails a test that submits a token twice."""

    def __init__(self) -> None:
        self.drivers: list[FakeDriver] = []
        self.submit_error: LaunchError | None = None
        """Raised by every submit while it is set."""
        self.poll_error: LaunchError | None = None
        """Raised by every poll and find while it is set."""
        self.kill_works = True
        """Whether a kill ends the driver at once."""
        self.stop_works = False
        """Whether a stop (SIGTERM) ends the driver at once."""
        self.blind = ""
        """Why a driver that beats would not be found; empty where it would."""
        self.environment: dict[str, str] = {}
        """What a driver could inherit here."""
        self._numbers = count(1)

    def missing(self, variables: tuple[str, ...]) -> tuple[str, ...]:
        return missing_variables(self.environment, variables)

    def submit(self, request: SubmitRequest) -> DriverHandle:
        if any(driver.token == request.token for driver in self.drivers):
            raise AssertionError(f"token {request.token} was submitted twice")
        if self.submit_error:
            raise self.submit_error
        return self.add(request.token, log=request.log, request=request).handle

    def find(self, token: str) -> tuple[DriverHandle, ...]:
        self._raise_if_asked()
        found = (driver.handle for driver in self.drivers if driver.token == token and driver.is_alive)
        return () if self.blind else tuple(found)

    def living(self) -> tuple[FoundDriver, ...]:
        self._raise_if_asked()
        return tuple(driver.found for driver in self.drivers if driver.is_alive and driver.request)

    def why_unseen(self, beat: Heartbeat) -> str:
        return self.blind

    def poll(self, handle: DriverHandle) -> DriverStatus:
        self._raise_if_asked()
        driver = self._of(handle)
        state = driver.state if driver else DriverState.ENDED
        return DriverStatus(state=state, evidence=f"driver {handle.process} is {state}")

    def stop(self, handle: DriverHandle) -> None:
        self._signal(handle, "stop", ends=self.stop_works)

    def kill(self, handle: DriverHandle) -> None:
        self._signal(handle, "kill", ends=self.kill_works)

    def add(
        self, token: str, *, log: str = "", host: str = "host-1", request: SubmitRequest | None = None
    ) -> FakeDriver:
        """A living driver that is there without a submit on record."""
        handle = DriverHandle(launcher="fake", host=host, process=str(next(self._numbers)), log=log)
        driver = FakeDriver(token=token, handle=handle, request=request)
        self.drivers.append(driver)
        return driver

    @property
    def alive(self) -> list[FakeDriver]:
        """Drivers that may still write."""
        return [driver for driver in self.drivers if driver.is_alive]

    def end(self, driver: FakeDriver) -> None:
        """It is gone, as far as the place can prove it."""
        driver.state = DriverState.ENDED

    def break_(self, driver: FakeDriver) -> None:
        """Its main process is gone, others of it live."""
        driver.state = DriverState.BROKEN

    def hide(self, driver: FakeDriver) -> None:
        """The place can't tell any more."""
        driver.state = DriverState.UNKNOWN

    def _raise_if_asked(self) -> None:
        if self.poll_error:
            raise self.poll_error

    def _of(self, handle: DriverHandle) -> FakeDriver | None:
        return next((driver for driver in self.drivers if driver.handle == handle), None)

    def _signal(self, handle: DriverHandle, name: str, *, ends: bool) -> None:
        driver = self._of(handle)
        if driver is None or not driver.is_alive:
            return
        driver.signals.append(name)
        if ends:
            driver.state = DriverState.ENDED
