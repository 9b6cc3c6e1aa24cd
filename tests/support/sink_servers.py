"""A PostgreSQL server and an HTTP endpoint for the sinks of a job, and what a test asks of either."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from streamops.clock import SystemClock
from streamops.control.assignment import JdbcOutput, RestOutput
from streamops_sandbox.daemon import Daemons
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.ports import free_port
from streamops_sandbox.postgres import DATABASE, USER, Postgres
from streamops_sandbox.rest_endpoint import RestEndpoint
from streamops_sandbox.waiting import SilentNarrator

PROJECT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """One running server."""

    server: Postgres
    port: int
    password_file: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """As the sandbox gives it to streams."""
        return {
            "POSTGRES_URL": self.server.jdbc_url,
            "POSTGRES_USER": USER,
            "POSTGRES_PASSWORD_FILE": str(self.password_file),
        }

    def output(self, table: str, *, password_file: Path | None = None) -> JdbcOutput:
        """A table of it as a sink."""
        file = password_file or self.password_file
        return JdbcOutput(url=self.server.jdbc_url, table=table, user=USER, password_file=str(file))

    def connect(self) -> psycopg.Connection:
        """A connection that commits each statement, to be closed."""
        password = self.password_file.read_text()
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=USER, dbname=DATABASE, password=password, autocommit=True
        )

    def ask(self, query: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        """The rows of one statement; none where it gives none."""
        with self.connect() as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def a_database(root: Path) -> Iterator[Database]:
    """A server of its own below the folder, stopped afterwards."""
    layout = _layout(root)
    port = free_port()
    server = Postgres(layout, _daemons(layout), port=port, clock=SystemClock())
    server.start()
    try:
        yield Database(server=server, port=port, password_file=layout.postgres_password)
    finally:
        server.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One running HTTP endpoint."""

    server: RestEndpoint
    token_file: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """As the sandbox gives it to streams."""
        return {"REST_URL": self.server.url, "REST_TOKEN_FILE": str(self.token_file)}

    def output(self, path: str, *, token_file: Path | None = None) -> RestOutput:
        """A path of it as a sink."""
        return RestOutput(url=self.server.url + path, token_file=str(token_file or self.token_file))

    def accepted(self, path: str) -> dict[str, Any]:
        """The accepted body of each key."""
        return {entry.key: entry.body for entry in self.server.ledger(path) if entry.accepted}

    def requests(self, path: str) -> int:
        """All that came, whatever became of them."""
        return sum(entry.requests for entry in self.server.ledger(path))


@contextmanager
def an_endpoint(root: Path) -> Iterator[Endpoint]:
    """An endpoint of its own below the folder, stopped afterwards."""
    layout = _layout(root)
    server = RestEndpoint(layout, _daemons(layout), port=free_port())
    server.start({})
    try:
        yield Endpoint(server=server, token_file=layout.rest_token)
    finally:
        server.stop()


def _layout(root: Path) -> SandboxLayout:
    layout = SandboxLayout(project=PROJECT, root=root)
    layout.create_folders()
    return layout


def _daemons(layout: SandboxLayout) -> Daemons:
    return Daemons(layout, clock=SystemClock(), narrator=SilentNarrator())
