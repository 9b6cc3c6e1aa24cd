"""What stands around all streams, killed and started again: broker, supervisor, parts of Airflow."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops_sandbox.airflow import Component
from streamops_sandbox.chaos.victims import Victim
from streamops_sandbox.sandbox import SUPERVISOR_DAEMON, Sandbox
from streamops_sandbox.timeline import now

_COMPONENTS = {Victim.TRIGGERER_KILL: Component.TRIGGERER, Victim.SCHEDULER_KILL: Component.SCHEDULER}


def kill_for_a_while(sandbox: Sandbox, victim: Victim, *, lasts: timedelta) -> None:
    """SIGKILL, then nothing for a while, then a new start; returns when it works again."""
    if victim is Victim.BROKER_KILL:
        sandbox.broker.kill()
        time.sleep(lasts.total_seconds())
        sandbox.start_broker()
    elif victim is Victim.SUPERVISOR_KILL:
        sandbox.daemons.kill(SUPERVISOR_DAEMON)
        time.sleep(lasts.total_seconds())
        sandbox.start_supervisor()
    else:
        component = _COMPONENTS[victim]
        sandbox.airflow.kill(component)
        time.sleep(lasts.total_seconds())
        sandbox.airflow.start(component)


@dataclass(slots=True)
class _Outage:
    victim: Victim
    begin: datetime
    end: datetime | None = None


class Outages:
    """When something around the streams was down, so that figures taken meanwhile are not mistaken for clean ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outages: list[_Outage] = []

    @contextmanager
    def during(self, victim: Victim) -> Iterator[None]:
        """The outage lasts as long as the block."""
        outage = _Outage(victim, now())
        with self._lock:
            self._outages.append(outage)
        try:
            yield
        finally:
            outage.end = now()

    def between(self, begin: datetime, end: datetime) -> tuple[str, ...]:
        """What was down at any moment in between."""
        with self._lock:
            found = [outage for outage in self._outages if outage.begin <= end and (outage.end or end) >= begin]
        return tuple(sorted({str(outage.victim) for outage in found}))
