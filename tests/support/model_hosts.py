"""Hosts of a world: their clocks, and what can be reached from them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from support.clock import FakeClock


class HostClock:
    """The clock of one host: time passes as everywhere, but its wall clock may be wrong."""

    def __init__(self, base: FakeClock) -> None:
        self._base = base
        self.error = timedelta(0)
        """How far its wall clock is ahead."""
        self.on_sleep: Callable[[timedelta], None] = base.sleep
        """What happens meanwhile."""

    def now(self) -> datetime:
        return self._base.now() + self.error

    def monotonic(self) -> timedelta:
        return self._base.monotonic()

    def sleep(self, duration: timedelta) -> None:
        self.on_sleep(duration)


@dataclass(slots=True, kw_only=True)
class Host:
    """Where supervisors and drivers live."""

    name: str
    clock: HostClock
    is_cut_off: bool = False
    """Whether its launcher, or the manager from there, does not answer."""


@dataclass(slots=True)
class Hosts:
    """All hosts by name; each comes to be when it is first named."""

    base: FakeClock
    known: dict[str, Host] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Host:
        if name not in self.known:
            self.known[name] = Host(name=name, clock=HostClock(self.base))
        return self.known[name]
