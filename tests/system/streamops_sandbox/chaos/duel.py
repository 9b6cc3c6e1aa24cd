"""One blow against one stream, and what comes of it."""

import time
from dataclasses import dataclass
from datetime import timedelta

from streamops_sandbox.chaos.fleet import Fleet
from streamops_sandbox.chaos.rounds import Round
from streamops_sandbox.chaos.strikes import can_strike, strike
from streamops_sandbox.chaos.surroundings import Outages, kill_for_a_while
from streamops_sandbox.chaos.victims import REPLACED, Blow, Fate, Instant, Victim
from streamops_sandbox.drivers import LiveDriver, kill, live_drivers
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.sandboxed_stream import SandboxedStream
from streamops_sandbox.supervising_task import SupervisingTask
from streamops_sandbox.timeline import now

DRIVER_LIMIT = timedelta(minutes=8)
PEACE_LIMIT = timedelta(minutes=2)
"""After a blow that must change nothing, the next batch comes within this time."""

_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """The driver that runs when a blow falls."""

    driver: LiveDriver
    committed: int


class Duel:
    """Deals blows on one stream at a time and watches them out."""

    def __init__(self, fleet: Fleet, outages: Outages) -> None:
        self._fleet = fleet
        self._outages = outages

    def fight(self, stream: SandboxedStream, blow: Blow) -> Round:
        """The round of a blow on this stream. SandboxError when what must happen does not happen in time."""
        driver = self._await_instant(stream, blow)
        if blow.victim is Victim.TASK_KILL:
            return self._kill_task(stream, blow)
        if blow.victim in REPLACED:
            return self._replace(stream, blow, driver)
        target = _target(stream)
        strike(blow, target.driver, self._fleet.control_folder(stream))
        return self._peace(stream, blow, target)

    def strike_around(self, witness: SandboxedStream, blow: Blow) -> Round:
        """The round of a blow on what stands around all streams; the witness must not notice."""
        self._await_instant(witness, blow)
        target = _target(witness)
        with self._outages.during(blow.victim):
            kill_for_a_while(self._fleet.sandbox, blow.victim, lasts=blow.lasts)
        return self._peace(witness, blow, target)

    def _replace(self, stream: SandboxedStream, blow: Blow, driver: LiveDriver) -> Round:
        struck_at = strike(blow, driver, self._fleet.control_folder(stream))
        reaction = stream.wait_for_reaction(driver.epoch, struck_at, limit=DRIVER_LIMIT)
        return Round(
            victim=blow.victim,
            instant=blow.instant,
            stream=stream.spec.name,
            epoch=driver.epoch,
            lasted=round(blow.lasts.total_seconds(), 2),
            fate=Fate.REPLACED,
            noticed=round(reaction.noticed, 3),
            resubmitted=round(reaction.resubmitted, 3),
            policy_wait=round(reaction.policy_wait, 3),
            disturbed_by=self._outages.between(struck_at, now()),
        )

    def _kill_task(self, stream: SandboxedStream, blow: Blow) -> Round:
        """A deferred task has no process, so the task is cleared: the next try's process is the one to kill."""
        task = SupervisingTask(self._fleet.sandbox.api(), stream.spec.name)
        stream.wait(task.missing_to_deferral, what="task", limit=DRIVER_LIMIT)
        target = _target(stream)
        task.clear()
        kill(task.await_process())
        found = self._peace(stream, blow, target)
        stream.wait(task.missing_to_deferral, what="task", limit=DRIVER_LIMIT)
        return found

    def _peace(self, stream: SandboxedStream, blow: Blow, target: _Target) -> Round:
        """Wait for a batch of the same driver; a new claim or another driver is a fate of its own."""
        at_the_end = stream.timeline.committed()
        end = time.monotonic() + PEACE_LIMIT.total_seconds()
        fate = Fate.STALLED
        while time.monotonic() < end and fate is Fate.STALLED:
            if stream.timeline.epochs() != target.driver.epoch or not _still_runs(stream, target.driver):
                fate = Fate.REPLACED
            elif stream.timeline.committed() > at_the_end:
                fate = Fate.UNTOUCHED
            time.sleep(_LOOK_SECONDS)
        return Round(
            victim=blow.victim,
            instant=blow.instant,
            stream=stream.spec.name,
            epoch=target.driver.epoch,
            lasted=round(blow.lasts.total_seconds(), 2),
            fate=fate,
        )

    def _await_instant(self, stream: SandboxedStream, blow: Blow) -> LiveDriver:
        """The driver at the drawn instant of its life; the one that lives by then when it was replaced meanwhile."""
        limit = DRIVER_LIMIT
        stream.wait(lambda: "" if stream.timeline.newest_submitted() else "a driver", what="driver", limit=limit)
        if blow.instant is Instant.RUNNING:
            stream.wait_committed(stream.timeline.committed() + 1, what="a batch", limit=limit)
        time.sleep(blow.delay.total_seconds())
        stream.wait(lambda: _missing(stream, blow.victim), what="driver", limit=limit)
        return live_drivers(stream.timeline.control)[-1]


def _missing(stream: SandboxedStream, victim: Victim) -> str:
    """Empty when a driver lives that can be struck so."""
    drivers = live_drivers(stream.timeline.control)
    if not drivers or drivers[-1].epoch != stream.timeline.newest_submitted():
        return "a submitted driver"
    return "" if can_strike(victim, drivers[-1]) else "all its processes"


def _target(stream: SandboxedStream) -> _Target:
    drivers = live_drivers(stream.timeline.control)
    if not drivers:
        raise SandboxError(f"{stream.spec.name}: no driver lives although none was struck")
    return _Target(driver=drivers[-1], committed=stream.timeline.committed())


def _still_runs(stream: SandboxedStream, driver: LiveDriver) -> bool:
    return any(found.identity == driver.identity for found in live_drivers(stream.timeline.control))
