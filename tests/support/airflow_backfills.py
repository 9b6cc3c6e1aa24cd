"""A backfill inside Airflow: the form, the slices of its tasks, and its driver, which ends as it is told.

For tests/airflow only, whose conftest makes the environment that Airflow reads.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from airflow.sdk.exceptions import TaskDeferred

from streamops.airflow import services
from streamops.airflow import services as act_desk
from streamops.airflow.operators.backfill import BackfillOperator, PlanBackfillOperator
from streamops.backfill.backfill_service import backfill_spec
from streamops.clock import SystemClock
from streamops.control import codec
from streamops.control.backfill_plan import BackfillPlan, backfill_ids, read_plan
from streamops.control.drivers import ExitRecord
from streamops.control.layout import EXIT, control_folder, driver_folder
from streamops.control.log import LogReader
from streamops.control.records import DriverHandle, MaintenanceBegun, Outcome, Record, Submitted
from streamops.control.snapshot import load_state
from streamops.control.state import LogState
from streamops.launch import DriverState
from streamops.operations.requests import Requests
from streamops.settings import load_settings
from streamops.storage import join
from streamops.storage.local import LocalStorage
from streamops.supervision.supervisor import Supervisor
from support.airflow_runs import Run, TaskInstance
from support.brokers import FakeBroker
from support.checkpoints import commit, metadata, offsets
from support.dags import BACKFILL_DAG, only_dag
from support.specs import PERSON

NAME = "manual-1-19b04f56"
"""Of the backfill that the DAG run `manual__1` stands for."""


class BackfillPlace:
    """Fills the form in, runs its tasks slice by slice, and plays the driver and other people."""

    def __init__(self, place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        self.storage = LocalStorage()
        self.broker = FakeBroker(SystemClock())
        self.broker.has("orders", (0, 1000), (0, 200))
        monkeypatch.setattr(act_desk, "ConfluentBroker", lambda access, clock: self.broker)
        monkeypatch.setattr(services, "cluster_of", lambda clock, access=None: lambda spec: self.broker)
        place.declare()

    def context(self, **form: Any) -> dict[str, Any]:
        """What a task gets for a form that differs like this from a sound one."""
        params = {name: param.value for name, param in only_dag(self.place.config, "backfill.py").params.items()}
        params |= {
            "stream": "orders",
            "from": '{"orders":{"0":100,"1":50}}',
            "to": '{"orders":{"0":400,"1":150}}',
            "reason": "a wrong rate",
            "table": str(self.place.project.root / "again"),
            "chunk": 200,
            "dry_run": False,
            **form,
        }
        run = Run(run_id="manual__1", dag_id=BACKFILL_DAG, triggering_user_name="ana")
        return {"params": params, "dag_run": run, "ti": TaskInstance(run_id=run.run_id, dag_id=BACKFILL_DAG)}

    def plan(self, **form: Any) -> None:
        """The task that shows the plan."""
        task = self._dag.get_task("plan")
        assert isinstance(task, PlanBackfillOperator)
        task.execute(self.context(**form))

    def result(self, **form: Any) -> dict[str, Any]:
        """The first slice of a try; what the task returned."""
        return self._task().execute(self.context(**form))

    def begin(self, **form: Any) -> TaskDeferred:
        """The first slice of a try; how it was deferred."""
        with pytest.raises(TaskDeferred) as deferred:
            self.result(**form)
        return deferred.value

    def woken(self) -> dict[str, Any]:
        """A further slice; what the task returned."""
        told = {"wake": "record-end", "reason": "the driver has ended", "run": str(self.asked[-1].number)}
        return self._task().resume(self.context(), told)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all backfills that have a folder."""
        return backfill_ids(self.storage, self.place.spec.checkpoint)

    @property
    def kept(self) -> BackfillPlan:
        """The plan as drivers find it."""
        return read_plan(self.storage, self.place.spec.checkpoint, NAME)

    @property
    def records(self) -> tuple[Record, ...]:
        """The backfill's control log."""
        return LogReader(self.storage, self._control).read()

    @property
    def kinds(self) -> list[str]:
        """What was recorded, in order."""
        return [record.body.kind for record in self.records]

    @property
    def asked(self) -> list[Record]:
        """Every record that asks for a run."""
        return [record for record in self.records if isinstance(record.body, MaintenanceBegun)]

    @property
    def handles(self) -> list[DriverHandle]:
        """Every driver of the backfill, oldest first."""
        return [record.body.handle for record in self.records if isinstance(record.body, Submitted)]

    @property
    def is_driver_alive(self) -> bool:
        return self.place.launcher.poll(self.handles[-1]).state is not DriverState.ENDED

    def run_steps(self, count: int) -> None:
        """The driver commits the next steps."""
        address, plan = self._spec.checkpoint, self.kept
        self.storage.write(join(address, "metadata"), metadata())
        done = len(self.storage.list(join(address, "commits")))
        for step in range(done, done + count):
            self.storage.write(join(address, "offsets", str(step)), offsets(plan.chunks[step].source_text))
            self.storage.write(join(address, "commits", str(step)), commit())

    def leave(self, outcome: Outcome, *, text: str = "", rows: int = 400) -> None:
        """The newest driver ends with this word."""
        number, at = self.state.newest.number, datetime.now(UTC).isoformat()
        left = ExitRecord(epoch=number, instance="0a0a0a0a", outcome=outcome, at=at, text=text, input_rows=rows)
        self.storage.write(join(driver_folder(self._control, number, "0a0a0a0a"), EXIT), codec.encode(left))
        self.place.kill(self.handles[-1])

    def person(self) -> Requests:
        """Somebody at a terminal."""
        return Requests(self._spec, storage=self.storage, clock=SystemClock(), author=PERSON)

    def supervisor(self) -> Supervisor:
        """Another one, which sees the backfill through as well."""
        state_root = load_settings(self.place.config).state_root
        return services.supervisor_of(self._spec, state_root=state_root, actor="airflow:test", may_submit=True)

    def kill_drivers(self) -> None:
        for handle in self.handles if NAME in self.names else ():
            self.place.launcher.kill(handle)

    @property
    def state(self) -> LogState:
        """The fold of the backfill's control log."""
        return load_state(self.storage, self._control)

    @property
    def _dag(self) -> Any:
        return only_dag(self.place.config, "backfill.py")

    @property
    def _spec(self) -> Any:
        return backfill_spec(self.place.spec, self.kept)

    @property
    def _control(self) -> str:
        return control_folder(self._spec.checkpoint)

    def _task(self) -> BackfillOperator:
        """With its templates filled in, as Airflow hands it to a worker."""
        task = self._dag.get_task("run")
        assert isinstance(task, BackfillOperator)
        task.stream, task.reason = "orders", "a wrong rate"
        return task
