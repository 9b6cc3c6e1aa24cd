"""The trigger that waits for an act to come about. It looks and never acts; its end touches no driver."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, TypeVar

from airflow.triggers.base import BaseTrigger, TriggerEvent

from streamops.airflow.services import build_desk
from streamops.airflow.triggers.single_flight import OneLook
from streamops.operations.act_plan import Act, ActProgress, AwaitedStart, Stage
from streamops.operations.stream_operations import StreamOperations

T = TypeVar("T")

LOOK_TIMEOUT_SECONDS = 60.0

# An own pool: looks block on files, and the loop's default pool is shared with every other trigger.
_POOL = ThreadPoolExecutor(max_workers=8, thread_name_prefix="streamops-act")


class ActTrigger(BaseTrigger):
    """Fires once: when the act has come about, when it can't any more, or when its time is over.

    The arguments are stored in Airflow's database and outlive releases: new ones get a default, old ones stay accepted.
    """

    def __init__(
        self,
        *,
        stream: str,
        config: str,
        act: str,
        epoch: int = 0,
        commit: int = -1,
        end_at: str = "",
        quiet_seconds: float = 15.0,
        interval_seconds: float = 2.0,
        **ignored: Any,
    ) -> None:
        super().__init__()
        self.stream = stream
        self.config = config
        self.act = act
        self.epoch = epoch
        self.commit = commit
        self.end_at = end_at
        self.quiet_seconds = quiet_seconds
        self.interval_seconds = interval_seconds
        self._looks = OneLook(_POOL)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        arguments = {
            "stream": self.stream,
            "config": self.config,
            "act": self.act,
            "epoch": self.epoch,
            "commit": self.commit,
            "end_at": self.end_at,
            "quiet_seconds": self.quiet_seconds,
            "interval_seconds": self.interval_seconds,
        }
        # The place that releases before and after this one know.
        return "streamops.airflow.act_trigger.ActTrigger", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent(await self._watch())

    async def _watch(self) -> dict[str, Any]:
        """Look until the act is done, has failed, or its time is over; trouble with files or settings is waited out.

        Nothing fires in the first seconds: Airflow 3.3 may take the end of the slice before for the end of a task that
        resumes at once (issues 72716 and 71580 of apache/airflow).
        """
        loop = asyncio.get_running_loop()
        fires_from = loop.time() + self.quiet_seconds
        desk: StreamOperations | None = None
        while True:
            try:
                if desk is None:
                    desk = await self._in_pool(self._build)
                progress = await self._in_pool(self._look(desk))
            except Exception as error:
                # Whatever it is, it is no answer; the time that is left bounds it.
                progress = ActProgress(stage=Stage.PENDING, evidence=f"{type(error).__name__}: {error}")
            is_over = progress.stage is not Stage.PENDING or _is_past(self.end_at)
            if is_over and loop.time() >= fires_from:
                return {
                    "stage": str(progress.stage),
                    "evidence": progress.evidence,
                    "epoch": progress.epoch,
                    "batch": progress.batch,
                }
            await asyncio.sleep(self.interval_seconds)

    def _build(self) -> StreamOperations:
        return build_desk(self.stream, self.config, actor="airflow:trigger")

    def _look(self, desk: StreamOperations) -> Callable[[], ActProgress]:
        awaited = AwaitedStart(epoch=self.epoch, commit=self.commit)
        return lambda: desk.progress(Act(self.act), awaited)

    async def _in_pool(self, work: Callable[[], T]) -> T:
        return await self._looks.take(work, limit_seconds=LOOK_TIMEOUT_SECONDS)


def _is_past(text: str) -> bool:
    """Whether the time is over; an end that makes no sense, as from another release, is over at once."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return True
    return datetime.now(UTC) >= (moment if moment.tzinfo else moment.replace(tzinfo=UTC))
