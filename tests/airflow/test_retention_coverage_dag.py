"""The DAG that tells until when what streams need is still in Kafka, its tasks, and a whole run of it."""

import json
import logging
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import AirflowFailException
from airflow.serialization.serialized_objects import DagSerialization
from airflow.utils.db import initdb

from streamops.airflow import retention_coverage as module
from streamops.airflow.retention_coverage import (
    run_report,
    run_shard,
)
from streamops.airflow.verdict_rounds import run_gather
from streamops.clock import SystemClock
from streamops.settings import load_settings
from support.brokers import A_WEEK, FakeBroker
from support.checkpoints import commit, metadata, offsets
from support.dags import RETENTION_COVERAGE_DAG, only_dag
from support.settings import a_declared_stream, a_project

ROOT = Path(__file__).parents[2]
NAMES = ("orders", "clicks", "returns")


class Readers:
    """A project with streams that each read a topic of their own name from a broker in memory, and stand at 50 of 100."""

    def __init__(self, root):
        self.project = a_project(root)
        self.broker = FakeBroker(SystemClock())
        self.accesses = []
        self.declare(*NAMES)
        for name in NAMES:
            self.stands_at(name, 50)
            self.broker.has(name, (0, 100))

    @property
    def config(self):
        return str(self.project.file)

    @property
    def settings(self):
        return load_settings(self.config)

    def declare(self, *names, kafka=None, **section):
        streams = {
            name: a_declared_stream(name, source={"kafka": {"topics": [name], **(kafka or {})}}) for name in names
        }
        content = {"state_root": "data/state", "streams": streams, "retention_coverage": section}
        self.project.load_text(yaml.safe_dump(content))

    def stands_at(self, name, offset):
        for file, content in {
            "metadata": metadata(),
            "offsets/0": offsets(f'{{"{name}":{{"0":{offset}}}}}'),
            "commits/0": commit(),
        }.items():
            path = self.project.root / "data" / "checkpoints" / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def client(self, access):
        self.accesses.append(access)
        return self.broker

    def shown(self):
        """What each task of a round shows, as it comes out of Airflow's database."""
        answer = json.loads(json.dumps(run_shard(self.config, shard=0, shards=1)))
        return json.loads(json.dumps(run_gather([answer], shards=1)))


@pytest.fixture
def readers(tmp_path, monkeypatch):
    readers = Readers(tmp_path)
    monkeypatch.setattr(module, "broker_at", readers.client)
    return readers


# The DAG


def test_it_runs_as_often_as_its_own_section_says(readers):
    readers.declare(*NAMES, every="7m", shards=2)

    dag = only_dag(readers.config, "retention_coverage.py")

    assert dag.dag_id == RETENTION_COVERAGE_DAG == "streamops_retention_coverage"
    assert (dag.schedule, dag.max_active_runs, dag.catchup) == (timedelta(minutes=7), 1, False)
    assert dag.get_task("check").op_kwargs_expand_input.value == {"shard": [0, 1]}


def test_it_survives_the_way_through_the_database(readers):
    back = DagSerialization.from_dict(DagSerialization.to_dict(only_dag(readers.config, "retention_coverage.py")))

    assert back.task_ids == ["check", "gather", "report"]
    assert back.get_task("gather").trigger_rule == "all_done"


# The shards


def test_streams_that_are_fine_show_nothing(readers):
    assert readers.shown() == []


def test_all_streams_of_a_cluster_are_asked_for_at_once(readers):
    readers.shown()

    assert readers.broker.scans == [frozenset(NAMES)]


def test_looks_are_kept_beside_each_control_log(readers):
    readers.shown()

    kept = [readers.project.root / "data" / "checkpoints" / f"{name}.streamops" / "coverage.json" for name in NAMES]
    assert [path.exists() for path in kept] == [True, True, True]


def test_a_change_is_told_once_to_whom_the_section_names(readers, tmp_path, monkeypatch):
    (tmp_path / "alerts_of_coverage.py").write_text("TOLD = []\ndef tell(change):\n    TOLD.append(change)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    readers.declare(*NAMES, on_change="alerts_of_coverage:tell")
    readers.broker.has("orders", (80, 100))

    for _ in range(3):
        readers.shown()

    (change,) = __import__("alerts_of_coverage").TOLD
    assert str(change) == "orders: no verdict -> critical (records-partly-lost)"
    assert change.subject == "retention"


def test_whom_to_tell_can_not_be_had_and_the_section_is_named(readers):
    readers.declare(*NAMES, on_change="gone_alerts:tell")

    (checks,) = readers.shown()

    assert checks["label"] == "the checks themselves"
    assert "retention_coverage.on_change: gone_alerts:tell can't be had" in checks["lines"][0]


def test_a_mistake_in_the_section_of_the_other_rounds_is_not_told_here(readers):
    readers.project.file.write_text(readers.project.file.read_text() + "\ncheckpoint_health: {every: often}\n")

    assert readers.shown() == []


# Credentials


def test_the_credentials_come_from_the_connection_and_stay_out_of_logs_and_results(readers, monkeypatch, caplog):
    extra = {"security.protocol": "SASL_SSL", "sasl.username": "watcher", "sasl.password": "s3cret"}
    monkeypatch.setenv("AIRFLOW_CONN_ORDERS_KAFKA", json.dumps({"conn_type": "kafka", "extra": extra}))
    readers.declare(*NAMES, kafka={"connection": "orders_kafka"})
    readers.broker.has("orders", (80, 100))

    with caplog.at_level(logging.DEBUG):
        shown = readers.shown()
        with pytest.raises(AirflowFailException):
            run_report(readers.config, shown[0])

    assert dict(readers.accesses[0].properties)["sasl.password"] == "s3cret"
    kept = [path.read_text() for path in (readers.project.root / "data").rglob("*.json*")]
    assert len(kept) > 3
    assert not any("s3cret" in text for text in (json.dumps(shown), caplog.text, *kept))


def test_a_connection_that_is_not_there_leaves_its_streams_unknown(readers):
    readers.declare(*NAMES, kafka={"connection": "nowhere"})

    shown = readers.shown()

    assert {task["label"]: task["verdict"] for task in shown} == dict.fromkeys(NAMES, "unknown")
    assert "connection nowhere can't be had from Airflow" in shown[0]["lines"][0]


# The task of a stream


def test_a_stream_that_lost_records_fails_its_task_with_the_table_in_its_log(readers, caplog):
    readers.broker.has("orders", (80, 100))
    (shown,) = readers.shown()

    with caplog.at_level(logging.INFO, logger="streamops"), pytest.raises(AirflowFailException) as failed:
        run_report(readers.config, shown)

    assert str(failed.value) == "orders: critical: the round found critical: records-partly-lost"
    table = [line.split() for line in caplog.text.splitlines() if line.startswith(("query", "orders "))]
    assert table[0][:7] == ["query", "partition", "standing", "next", "earliest", "latest", "lag"]
    assert table[1][:7] == ["orders", "orders-0", "partly-lost", "50", "80", "100", "50"]


def test_a_warning_succeeds_with_the_report_in_its_log(readers, caplog):
    readers.declare(*NAMES, kafka={"tolerated_outage": "3d"})
    for name in NAMES:
        readers.broker.has(name, (0, 100), retention=replace(A_WEEK, time=timedelta(days=1)))
    shown = readers.shown()[0]

    run_report(readers.config, shown)

    assert shown["verdict"] == "warning"
    assert "need retention.ms 261000000" in caplog.text


def test_a_task_that_is_cleared_when_all_is_well_again_says_so(readers, caplog):
    readers.broker.has("orders", (80, 100))
    (shown,) = readers.shown()
    readers.stands_at("orders", 90)

    with caplog.at_level(logging.INFO, logger="streamops"):
        run_report(readers.config, shown)

    assert "orders: ok: everything that it needs is there" in caplog.text


# A whole run


@pytest.fixture(scope="module")
def database():
    initdb()


@pytest.mark.usefixtures("database")
def test_a_whole_run_labels_each_stream_that_is_not_ok_and_is_red_while_one_is_critical(readers, monkeypatch):
    readers.broker.has("orders", (80, 100))
    readers.broker.has("clicks", (0, 20))
    monkeypatch.setenv("STREAMOPS_CONFIG", readers.config)

    run = DagBag(str(ROOT / "dags")).dags[RETENTION_COVERAGE_DAG].test()

    found = {(task.task_id, task.rendered_map_index): task.state for task in run.get_task_instances()}
    assert run.state == "failed"
    # An end below the offset that was read is unknown until the next round has found it as well.
    assert {label: state for (task, label), state in found.items() if task == "report"} == {
        "orders": "failed",
        "clicks": "success",
    }
