"""One stream on trial: sent its input wave by wave, struck in the middle of a batch, settled after each wave.

A wave is sent only when the one before is settled: every query of the driver has committed all that was sent, and no batch is
due that would move a watermark. So what comes out does not depend on where batches end. Who supervises the stream is not the
trial's concern.
"""

import os
import signal
import threading
import time
from collections.abc import Callable

from streamops.checkpoint.layout import COMMITS, OFFSETS, batch_id
from streamops.clock import SystemClock
from streamops.operations.requests import Requests, this_author
from streamops.spec import StreamSpec
from streamops.storage.local import LocalStorage
from streamops_sandbox.catalogue.settling import has_settled, topics_read
from streamops_sandbox.catalogue.topics import ends
from streamops_sandbox.drivers import LiveDriver, live_drivers
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.timeline import Timeline

LIMIT_SECONDS = 240.0
"""For one step of the stream: a start, a batch, a restart. A start takes a minute where others take the cores."""

_LOOK_SECONDS = 0.005
"""Between two looks for the middle of a batch, which may last some milliseconds."""
_PATIENT_SECONDS = 0.05


class MissedBlowError(SandboxError):
    """The driver was killed when its batch was committed already: a kill, and no proof."""


class Trial:
    """One stream, from its first start to its stop."""

    def __init__(self, spec: StreamSpec, *, bootstrap: str, told: Callable[[], str]) -> None:
        """`told` gives what its supervisor has said of late, for the text of an error."""
        self.spec = spec
        self.kills = 0
        """Blows that count: none that came too late."""
        self._timeline = Timeline(spec.checkpoint, spec.restart)
        self._bootstrap = bootstrap
        self._told = told
        self._is_over = threading.Event()
        self._storage = LocalStorage()

    @property
    def sources(self) -> tuple[str, ...]:
        """The topics that it reads."""
        return topics_read(self.spec)

    def settle(self) -> None:
        """Return when all that lies in its topics or its folder is committed and nothing is due; SandboxError past the limit."""
        sent = ends(self._bootstrap, *self.sources)
        self.until(
            lambda: has_settled(self._storage, self.spec, sent), f"the stream to settle at {sent or self.spec.source}"
        )

    def committed(self) -> int:
        """The newest committed batch; -1 before the first."""
        return self._timeline.committed()

    def kill_in_batch(self, *, after: int | None = None, once: Callable[[], bool] = lambda: True) -> int:
        """SIGKILL for the driver's processes while a batch is planned, not committed, and `once` holds; the batch.

        `after` is the batch that was the newest committed one before the records were sent, else the one that is it now.
        Returns when the supervisor has submitted the next driver. Raises MissedBlowError where the batch was faster.
        """
        committed = self.committed() if after is None else after
        driver = self._strike(
            lambda: self._is_in_batch(committed) and once(), f"a batch after {committed} to strike in"
        )
        batch = self._newest(OFFSETS)
        if batch <= self._newest(COMMITS):
            raise MissedBlowError(f"{self.spec.name}: batch {batch} was committed before the blow fell")
        self._await_restart(driver)
        return batch

    def kill(self, *, once: Callable[[], bool]) -> None:
        """SIGKILL for the driver's processes as soon as `once` holds: of a query whose batches show in no log while they run.

        Returns when the supervisor has submitted the next driver.
        """
        self._await_restart(self._strike(once, "the moment to strike"))

    def until(self, condition: Callable[[], bool], what: str, *, pause: float = _PATIENT_SECONDS) -> None:
        """Return when it holds; SandboxError past the limit, or when the trial was broken off."""
        end = time.monotonic() + LIMIT_SECONDS
        while not condition():
            if time.monotonic() > end:
                raise SandboxError(f"{self.spec.name}: waited {LIMIT_SECONDS:.0f} s for {what}\n{self._told()}")
            if self._is_over.wait(pause):
                raise SandboxError(f"{self.spec.name}: broken off while it waited for {what}")

    def break_off(self) -> None:
        """End whatever waits, in other threads too."""
        self._is_over.set()

    def ask_to_stop(self, reason: str, *, actor: str) -> None:
        """As a person does, between two batches."""
        Requests(self.spec, storage=self._storage, clock=SystemClock(), author=this_author(actor)).stop(reason)

    def wait_for_stop(self) -> None:
        """Return when no process of it is left; SandboxError past the limit."""
        self.until(lambda: not self._drivers(), "the stream's stop")

    def _strike(self, once: Callable[[], bool], what: str) -> LiveDriver:
        self.until(lambda: bool(self._drivers()), "a driver to strike")
        (driver,) = self._drivers()
        self.until(once, what, pause=_LOOK_SECONDS)
        os.killpg(driver.leader, signal.SIGKILL)
        return driver

    def _await_restart(self, driver: LiveDriver) -> None:
        self.until(lambda: self._timeline.newest_submitted() > driver.epoch, "the supervisor's restart")
        self.kills += 1

    def _drivers(self) -> tuple[LiveDriver, ...]:
        return live_drivers(self._timeline.control)

    def _is_in_batch(self, committed: int) -> bool:
        planned = self._newest(OFFSETS)
        return planned > committed and planned > self._newest(COMMITS)

    def _newest(self, log: str) -> int:
        names = self._storage.list(f"{self.spec.checkpoint}/{log}")
        return max((batch for name in names if (batch := batch_id(name)) is not None), default=-1)
