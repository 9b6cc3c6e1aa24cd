"""The DAG that judges the checkpoints of all streams, its tasks, and a whole run of it."""

import json
import logging
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import AirflowFailException
from airflow.serialization.serialized_objects import DagSerialization
from airflow.utils.db import initdb

from streamops.airflow import checkpoint_health as module
from streamops.airflow.checkpoint_health import (
    run_report,
    run_shard,
)
from streamops.airflow.verdict_rounds import run_gather
from streamops.control.layout import control_folder
from streamops.control.snapshot import load_state
from streamops.fleet.health_round import shard_of
from streamops.settings import load_settings
from streamops.storage.local import LocalStorage
from support.base_checkpoint import INPUT, files
from support.dags import CHECKPOINT_HEALTH_DAG, dags_of, only_dag
from support.settings import a_declared_stream, a_project

ROOT = Path(__file__).parents[2]
NAMES = ("orders", "clicks", "returns")
ALERTS = "TOLD = []\ndef tell(change):\n    TOLD.append(str(change))\n"

OF_FILES = {"kafka": None, "files": {"path": "data/in", "format": "json", "schema": "n BIGINT"}}
"""What the checkpoints of these streams were written with."""


class Fleet:
    """A project with three streams whose checkpoints are whole."""

    def __init__(self, root):
        self.project = a_project(root)
        self.input = root / "data" / "in"
        self.input.mkdir(parents=True)
        self.declare(*NAMES)
        for name in NAMES:
            self.heal(name)

    @property
    def config(self):
        return str(self.project.file)

    @property
    def settings(self):
        return load_settings(self.config)

    def declare(self, *names, **section):
        streams = {name: a_declared_stream(name, source=OF_FILES) for name in names}
        content = {"state_root": "data/state", "streams": streams, "checkpoint_health": section}
        self.project.load_text(yaml.safe_dump(content))

    def checkpoint(self, name):
        return self.project.root / "data" / "checkpoints" / name

    def heal(self, name):
        for file, content in files().items():
            path = self.checkpoint(name) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.replace(INPUT.encode(), f"file://{self.input}".encode()))

    def damage(self, name):
        (self.checkpoint(name) / "commits" / "4").write_bytes(b"")

    def hide(self, name):
        """Where its folder of offsets was lies a file: nothing can be listed there."""
        offsets = self.checkpoint(name) / "offsets"
        offsets.rename(offsets.with_name("offsets.away"))
        offsets.write_text("")

    def state(self, name):
        return load_state(LocalStorage(), control_folder(self.settings.stream(name).checkpoint))

    def shard(self):
        """The answer of a single shard, as it comes out of Airflow's database."""
        return json.loads(json.dumps(run_shard(self.config, shard=0, shards=1)))

    def shown(self):
        """What each task of the round shows."""
        return json.loads(json.dumps(run_gather([self.shard()], shards=1)))


@pytest.fixture
def fleet(tmp_path):
    return Fleet(tmp_path)


@pytest.fixture
def alerts(fleet, tmp_path, monkeypatch, request):
    """A module of alerts of somebody's own, named in the settings; what it was called with."""
    name = f"alerts_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(ALERTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    fleet.declare(*NAMES, on_change=f"{name}:tell")
    return __import__(name).TOLD


def shown_for(fleet, stream):
    return next(shown for shown in fleet.shown() if shown["stream"] == stream)


# The DAG


def test_it_runs_as_often_as_the_settings_say_and_never_twice_at_once(fleet):
    fleet.declare(*NAMES, every="7m")

    dag = only_dag(fleet.config, "checkpoint_health.py")

    assert dag.dag_id == CHECKPOINT_HEALTH_DAG
    assert dag.schedule == timedelta(minutes=7)
    assert (dag.catchup, dag.max_active_runs, dag.is_paused_upon_creation) == (False, 1, False)
    assert dag.dagrun_timeout == timedelta(minutes=10)


def test_no_task_runs_into_the_next_round(fleet):
    dag = only_dag(fleet.config, "checkpoint_health.py")

    assert {task.task_id: task.execution_timeout for task in dag.tasks} == {
        "check": timedelta(minutes=5),
        "gather": timedelta(minutes=5),
        "report": timedelta(minutes=5),
    }


@pytest.mark.parametrize(
    ("names", "section", "shards"),
    [
        pytest.param(NAMES, {}, 3, id="no more shards than streams"),
        pytest.param(NAMES, {"shards": 2}, 2, id="as declared"),
    ],
)
def test_the_streams_are_shared_by_so_many_tasks(fleet, names, section, shards):
    fleet.declare(*names, **section)

    check = only_dag(fleet.config, "checkpoint_health.py").get_task("check")

    assert check.op_kwargs_expand_input.value == {"shard": list(range(shards))}


def test_there_is_no_dag_where_nothing_is_declared(fleet):
    fleet.declare()

    assert dags_of(fleet.config, "checkpoint_health.py") == {}


def test_it_survives_the_way_through_the_database(fleet):
    back = DagSerialization.from_dict(DagSerialization.to_dict(only_dag(fleet.config, "checkpoint_health.py")))

    assert back.task_ids == ["check", "gather", "report"]
    assert back.get_task("gather").trigger_rule == "all_done"
    assert back.get_task("report").upstream_task_ids == {"gather"}
    assert back.max_active_runs == 1


# The shards


def test_a_shard_looks_at_its_own_streams_and_all_shards_at_all(fleet):
    answers = [run_shard(fleet.config, shard=shard, shards=2) for shard in range(2)]

    counts = [sum(answer["counts"].values()) for answer in answers]
    assert counts == [sum(shard_of(name, 2) == shard for name in NAMES) for shard in range(2)]
    assert sum(counts) == 3


def test_a_fleet_that_is_fine_shows_nothing(fleet):
    assert fleet.shown() == []


def test_no_streams_are_nothing_to_look_at(fleet, caplog):
    fleet.declare()

    with caplog.at_level(logging.INFO, logger="streamops"):
        assert fleet.shown() == []

    assert "0 streams: nothing to look at" in caplog.text


def test_one_bad_declaration_hides_no_other_stream(fleet):
    fleet.damage("clicks")
    streams = {"orders": a_declared_stream("orders", job="jobs/none.py", source=OF_FILES)}
    streams |= {"clicks": a_declared_stream("clicks", source=OF_FILES)}
    fleet.project.load(streams=streams)

    assert [shown["label"] for shown in fleet.shown()] == ["clicks"]


def test_settings_that_declare_nothing_fail_it(fleet):
    fleet.project.load_text("streams: [")

    with pytest.raises(AirflowFailException, match="declare nothing that could be checked"):
        run_shard(fleet.config, shard=0, shards=1)


def test_a_state_root_that_can_not_be_used_fails_the_run_and_hides_no_verdict(fleet):
    fleet.damage("orders")
    state = fleet.project.root / "data" / "state"
    shutil.rmtree(state)
    state.write_text("a file where a folder should be")

    stream, checks = fleet.shown()

    assert (stream["label"], stream["verdict"]) == ("orders", "critical")
    assert checks["label"] == "the checks themselves"
    assert "can't be asked, so no verdict is kept and no change is told" in checks["lines"][0]
    with pytest.raises(AirflowFailException, match="the checks themselves"):
        run_report(fleet.config, checks)


def test_a_change_is_told_once_to_whom_the_settings_name(fleet, alerts):
    fleet.damage("orders")

    for _ in range(3):
        fleet.shown()

    assert alerts == ["orders: no verdict -> critical (unreadable-last-commit)"]


def test_whom_to_tell_can_not_be_had_and_the_checks_go_on(fleet):
    fleet.declare(*NAMES, on_change="gone_alerts:tell")
    fleet.damage("orders")

    stream, checks = fleet.shown()

    assert stream["label"] == "orders"
    assert len(checks["lines"]) == 2
    assert "checkpoint_health.on_change: gone_alerts:tell can't be had: ModuleNotFoundError" in checks["lines"][0]
    assert "orders: its verdict is not told" in checks["lines"][1]


def test_settings_of_the_rounds_that_are_wrong_are_told_and_the_defaults_count(fleet):
    fleet.declare(*NAMES, every="often")
    fleet.damage("orders")

    stream, checks = fleet.shown()

    assert stream["label"] == "orders"
    assert "checkpoint_health.every: found 'often', expected a duration" in checks["lines"][0]


def test_a_stream_that_has_no_log_gets_none(fleet):
    fleet.damage("orders")

    fleet.shown()

    assert fleet.state("orders").is_empty


def test_a_stream_that_runs_is_left_alone_and_its_history_has_the_verdict(place):
    """Its driver lives on, and nothing but the verdict was recorded."""
    handle = place.start()
    place.person().stop("upgrade")  # A log in which nothing else is about to happen.
    checkpoint = place.project.root / "data" / "checkpoints" / "orders"
    for file, content in files(commits_4=b"").items():
        path = checkpoint / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    answer = run_shard(place.config, shard=0, shards=1)

    assert answer["counts"] == {"critical": 1}
    assert place.kinds == ["claimed", "submitted", "stop_requested", "verdict_changed"]
    assert place.state.verdict == "critical"
    assert place.is_alive(handle)


# The task of a stream


def test_a_critical_stream_fails_its_task_with_the_report_in_its_log(fleet, caplog):
    fleet.damage("orders")
    shown = shown_for(fleet, "orders")

    with caplog.at_level(logging.INFO, logger="streamops"), pytest.raises(AirflowFailException) as failed:
        run_report(fleet.config, shown)

    assert str(failed.value) == "orders: critical: the round found critical: unreadable-last-commit"
    assert "critical  unreadable-last-commit  commits/4" in caplog.text
    assert "repair: delete commits/4" in caplog.text


def test_a_stream_that_can_not_be_judged_succeeds_with_the_report_in_its_log(fleet, caplog):
    fleet.hide("orders")
    shown = shown_for(fleet, "orders")

    run_report(fleet.config, shown)

    assert shown["verdict"] == "unknown"
    assert [record.levelname for record in caplog.records if "orders" in record.message] == ["WARNING"]


def test_a_task_that_is_cleared_after_the_repair_says_that_it_holds(fleet, caplog):
    fleet.damage("orders")
    shown = shown_for(fleet, "orders")
    fleet.heal("orders")

    with caplog.at_level(logging.INFO, logger="streamops"):
        run_report(fleet.config, shown)

    assert "the round found critical: unreadable-last-commit" in caplog.text
    assert "\nok  file://" in caplog.text


def test_what_was_critical_and_can_not_be_seen_now_is_critical(fleet):
    fleet.damage("orders")
    shown = shown_for(fleet, "orders")
    fleet.hide("orders")

    with pytest.raises(AirflowFailException, match="orders: critical"):
        run_report(fleet.config, shown)


def test_a_look_for_the_report_is_nowhere_kept(fleet, alerts):
    fleet.damage("orders")
    shown = shown_for(fleet, "orders")
    fleet.heal("orders")
    folder = fleet.project.root / "data" / "state" / "health" / "orders"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    for _ in range(2):
        run_report(fleet.config, shown)

    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert len(alerts) == 1


def test_a_stream_that_left_the_settings_since_is_told_by_what_the_round_found(fleet):
    fleet.damage("orders")
    shown = shown_for(fleet, "orders")
    fleet.declare("clicks", "returns")

    with pytest.raises(
        AirflowFailException, match="orders: critical: the round found critical: unreadable-last-commit"
    ):
        run_report(fleet.config, shown)


@pytest.mark.parametrize("verdict", ["warning", "unknown"])
def test_a_task_for_many_succeeds_unless_one_is_critical(fleet, verdict, caplog):
    shown = {"label": "and 9 more", "stream": "", "verdict": verdict, "lines": ["a warning: x", "b warning: y"]}

    run_report(fleet.config, shown)

    assert "and 9 more\na warning: x\nb warning: y" in caplog.text
    with pytest.raises(AirflowFailException, match="and 9 more: critical: a warning: x"):
        run_report(fleet.config, {**shown, "verdict": "critical"})


# A whole run


@pytest.fixture(scope="module")
def database():
    initdb()


@pytest.mark.usefixtures("database")
def test_a_whole_run_labels_each_stream_that_is_not_ok_and_is_red_while_one_is_critical(fleet, monkeypatch, caplog):
    """With a shard that dies, whose death hides nothing, and a place whose name looks like a template."""
    hostile = "data/checkpoints/{{ 7 * 7 }}"
    streams = {name: a_declared_stream(name, source=OF_FILES) for name in ("orders", "returns")}
    streams["clicks"] = a_declared_stream("clicks", checkpoint=hostile, source=OF_FILES)
    fleet.project.load(streams=streams)
    fleet.checkpoint("clicks").rename(fleet.project.root / hostile)
    fleet.damage("orders")
    fleet.hide("{{ 7 * 7 }}")
    lost = 1
    assert {shard_of(name, 3) for name in NAMES} == {0, 2}

    def run_shard_or_die(config, *, shard, shards):
        if shard == lost:
            raise MemoryError("the shard was killed")
        return run_shard(config, shard=shard, shards=shards)

    monkeypatch.setattr(module, "run_shard", run_shard_or_die)
    monkeypatch.setenv("STREAMOPS_CONFIG", fleet.config)

    run = DagBag(str(ROOT / "dags")).dags[CHECKPOINT_HEALTH_DAG].test()

    found = {(task.task_id, task.rendered_map_index): task.state for task in run.get_task_instances()}
    assert run.state == "failed"
    assert {label: state for (task, label), state in found.items() if task == "report"} == {
        "orders": "failed",
        "clicks": "success",
        "the checks themselves": "failed",
    }
    assert "the round found unknown: file://" in caplog.text
    assert "{{ 7 * 7 }}" in caplog.text
    assert "checkpoints/49" not in caplog.text
    assert f"shard {lost} gave no answer" in caplog.text
