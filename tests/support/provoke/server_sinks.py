"""Failures of PostgreSQL and of an HTTP endpoint, as `upsert_once` and `post_rows` meet them."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from streamops.control.assignment import JdbcOutput, RestOutput
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.spark.sinks.postgres import upsert_once
from streamops.spark.sinks.rest import Patience, post_rows
from streamops.supervision.bundle import driver_bundle
from streamops_sandbox.rest_script import Behaviour
from support.provoke.bench import Bench
from support.provoke.case import Family, preparing
from support.provoke.servers import CLOSED_PORT
from support.sink_servers import Database, Endpoint, a_database, an_endpoint

FAMILY = Family("server-sink")

AWAY = f"127.0.0.1:{CLOSED_PORT}"
QUICK = Patience(attempts=2, first_wait=0.05, timeout=0.5)


@contextmanager
def _database(bench: Bench, name: str) -> Iterator[Database]:
    with a_database(bench.place(name) / "sandbox") as database:
        yield database


def _upsert(bench: Bench, name: str, to: JdbcOutput) -> None:
    bench.run_foreach(name, lambda batch, number: upsert_once(batch, to, number, keys=["n"]))


@FAMILY.provokes(FailureClass.SINK_UNAVAILABLE)
def postgres_away(bench: Bench) -> None:
    """Nothing listens at the port of PostgreSQL."""
    _upsert(bench, "postgres-away", JdbcOutput(url=f"jdbc:postgresql://{AWAY}/postgres", table="orders"))


@FAMILY.provokes(FailureClass.CREDENTIALS)
def postgres_password(bench: Bench) -> None:
    """PostgreSQL does not take the password."""
    with _database(bench, "postgres-password") as database:
        wrong = bench.root / "wrong-password"
        wrong.write_text("guessed")
        wrong.chmod(0o600)
        _upsert(bench, "postgres-password-query", database.output("orders", password_file=wrong))


@FAMILY.provokes(FailureClass.SINK_UNAVAILABLE)
def postgres_restarted(bench: Bench) -> None:
    """PostgreSQL is shut down while a batch waits for a lock of its table."""
    with _database(bench, "postgres-restarted") as database, database.connect() as holder:
        holder.execute("CREATE TABLE orders (n BIGINT PRIMARY KEY, k TEXT)")
        holder.autocommit = False
        holder.execute("LOCK TABLE orders")
        stopping = threading.Thread(target=_when_one_waits, args=(database, database.server.stop))
        stopping.start()
        try:
            _upsert(bench, "postgres-restarted-query", database.output("orders"))
        finally:
            stopping.join()


@FAMILY.provokes(FailureClass.SINK_UNAVAILABLE)
def postgres_lock_timeout(bench: Bench) -> None:
    """Somebody else holds the table for longer than the database lets anybody wait."""
    with _database(bench, "postgres-lock") as database, database.connect() as holder:
        holder.execute("ALTER DATABASE postgres SET lock_timeout = '500ms'")
        holder.execute("CREATE TABLE orders (n BIGINT PRIMARY KEY, k TEXT)")
        holder.autocommit = False
        holder.execute("LOCK TABLE orders")
        _upsert(bench, "postgres-lock-query", database.output("orders"))


@FAMILY.provokes(FailureClass.SINK_UNAVAILABLE)
def postgres_deadlock(bench: Bench) -> None:
    """The batch and somebody else wait for each other's rows, and PostgreSQL ends the batch."""
    with _database(bench, "postgres-deadlock") as database, database.connect() as other:
        other.execute("CREATE TABLE orders (n BIGINT PRIMARY KEY, k TEXT)")
        other.execute("INSERT INTO orders SELECT n, '' FROM generate_series(0, 3) AS n")
        # A session looks for a circle once, this long after it began to wait: the batch when the other one waits too.
        other.execute("ALTER DATABASE postgres SET deadlock_timeout = '10s'")
        other.execute("SET deadlock_timeout = '1min'")
        other.autocommit = False
        other.execute("UPDATE orders SET k = 'x' WHERE n = 3")
        rival = threading.Thread(
            target=_when_one_waits,
            args=(database, lambda: other.execute("UPDATE orders SET k = 'x' WHERE n = 0")),
        )
        rival.start()
        try:
            _upsert(bench, "postgres-deadlock-query", database.output("orders"))
        finally:
            rival.join()


@FAMILY.provokes(FailureClass.CODE_ERROR, remedy=Remedy.RETRY_FEW)
def postgres_unique(bench: Bench) -> None:
    """The table has a second unique column, whose value is there."""
    with _database(bench, "postgres-unique") as database:
        with preparing():
            database.ask("CREATE TABLE orders (n BIGINT PRIMARY KEY, k TEXT UNIQUE)")
        _upsert(bench, "postgres-unique-query", database.output("orders"))


@FAMILY.provokes(FailureClass.SCHEMA_CHANGE)
def postgres_column(bench: Bench) -> None:
    """The table lacks a column that is written."""
    with _database(bench, "postgres-column") as database:
        with preparing():
            database.ask("CREATE TABLE orders (n BIGINT PRIMARY KEY)")
        _upsert(bench, "postgres-column-query", database.output("orders"))


@FAMILY.provokes(FailureClass.CREDENTIALS)
def postgres_password_file(bench: Bench) -> None:
    """Others may read the file with the password."""
    file = bench.root / "open-password"
    file.write_text("p")
    file.chmod(0o644)
    to = JdbcOutput(url=f"jdbc:postgresql://{AWAY}/postgres", table="orders", user="u", password_file=str(file))
    _upsert(bench, "postgres-password-file", to)


def _when_one_waits(database: Database, act: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not database.ask("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
        if time.monotonic() > end:
            return
        time.sleep(0.02)
    act()


def _post(bench: Bench, name: str, to: RestOutput) -> None:
    bench.spark.sparkContext.addPyFile(driver_bundle(f"file://{bench.place(f'{name}-bundle')}").library)

    def write(batch, number) -> None:
        rows = batch.selectExpr("CAST(n AS STRING) AS key", "to_json(struct(n)) AS body")
        post_rows(rows, to, patience=QUICK)

    bench.run_foreach(name, write)


@FAMILY.provokes(FailureClass.SINK_UNAVAILABLE)
def rest_away(bench: Bench) -> None:
    """Nothing listens at the endpoint's port."""
    _post(bench, "rest-away", RestOutput(url=f"http://{AWAY}/alerts"))


@contextmanager
def _endpoint(bench: Bench, name: str) -> Iterator[Endpoint]:
    with an_endpoint(bench.place(name) / "sandbox") as endpoint:
        yield endpoint


@FAMILY.provokes(FailureClass.CREDENTIALS)
def rest_token(bench: Bench) -> None:
    """The endpoint does not take the token."""
    with _endpoint(bench, "rest-token") as endpoint:
        wrong = bench.root / "wrong-token"
        wrong.write_text("guessed")
        wrong.chmod(0o600)
        _post(bench, "rest-token-query", endpoint.output("/alerts", token_file=wrong))


def _in_vain(bench: Bench, *, name: str, status: int | str) -> None:
    with _endpoint(bench, name) as endpoint:
        endpoint.server.behave(Behaviour(next=1000, status=status))
        _post(bench, f"{name}-query", endpoint.output("/alerts"))


IN_VAIN: list[tuple[str, int | str, FailureClass, Remedy | None]] = [
    ("500", 500, FailureClass.SINK_UNAVAILABLE, None),
    ("503", 503, FailureClass.SINK_UNAVAILABLE, None),
    ("429", 429, FailureClass.SINK_UNAVAILABLE, None),
    ("dropped", "drop", FailureClass.SINK_UNAVAILABLE, None),
    ("silent", "timeout", FailureClass.SINK_UNAVAILABLE, None),
    ("403", 403, FailureClass.CREDENTIALS, None),
    ("404", 404, FailureClass.CODE_ERROR, Remedy.RETRY_FEW),
]

for _name, _status, _class, _remedy in IN_VAIN:
    FAMILY.add(
        f"rest-{_name}",
        f"the endpoint gives {_status} to each attempt",
        _class,
        partial(_in_vain, name=f"rest-{_name}", status=_status),
        remedy=_remedy,
    )
