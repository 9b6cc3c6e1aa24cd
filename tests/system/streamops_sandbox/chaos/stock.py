"""A stream under Airflow's own SparkSubmitOperator whose worker is killed.

What happens to a stream that belongs to a task:

1. The task process and its supervisor are killed (SIGKILL), as with a lost worker. The driver lives on, alone.
2. Airflow finds out, waits its retry delay, and starts the task again: a second driver on the same checkpoint.
3. What the two write is compared with what was sent, and Delta's log tells who wrote what.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from streamops_sandbox.airflow_api import AirflowApi, TaskInstance
from streamops_sandbox.chaos.fleet import RATE, Fleet
from streamops_sandbox.chaos.overlap import OverlapWatch
from streamops_sandbox.chaos.stock_files import DAG_ID, TASK, write_stock_files
from streamops_sandbox.drivers import kill, kill_drivers_below, live_drivers, parent_of, process_titled
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.sandboxed_stream import SandboxedStream

FIRST_LIMIT = timedelta(minutes=6)
LIMIT = timedelta(minutes=25)
"""Airflow's own patience is five minutes with a silent task and five more before a retry; then a driver starts."""

_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StockRound:
    """One killed worker; durations in seconds from the kill, None for what did not happen within the limit."""

    second_driver: float | None
    """Until a new try had started another driver."""
    running_again: float | None
    """Until one driver alone lived, a running task was its owner, and it had committed a batch."""
    two_alive: float
    """How long two drivers or more lived on the same checkpoint."""
    most_alive: int
    drivers_started: int
    """By new tries: all but the last of them failed."""
    first_driver_survived: bool


class Stock:
    """One sandbox with stock Airflow and one stream."""

    def __init__(self, fleet: Fleet, *, retry_delay: int) -> None:
        self.fleet = fleet
        self._retry_delay = retry_delay
        # No control log lies there: it is the mark by which the drivers are found.
        self._control = f"file://{fleet.sandbox.layout.root}/stock"

    def up(self) -> SandboxedStream:
        """Bring the stream's first driver up and wait for batches."""
        self.fleet.begin_anew()
        (stream,) = self.fleet.declare()
        write_stock_files(self.fleet.sandbox.layout, stream.spec, control=self._control, retry_delay=self._retry_delay)
        self.fleet.sandbox.start_orders(stream.topic, rate=RATE)
        self.fleet.sandbox.up()
        stream.wait_committed(2, what="first batches", limit=FIRST_LIMIT)
        return stream

    def strike(self, stream: SandboxedStream) -> StockRound:
        """Kill the worker and watch until the stream is run by a living task again, or the limit has passed."""
        api = self.fleet.sandbox.api()
        first, instance = self._leaders(), _running(api)
        if instance is None or len(first) != 1:
            raise SandboxError(f"one driver of a running task is expected, found {len(first)} drivers")
        with OverlapWatch(self._control) as watch:
            begin = time.monotonic()
            _kill_worker(instance)
            second = self._until(begin, lambda: bool(self._leaders() - first))
            at_second = stream.timeline.committed()
            again = self._until(begin, lambda: self._is_owned(api) and stream.timeline.committed() > at_second)
        return StockRound(
            second_driver=second,
            running_again=again,
            two_alive=watch.seconds,
            most_alive=watch.most,
            drivers_started=len(watch.all_leaders - first),
            first_driver_survived=bool(self._leaders() & first),
        )

    def down(self) -> None:
        """Airflow first: it would start the driver again."""
        root = f"file://{self.fleet.sandbox.layout.root}"
        self.fleet.sandbox.down(before_broker_stops=[lambda: kill_drivers_below(root)])

    def _leaders(self) -> set[int]:
        return {driver.leader for driver in live_drivers(self._control)}

    def _is_owned(self, api: AirflowApi) -> bool:
        """Whether one driver alone lives, and it is of the process group of the running task."""
        leaders, instance = self._leaders(), _running(api)
        return len(leaders) == 1 and instance is not None and _process_of(instance) in leaders

    def _until(self, begin: float, condition: Callable[[], bool]) -> float | None:
        while time.monotonic() - begin < LIMIT.total_seconds():
            if condition():
                return round(time.monotonic() - begin, 1)
            time.sleep(_LOOK_SECONDS)
        return None


def changes_of_author(written_by: Sequence[str]) -> int:
    """How often the writer of a table changed from one version to the next: more than once a kill means two at work."""
    return sum(one != other for one, other in pairwise(written_by))


def _running(api: AirflowApi) -> TaskInstance | None:
    runs = api.dag_runs(DAG_ID)
    instances = [found for run in runs[:2] for found in api.task_instances(DAG_ID, run.run_id)]
    return next((found for found in instances if found.task_id == TASK and found.state == "running"), None)


def _process_of(instance: TaskInstance) -> int | None:
    return process_titled(f"airflow worker -- {instance.attempt_id}")


def _kill_worker(instance: TaskInstance) -> None:
    """SIGKILL for the task's process and its parent, which supervises it: what a lost worker takes along."""
    pid = _process_of(instance)
    supervisor = parent_of(pid) if pid else None
    if pid is None or supervisor is None:
        raise SandboxError("the running task has no process")
    kill(supervisor)
    kill(pid)
