"""What users met whose DAGs came out otherwise at each parse. Each test names the report it answers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.settings import a_declared_stream, a_project

PARSE = """
import json, sys
from airflow.serialization.serialized_objects import DagSerialization
from support.dags import dags_of
print(json.dumps({dag_id: DagSerialization.to_dict(dag) for dag_id, dag in dags_of(sys.argv[1]).items()}))
"""


def parsed(config: Path, *, seed: int) -> dict[str, str]:
    """Every DAG as a DAG processor of its own writes it into the database; Airflow sorts keys before it compares."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": str(seed)}
    done = subprocess.run(
        [sys.executable, "-c", PARSE, str(config)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    dags = json.loads(done.stdout.splitlines()[-1])
    return {dag_id: json.dumps(dag, sort_keys=True) for dag_id, dag in dags.items()}


def streams(*names: str) -> dict[str, dict]:
    scheduled = {"mode": "scheduled", "schedule": {"cron": "0 * * * *"}}
    declared = {name: a_declared_stream(name, parameters={"b": "1", "a": "2"}) for name in names}
    return {**declared, "hourly": a_declared_stream("hourly", **scheduled)}


@pytest.mark.fault("B94")
def test_each_dag_is_the_same_to_the_byte_in_each_process_and_under_each_hash_seed(tmp_path):
    """apache/airflow#63334: a DAG whose serialized form differs makes a new version every 30 s."""
    project = a_project(tmp_path)
    project.load(streams=streams("orders", "clicks"))

    first, second = parsed(project.file, seed=1), parsed(project.file, seed=2)

    assert first == second
    assert {"stream__orders", "stream__clicks", "catchup__hourly", "streamops_reconcile"} <= first.keys()


@pytest.mark.fault("B94")
def test_a_stream_that_comes_or_goes_leaves_the_dags_of_the_others_as_they_are(tmp_path):
    """apache/airflow#63334: a new version under a task that runs."""
    project = a_project(tmp_path)
    project.load(streams=streams("orders", "clicks"))
    before = parsed(project.file, seed=1)

    project.load(streams=streams("orders", "returns"))
    after = parsed(project.file, seed=2)

    assert before.keys() - after.keys() == {"stream__clicks"}
    assert after.keys() - before.keys() == {"stream__returns"}
    assert {dag: before[dag] == after[dag] for dag in ("stream__orders", "catchup__hourly")} == {
        "stream__orders": True,
        "catchup__hourly": True,
    }
