"""Database and HTTP endpoint as parts of a sandbox: there when asked for, and not before."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streamops_sandbox.errors import SandboxError
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.sandbox import Sandbox
from streamops_sandbox.status import Condition
from streamops_sandbox.waiting import SilentNarrator

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    sandbox = Sandbox(SandboxLayout(project=PROJECT, root=tmp_path / "sandbox"), narrator=SilentNarrator())
    yield sandbox
    sandbox.down()


def conditions(sandbox: Sandbox) -> dict[str, Condition]:
    return {daemon.name: daemon.condition for daemon in sandbox.status().daemons if daemon.name in ("postgres", "rest")}


def test_a_sandbox_that_was_never_asked_for_them_does_not_speak_of_them(sandbox: Sandbox) -> None:
    assert conditions(sandbox) == {}


def test_both_run_beside_each_other_and_streams_are_told_where(sandbox: Sandbox) -> None:
    database = sandbox.start_postgres()
    endpoint = sandbox.start_rest_endpoint()

    environment = sandbox.environment()

    assert conditions(sandbox) == {"postgres": Condition.HEALTHY, "rest": Condition.HEALTHY}
    assert environment["POSTGRES_URL"] == database.jdbc_url
    assert environment["POSTGRES_USER"] == "streamops"
    assert Path(environment["POSTGRES_PASSWORD_FILE"]) == sandbox.layout.postgres_password
    assert environment["REST_URL"] == endpoint.url
    assert Path(environment["REST_TOKEN_FILE"]) == sandbox.layout.rest_token


def test_down_stops_them_and_they_come_back_on_the_same_addresses(sandbox: Sandbox) -> None:
    sandbox.start_postgres()
    sandbox.start_rest_endpoint()
    before = sandbox.environment()

    sandbox.down()

    assert conditions(sandbox) == {"postgres": Condition.STOPPED, "rest": Condition.STOPPED}
    sandbox.start_postgres()
    sandbox.start_rest_endpoint()
    assert sandbox.environment() == before


def test_a_sandbox_with_a_running_database_is_not_reset(sandbox: Sandbox) -> None:
    sandbox.start_postgres()

    with pytest.raises(SandboxError, match="postgres"):
        sandbox.reset()


def test_a_part_that_was_never_started_has_no_address(sandbox: Sandbox) -> None:
    sandbox.start_rest_endpoint()

    with pytest.raises(SandboxError, match="database was never started"):
        _ = sandbox.services.postgres
