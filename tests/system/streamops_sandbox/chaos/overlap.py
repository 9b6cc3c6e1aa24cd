"""How long several drivers of one stream lived side by side, measured from outside."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from streamops_sandbox.drivers import LiveDriver, live_drivers

_SAMPLE_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One look: monotonic seconds, and the leaders that lived."""

    at: float
    leaders: frozenset[int]


def seconds_of_two(sightings: list[Sighting], *, longest_gap: float) -> float:
    """The time between looks that both saw more than one driver; a gap in the looks proves nothing and is left out."""
    return sum(
        after.at - before.at
        for before, after in pairwise(sightings)
        if len(before.leaders) > 1 and len(after.leaders) > 1 and after.at - before.at <= longest_gap
    )


class OverlapWatch:
    """Looks at the drivers with one control marker all the time."""

    def __init__(self, control: str, *, look: Callable[[str], tuple[LiveDriver, ...]] = live_drivers) -> None:
        self._control = control
        self._look = look
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.sightings: list[Sighting] = []

    def __enter__(self) -> "OverlapWatch":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """How long at least two lived at once so far."""
        return round(seconds_of_two(list(self.sightings), longest_gap=20 * _SAMPLE_SECONDS), 1)

    @property
    def most(self) -> int:
        """How many lived at once at most."""
        return max((len(sighting.leaders) for sighting in list(self.sightings)), default=0)

    @property
    def all_leaders(self) -> frozenset[int]:
        """Every driver that was ever seen."""
        return frozenset().union(*(sighting.leaders for sighting in list(self.sightings)))

    def _run(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            leaders = frozenset(driver.leader for driver in self._look(self._control))
            self.sightings.append(Sighting(at=time.monotonic(), leaders=leaders))
