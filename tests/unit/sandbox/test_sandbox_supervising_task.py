"""Which run of a stream's DAG its task is looked for in."""

from datetime import UTC, datetime

import pytest

from streamops_sandbox.airflow_api import DagRun
from streamops_sandbox.supervising_task import SupervisingTask

STARTED = datetime(2026, 3, 1, tzinfo=UTC)


class Runs:
    """Airflow's runs of one DAG, newest first, as its API gives them."""

    def __init__(self, *runs: tuple[str, str, datetime | None]) -> None:
        self._runs = tuple(
            DagRun(run_id=name, state=state, started_at=started_at, ended_at=None) for name, state, started_at in runs
        )

    def dag_runs(self, dag_id: str) -> tuple[DagRun, ...]:
        return self._runs


@pytest.mark.parametrize(
    ("runs", "found"),
    [
        pytest.param((("new", "running", STARTED), ("old", "failed", STARTED)), "new", id="the newest runs"),
        pytest.param((("new", "queued", None), ("old", "running", STARTED)), "old", id="cleared, its successor waits"),
        pytest.param((("new", "queued", None), ("old", "failed", STARTED)), "new", id="between two runs"),
        pytest.param((("new", "failed", STARTED), ("old", "success", STARTED)), "new", id="none is under way"),
    ],
)
def test_the_task_is_looked_for_in_the_run_that_is_under_way(runs, found):
    run = SupervisingTask(Runs(*runs), "orders").run()

    assert run.run_id == found


def test_a_dag_without_runs_has_no_task():
    task = SupervisingTask(Runs(), "orders")

    assert task.run() is None
    assert task.instance() is None
