"""Where the Spark master may come from: an Airflow connection of type `spark`."""

import json

import pytest
from airflow.sdk.exceptions import TaskDeferred

from streamops.airflow.hooks.spark import with_connection
from streamops.airflow.operators import StreamOperator
from streamops.errors import SettingsError
from streamops.launch.local import spark_submit_command
from streamops.supervision.bundle import submit_request
from support.records import a_claim, a_state


@pytest.fixture
def connection(monkeypatch):
    """Defines the connection `cluster` as JSON or as a URI."""

    def define(value: object) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", text)

    return define


@pytest.fixture
def place(place):
    place.declare(launch={"connection": "cluster", "queue": "declared"})
    return place


def a_spark_connection(host: str = "spark://head", port: int | None = 7077, **extras: str) -> dict:
    return {"conn_type": "spark", "host": host, "port": port, "extra": extras}


def supervise(place) -> None:
    operator = StreamOperator(task_id="supervise", stream="orders", config=place.config)
    with pytest.raises(TaskDeferred):
        operator.execute({})


def option(place, name: str) -> str:
    arguments = place.submit_arguments
    return arguments[arguments.index(name) + 1]


# What it gives


def test_the_connection_says_where_the_driver_is_submitted(place, connection):
    connection(a_spark_connection(**{"deploy-mode": "client", "queue": "etl"}))

    supervise(place)
    place.wait_for_log()

    assert option(place, "--master") == "spark://head:7077"
    assert option(place, "--deploy-mode") == "client"
    assert option(place, "--queue") == "etl"


@pytest.mark.parametrize(
    ("value", "master"),
    [
        pytest.param(a_spark_connection("spark://head", 7077), "spark://head:7077", id="master in the host"),
        pytest.param(a_spark_connection("spark://head:7077", None), "spark://head:7077", id="port in the host"),
        pytest.param(a_spark_connection("local[4]", None), "local[4]", id="local"),
        pytest.param("spark://head:7077", "spark://head:7077", id="uri: its scheme is the connection's type"),
        pytest.param("spark://spark%3A%2F%2Fhead:7077", "spark://head:7077", id="uri with the master in the host"),
    ],
)
def test_a_connection_means_what_it_means_to_the_spark_provider(place, connection, value, master):
    connection(value)

    assert with_connection(place.spec).launch.master == master


def test_what_the_connection_does_not_say_is_as_declared(place, connection):
    connection(a_spark_connection())

    launch = with_connection(place.spec).launch

    assert launch.queue == "declared"
    assert launch.deploy_mode == "client"
    assert launch.spark_submit == str(place.spark_submit)


def test_a_stream_without_a_connection_asks_airflow_for_none(place):
    place.declare(launch={"connection": ""})

    assert with_connection(place.spec) == place.spec


def test_the_claim_tells_where_the_driver_was_really_submitted(place, connection):
    connection(a_spark_connection())

    supervise(place)

    launch = json.loads(place.state.newest.claim.spec)["launch"]
    assert launch["master"] == "spark://head:7077"


def test_the_command_line_holds_nothing_else_of_the_connection(place, connection):
    """Every user of the host can read it."""
    connection({**a_spark_connection(), "login": "ops", "password": "hunter22"})
    epoch = a_state(a_claim()).newest

    request = submit_request(with_connection(place.spec), epoch, place.control, place.project.address("data/state"))

    assert "hunter22" not in " ".join(spark_submit_command(request))


# What is no connection


WRONG = [
    pytest.param({"conn_type": "http", "host": "head"}, "'http'", id="another type"),
    pytest.param({"conn_type": "spark"}, "no host", id="no master"),
    pytest.param(a_spark_connection("yarn", None), "yarn", id="a master whose drivers this version can't watch"),
    pytest.param(a_spark_connection(**{"deploy-mode": "cluster"}), "client", id="a driver that is no process of here"),
]


@pytest.mark.parametrize(("value", "message"), WRONG)
def test_a_wrong_connection_is_a_problem_of_the_settings(place, connection, value, message):
    connection(value)

    with pytest.raises(SettingsError, match=message):
        with_connection(place.spec)


@pytest.mark.parametrize(("value", "message"), WRONG)
def test_a_wrong_connection_is_slept_on_with_a_warning_and_nothing_is_started(
    place, connection, task_log, value, message
):
    connection(value)

    supervise(place)

    assert place.kinds == []
    assert message in task_log.warnings


def test_an_unknown_connection_is_slept_on_and_never_means_yarn(place, task_log):
    supervise(place)

    assert place.kinds == []
    assert "cluster" in task_log.warnings


def test_the_stream_starts_once_the_connection_is_there(place, connection):
    connection({"conn_type": "http", "host": "head"})
    supervise(place)
    connection(a_spark_connection())

    supervise(place)

    assert place.kinds == ["claimed", "submitted"]


def test_who_only_looks_asks_for_no_connection(place):
    """The trigger starts nothing, and a secrets backend is slow."""
    assert place.supervisor(may_submit=False).spec.launch.connection == "cluster"
