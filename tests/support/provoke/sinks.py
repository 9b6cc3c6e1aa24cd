"""Sinks behind foreachBatch that are down, busy, full or closed to us."""

import os
import smtplib
import socket
import sqlite3
import subprocess
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path

from streamops.failures.failure_class import FailureClass, Remedy
from support.provoke.bench import Bench
from support.provoke.case import Family
from support.provoke.servers import CLOSED_PORT, answering, hanging_up, silent

FAMILY = Family("sink")


def _post(port: int, *, seconds: float = 5) -> None:
    address = f"http://127.0.0.1:{port}/orders"
    urllib.request.urlopen(urllib.request.Request(address, data=b"[]"), timeout=seconds).read()


# Statuses of an HTTP sink, posted to by urllib.
STATUSES = [
    (500, FailureClass.SINK_UNAVAILABLE, None),
    (503, FailureClass.SINK_UNAVAILABLE, None),
    (504, FailureClass.SINK_UNAVAILABLE, None),
    (429, FailureClass.SINK_UNAVAILABLE, None),
    (401, FailureClass.CREDENTIALS, None),
    (403, FailureClass.CREDENTIALS, None),
    (422, FailureClass.CODE_ERROR, Remedy.RETRY_FEW),
    (404, FailureClass.CODE_ERROR, Remedy.RETRY_FEW),
]


def _http(bench: Bench, *, status: int) -> None:
    with answering(status) as port:
        bench.run_foreach(f"http-{status}", lambda frame, batch: _post(port))


for _status, _class, _remedy in STATUSES:
    FAMILY.add(
        f"http-{_status}", f"an HTTP sink answers {_status}", _class, partial(_http, status=_status), remedy=_remedy
    )


@FAMILY.provokes(FailureClass.SINK_UNAVAILABLE)
def connection_reset(bench: Bench) -> None:
    """The HTTP sink hangs up."""
    with hanging_up() as port:
        bench.run_foreach("http-reset", lambda frame, batch: _post(port))


@FAMILY.provokes(FailureClass.SINK_UNAVAILABLE)
def no_answer(bench: Bench) -> None:
    """The HTTP sink does not answer in time."""
    with silent() as port:
        bench.run_foreach("http-silent", lambda frame, batch: _post(port, seconds=1))


def _unknown_host() -> None:
    socket.create_connection(("no-such-database.invalid", 5432), timeout=5)


ACTS: list[tuple[str, str, FailureClass, Remedy | None, Callable[[], object]]] = [
    (
        "refused",
        "nothing listens at the database's port",
        FailureClass.SINK_UNAVAILABLE,
        None,
        lambda: socket.create_connection(("127.0.0.1", CLOSED_PORT), timeout=5),
    ),
    (
        "refused-http",
        "nothing listens at the HTTP sink's port",
        FailureClass.SINK_UNAVAILABLE,
        None,
        lambda: _post(CLOSED_PORT),
    ),
    (
        "refused-smtp",
        "nothing listens at the mail server's port",
        FailureClass.SINK_UNAVAILABLE,
        None,
        lambda: smtplib.SMTP("127.0.0.1", CLOSED_PORT),
    ),
    ("unknown-host", "the database's name can't be resolved", FailureClass.SINK_UNAVAILABLE, None, _unknown_host),
    (
        "dev-full",
        "the file's disk is full",
        FailureClass.DISK_FULL,
        None,
        lambda: Path("/dev/full").write_bytes(b"x" * 100_000),
    ),
    (
        "too-many-files",
        "no file can be opened any more",
        FailureClass.TRANSIENT,
        Remedy.RETRY_FEW,
        lambda: _open_many(),
    ),
]


def _open_many() -> None:
    files = []
    try:
        while True:
            files.append(os.open("/dev/null", os.O_RDONLY))
    finally:
        for file in files:
            os.close(file)


def _act(bench: Bench, *, name: str, act: Callable[[], object]) -> None:
    bench.run_foreach(f"sink-{name}", lambda frame, batch: act())


for _id, _how, _class, _remedy, _do in ACTS:
    FAMILY.add(_id, _how, _class, partial(_act, name=_id, act=_do), remedy=_remedy)


@FAMILY.provokes(FailureClass.CREDENTIALS)
def no_permission(bench: Bench) -> None:
    """The file may not be written."""
    file = bench.place("no-permission") / "orders.csv"
    file.touch()
    subprocess.run(["chattr", "+i", str(file)], check=True)
    try:
        bench.run_foreach("sink-no-permission", lambda frame, batch: file.write_text("x"))
    finally:
        subprocess.run(["chattr", "-i", str(file)], check=True)


@FAMILY.provokes(FailureClass.SINK_UNAVAILABLE)
def database_locked(bench: Bench) -> None:
    """SQLite: another connection holds the lock."""
    file = bench.place("sqlite-locked") / "orders.db"
    holder = sqlite3.connect(file)
    holder.execute("create table orders (n integer)")
    holder.execute("begin exclusive")
    try:
        bench.run_foreach("sqlite-1", lambda frame, batch: _insert(file, "insert into orders values (1)"))
    finally:
        holder.close()


@FAMILY.provokes(FailureClass.SCHEMA_CHANGE)
def table_without_the_column(bench: Bench) -> None:
    """SQLite: the table lacks a column that is written."""
    file = bench.place("sqlite-column") / "orders.db"
    _insert(file, "create table orders (n integer)")
    bench.run_foreach("sqlite-2", lambda frame, batch: _insert(file, "insert into orders (n, shop) values (1, 2)"))


@FAMILY.provokes(FailureClass.CODE_ERROR, remedy=Remedy.RETRY_FEW)
def unique_key(bench: Bench) -> None:
    """SQLite: the key is there already, as after a batch that came twice."""
    file = bench.place("sqlite-unique") / "orders.db"
    _insert(file, "create table orders (n integer primary key)")
    _insert(file, "insert into orders values (1)")
    bench.run_foreach("sqlite-3", lambda frame, batch: _insert(file, "insert into orders values (1)"))


def _insert(file: Path, statement: str) -> None:
    with sqlite3.connect(file, timeout=0.1) as database:
        database.execute(statement)
    database.close()
