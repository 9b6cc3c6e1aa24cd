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

from streamops.airflow.services import supervisor_of
from streamops.airflow.triggers.declared_supervisor import DeclaredSupervisor
from streamops.airflow.triggers.single_flight import OneLook
from streamops.clock import SystemClock
from streamops.settings.in_force import SharedSettings
from streamops.spec import StreamSpec
from streamops.supervision.decision import Action
from streamops.supervision.standstill import PASSING_GRACE, standstill
from streamops.supervision.supervisor import Look, Supervisor

log = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_TIMEOUT_SECONDS = 60.0
TROUBLE_PAUSE_SECONDS = 10.0
ATTENTION_SECONDS = 60.0
"""How often a task is woken for a wait that needs a second pair of eyes: its worker may see a driver that the triggerer,
in another container, can't."""

# Looks block on files, and the triggerer's loop must not; an own pool, because the loop's default one is shared with
# every other trigger and a hung file system would fill it.
LOOKS = ThreadPoolExecutor(max_workers=32, thread_name_prefix="streamops-look")
_SETTINGS = SharedSettings(SystemClock())

TOLD_EVERY_SECONDS = 60.0
"""How often the log of a task that sleeps says where its stream stands, if that is another place than before."""

STANDSTILL = "standstill"
"""What a task is woken for by a stream that has not got on for a while: it fails, so that its DAG does not look healthy."""


class StreamTrigger(BaseTrigger):
    """Fires once, when there is something to do for its task.

    `memory`: what the slice before has seen of beats that stand still. `still_since`: since when the stream has not got on in the
    eyes of that slice, which may see more; a moment, or empty.

    The arguments are stored in Airflow's database and outlive releases: new ones get a default, old ones stay accepted.
    """

    place = "streamops.airflow.triggers.StreamTrigger"
    """What Airflow's database names, in releases before and after this one."""

    def __init__(
        self,
        *,
        stream: str,
        config: str,
        end_at: str = "",
        memory: str = "",
        still_since: str = "",
        quiet_seconds: float = 15.0,
        interval_seconds: float = 2.0,
        **ignored: Any,
    ) -> None:
        super().__init__()
        self.stream = stream
        self.config = config
        self.end_at = end_at
        self.memory = memory
        self.still_since = still_since
        self.quiet_seconds = quiet_seconds
        self.interval_seconds = interval_seconds
        self._looks = OneLook(LOOKS)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        arguments = {
            "stream": self.stream,
            "config": self.config,
            "end_at": self.end_at,
            "memory": self.memory,
            "still_since": self.still_since,
            "quiet_seconds": self.quiet_seconds,
            "interval_seconds": self.interval_seconds,
        }
        return self.place, arguments

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
        end_at = moment(self.end_at)
        declared: DeclaredSupervisor | None = None
        trouble = ""
        progress = _Progress()
        while True:
            pause = self.interval_seconds
            look: Look | None = None
            try:
                if declared is None:
                    declared = await self._in_pool(self._build)
                look = await self._in_pool(partial(self.look, declared))
                trouble = ""
                progress.follow(self.stream, look, at=loop.time())
            except Exception as error:
                pause = max(pause, TROUBLE_PAUSE_SECONDS)
                if str(error) != trouble:
                    trouble = str(error)
                    log.warning("stream=%s can't be looked at, trying again: %r", self.stream, error)
                progress.lose_sight(at=loop.time())
            if loop.time() >= fires_from:
                if declared and look and self.is_due(look):
                    return self.event(look, declared.supervisor)
                if self.tells_standstill and progress.is_over_grace(loop.time()):
                    known = self.event(look, declared.supervisor) if declared and look else self._carried
                    return {"reason": trouble, **known, "wake": STANDSTILL}
                is_second_look_due = loop.time() >= attention_from
                if declared and look and is_second_look_due and needs_other_eyes(look):
                    return self.event(look, declared.supervisor)
                if end_at and datetime.now(UTC) >= end_at:
                    return {"wake": "end-of-run", "reason": "the run has lasted its time", **self._carried}
            await asyncio.sleep(pause)

    @property
    def _carried(self) -> dict[str, str]:
        """What goes from slice to slice."""
        return {"end_at": self.end_at, "still_since": self.still_since}

    tells_standstill = True
    """Whether its task fails where the stream does not get on; a bounded run has its own time."""

    def is_due(self, look: Look) -> bool:
        """Whether the task has something to do: to act, or to end."""
        return look.decision.action not in (Action.KEEP, Action.WAIT)

    def supervisor(self, spec: StreamSpec, state_root: str) -> Supervisor:
        """Who looks, for a stream as it is declared now; it never acts."""
        return watching_supervisor(spec, state_root)

    def _build(self) -> DeclaredSupervisor:
        declared = watched(self.stream, self.config, build=self.supervisor)
        declared.supervisor.take_over(self.memory)
        return declared

    def look(self, declared: DeclaredSupervisor) -> Look:
        """A look, and after it the sign that this stream is looked after: whoever can't look does not attend."""
        return look_and_sign(declared)

    async def _in_pool(self, work: Callable[[], T]) -> T:
        return await self._looks.take(work, limit_seconds=LOOK_TIMEOUT_SECONDS)

    def event(self, look: Look, supervisor: Supervisor) -> dict[str, str]:
        """What the task is woken with."""
        decision = look.decision
        return {
            "wake": str(decision.action),
            "reason": decision.reason,
            "memory": supervisor.hand_over(),
            **self._carried,
        }


def watching_supervisor(spec: StreamSpec, state_root: str) -> Supervisor:
    """Of whoever only looks."""
    return supervisor_of(spec, state_root=state_root, actor="airflow:trigger", may_submit=False)


def watched(
    stream: str, config: str, *, build: Callable[[StreamSpec, str], Supervisor] = watching_supervisor
) -> DeclaredSupervisor:
    """A stream as it is declared from now on. SettingsError."""
    return DeclaredSupervisor(stream, settings=partial(_SETTINGS.of, config), build=build)


def look_and_sign(declared: DeclaredSupervisor, *, signs: bool = True) -> Look:
    """A look, and after it the sign that this stream is looked after: whoever can't look does not attend.

    Nor does who sees a blocked stream: a driver that lives there has nobody to replace it.
    """
    supervisor = declared.renewed()
    look = supervisor.look()
    if signs and look.decision.action is not Action.BLOCKED:
        supervisor.attend()
    return look


class _Progress:
    """What a trigger remembers of the looks before."""

    def __init__(self) -> None:
        self._told = ""
        self._told_at = float("-inf")
        self._still_since: float | None = None

    def follow(self, stream: str, look: Look, *, at: float) -> None:
        """Take a look in; the log says where the stream stands, seldom, and nothing twice."""
        if standstill(look) is None:
            self._still_since = None
        else:
            self.lose_sight(at=at)
        where = stand_of(look)
        if where != self._told and at - self._told_at >= TOLD_EVERY_SECONDS:
            self._told, self._told_at = where, at
            log.info("stream=%s %s", stream, where)

    def lose_sight(self, *, at: float) -> None:
        """It does not get on, or nothing can be told of it."""
        if self._still_since is None:
            self._still_since = at

    def is_over_grace(self, now: float) -> bool:
        """Whether the stream has not got on for longer than a restart takes."""
        return self._still_since is not None and now - self._still_since >= PASSING_GRACE.total_seconds()


def stand_of(look: Look) -> str:
    """Where a stream stands, and where its driver is to be found, in one line."""
    decision = look.decision
    handles = [facts.epoch.submission.handle for facts in look.observation.epochs if facts.epoch.submission]
    where = (
        f"; process {handles[-1].process.partition(':')[0]} on {handles[-1].host}, log {handles[-1].log}"
        if handles
        else ""
    )
    return f"{decision.action}: {decision.reason}{where}"


def needs_other_eyes(look: Look) -> bool:
    """A driver that can't be seen from here; one that is seen and gets nowhere looks the same from everywhere, and so does a
    wait that ends by itself.
    """
    decision = look.decision
    return decision.needs_attention and decision.action is Action.WAIT and decision.until is None


def moment(text: str) -> datetime | None:
    """A moment from the arguments; None when there is none, or another release wrote it in another form."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
