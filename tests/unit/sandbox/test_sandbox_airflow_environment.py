"""Airflow's environment: loopback everywhere, secrets here and on no command line."""

from pathlib import Path

import pytest

from streamops_sandbox.airflow import Component
from streamops_sandbox.airflow_environment import airflow_environment
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.state import SandboxState

STATE = SandboxState.choose()
LAYOUT = SandboxLayout.of_project(Path("/p"))


def environment(*, inherited: dict[str, str] | None = None, passed: dict[str, str] | None = None) -> dict[str, str]:
    return airflow_environment(LAYOUT, STATE, inherited=inherited or {}, passed=passed or {})


@pytest.mark.parametrize(
    "name",
    ["AIRFLOW__API__HOST", "AIRFLOW__API__BASE_URL", "AIRFLOW__CORE__EXECUTION_API_SERVER_URL"],
)
def test_every_address_is_on_loopback(name: str) -> None:
    assert environment()[name].removeprefix("http://").startswith("127.0.0.1")


def test_workers_report_to_the_chosen_port() -> None:
    assert environment()["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == (
        f"http://127.0.0.1:{STATE.airflow_port}/execution/"
    )


@pytest.mark.parametrize("component", [Component.SCHEDULER, Component.TRIGGERER])
def test_no_log_server_is_started_because_it_would_listen_on_all_interfaces(component: Component) -> None:
    assert "--skip-serve-logs" in component.command


@pytest.mark.parametrize("component", list(Component))
def test_no_secret_on_a_command_line(component: Component) -> None:
    secrets = (STATE.admin_password, STATE.fernet_key, STATE.api_secret_key, STATE.jwt_secret)

    assert not [secret for secret in secrets if secret in " ".join(component.command)]


def test_the_password_is_in_its_file_only() -> None:
    assert STATE.admin_password not in environment().values()


def test_what_the_streams_need_reaches_the_tasks() -> None:
    assert environment(passed={"KAFKA_BOOTSTRAP": "127.0.0.1:1"})["KAFKA_BOOTSTRAP"] == "127.0.0.1:1"


def test_settings_of_another_airflow_are_dropped_and_the_rest_is_kept() -> None:
    found = environment(inherited={"AIRFLOW__CORE__FERNET_KEY": "x", "AIRFLOW_CONN_A": "y", "JAVA_HOME": "/jdk"})

    assert found["AIRFLOW__CORE__FERNET_KEY"] == STATE.fernet_key
    assert "AIRFLOW_CONN_A" not in found
    assert found["JAVA_HOME"] == "/jdk"


def test_loopback_is_never_asked_through_a_proxy() -> None:
    assert environment(inherited={"NO_PROXY": "intranet"})["NO_PROXY"] == "intranet,127.0.0.1,localhost"
