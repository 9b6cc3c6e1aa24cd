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

from streamops.airflow.declared_supervisor import DeclaredSupervisor
from streamops.airflow.single_flight import OneLook
from streamops.airflow.triggers import (
    LOOK_TIMEOUT_SECONDS,
    LOOKS,
    TROUBLE_PAUSE_SECONDS,
    look_and_sign,
    needs_other_eyes,
    watched,
)
from streamops.supervision import Look
from streamops.supervision.standstill import standstill

log = logging.getLogger(__name__)

WHILE_RUNNING_SECONDS = 10.0
"""Between two questions whether the DAG still has a run; its own task looks after the stream meanwhile."""
LOOK_SECONDS = 3.0
BEGIN_SECONDS = 45.0
"""What Airflow may take from the event to the run; then the event is given again."""
OTHER_EYES_SECONDS = 300.0
"""Between two runs of a stream that this place can't see, so that a worker looks from where it is."""


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

    def serialize(self) -> tuple[str, dict[str, Any]]:
        arguments = {"dag_id": self.dag, "stream": self.stream, "config": self.config}
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Watch for as long as the DAG is there and not paused."""
        loop = asyncio.get_running_loop()
        is_told = False
        """Whether a run has told of the standstill that there is. Nobody knows after a restart of the triggerer: told again."""
        others_asked_at = float("-inf")
        while True:
            has_run = await self._has_run()
            if has_run is not False:
                is_told = is_told or has_run is True
                await asyncio.sleep(WHILE_RUNNING_SECONDS)
                continue
            look = await self._look()
            if look is None:
                await asyncio.sleep(TROUBLE_PAUSE_SECONDS)
                continue
            is_for_others = needs_other_eyes(look) and loop.time() - others_asked_at >= OTHER_EYES_SECONDS
            if standstill(look) is None or not is_told or is_for_others:
                log.info("stream=%s a run is due: %s: %s", self.stream, look.decision.action, look.decision.reason)
                yield TriggerEvent({"action": str(look.decision.action), "reason": look.decision.reason})
                is_told, others_asked_at = True, loop.time() if is_for_others else others_asked_at
                await self._wait_for_run()
            await asyncio.sleep(LOOK_SECONDS)

    async def _wait_for_run(self) -> None:
        """Until the run is there. One that is over at once may never be seen, so that the event is not given again at once."""
        loop = asyncio.get_running_loop()
        until = loop.time() + BEGIN_SECONDS
        while loop.time() < until and await self._has_run() is False:
            await asyncio.sleep(LOOK_SECONDS)

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
        """None where it can't be looked at, which is told once."""
        try:
            look: Look = await self._looks.take(self._look_now, limit_seconds=LOOK_TIMEOUT_SECONDS)
        except Exception as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                log.warning("stream=%s can't be looked at, trying again: %r", self.stream, error)
            return None
        self._trouble = ""
        return look

    def _look_now(self) -> Look:
        self._declared = self._declared or watched(self.stream, self.config)
        return look_and_sign(self._declared)
