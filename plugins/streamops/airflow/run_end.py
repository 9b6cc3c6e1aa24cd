"""The end of a bounded run because a person has given its task an end. A trigger and a task ask the same here."""

import logging
from dataclasses import dataclass

from streamops.airflow.services import build_run_desk

log = logging.getLogger(__name__)

ENDED_STATES = frozenset({"failed", "success", "skipped"})
"""States that a person gives a task. After a clear it has none or a new one, and after a move to another triggerer it is
still deferred: `on_kill` of a trigger comes in all these cases (Airflow 3.3, pull request 73454 of apache/airflow). That of a
task comes with SIGTERM, whoever sent it: while a worker shuts down, the task is still running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOfTask:
    """A bounded run and the task that asked for it."""

    stream: str
    config: str
    number: int
    """Of the record that asks for the run."""
    backfill: str = ""
    dag_id: str = ""
    run_id: str = ""
    task_id: str = ""

    def state(self) -> str:
        """The state of the task now; empty for none. Raises whatever Airflow raises where its server does not answer."""
        from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

        states = RuntimeTaskInstance.get_task_states(dag_id=self.dag_id, task_ids=[self.task_id], run_ids=[self.run_id])
        return str(states.get(self.run_id, {}).get(self.task_id) or "")

    def end(self, state: str) -> None:
        """Ask for the end of the run, between two batches, because the task has this state. StreamOpsError."""
        actor = f"airflow:{self.dag_id}/{self.task_id}"
        desk = build_run_desk(self.stream, self.config, actor=actor, backfill=self.backfill)
        record = desk.end(f"its task was marked {state}", number=self.number)
        log.info("stream=%s run %d %s", self.stream, self.number, "is ended" if record else "is over already")

    def end_if_given(self) -> str:
        """End the run where the task was given an end; that state, empty where it was not, or the run could not be ended.

        Unknown is no wish: the run goes on, and ends by itself or when its time is over.
        """
        try:
            state = self.state()
        except Exception as error:  # an API server that is away is an AirflowRuntimeError, which is a plain Exception
            log.warning("stream=%s run %d: the state of its task can't be had: %r", self.stream, self.number, error)
            return ""
        if state not in ENDED_STATES:
            log.info("stream=%s run %d goes on: its task is %s", self.stream, self.number, state or "in no state")
            return ""
        try:
            self.end(state)
        except Exception:
            log.exception(
                "stream=%s run %d could not be ended; it ends when its time is over", self.stream, self.number
            )
        return state
