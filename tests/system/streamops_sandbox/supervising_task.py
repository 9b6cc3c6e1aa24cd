"""The Airflow task that supervises one stream, seen and struck from outside."""

import time
from datetime import timedelta

from streamops.spec.wire import stream_dag_id
from streamops_sandbox.airflow_api import AirflowApi, DagRun, TaskInstance
from streamops_sandbox.drivers import process_titled
from streamops_sandbox.errors import SandboxError

TASK = "supervise"
PROCESS_LIMIT = timedelta(seconds=90)
_LOOK_SECONDS = 0.05
_LOOKS_FOR_ONE_ID = 10


class SupervisingTask:
    """Task `supervise` of a stream's DAG, in the run that is under way."""

    def __init__(self, api: AirflowApi, stream: str) -> None:
        self._api = api
        self.dag_id = stream_dag_id(stream)

    def run(self) -> DagRun | None:
        """The run that is under way, else the newest; None before the first.

        Clearing a task brings its ended run back, while the next one may be queued already: it waits for this one's end.
        """
        runs = self._api.dag_runs(self.dag_id)
        return next((run for run in runs if run.state == "running"), runs[0] if runs else None)

    def instance(self) -> TaskInstance | None:
        """The task in that run."""
        run = self.run()
        instances = self._api.task_instances(self.dag_id, run.run_id) if run else ()
        return next((instance for instance in instances if instance.task_id == TASK), None)

    def missing_to_deferral(self) -> str:
        """Empty when the task is deferred, which is how it watches; else what it is instead."""
        instance = self.instance()
        state = instance.state if instance else "absent"
        return "" if state == "deferred" else f"task {TASK} to be deferred, now {state}"

    def clear(self) -> None:
        """Let the task of that run start again, as a person does in the UI."""
        run = self.run()
        if run is None:
            raise SandboxError(f"{self.dag_id} has no run yet")
        self._api.clear_task_instance(self.dag_id, run.run_id, TASK)

    def process(self) -> int | None:
        """The pid of the process of the task's present try; None while it has none."""
        instance = self.instance()
        return process_titled(f"airflow worker -- {instance.attempt_id}") if instance else None

    def await_process(self) -> int:
        """The pid of the task's process as soon as it shows: a deferred task has none, and a new try lives for seconds."""
        end = time.monotonic() + PROCESS_LIMIT.total_seconds()
        while time.monotonic() < end:
            instance = self.instance()
            # The process table is cheap to read, the API is not; a new try has a new id.
            for _ in range(_LOOKS_FOR_ONE_ID):
                pid = process_titled(f"airflow worker -- {instance.attempt_id}") if instance else None
                if pid:
                    return pid
                time.sleep(_LOOK_SECONDS)
        raise SandboxError(f"no process of {self.dag_id}.{TASK} was seen: look into the scheduler's log")
