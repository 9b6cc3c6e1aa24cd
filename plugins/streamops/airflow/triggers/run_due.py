"""When a stream's DAG begins a run: while it has none, and one is of use.

Airflow shows a DAG by its latest run. With `@continuous` a new one begins as soon as the last has failed, and a stream that is
parked looks as if it ran. So the asset of a stream, which schedules its DAG, is watched here: a run that has failed stays the
latest one until the stream may go on (asset watchers, Airflow 3.0 and later).
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from airflow.sdk import Asset, AssetWatcher
from airflow.triggers.base import BaseEventTrigger, TriggerEvent
from asgiref.sync import sync_to_async

from streamops.airflow.triggers.declared_supervisor import DeclaredSupervisor
from streamops.airflow.triggers.single_flight import OneLook
from streamops.airflow.triggers.stream import (
    LOOK_TIMEOUT_SECONDS,
    LOOKS,
    TROUBLE_PAUSE_SECONDS,
    look_and_sign,
    needs_other_eyes,
    watched,
)
from streamops.spec import Mode
from streamops.supervision.standstill import standstill
from streamops.supervision.supervisor import Look

log = logging.getLogger(__name__)

WHILE_RUNNING_SECONDS = 10.0
"""Between two questions whether the DAG still has a run; its own task looks after the stream meanwhile."""
LOOK_SECONDS = 3.0
POLL_SECONDS = 1.0
BEGIN_SECONDS = 45.0
"""What Airflow may take from the event to the run."""
FIRST_PAUSE_SECONDS = 20.0
MOST_PAUSE_SECONDS = 300.0
"""Between two runs that come to nothing new, such as those of a stream that a worker can't start and this place could. It doubles
from the first to this one, which is also that of a stream that only a worker may see."""


def run_due(dag_id: str, *, stream: str, config: str) -> Asset:
    """The asset that schedules the DAG of a stream: `schedule=[run_due(…)]`, with `max_active_runs=1`."""
    trigger = RunDueTrigger(dag_id=dag_id, stream=stream, config=config)
    return Asset(f"{dag_id}: a run is due", watchers=[AssetWatcher(name=f"{dag_id}: watch", trigger=trigger)])


class RunDueTrigger(BaseEventTrigger):
    """Fires each time that the DAG of a stream has no run, and one would do or tell something new.

    The arguments are stored in Airflow's database and outlive releases: new ones get a default, old ones stay accepted.
    """

    def __init__(self, *, dag_id: str, stream: str, config: str, **ignored: Any) -> None:
        super().__init__()
        self.dag = dag_id
        self.stream = stream
        self.config = config
        self._looks = OneLook(LOOKS)
        self._declared: DeclaredSupervisor | None = None
        self._trouble = ""
        self._is_in_vain = False
        """Whether no run came of the last event: then nobody looks after the stream, and no sign says otherwise."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        arguments = {"dag_id": self.dag, "stream": self.stream, "config": self.config}
        # The place that releases before and after this one know.
        return "streamops.airflow.run_due.RunDueTrigger", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Watch for as long as the DAG is there and not paused."""
        told = _Told()
        while True:
            has_run = await self._has_run()
            if has_run is not False:
                if has_run:
                    told.saw_run()
                    self._is_in_vain = False
                await asyncio.sleep(WHILE_RUNNING_SECONDS)
                continue
            look = await self._look()
            now = asyncio.get_running_loop().time()
            if look and told.is_due(look, now):
                log.info("stream=%s a run is due: %s: %s", self.stream, look.decision.action, look.decision.reason)
                yield TriggerEvent(self._event(look))
                told.gave_event(look, now)
                self._is_in_vain = not await self._sees_run()
                if self._is_in_vain:
                    told.lost_event()
            await asyncio.sleep(LOOK_SECONDS if look else TROUBLE_PAUSE_SECONDS)

    def _event(self, look: Look) -> dict[str, str]:
        memory = self._declared.supervisor.hand_over() if self._declared else ""
        return {"action": str(look.decision.action), "reason": look.decision.reason, "memory": memory}

    async def _sees_run(self) -> bool:
        """Whether a run comes of the event."""
        loop = asyncio.get_running_loop()
        until = loop.time() + BEGIN_SECONDS
        while not (has_run := await self._has_run()) and loop.time() < until:
            await asyncio.sleep(POLL_SECONDS)
        return bool(has_run)

    async def _has_run(self) -> bool | None:
        """Whether a run of the DAG is queued or at work; None where Airflow does not say: then none begins."""
        from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

        try:
            count = await sync_to_async(RuntimeTaskInstance.get_dr_count)(self.dag, states=["queued", "running"])
        except Exception as error:  # an API server that is away is an AirflowRuntimeError, which is a plain Exception
            log.warning("stream=%s whether its DAG has a run can't be had: %r", self.stream, error)
            return None
        return count > 0

    async def _look(self) -> Look | None:
        """None where it can't be looked at, which is told once, and for a stream that no such DAG looks after any more."""
        try:
            look: Look | None = await self._looks.take(self._look_now, limit_seconds=LOOK_TIMEOUT_SECONDS)
        except Exception as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                log.warning("stream=%s can't be looked at, trying again: %r", self.stream, error)
            return None
        self._trouble = ""
        return look

    def _look_now(self) -> Look | None:
        self._declared = self._declared or watched(self.stream, self.config)
        if self._declared.renewed().spec.mode is not Mode.LIVE:
            # Airflow keeps the watcher of a DAG that is gone for as long as the DAG's file is there.
            return None
        return look_and_sign(self._declared, signs=not self._is_in_vain)


class _Told:
    """What runs have told already, and how often events came to nothing new."""

    def __init__(self) -> None:
        self._standstill: tuple[bool, bool] | None = None
        """The kind that the last run has told of. Nobody knows after a restart of the triggerer: it is told again."""
        self._ends_run = False
        """Whether a run was seen since the last look: it has told of whatever standstill comes next."""
        self._stand: tuple[str, int] | None = None
        """At the last event: the action, and the length of the control log."""
        self._pause = 0.0
        self._event_at = float("-inf")

    def saw_run(self) -> None:
        """The DAG has a run."""
        self._ends_run = True

    def is_due(self, look: Look, now: float) -> bool:
        """Whether one would do or tell something new; the same again, without a record in between, less and less often."""
        kind = _kind(look)
        if self._ends_run:
            self._ends_run = False
            self._standstill = kind
        if kind is not None and kind == self._standstill:
            return needs_other_eyes(look) and now - self._event_at >= MOST_PAUSE_SECONDS
        return _stand(look) != self._stand or now - self._event_at >= self._pause

    def gave_event(self, look: Look, now: float) -> None:
        """An event was given for it."""
        self._standstill = _kind(look)
        is_same = _stand(look) == self._stand
        self._pause = (
            min(MOST_PAUSE_SECONDS, 2 * self._pause or FIRST_PAUSE_SECONDS) if is_same else FIRST_PAUSE_SECONDS
        )
        self._stand, self._event_at = _stand(look), now

    def lost_event(self) -> None:
        """No run came of it: nothing is told."""
        self._standstill = None


def _kind(look: Look) -> tuple[bool, bool] | None:
    """What a run would tell of a standstill; None where the stream gets on."""
    still = standstill(look)
    return (still.needs_a_person, still.is_wanted) if still else None


def _stand(look: Look) -> tuple[str, int]:
    return str(look.decision.action), look.observation.state.next_number
