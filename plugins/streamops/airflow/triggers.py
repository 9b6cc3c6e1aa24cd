"""The trigger that watches one stream. It looks and never acts: neither its end nor its cancellation touches a driver.

Each look leaves a sign of attendance, so that a task that is deferred without a living trigger shows as unattended.
It goes by the settings as they are now, and by the last good ones where they are wrong.

There is no `on_kill`: marking a task failed, clearing it or deleting it must not stop a stream.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from airflow.triggers.base import BaseTrigger, TriggerEvent

from streamops.airflow.declared_supervisor import DeclaredSupervisor
from streamops.airflow.single_flight import OneLook
from streamops.airflow.wiring import supervisor_of
from streamops.clock import SystemClock
from streamops.settings.in_force import SharedSettings
from streamops.spec import StreamSpec
from streamops.supervision import Action, Look, Supervisor

log = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_TIMEOUT_SECONDS = 60.0
TROUBLE_PAUSE_SECONDS = 10.0
ATTENTION_SECONDS = 60.0
"""How often a task is woken for a wait that needs a second pair of eyes: its worker may see a driver that the triggerer,
in another container, can't."""

# Looks block on files, and the triggerer's loop must not; an own pool, because the loop's default one is shared with
# every other trigger and a hung file system would fill it.
_POOL = ThreadPoolExecutor(max_workers=32, thread_name_prefix="streamops-look")
_SETTINGS = SharedSettings(SystemClock())

_QUIET = {
    # What a task waits out instead of waking up for. A parked stream wakes the supervising task, which fails with the
    # report; it keeps the releasing one asleep.
    "act": frozenset({Action.KEEP, Action.WAIT, Action.STOPPED}),
    "release": frozenset({Action.PARKED, Action.BLOCKED}),
}


class StreamTrigger(BaseTrigger):
    """Fires once, when there is something to do for its task.

    The arguments are stored in Airflow's database and outlive releases: new ones get a default, old ones stay accepted.
    """

    def __init__(
        self,
        *,
        stream: str,
        config: str,
        wake_for: str = "act",
        end_at: str = "",
        quiet_seconds: float = 15.0,
        interval_seconds: float = 2.0,
        **ignored: Any,
    ) -> None:
        super().__init__()
        self.stream = stream
        self.config = config
        self.wake_for = wake_for
        self.end_at = end_at
        self.quiet_seconds = quiet_seconds
        self.interval_seconds = interval_seconds
        self._looks = OneLook(_POOL)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        arguments = {
            "stream": self.stream,
            "config": self.config,
            "wake_for": self.wake_for,
            "end_at": self.end_at,
            "quiet_seconds": self.quiet_seconds,
            "interval_seconds": self.interval_seconds,
        }
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent(await self._watch())

    async def _watch(self) -> dict[str, str]:
        """Look until there is something to do; trouble with files or settings is waited out, as unknown is no event.

        Nothing fires in the first seconds: Airflow 3.3 may take the end of the slice before for the end of a task that
        resumes at once (issues 72716 and 71580 of apache/airflow).
        """
        loop = asyncio.get_running_loop()
        fires_from = loop.time() + self.quiet_seconds
        attention_from = loop.time() + max(self.quiet_seconds, ATTENTION_SECONDS)
        end_at = _moment(self.end_at)
        declared: DeclaredSupervisor | None = None
        trouble = ""
        while True:
            pause = self.interval_seconds
            look: Look | None = None
            try:
                if declared is None:
                    declared = await self._in_pool(self._build)
                look = await self._in_pool(partial(self.look, declared))
                trouble = ""
            except Exception as error:
                pause = max(pause, TROUBLE_PAUSE_SECONDS)
                if str(error) != trouble:
                    trouble = str(error)
                    log.warning("stream=%s can't be looked at, trying again: %r", self.stream, error)
            if loop.time() >= fires_from:
                if declared and look and self.is_due(look):
                    return self.event(look, declared.supervisor)
                is_second_look_due = self.wake_for == "act" and loop.time() >= attention_from
                if declared and look and is_second_look_due and _needs_other_eyes(look):
                    return self.event(look, declared.supervisor)
                if end_at and datetime.now(UTC) >= end_at:
                    return {"wake": "end-of-run", "reason": "the run has lasted its time", "end_at": self.end_at}
            await asyncio.sleep(pause)

    def is_due(self, look: Look) -> bool:
        """Whether the task has something to do."""
        return look.decision.action not in _QUIET.get(self.wake_for, _QUIET["act"])

    def supervisor(self, spec: StreamSpec, state_root: str) -> Supervisor:
        """Who looks, for a stream as it is declared now; it never acts."""
        return supervisor_of(spec, state_root=state_root, actor="airflow:trigger", may_submit=False)

    def _build(self) -> DeclaredSupervisor:
        return DeclaredSupervisor(self.stream, settings=partial(_SETTINGS.of, self.config), build=self.supervisor)

    def look(self, declared: DeclaredSupervisor) -> Look:
        """A look, and after it the sign that this stream is looked after: whoever can't look does not attend.

        Nor does who waits for a blocked stream to be free: a driver that lives there has nobody to replace it.
        """
        supervisor = declared.renewed()
        look = supervisor.look()
        if self.wake_for != "release" or look.decision.action is not Action.BLOCKED:
            supervisor.attend()
        return look

    async def _in_pool(self, work: Callable[[], T]) -> T:
        return await self._looks.take(work, limit_seconds=LOOK_TIMEOUT_SECONDS)

    def event(self, look: Look, supervisor: Supervisor) -> dict[str, str]:
        """What the task is woken with."""
        decision = look.decision
        return {
            "wake": str(decision.action),
            "reason": decision.reason,
            "end_at": self.end_at,
            "memory": supervisor.hand_over(),
        }


def _needs_other_eyes(look: Look) -> bool:
    """A driver that can't be seen from here; one that is seen and gets nowhere looks the same from everywhere, and so does a
    wait that ends by itself.
    """
    decision = look.decision
    return decision.needs_attention and decision.action is Action.WAIT and decision.until is None


def _moment(text: str) -> datetime | None:
    """A moment from the arguments; None when there is none, or another release wrote it in another form."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
