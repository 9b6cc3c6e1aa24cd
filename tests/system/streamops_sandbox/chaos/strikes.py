"""The blows themselves, on one driver or on its control folder."""

import signal
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

from streamops.launch.processes import ProcessStat, send_signal
from streamops_sandbox.chaos import mounts
from streamops_sandbox.chaos.victims import Blow, Victim
from streamops_sandbox.drivers import LiveDriver
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.timeline import now

Strike = Callable[[LiveDriver, Path, timedelta], None]


def strike(blow: Blow, driver: LiveDriver, control: Path) -> datetime:
    """Deal the blow and return when it fell; an outage is over on return."""
    struck_at = now()
    _STRIKES[blow.victim](driver, control, blow.lasts)
    return struck_at


def can_strike(victim: Victim, driver: LiveDriver) -> bool:
    """Whether the driver has what is to be struck; its Python comes seconds after its JVM."""
    needs_python = victim in (Victim.PYTHON_KILL, Victim.PYTHON_TERM)
    return driver.jvm is not None and (driver.python is not None or not needs_python)


def _signals(choose: Callable[[LiveDriver], Iterable[ProcessStat | None]], number: signal.Signals) -> Strike:
    def send(driver: LiveDriver, control: Path, lasts: timedelta) -> None:
        _send(choose(driver), number)

    return send


def _freeze(driver: LiveDriver, control: Path, lasts: timedelta) -> None:
    _send(driver.members, signal.SIGSTOP)
    try:
        time.sleep(lasts.total_seconds())
    finally:
        _send(driver.members, signal.SIGCONT)


def _read_only(driver: LiveDriver, control: Path, lasts: timedelta) -> None:
    with mounts.read_only(control):
        time.sleep(lasts.total_seconds())


def _full(driver: LiveDriver, control: Path, lasts: timedelta) -> None:
    with mounts.full(control):
        time.sleep(lasts.total_seconds())


def _send(members: Iterable[ProcessStat | None], number: signal.Signals) -> None:
    for member in members:
        if member is None:
            raise SandboxError("the driver lacks the process that was to be signalled")
        send_signal(member.pid, start_ticks=member.start_ticks, signal_number=number)


def _all(driver: LiveDriver) -> Iterable[ProcessStat]:
    return driver.members


def _jvm(driver: LiveDriver) -> Iterable[ProcessStat | None]:
    return (driver.jvm,)


def _python(driver: LiveDriver) -> Iterable[ProcessStat | None]:
    return (driver.python,)


_STRIKES: dict[Victim, Strike] = {
    Victim.DRIVER_KILL: _signals(_all, signal.SIGKILL),
    Victim.JVM_KILL: _signals(_jvm, signal.SIGKILL),
    Victim.PYTHON_KILL: _signals(_python, signal.SIGKILL),
    Victim.DRIVER_TERM: _signals(_all, signal.SIGTERM),
    Victim.JVM_TERM: _signals(_jvm, signal.SIGTERM),
    Victim.PYTHON_TERM: _signals(_python, signal.SIGTERM),
    Victim.SHORT_FREEZE: _freeze,
    Victim.LONG_FREEZE: _freeze,
    Victim.HANG: _freeze,
    Victim.READ_ONLY: _read_only,
    Victim.LONG_READ_ONLY: _read_only,
    Victim.DISK_FULL: _full,
    Victim.LONG_DISK_FULL: _full,
}
