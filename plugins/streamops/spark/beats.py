"""The thread that beats."""

import logging
import threading
from collections.abc import Callable
from datetime import timedelta

from streamops.clock import Clock
from streamops.control.follow import LeaseState
from streamops.errors import StorageError
from streamops.spark.lease import Lease
from streamops.spark.logfile import CappedLog
from streamops.spark.watchdog import Watchdog

log = logging.getLogger(__name__)


class BeatThread:
    """Beats at a fixed pace, feeds the watchdog, and keeps what the log said last."""

    def __init__(
        self,
        lease: Lease,
        watchdog: Watchdog,
        log_file: CappedLog,
        *,
        clock: Clock,
        interval: timedelta,
        on_lost: Callable[[LeaseState], None],
    ) -> None:
        self._lease = lease
        self._watchdog = watchdog
        self._log_file = log_file
        self._clock = clock
        self._interval = interval
        self._on_lost = on_lost
        self._ending = threading.Event()
        self._standing = LeaseState()
        self._thread = threading.Thread(target=self._run, name="streamops-beat", daemon=True)

    def start(self) -> None:
        """Beat from now on."""
        self._thread.start()

    @property
    def standing(self) -> LeaseState:
        """What the log said at the last beat that succeeded."""
        return self._standing

    def end(self) -> None:
        """Stop beating."""
        self._ending.set()

    def _run(self) -> None:
        while not self._ending.wait(self._interval.total_seconds()):
            self._log_file.cap()
            self._beat()
            if not self._standing.holds_claim:
                self._on_lost(self._standing)
                return

    def _beat(self) -> None:
        started = self._clock.monotonic()
        try:
            self._standing = self._lease.beat()
        except StorageError as error:
            log.warning("beat failed, the driver halts unless one succeeds in time: %s", error)
            return
        if self._standing.holds_claim:
            self._watchdog.acknowledge(started)
