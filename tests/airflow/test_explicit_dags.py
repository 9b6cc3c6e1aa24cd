"""Every DAG and task of ours says what it needs, whatever defaults an installation has."""

import json
import os
import subprocess
import sys

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowTaskTimeout

from streamops.airflow.explicit_dag import tried_once
from support.settings import a_declared_stream, a_project

HOSTILE = {
    "AIRFLOW__CORE__DEFAULT_TASK_EXECUTION_TIMEOUT": "600",
    "AIRFLOW__CORE__MAX_CONSECUTIVE_FAILED_DAG_RUNS_PER_DAG": "3",
    "AIRFLOW__CORE__DEFAULT_TASK_RETRIES": "7",
    "AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY": "3600",
    "AIRFLOW__CORE__MAX_ACTIVE_RUNS_PER_DAG": "5",
    "AIRFLOW__CORE__MAX_ACTIVE_TASKS_PER_DAG": "2",
    "AIRFLOW__CORE__DEFAULT_TASK_WEIGHT_RULE": "upstream",
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
    "AIRFLOW__SCHEDULER__CATCHUP_BY_DEFAULT": "True",
    "AIRFLOW__OPERATORS__DEFAULT_OWNER": "somebody",
    "AIRFLOW__EMAIL__DEFAULT_EMAIL_ON_FAILURE": "True",
    "AIRFLOW__EMAIL__DEFAULT_EMAIL_ON_RETRY": "True",
}
"""An installation whose every default is against us."""

OF_DAGS = [
    "max_active_runs",
    "max_active_tasks",
    "max_consecutive_failed_dag_runs",
    "dagrun_timeout",
    "catchup",
    "fail_fast",
    "is_paused_upon_creation",
    "start_date",
]
OF_TASKS = [
    "owner",
    "execution_timeout",
    "retries",
    "retry_delay",
    "retry_exponential_backoff",
    "depends_on_past",
    "wait_for_downstream",
    "trigger_rule",
    "pool",
    "pool_slots",
    "priority_weight",
    "weight_rule",
    "email_on_failure",
    "email_on_retry",
]

SHOW = f"""
import json, sys
from airflow.serialization.serialized_objects import DagSerialization
from support.dags import dags_of

def fields(thing, names):
    return {{name: str(getattr(thing, name)) for name in names}}

shown = {{}}
for dag in dags_of(sys.argv[1]).values():
    back = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    shown[dag.dag_id] = {{
        "dag": fields(dag, {OF_DAGS}),
        "tasks": {{task.task_id: fields(task, {OF_TASKS}) for task in dag.tasks}},
        "scheduler": {{
            "max_consecutive_failed_dag_runs": back.max_consecutive_failed_dag_runs,
            "retries": {{task.task_id: task.retries for task in back.tasks}},
        }},
    }}
json.dump(shown, sys.stdout)
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """All kinds of DAGs as they come out under the usual defaults and under hostile ones."""
    folder = tmp_path_factory.mktemp("explicit")
    project, home = a_project(folder), {"AIRFLOW_HOME": str(folder / "airflow")}
    project.load(
        streams={
            "orders": a_declared_stream("orders"),
            "clicks": a_declared_stream("clicks", mode="scheduled", schedule={"cron": "@hourly"}),
            "returns": a_declared_stream("returns", job="jobs/gone.py"),
        }
    )

    def show(**defaults):
        command = [sys.executable, "-c", SHOW, str(project.file)]
        ended = subprocess.run(
            command,
            env=os.environ | home | {"PYTHONPATH": os.pathsep.join(sys.path)} | defaults,
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout[ended.stdout.index("{") :])

    return show(), show(**HOSTILE)


def test_no_default_of_an_installation_reaches_a_dag_or_a_task_of_ours(shown):
    usual, hostile = shown

    assert hostile == usual
    assert sorted(usual) == [
        "catchup__clicks",
        "stream__orders",
        "streamops_backfill",
        "streamops_catchup",
        "streamops_checkpoint_health",
        "streamops_config_errors",
        "streamops_ops",
        "streamops_reconcile",
        "streamops_retention_coverage",
    ]


def test_no_number_of_red_runs_pauses_a_dag(shown):
    """A DAG that is red on purpose must not fall silent, and one that keeps a stream running must not stop to."""
    _, hostile = shown

    for dag in hostile.values():
        assert dag["dag"]["max_consecutive_failed_dag_runs"] == "0"
        assert dag["scheduler"]["max_consecutive_failed_dag_runs"] == 0


def test_every_task_has_a_time_out_of_its_own_and_tries_again(shown):
    _, hostile = shown
    tasks = {(dag_id, name): task for dag_id, dag in hostile.items() for name, task in dag["tasks"].items()}

    assert all(task["execution_timeout"] not in ("None", "0:10:00") for task in tasks.values())
    assert {task["retries"] for task in tasks.values()} == {"3"}
    assert tasks["stream__orders", "supervise"]["execution_timeout"] == "0:30:00"
    assert tasks["streamops_reconcile", "reconcile"]["execution_timeout"] == "0:05:00"
    assert all(tries == 3 for dag in hostile.values() for tries in dag["scheduler"]["retries"].values())


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(OSError("away"), id="an error of ours"),
        pytest.param(AirflowTaskTimeout("too long"), id="a time-out, which is no plain exception"),
    ],
)
def test_a_round_that_went_wrong_is_left_to_the_next_one(error):
    with pytest.raises(AirflowFailException, match=type(error).__name__), tried_once():
        raise error


def test_a_verdict_is_handed_on_as_it_is():
    with pytest.raises(AirflowFailException, match=r"^orders: critical$"), tried_once():
        raise AirflowFailException("orders: critical")
