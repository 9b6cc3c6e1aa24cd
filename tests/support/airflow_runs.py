"""A stream whose bounded runs are made inside Airflow: its cluster is in memory, its drivers end as they are told.

For tests/airflow only, whose conftest makes the environment that Airflow reads.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.sdk.exceptions import TaskDeferred

from streamops.airflow import services
from streamops.airflow.operators.run import RunOperator
from streamops.clock import SystemClock
from streamops.control import codec
from streamops.control.attendance import Attendance, attendance_address
from streamops.control.drivers import DriverPhase, ExitRecord, Heartbeat, QueryBeat, QueryStep
from streamops.control.layout import EXIT, HEARTBEAT, driver_folder
from streamops.control.log import ControlLog, LogReader
from streamops.control.records import Author, MaintenanceBegun, Outcome, Parked, Record
from streamops.settings import load_settings
from streamops.storage import join
from streamops.storage.local import LocalStorage
from support.brokers import FakeBroker
from support.checkpoints import write_checkpoint
from support.dags import only_dag
from support.records import a_record
from support.waiting import eventually

SCHEDULED = {"mode": "scheduled", "schedule": {"cron": "@hourly"}}
INSTANCE = "0a0a0a0a"
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Run:
    """As much of a DAG run as the task looks at."""

    run_id: str = "scheduled__1"
    dag_id: str = "catchup__orders"
    triggering_user_name: str | None = None
    run_after: datetime = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TaskInstance:
    """As much of a task instance as the task looks at."""

    run_id: str
    dag_id: str = "catchup__orders"
    task_id: str = "run"


class RunPlace:
    """Runs the slices of the task, and plays the driver, other supervisors and people."""

    def __init__(self, place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        self.broker = FakeBroker(SystemClock())
        self.broker.has("orders", (0, 30), (0, 40))
        monkeypatch.setattr(services, "cluster_of", lambda clock, access=None: lambda spec: self.broker)
        place.declare(**SCHEDULED)

    def task(self, **form: Any) -> RunOperator:
        """The task of the stream's DAG, or with a form as somebody has filled it in."""
        if form:
            return RunOperator(task_id="run", stream="orders", config=self.place.config, **form)
        task = only_dag(self.place.config, "scheduled_streams.py").get_task("run")
        assert isinstance(task, RunOperator)
        return task

    def context(self, **run: Any) -> dict[str, Any]:
        made = Run(**run)
        return {"dag_run": made, "ti": TaskInstance(run_id=made.run_id)}

    def result(self, *, task: RunOperator | None = None, **run: Any) -> dict[str, Any]:
        """The first slice of a try; what the task returned."""
        return (task or self.task()).execute(self.context(**run))

    def begin(self, *, task: RunOperator | None = None, **run: Any) -> TaskDeferred:
        """The first slice of a try; how it was deferred."""
        with pytest.raises(TaskDeferred) as deferred:
            self.result(task=task, **run)
        return deferred.value

    def woken(self, **event: str) -> dict[str, Any]:
        """A further slice; what the task returned."""
        told = {"wake": "record-end", "reason": "epoch 1 has ended", "run": str(self.run_number), **event}
        return self.task().resume(self.context(), told)

    def woken_into_sleep(self, task: RunOperator | None = None) -> TaskDeferred:
        """A further slice after which the task sleeps again; how it was deferred."""
        event = {"wake": "record-end", "reason": "epoch 1 has ended", "run": str(self.run_number)}
        with pytest.raises(TaskDeferred) as deferred:
            (task or self.task()).resume(self.context(), event)
        return deferred.value

    def wait_until_over(self) -> None:
        """Until the time of the newest run is over: a second or two."""
        until = self.asked[-1].body.until
        assert eventually(lambda: datetime.now(UTC) > until)

    @property
    def run_number(self) -> int:
        """Of the newest run that was asked for."""
        return self.asked[-1].number

    @property
    def asked(self) -> list[Record]:
        """Every record that asks for a run."""
        return [record for record in self.records if isinstance(record.body, MaintenanceBegun)]

    @property
    def records(self) -> tuple[Record, ...]:
        return LogReader(LocalStorage(), self.place.control).read()

    def ask_elsewhere(self, *, budget: timedelta = HOUR) -> Record:
        """Somebody asks for a run at a terminal."""
        run = self.place.spec.bounded_run
        return self.place.person().begin_run(run, "by hand", until=datetime.now(UTC) + budget)

    def attend(self, *, ago: timedelta = timedelta(0)) -> None:
        """Somebody else looked after the stream so long ago."""
        at = datetime.now(UTC) - ago
        sign = Attendance(stream="orders", at=at, by=Author(actor="supervise", host="host-1", pid=7))
        address = attendance_address(load_settings(self.place.config).state_root, "orders")
        LocalStorage().write(address, codec.encode(sign))

    def has_read(self, batches: int) -> None:
        """The checkpoint holds so many batches, all committed, up to offsets 23 and 40."""
        numbers = range(batches)
        write_checkpoint(LocalStorage(), self.place.spec.checkpoint, planned=numbers, committed=numbers)

    def finish(self, *, batches: int = 2, rows: int = 63, outcome: Outcome = Outcome.FINISHED, text: str = "") -> None:
        """The newest driver has run its batches and ends like this."""
        self.has_read(batches)
        newest, at = self.place.state.newest, datetime.now(UTC).isoformat()
        query = QueryBeat(
            query_id="q",
            name="orders",
            step=QueryStep.ENDED,
            step_seconds=0.0,
            progress_seconds=0.0,
            batch=batches - 1,
            batches=batches,
            input_rows=rows,
        )
        beat = Heartbeat(
            epoch=newest.number,
            instance=INSTANCE,
            token=newest.claim.token,
            sequence=3,
            phase=DriverPhase.ENDED,
            at=at,
            host="host-1",
            pid=9,
            queries=(query,),
        )
        left = ExitRecord(epoch=newest.number, instance=INSTANCE, outcome=outcome, at=at, text=text)
        self._leave(newest.number, HEARTBEAT, beat)
        self._leave(newest.number, EXIT, left)
        self.place.kill(self.place.handles[-1])

    def park(self) -> None:
        """The stream stands still until somebody releases it."""
        log = ControlLog(LocalStorage(), self.place.control)
        log.append(a_record(Parked(), self.place.state.next_number, reason="six failures in a row"))

    def _leave(self, epoch: int, name: str, value: object) -> None:
        LocalStorage().write(join(driver_folder(self.place.control, epoch, INSTANCE), name), codec.encode(value))
