from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from streamops.spec import StreamSpec
from support.settings import Project, a_declared_stream, a_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return a_project(tmp_path)


def load_one(project: Project, **changes: Any) -> StreamSpec:
    settings = project.load(streams={"orders": a_declared_stream(**changes)})
    assert settings.errors == ()
    return settings.stream("orders")


def test_paths_become_absolute_and_addresses_canonical(project: Project) -> None:
    spec = load_one(
        project, sink={"delta": {"table": "s3a://lake/orders/"}, "dead_letters": "data/../dead"}, checkpoint="data/cp/"
    )

    assert spec.job == str(project.root / "jobs/orders.py")
    assert spec.checkpoint == project.address("data/cp")
    assert spec.sink.table == "s3://lake/orders"
    assert spec.sink.dead_letters == project.address("dead")


def test_jars_are_expanded_in_order_and_listed_once(project: Project) -> None:
    spec = load_one(project, launch={"jars": ["jars/b.jar", "jars/*.jar", "s3a://lake/c.jar"]})

    assert spec.launch.jars == (str(project.root / "jars/b.jar"), str(project.root / "jars/a.jar"), "s3a://lake/c.jar")


def test_jars_that_are_not_there_are_fetched_by_make_setup(project: Project) -> None:
    settings = project.load(streams={"orders": a_declared_stream(launch={"jars": ["none/*.jar"]})})

    assert settings.errors[0].place == "streams.orders.launch.jars[0]"
    assert "`make setup`" in settings.errors[0].expected


@pytest.mark.parametrize(
    ("declared", "resolved"),
    [
        pytest.param(".venv/bin/spark-submit", "{root}/.venv/bin/spark-submit", id="a path counts from the project"),
        pytest.param("/opt/spark/bin/spark-submit", "/opt/spark/bin/spark-submit", id="absolute"),
        pytest.param("spark-submit", "spark-submit", id="a name is left to the PATH"),
    ],
)
def test_spark_submit_is_a_path_or_a_command(project: Project, declared: str, resolved: str) -> None:
    spec = load_one(project, launch={"spark_submit": declared})

    assert spec.launch.spark_submit == resolved.format(root=project.root)


def test_numbers_and_booleans_reach_spark_and_kafka_as_they_are_written(project: Project) -> None:
    spec = load_one(
        project,
        launch={"conf": {"spark.ui.enabled": False, "spark.sql.shuffle.partitions": 2}},
        source={"kafka": {"options": {"maxOffsetsPerTrigger": 10000, "failOnDataLoss": True}}},
    )

    assert spec.launch.conf == (("spark.sql.shuffle.partitions", "2"), ("spark.ui.enabled", "false"))
    assert spec.source.options == (("failOnDataLoss", "true"), ("maxOffsetsPerTrigger", "10000"))


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        pytest.param({"job": "jobs/none.py"}, "job", id="job that is not there"),
        pytest.param({"job": "jobs"}, "job", id="job that is a folder"),
        pytest.param({"launch": {"folder": "none"}}, "launch.folder", id="folder that is not there"),
        pytest.param({"checkpoint": "/"}, "checkpoint", id="root of the file system"),
        pytest.param({"checkpoint": "s3://bucket/"}, "checkpoint", id="root of a bucket"),
        pytest.param({"checkpoint": "s3://bucket/cp"}, "checkpoint", id="storage of a later version"),
        pytest.param({"checkpoint": "s3:bucket"}, "checkpoint", id="not an address"),
        pytest.param({"checkpoint": "a\0b"}, "checkpoint", id="not a path"),
        pytest.param({"sink": {"delta": {"table": "s3://bucket"}}}, "sink.delta.table", id="table in a bucket's root"),
    ],
)
def test_a_place_that_cannot_serve_is_refused(project: Project, changes: dict[str, Any], place: str) -> None:
    settings = project.load(streams={"orders": a_declared_stream(**changes)})

    assert [error.place for error in settings.errors] == [f"streams.orders.{place}"]


def test_what_the_source_says_of_outages_and_credentials_reaches_the_spec(project: Project) -> None:
    said = {"kafka": {"connection": "orders_cluster", "tolerated_outage": "3d"}}

    told, silent = (project.load(streams={"orders": a_declared_stream(source=source)}) for source in (said, {}))

    assert (told.stream("orders").source.connection, told.stream("orders").source.tolerated_outage) == (
        "orders_cluster",
        timedelta(days=3),
    )
    assert (silent.stream("orders").source.connection, silent.stream("orders").source.tolerated_outage) == (
        "",
        timedelta(0),
    )


@pytest.mark.parametrize("outage", ["soon", "-1d", 5])
def test_an_outage_is_a_duration(project: Project, outage: object) -> None:
    settings = project.load(streams={"orders": a_declared_stream(source={"kafka": {"tolerated_outage": outage}})})

    assert [problem.place for problem in settings.errors] == ["streams.orders.source.kafka.tolerated_outage"]


def test_variables_of_a_driver_are_names_and_may_be_common_to_all_streams(tmp_path: Path) -> None:
    project = a_project(tmp_path)
    streams = {
        "orders": a_declared_stream(),
        "returns": a_declared_stream("returns", launch={"environment": ["PGPASSWORD"]}),
    }

    settings = project.load(defaults={"launch": {"environment": ["KRB5CCNAME", "AWS_*"]}}, streams=streams)

    assert settings.stream("orders").launch.environment == ("AWS_*", "KRB5CCNAME")
    assert settings.stream("returns").launch.environment == ("PGPASSWORD",)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("*", id="everything"),
        pytest.param("A*B", id="a star inside"),
        pytest.param("PGPASSWORD=hunter2", id="with its value"),
        pytest.param("AIRFLOW__CORE__FERNET_KEY", id="Airflow's"),
        pytest.param("_AIRFLOW_X", id="Airflow's own"),
        pytest.param("a b", id="no name"),
    ],
)
def test_what_is_no_name_of_a_variable_is_refused(tmp_path: Path, name: str) -> None:
    stream = a_declared_stream(launch={"environment": ["TZ", name]})

    (error,) = a_project(tmp_path).load(streams={"orders": stream}).errors

    assert error.place == "streams.orders.launch.environment[1]"
    assert "the name of an environment variable" in error.expected
    assert "hunter2" not in str(error)
