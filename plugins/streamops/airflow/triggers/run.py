"""The trigger of a bounded run: as that of a stream, and marking its task failed or done ends the run.

That is what tells a run from a live query: a run belongs to whoever asked for it.
"""

import asyncio
import logging
from typing import Any

from asgiref.sync import sync_to_async

from streamops.airflow.run_end import ENDED_STATES, RunOfTask
from streamops.airflow.triggers import StreamTrigger
from streamops.airflow.triggers.declared_supervisor import DeclaredSupervisor
from streamops.backfill import progress_of
from streamops.backfill.backfill_service import backfill_spec
from streamops.control.backfill_plan import BackfillPlan, read_plan
from streamops.diagnosis.companions import read_checkpoints
from streamops.errors import StreamOpsError
from streamops.spec import StreamSpec
from streamops.storage.kinds import storage_for
from streamops.supervision.supervisor import Look, Supervisor

log = logging.getLogger(__name__)

ASK_TIMES = 5
ASK_PAUSE_SECONDS = 3.0

_ENDINGS: set["asyncio.Task[None]"] = set()
"""Kept, because Airflow gives `on_kill` itself one second only."""


class RunTrigger(StreamTrigger):
    """Fires once: when there is something to do for the run, when it is over, or when it stands still.

    The arguments are stored in Airflow's database and outlive releases: new ones get a default, old ones stay accepted.
    """

    tells_standstill = False

    place = "streamops.airflow.run_trigger.RunTrigger"

    def __init__(
        self,
        *,
        run: int = -1,
        backfill: str = "",
        dag_id: str = "",
        run_id: str = "",
        task_id: str = "",
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.run_number = run
        self.backfill = backfill
        self._plan: BackfillPlan | None = None
        self._told = -1
        self.dag_id = dag_id
        self.run_id = run_id
        self.task_name = task_id

    def serialize(self) -> tuple[str, dict[str, Any]]:
        path, arguments = super().serialize()
        own = {
            "run": self.run_number,
            "backfill": self.backfill,
            "dag_id": self.dag_id,
            "run_id": self.run_id,
            "task_id": self.task_name,
        }
        return path, {**arguments, **own}

    def supervisor(self, spec: StreamSpec, state_root: str) -> Supervisor:
        """Of the declared stream itself, or of its backfill."""
        if self.backfill:
            # Read once: a plan never changes, and a large one takes a while that other triggers would wait for.
            self._plan = self._plan or read_plan(storage_for(spec.checkpoint), spec.checkpoint, self.backfill)
            spec = backfill_spec(spec, self._plan)
        return super().supervisor(spec, state_root)

    def look(self, declared: DeclaredSupervisor) -> Look:
        """A look; of a backfill it also tells how far it has come, each twentieth once."""
        look = super().look(declared)
        if self._plan:
            try:
                self._tell_progress(self._plan, declared.supervisor.spec.checkpoint)
            except StreamOpsError as error:
                log.warning("stream=%s backfill=%s how far it is can't be told: %s", self.stream, self.backfill, error)
        return look

    def is_due(self, look: Look) -> bool:
        """Also when the run is over: another supervisor may have done everything."""
        state = look.observation.state
        open_one = state.maintenance
        is_over = (open_one is None or open_one.record != self.run_number) and state.replacement is None
        return is_over or super().is_due(look)

    def event(self, look: Look, supervisor: Supervisor) -> dict[str, str]:
        return {**super().event(look, supervisor), "run": str(self.run_number)}

    async def on_kill(self) -> None:
        """End the run soon, if a person has given its task an end; called within a second or not at all."""
        ending = asyncio.get_running_loop().create_task(self._end_if_wanted())
        _ENDINGS.add(ending)
        ending.add_done_callback(_ENDINGS.discard)

    async def _end_if_wanted(self) -> None:
        state = await self._task_state()
        if state not in ENDED_STATES:
            log.info("stream=%s run %d goes on: its task is %s", self.stream, self.run_number, state)
            return
        try:
            await self._in_pool(lambda: self._run.end(state))
        except Exception:
            log.exception(
                "stream=%s run %d could not be ended; it ends when its time is over", self.stream, self.run_number
            )

    @property
    def _run(self) -> RunOfTask:
        return RunOfTask(
            stream=self.stream,
            config=self.config,
            number=self.run_number,
            backfill=self.backfill,
            dag_id=self.dag_id,
            run_id=self.run_id,
            task_id=self.task_name,
        )

    def _tell_progress(self, plan: BackfillPlan, checkpoint: str) -> None:
        own, companions = read_checkpoints(storage_for(checkpoint), checkpoint)
        done = progress_of(plan, [facts.last_commit for facts in (own, *companions)])
        if done.percent // 5 > self._told // 5:
            self._told = done.percent
            log.info(
                "stream=%s backfill=%s %d %% done: %d of %d offsets, %d of %d steps",
                self.stream,
                self.backfill,
                done.percent,
                done.records_done,
                done.records,
                done.steps_done,
                done.steps,
            )

    async def _task_state(self) -> str:
        """The state of the task now; empty where Airflow does not say."""
        for _ in range(ASK_TIMES):
            try:
                return await sync_to_async(self._run.state)()
            except (
                Exception
            ) as error:  # an API server that is away is an AirflowRuntimeError, which is a plain Exception
                log.warning("stream=%s the state of its task can't be had: %r", self.stream, error)
                await asyncio.sleep(ASK_PAUSE_SECONDS)
        return ""
