"""Ports and secrets are chosen once and kept where nobody else reads them."""

import json
import socket
from pathlib import Path

import pytest

from streamops_sandbox.errors import SandboxError
from streamops_sandbox.ports import LOOPBACK
from streamops_sandbox.state import SandboxState, load_state, save_state

SECRETS = ("admin_password", "fernet_key", "api_secret_key", "jwt_secret")


def test_a_saved_state_is_read_back(tmp_path: Path) -> None:
    state = SandboxState.choose()

    save_state(tmp_path / "state.json", state)

    assert load_state(tmp_path / "state.json") == state


def test_only_the_owner_reads_the_file(tmp_path: Path) -> None:
    save_state(tmp_path / "state.json", SandboxState.choose())

    assert (tmp_path / "state.json").stat().st_mode & 0o777 == 0o600


def test_the_repr_shows_no_secret() -> None:
    state = SandboxState.choose()

    assert not [name for name in SECRETS if getattr(state, name) in repr(state)]


def test_two_sandboxes_share_no_secret() -> None:
    one, other = SandboxState.choose(), SandboxState.choose()

    assert not [name for name in SECRETS if getattr(one, name) == getattr(other, name)]


def test_free_ports_are_kept() -> None:
    state = SandboxState.choose()

    assert state.with_free_broker_ports().with_free_airflow_port() == state


def test_a_port_taken_meanwhile_is_replaced_and_no_other() -> None:
    state = SandboxState.choose()
    with socket.create_server((LOOPBACK, state.kafka_port)):
        chosen = state.with_free_broker_ports()

    assert chosen.kafka_port not in (state.kafka_port, state.controller_port, state.airflow_port)
    assert chosen.controller_port == state.controller_port


def test_a_state_without_a_key_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"kafka_port": 1}')

    with pytest.raises(SandboxError, match="reset"):
        load_state(tmp_path / "state.json")


def test_the_ports_of_services_are_chosen_when_first_asked_for_and_then_kept() -> None:
    state = SandboxState.choose()
    assert (state.postgres_port, state.rest_port) == (None, None)

    asked = state.with_free_postgres_port().with_free_rest_port()

    assert asked.postgres_port is not None
    assert asked.rest_port is not None
    chosen = {asked.kafka_port, asked.controller_port, asked.airflow_port, asked.postgres_port, asked.rest_port}
    assert len(chosen) == 5
    assert asked.with_free_postgres_port().with_free_rest_port() == asked


def test_a_state_from_before_there_were_services_is_read(tmp_path: Path) -> None:
    state = SandboxState.choose()
    save_state(tmp_path / "state.json", state)
    content = json.loads((tmp_path / "state.json").read_text())
    del content["postgres_port"], content["rest_port"]
    (tmp_path / "state.json").write_text(json.dumps(content))

    assert load_state(tmp_path / "state.json") == state
