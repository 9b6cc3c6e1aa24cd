"""The sandbox's database with a real server: made once, kept, stopped, brought back after crashes."""

import os
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from streamops.clock import SystemClock
from streamops_sandbox.daemon import Daemons
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.ports import free_port
from streamops_sandbox.postgres import Postgres
from streamops_sandbox.waiting import SilentNarrator

PROJECT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> SandboxLayout:
    layout = SandboxLayout(project=PROJECT, root=tmp_path_factory.mktemp("postgres") / "sandbox")
    layout.create_folders()
    return layout


@pytest.fixture(scope="module")
def daemons(layout: SandboxLayout) -> Daemons:
    return Daemons(layout, clock=SystemClock(), narrator=SilentNarrator())


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture
def server(layout: SandboxLayout, daemons: Daemons, port: int) -> Iterator[Postgres]:
    server = Postgres(layout, daemons, port=port, clock=SystemClock())
    server.start()
    yield server
    server.stop()


def connect(layout: SandboxLayout, port: int, *, password: str = "") -> psycopg.Connection:
    return psycopg.connect(
        host="127.0.0.1",
        port=port,
        user="streamops",
        dbname="postgres",
        password=password or layout.postgres_password.read_text(),
        autocommit=True,
    )


def main_process(layout: SandboxLayout) -> int:
    return int((layout.postgres / "data" / "postmaster.pid").read_text().splitlines()[0])


def a_process_of(user: int) -> subprocess.Popen[bytes]:
    as_user = ["setpriv", f"--reuid={user}", "--clear-groups"] if os.geteuid() == 0 else []
    return subprocess.Popen([*as_user, "sleep", "60"])


def test_takes_the_password_of_its_file_and_no_other(server: Postgres, layout: SandboxLayout, port: int) -> None:
    with connect(layout, port) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("streamops",)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        connect(layout, port, password="wrong")


def test_says_its_address_as_jdbc_has_it(server: Postgres, port: int) -> None:
    assert server.jdbc_url == f"jdbc:postgresql://127.0.0.1:{port}/postgres"


def test_the_password_is_read_by_its_owner_only_and_stands_in_no_log_and_no_command_line(
    server: Postgres, layout: SandboxLayout
) -> None:
    password = layout.postgres_password.read_text()
    logs = "".join(file.read_text() for file in layout.logs.iterdir())
    command = Path(f"/proc/{main_process(layout)}/cmdline").read_text()

    assert len(password) >= 32
    assert layout.postgres_password.stat().st_mode & 0o777 == 0o600
    assert password not in logs + command
    assert [file.name for file in layout.postgres.iterdir()] == ["data"]


def test_does_not_run_as_root_and_opens_no_folder_to_others(server: Postgres, layout: SandboxLayout) -> None:
    assert Path(f"/proc/{main_process(layout)}").stat().st_uid != 0
    assert layout.root.stat().st_mode & 0o077 == 0
    assert layout.postgres.stat().st_mode & 0o077 == 0


def test_starting_what_runs_changes_nothing(server: Postgres, layout: SandboxLayout) -> None:
    before = main_process(layout)

    server.start()

    assert main_process(layout) == before


def test_data_and_password_outlive_a_stop_that_does_not_wait_for_clients(
    server: Postgres, layout: SandboxLayout, port: int
) -> None:
    password = layout.postgres_password.read_text()
    client = connect(layout, port)
    client.execute("CREATE TABLE kept AS SELECT 42 AS answer")

    server.stop()

    assert not server.is_answering()
    assert not (layout.postgres / "data" / "postmaster.pid").exists()  # it has ended in order
    client.close()
    server.start()
    with connect(layout, port, password=password) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_what_was_committed_outlives_a_crash(server: Postgres, layout: SandboxLayout, port: int) -> None:
    with connect(layout, port) as connection:
        connection.execute("CREATE TABLE committed AS SELECT 7 AS answer")

    assert server.kill()
    server.start()

    with connect(layout, port) as connection:
        assert connection.execute("SELECT answer FROM committed").fetchone() == (7,)


def test_a_lock_from_before_a_reboot_whose_number_another_process_has_now_stops_nothing(
    server: Postgres, layout: SandboxLayout
) -> None:
    server.kill()
    lock = layout.postgres / "data" / "postmaster.pid"
    with a_process_of(layout.postgres.stat().st_uid) as other:
        lines = lock.read_text().splitlines()
        lock.write_text("\n".join([str(other.pid), *lines[1:], ""]))

        server.start()

        assert server.is_answering()
        assert other.poll() is None
        other.kill()


def test_a_server_that_somebody_else_has_started_in_the_folder_is_left_alone(
    server: Postgres, layout: SandboxLayout, daemons: Daemons, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamops_sandbox.postgres._REMAINS_LIMIT", timedelta(0))
    pid = main_process(layout)
    record = layout.daemons / "postgres.json"
    text = record.read_text()
    record.unlink()

    with pytest.raises(SandboxError, match=str(pid)):
        server.start()

    assert server.is_answering()
    record.write_text(text)


def test_without_its_password_the_database_is_not_made_anew(server: Postgres, layout: SandboxLayout) -> None:
    server.stop()
    password = layout.postgres_password.read_text()
    layout.postgres_password.unlink()

    with pytest.raises(SandboxError, match="postgres-password is gone"):
        server.start()

    layout.postgres_password.write_text(password)
    layout.postgres_password.chmod(0o600)


def test_what_an_interrupted_first_start_left_is_made_anew(tmp_path: Path) -> None:
    layout = SandboxLayout(project=PROJECT, root=tmp_path / "sandbox")
    layout.create_folders()
    (layout.postgres / "data.new").mkdir(parents=True)
    (layout.postgres / "data.new" / "PG_VERSION").write_text("17\n")
    daemons = Daemons(layout, clock=SystemClock(), narrator=SilentNarrator())
    server = Postgres(layout, daemons, port=free_port(), clock=SystemClock())

    try:
        server.start()

        assert server.is_answering()
    finally:
        server.stop()


def test_without_the_programs_it_is_said_where_they_were_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("streamops_sandbox.postgres._MACHINE", tmp_path)
    layout = SandboxLayout(project=tmp_path, root=tmp_path / "sandbox")
    layout.create_folders()
    daemons = Daemons(layout, clock=SystemClock(), narrator=SilentNarrator())

    with pytest.raises(SandboxError, match=r"no initdb and postgres in .*\.jars/postgres/bin.*make setup"):
        Postgres(layout, daemons, port=free_port(), clock=SystemClock()).start()
