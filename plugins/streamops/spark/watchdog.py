"""The last guard against two writers: a driver that can't show its beat ends itself."""

import os
import signal
import threading
import time
from datetime import timedelta

from streamops.clock import Clock

_TICK = timedelta(milliseconds=500)


class Watchdog:
    """A thread without I/O and without py4j, since either can hang just when it is needed.

    It kills JVM and Python when more than the halt time has passed since the *start* of the last beat that was
    acknowledged: an answer can be late, and what counts is when it was asked. A graceful stop can hang, so it sends
    SIGKILL.
    """

    def __init__(self, *, clock: Clock, halt: timedelta, jvm_pid: int) -> None:
        self._clock = clock
        self._halt = halt
        self._pids = (jvm_pid, os.getpid())
        self._acknowledged = clock.monotonic()
        self._ended = False
        self._thread = threading.Thread(target=self._watch, name="streamops-watchdog", daemon=True)

    def start(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def acknowledge(self, beat_started: timedelta) -> None:
        """A beat that was begun at this monotonic moment has been written and the claim was found to hold."""
        self._acknowledged = beat_started

    def stand_down(self) -> None:
        """The query has ended: there is nothing left to guard."""
        self._ended = True

    def is_overdue(self) -> bool:
        """Whether the halt time has passed since the last acknowledged beat began."""
        return self._clock.monotonic() - self._acknowledged > self._halt

    def _watch(self) -> None:
        while not self._ended:
            if self.is_overdue():
                kill_processes(self._pids)
            time.sleep(_TICK.total_seconds())


def kill_processes(pids: tuple[int, ...]) -> None:
    """SIGKILL, in order; this very process last, or the rest would live on."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
