"""The DAGs that Airflow sees, parsed and serialized as Airflow does it."""

import shutil
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import Asset, CronTriggerTimetable
from airflow.sdk.definitions.context import _AIRFLOW_PARSING_CONTEXT_DAG_ID
from airflow.sdk.exceptions import AirflowFailException, ParamValidationError
from airflow.serialization.serialized_objects import DagSerialization

from streamops.airflow.operators import StreamOperator
from streamops.airflow.operators.run import RunOperator
from streamops.airflow.triggers.run_due import RunDueTrigger
from support.dags import (
    BACKFILL_DAG,
    CATCHUP_DAG,
    CHECKPOINT_HEALTH_DAG,
    CONFIG_ERRORS_DAG,
    OPS_DAG,
    RECONCILE_DAG,
    RETENTION_COVERAGE_DAG,
    dag_bag,
    dags_of,
)
from support.settings import a_declared_stream, a_project

ROOT = Path(__file__).parents[2]
ORDERS = "stream__orders_to_delta"
BY_THE_HOUR = "catchup__orders_by_the_hour"


@pytest.fixture(scope="module")
def shipped():
    """What a fresh clone gives."""
    return dag_bag(ROOT / "config" / "streams.yaml")


@pytest.fixture
def orders(shipped):
    return shipped.dags[ORDERS]


@pytest.fixture
def project(tmp_path):
    """A project with two streams, both fine."""
    project = a_project(tmp_path)
    project.load(streams={name: a_declared_stream(name) for name in ("orders", "clicks")})
    return project


@pytest.fixture
def asked_for(monkeypatch):
    """What a worker does before it parses: it names the DAG whose task it runs."""
    return lambda dag_id: monkeypatch.setenv(_AIRFLOW_PARSING_CONTEXT_DAG_ID, dag_id)


FLEET = [RECONCILE_DAG, CHECKPOINT_HEALTH_DAG, RETENTION_COVERAGE_DAG, OPS_DAG, CATCHUP_DAG, BACKFILL_DAG]


def ids(config: Path, file: str = "") -> list[str]:
    return sorted(dags_of(config, file))


def with_a_bad_stream(project):
    bad = a_declared_stream("clicks", job="jobs/gone.py")
    project.load(streams={"orders": a_declared_stream("orders"), "clicks": bad})


# The shipped folder


def test_the_shipped_dags_import_without_errors(shipped):
    assert shipped.import_errors == {}
    assert set(shipped.dags) == {ORDERS, BY_THE_HOUR, *FLEET}


@pytest.mark.parametrize("kind", ["live", "scheduled"])
def test_a_stream_is_shown_as_it_declares(project, kind):
    shown = {
        "owner": "payments",
        "display_name": "Orders → silver",
        "tags": ["tier-1"],
        "runbook": "https://wiki/orders",
    }
    scheduled = {"mode": "scheduled", "trigger": {"available_now": True}, "schedule": {"cron": "@hourly"}}
    changes = scheduled if kind == "scheduled" else {}
    project.load(streams={"orders": a_declared_stream("orders", airflow=shown, **changes)})

    bag = dag_bag(project.file)
    dag = bag.dags["catchup__orders" if kind == "scheduled" else "stream__orders"]

    assert (dag.owner, dag.dag_display_name, dag.owner_links) == (
        "payments",
        "Orders → silver",
        {"payments": "https://wiki/orders"},
    )
    assert {"streamops", "tier-1"} < dag.tags
    assert "<https://wiki/orders>" in dag.doc_md
    assert bag.dags[OPS_DAG].owner == "streamops"
    DagSerialization.to_dict(dag)


def test_a_stream_is_supervised_by_one_task(orders):
    (task,) = orders.tasks

    assert isinstance(task, StreamOperator)
    assert (task.task_id, task.stream) == ("supervise", "orders_to_delta")


@pytest.mark.fault("B73")
def test_a_run_begins_when_one_is_due_and_never_two_at_once(orders):
    (asset,) = orders.schedule
    (watcher,) = asset.watchers

    assert isinstance(watcher.trigger, RunDueTrigger)
    assert (watcher.trigger.dag, watcher.trigger.stream) == (ORDERS, "orders_to_delta")
    assert orders.max_active_runs == 1
    assert orders.catchup is False


def test_only_runs_that_are_due_are_allowed(orders):
    """A manual run would queue for ever behind the one that lives."""
    assert orders.allowed_run_types == {"asset_triggered"}


def test_a_new_stream_is_supervised_at_once(orders):
    """A paused DAG restarts nothing, and new DAGs are paused unless told otherwise."""
    assert orders.is_paused_upon_creation is False


def test_the_dag_survives_the_way_through_the_database(orders):
    back = DagSerialization.from_dict(DagSerialization.to_dict(orders))

    assert back.dag_id == ORDERS
    assert back.task_ids == ["supervise"]
    assert back.max_active_runs == 1
    assert back.is_paused_upon_creation is False
    assert back.allowed_run_types == {"asset_triggered"}


def test_the_page_of_a_stream_says_what_it_is_and_what_red_means(place):
    place.declare(description="orders | \x1b[31mnow")
    (dag,) = dags_of(Path(place.config), "streams.py").values()
    doc = dag.doc_md

    assert f"| reads | {place.spec.source} |" in doc
    assert f"| checkpoint | {place.spec.checkpoint} |" in doc
    assert "orders \\| \\x1b[31mnow" in doc
    assert "form of the DAG `streamops_ops`" in doc


# Bounded runs


@pytest.fixture
def by_the_hour(shipped):
    return shipped.dags[BY_THE_HOUR]


def test_a_scheduled_stream_runs_one_task_at_the_times_that_it_declares(by_the_hour):
    (task,) = by_the_hour.tasks

    assert by_the_hour.timetable.expression == "0 * * * *"
    assert by_the_hour.timetable.timezone == "UTC"
    assert isinstance(by_the_hour.timetable, CronTriggerTimetable)
    assert (task.task_id, task.stream) == ("run", "orders_by_the_hour")
    assert isinstance(task, RunOperator)


def test_missed_runs_become_one_and_none_begins_while_one_lasts(by_the_hour):
    """Each reads all that there is: two in a row would find nothing, two at once must not be."""
    assert by_the_hour.catchup is False
    assert by_the_hour.max_active_runs == 1


def test_a_new_scheduled_stream_runs_without_being_asked(by_the_hour):
    assert by_the_hour.is_paused_upon_creation is False


def test_a_run_tells_others_that_its_table_has_grown(by_the_hour):
    (outlet,) = by_the_hour.get_task("run").outlets

    assert isinstance(outlet, Asset)
    assert outlet.name == "streamops orders_by_the_hour"
    assert outlet.uri.endswith("/tables/orders_by_the_hour")


def test_the_form_of_a_catch_up_runs_only_when_somebody_asks(shipped):
    dag = shipped.dags[CATCHUP_DAG]

    assert dag.schedule is None
    assert dag.is_paused_upon_creation is False
    assert sorted(dag.params.get_param("stream").schema["enum"]) == ["orders_by_the_hour", "orders_to_delta"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("stream", "returns", id="a stream that is not declared"),
        pytest.param("reason", "", id="no reason"),
        pytest.param("budget_hours", 0, id="no time at all"),
        pytest.param("budget_hours", "soon", id="a word for a number"),
    ],
)
def test_the_form_of_a_catch_up_refuses_what_makes_no_sense(shipped, field, value):
    with pytest.raises(ParamValidationError):
        shipped.dags[CATCHUP_DAG].params.get_param(field).resolve(value)


@pytest.mark.parametrize("dag_id", [BY_THE_HOUR, CATCHUP_DAG])
def test_the_dags_of_runs_survive_the_way_through_the_database(shipped, dag_id):
    back = DagSerialization.from_dict(DagSerialization.to_dict(shipped.dags[dag_id]))

    assert back.task_ids == ["run"]
    assert back.is_paused_upon_creation is False


# The factory


def test_a_stream_has_the_dag_of_its_mode(project):
    by_the_hour = a_declared_stream("clicks", mode="scheduled", schedule={"cron": "@hourly"})
    project.load(streams={"orders": a_declared_stream("orders"), "clicks": by_the_hour})

    assert ids(project.file) == sorted(["catchup__clicks", "stream__orders", *FLEET])


def test_every_stream_gets_a_dag_of_its_own(project):
    assert ids(project.file) == sorted(["stream__clicks", "stream__orders", *FLEET])


def test_a_bad_stream_leaves_the_others_and_shows_itself(project):
    with_a_bad_stream(project)

    found = dags_of(project.file)

    assert sorted(found) == sorted(["stream__orders", CONFIG_ERRORS_DAG, *FLEET])
    errors = found[CONFIG_ERRORS_DAG]
    assert errors.is_paused_upon_creation is False
    assert "clicks" in errors.doc_md
    assert "jobs/gone.py" in errors.doc_md


def test_the_dag_of_problems_fails_with_the_problems(project):
    with_a_bad_stream(project)
    errors = dags_of(project.file)[CONFIG_ERRORS_DAG]

    with pytest.raises(AirflowFailException, match=r"jobs/gone\.py"):
        errors.get_task("report").python_callable()


def test_the_dag_of_problems_survives_the_way_through_the_database(project):
    with_a_bad_stream(project)
    errors = dags_of(project.file)[CONFIG_ERRORS_DAG]

    back = DagSerialization.from_dict(DagSerialization.to_dict(errors))

    assert back.task_ids == ["report"]
    assert "jobs/gone.py" in back.doc_md


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("streams: [", id="no YAML"),
        pytest.param("streams: {}", id="no state_root"),
        pytest.param("state_root: s3://bucket/state\nstreams: {}", id="state in a place that is not supported"),
    ],
)
def test_a_file_that_is_wrong_as_a_whole_raises_where_no_good_version_is_kept(project, text):
    """Airflow shows an import error; no DAG at all would look like a decision."""
    project.file.write_text(text)

    bag = dag_bag(project.file)

    assert bag.dags == {}
    ((file, error),) = bag.import_errors.items()
    assert file.endswith("streams.py")
    assert "streams.yaml" in error


def test_a_file_that_is_gone_is_an_import_error_of_the_dag_file(project):
    project.file.unlink()

    bag = dag_bag(project.file)

    assert bag.dags == {}
    ((file, error),) = bag.import_errors.items()
    assert file.endswith("streams.py")
    assert "SettingsError" in error
    assert "streams.yaml" in error


@pytest.fixture
def kept(project):
    """The project after its settings were kept: something is in its state root, and the file was parsed."""
    (project.root / "data" / "state" / "registry").mkdir(parents=True)
    return project, sorted(dag_bag(project.file).dags)


def break_syntax(file):
    file.write_text(file.read_text().replace("state_root", "streams: [\nstate_root", 1))


def cut_off(file):
    file.write_text(file.read_text()[:100])


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(break_syntax, id="no YAML"),
        pytest.param(cut_off, id="half written"),
        pytest.param(lambda file: file.unlink(), id="gone"),
        pytest.param(lambda file: file.write_text("streams: {}"), id="no state root"),
    ],
)
def test_a_file_that_breaks_leaves_every_dag_and_adds_the_one_that_shows_it(kept, harm):
    project, before = kept

    harm(project.file)

    bag = dag_bag(project.file)
    assert bag.import_errors == {}
    assert sorted(bag.dags) == sorted([*before, CONFIG_ERRORS_DAG])
    assert "streams.yaml" in bag.dags[CONFIG_ERRORS_DAG].doc_md
    assert "clicks (declared since 20" in bag.dags[CONFIG_ERRORS_DAG].doc_md


def test_a_worker_finds_its_dag_while_the_file_is_broken(kept, asked_for):
    project, _ = kept
    break_syntax(project.file)
    asked_for("stream__clicks")

    assert ids(project.file, "streams.py") == ["stream__clicks"]


def test_a_bad_stream_keeps_the_dag_of_its_last_good_declaration(kept):
    project, before = kept
    with_a_bad_stream(project)

    assert sorted(dag_bag(project.file).dags) == sorted([*before, CONFIG_ERRORS_DAG])


def test_a_dag_file_of_others_that_is_broken_touches_none_of_ours(kept, tmp_path, notes, monkeypatch):
    project, before = kept
    folder = tmp_path / "dags"
    shutil.copytree(ROOT / "dags", folder)
    shutil.rmtree(notes)  # The folder is another one than before.
    (folder / "reports.py").write_text("from airflow.sdk import DAG\n  this is no Python")
    monkeypatch.setenv("STREAMOPS_CONFIG", str(project.file))

    bag = DagBag(str(folder))

    assert sorted(bag.dags) == sorted(before)
    assert [Path(file).name for file in bag.import_errors] == ["reports.py"]


def test_when_every_stream_is_wrong_their_problems_are_all_that_is_shown(project):
    """The file itself can be read: this is a decision about each of them."""
    bad = {name: a_declared_stream(name, job=f"jobs/{name}_gone.py") for name in ("orders", "clicks")}
    project.load(streams=bad)

    found = dags_of(project.file)

    assert sorted(found) == sorted([CONFIG_ERRORS_DAG, *FLEET])
    errors = found[CONFIG_ERRORS_DAG]
    assert "orders_gone.py" in errors.doc_md
    assert "clicks_gone.py" in errors.doc_md


def test_a_section_on_which_no_stream_depends_is_shown_and_touches_none(project):
    project.file.write_text(project.file.read_text() + "\ncheckpoint_health: {every: often}\n")

    found = dags_of(project.file)

    assert sorted(found) == sorted(["stream__clicks", "stream__orders", CONFIG_ERRORS_DAG, *FLEET])
    errors = found[CONFIG_ERRORS_DAG]
    assert "checkpoint_health.every: found 'often'" in errors.doc_md


def test_no_streams_are_no_dags(project):
    project.load(streams={})

    assert ids(project.file) == []


# In a worker


def test_a_worker_gets_only_the_dag_that_it_runs(project, asked_for):
    asked_for("stream__clicks")

    assert ids(project.file, "streams.py") == ["stream__clicks"]


def test_a_worker_of_a_run_gets_only_its_dag(project, asked_for):
    by_the_hour = a_declared_stream("clicks", mode="scheduled", schedule={"cron": "@hourly"})
    project.load(streams={"orders": a_declared_stream("orders"), "clicks": by_the_hour})
    asked_for("catchup__clicks")

    assert ids(project.file, "scheduled_streams.py") == ["catchup__clicks"]


def test_a_worker_of_the_problems_gets_only_these(project, asked_for):
    with_a_bad_stream(project)
    asked_for(CONFIG_ERRORS_DAG)

    assert ids(project.file, "config_errors.py") == [CONFIG_ERRORS_DAG]


def test_a_worker_of_a_stream_is_not_bothered_with_the_problems_of_another(project, asked_for):
    with_a_bad_stream(project)
    asked_for("stream__orders")

    assert ids(project.file, "streams.py") == ["stream__orders"]
