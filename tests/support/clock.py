"""A clock that only moves when it is told to."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class FakeClock:
    """Sleeping takes no time: it moves the clock. Safe for threads."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start
        self._monotonic = timedelta(hours=1)
        self._lock = threading.Lock()
        self.slept: list[timedelta] = []
        self.on_sleep: Callable[[], None] = lambda: None
        """Called after each sleep: what happens meanwhile."""

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> timedelta:
        return self._monotonic

    def sleep(self, duration: timedelta) -> None:
        self.slept.append(duration)
        self.advance(duration)
        self.on_sleep()

    def advance(self, duration: timedelta) -> None:
        """Time passes on both clocks."""
        with self._lock:
            self._now += duration
            self._monotonic += duration

    def set_wall(self, now: datetime) -> None:
        """The wall clock jumps, as after a correction; the monotonic one does not."""
        self._now = now
