"""Several settings files in one Airflow: each has ids of its own, and a clash names both sides."""

import shutil
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag

from streamops.airflow.namespaces import own_namespace
from streamops.airflow.reconciling import AirflowFacts
from streamops.settings import load_settings
from streamops.spec.wire import dag_id_of, spec_text
from support.dags import FOLDER
from support.settings import a_declared_stream, a_project


class Teams:
    """Two teams, each with a settings file, and with a folder of DAG files in the one folder of their Airflow."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "dags"
        self.folder.mkdir()
        self.projects = {team: a_project(root / team) for team in ("team_a", "team_b")}
        for team in self.projects:
            self.declare(team, namespace=team)
            shutil.copytree(FOLDER, self.folder / team, ignore=shutil.ignore_patterns("__pycache__"))
            (self.folder / team / "streams.yaml").symlink_to(self.projects[team].file)

    def declare(self, team, *, namespace=""):
        by_the_hour = a_declared_stream("clicks", mode="scheduled", schedule={"cron": "@hourly"})
        project = self.projects[team]
        project.load(streams={"orders": a_declared_stream("orders"), "clicks": by_the_hour})
        if namespace:
            project.file.write_text(f"namespace: {namespace}\n{project.file.read_text()}")

    def parsed(self, *teams):
        """The DAG files as Airflow parses them, one folder after the other."""
        return [DagBag(str(self.folder / team)) for team in teams]


@pytest.fixture
def teams(tmp_path):
    return Teams(tmp_path)


def test_each_file_has_ids_of_its_own(teams):
    a, b = teams.parsed("team_a", "team_b")

    assert (a.import_errors, b.import_errors) == ({}, {})
    assert {"team_a__stream__orders", "team_a__catchup__clicks", "team_a__streamops_reconcile"} <= a.dags.keys()
    assert all(dag_id.startswith("team_b__") for dag_id in b.dags)
    assert len(a.dags) == len(b.dags) == 8
    assert not a.dags.keys() & b.dags.keys()


def test_a_file_without_a_namespace_keeps_the_ids_that_it_had(teams):
    teams.declare("team_a")

    (bag,) = teams.parsed("team_a")

    assert "stream__orders" in bag.dags
    assert "streamops_reconcile" in bag.dags


@pytest.mark.parametrize("namespace", ["", "shop"])
def test_the_second_file_with_a_namespace_is_refused_and_the_first_goes_on(teams, namespace):
    for team in ("team_a", "team_b"):
        teams.declare(team, namespace=namespace)

    first, second, again = teams.parsed("team_a", "team_b", "team_a")

    assert (first.import_errors, again.import_errors) == ({}, {})
    assert sorted(again.dags) == sorted(first.dags)
    assert second.dags == {}
    error = next(error for file, error in second.import_errors.items() if file.endswith("streams.py"))
    files = (*(project.file for project in teams.projects.values()), *teams.folder.glob("*/streams.py"))
    assert [str(file) for file in files if str(file) not in error] == []


def test_one_settings_file_in_two_dag_files_is_refused_too(teams):
    shutil.copytree(teams.folder / "team_a", teams.folder / "copy", symlinks=True)

    first, second = teams.parsed("team_a", "copy")

    assert first.import_errors == {}
    assert second.dags == {}
    error = "".join(second.import_errors.values())
    assert f"{teams.folder / 'team_a' / 'reconcile.py'} and {teams.folder / 'copy' / 'reconcile.py'}" in error


def test_a_dag_file_that_is_refused_takes_no_other_kind_away(teams):
    for team in ("team_a", "team_b"):
        teams.declare(team, namespace="shop")
    for file in (teams.folder / "team_b").glob("*.py"):
        if file.name != "on_call.py":
            file.unlink()

    first, second = teams.parsed("team_a", "team_b")

    assert first.import_errors == {}
    ((file, _),) = second.import_errors.items()
    assert file.endswith("on_call.py")


def test_a_settings_file_may_move(teams):
    teams.parsed("team_a")
    project = teams.projects["team_a"]
    moved = project.file.rename(project.file.with_name("moved.yaml"))
    (teams.folder / "team_a" / "streams.yaml").unlink()
    (teams.folder / "team_a" / "streams.yaml").symlink_to(moved)

    (_, bag) = teams.parsed("team_b", "team_a")

    assert bag.import_errors == {}


def test_so_may_a_dag_file(teams):
    teams.parsed("team_a")
    (teams.folder / "team_a").rename(teams.folder / "renamed")

    assert teams.parsed("renamed")[0].import_errors == {}


def test_a_settings_file_that_is_away_for_a_moment_keeps_its_namespace(teams):
    """Its DAG file goes by what was declared last."""
    teams.declare("team_b", namespace="team_a")
    (teams.projects["team_a"].root / "data" / "state" / "registry").mkdir(parents=True)
    teams.parsed("team_a")
    teams.projects["team_a"].file.unlink()

    second, first = teams.parsed("team_b", "team_a")

    assert "same ids" in "".join(second.import_errors.values())
    assert "team_a__stream__orders" in first.dags


def test_a_worker_claims_nothing(teams, monkeypatch, notes):
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "team_a__stream__orders")

    bag = DagBag(str(teams.folder / "team_a" / "streams.py"))

    assert list(bag.dags) == ["team_a__stream__orders"]
    assert not notes.exists()


def test_a_home_that_can_not_be_written_to_takes_no_dag_away(tmp_path):
    (tmp_path / "file").touch()

    own_namespace("", "/a.yaml", kind="streams", dag_file="/a.py", environment={"AIRFLOW_HOME": str(tmp_path / "file")})
    own_namespace("", "/a.yaml", kind="streams", dag_file="/a.py", environment={})


@pytest.mark.parametrize("namespace", ["Team", "stream", "catchup", "team__b", "team_", "7", "a" * 41])
def test_a_namespace_that_could_be_taken_for_another_part_of_an_id_is_refused(teams, namespace):
    teams.declare("team_a", namespace=namespace)

    (bag,) = teams.parsed("team_a")

    assert bag.dags == {}
    assert "namespace" in "".join(bag.import_errors.values())


def test_a_namespace_is_no_other_declaration_of_what_runs(teams):
    plain, named = (load_settings(teams.projects[team].file) for team in ("team_a", "team_b"))
    teams.declare("team_a")
    without = load_settings(plain.path).stream("orders")

    assert dag_id_of(plain.stream("orders")) == "team_a__stream__orders"
    assert named.stream("clicks").namespace == "team_b"
    assert spec_text(without) == spec_text(plain.stream("orders"))


def test_the_reconciler_asks_for_the_dags_of_its_namespace(monkeypatch):
    asked = []

    class Dag:
        is_paused = True

    def get_dag(dag_id):
        asked.append(dag_id)
        return Dag

    monkeypatch.setattr("airflow.sdk.execution_time.task_runner.RuntimeTaskInstance.get_dag", get_dag)
    facts = AirflowFacts(frozenset({"clicks"}), namespace="team_b")

    found = [facts.task_of(stream, in_detail=False) for stream in ("orders", "clicks")]

    assert asked == [task.dag for task in found] == ["team_b__stream__orders", "team_b__catchup__clicks"]
