"""The last guard against two writers: a driver that can't show its beat ends itself."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from streamops.clock import Clock

log = logging.getLogger(__name__)

_TICK = timedelta(milliseconds=500)


class DriverProcesses:
    """JVM and Python of this driver, to be killed together.

    The JVM is held by a pidfd from now on: Python may outlive it by the halt time, and its number may be another process'
    by then. Made while the JVM is known to live.
    """

    def __init__(self, jvm_pid: int) -> None:
        self._jvm_pid = jvm_pid
        self._jvm = _pidfd(jvm_pid)

    def kill(self) -> None:
        """SIGKILL to the JVM, then to this very process, or the JVM would live on. Does no I/O."""
        self.kill_jvm()
        os.kill(os.getpid(), signal.SIGKILL)

    def kill_jvm(self) -> None:
        """SIGKILL to the JVM alone; nothing happens when it is gone."""
        with suppress(ProcessLookupError):
            if self._jvm is None:
                os.kill(self._jvm_pid, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(self._jvm, signal.SIGKILL)


def _pidfd(pid: int) -> int | None:
    """A hold on the process with this number; None where the system has no pidfd: Linux before 5.3, a filter of system
    calls that does not know it, a Python that was built without it. ProcessLookupError where there is no such process."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (AttributeError, OSError) as error:
        log.warning(
            "no pidfd of the JVM (%s): should it have to be killed, its number %d is all that names it", error, pid
        )
        return None


class Watchdog:
    """A thread without I/O and without py4j, since either can hang just when it is needed.

    It kills the driver when more than the halt time has passed since the *start* of the last beat that was acknowledged:
    an answer can be late, and what counts is when it was asked. A graceful stop can hang, so `kill` is to be a SIGKILL.
    """

    def __init__(self, *, clock: Clock, halt: timedelta, kill: Callable[[], None]) -> None:
        self._clock = clock
        self._halt = halt
        self._kill = kill
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
                self._kill()
            time.sleep(_TICK.total_seconds())
