"""The only door to time.

Judgements never open it: they take `now` as an argument.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

CLOCK_ERROR = timedelta(hours=1)
"""No clock of a host or a file server that takes part is further off than this."""


class Clock(Protocol):
    """Wall clock for records, monotonic clock for waiting and for judging stillness."""

    def now(self) -> datetime:
        """The wall clock, in UTC. Never compared between two hosts."""
        ...

    def monotonic(self) -> timedelta:
        """Time since an arbitrary start that goes on while the host is suspended."""
        ...

    def sleep(self, duration: timedelta) -> None:
        """Return after the duration."""
        ...


class SystemClock:
    """The clock of this host."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> timedelta:
        # CLOCK_MONOTONIC stands still while a host is suspended, so a driver would wake up and believe that its last
        # beat is fresh. CLOCK_BOOTTIME counts the suspension (Linux only).
        source = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        return timedelta(seconds=time.clock_gettime(source))

    def sleep(self, duration: timedelta) -> None:
        time.sleep(max(0.0, duration.total_seconds()))
