"""Whether what a stream waits for answers: real sockets and real folders."""

import contextlib
import errno
import os
import socket
import threading
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from streamops.failures.failure_class import Remedy
from streamops.spec import (
    CustomSink,
    CustomSource,
    DeltaTableSource,
    FileFormat,
    FilesSource,
    JdbcSink,
    KafkaSink,
    KafkaSource,
    RestSink,
    SinkSpec,
)
from streamops.storage.address import local_path
from streamops.supervision import probes
from streamops.supervision.probes import PROBE_INTERVAL, NetworkProber, server_of
from support.clock import FakeClock
from support.specs import a_stream

SOURCE, SINK = Remedy.WAIT_FOR_SOURCE, Remedy.WAIT_FOR_SINK


@pytest.fixture
def listener():
    """A port of this host that accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def reads_from(*servers: str):
    return a_stream(source=KafkaSource(bootstrap_servers=",".join(servers), topics=("orders",)))


def address_of(server: socket.socket) -> str:
    return f"127.0.0.1:{server.getsockname()[1]}"


def test_a_broker_that_accepts_connections_answers(listener):
    assert NetworkProber(FakeClock()).probe(SOURCE, reads_from(address_of(listener))).is_reachable is True


def test_one_of_several_brokers_is_enough(listener):
    closed = address_of(listener)
    with socket.create_server(("127.0.0.1", 0)) as other:
        listener.close()

        assert NetworkProber(FakeClock()).probe(SOURCE, reads_from(closed, address_of(other))).is_reachable is True


def test_a_broker_that_refuses_does_not_answer_and_the_reason_is_told(listener):
    closed = address_of(listener)
    listener.close()

    answer = NetworkProber(FakeClock()).probe(SOURCE, reads_from(closed))

    assert answer.is_reachable is False
    assert closed in answer.evidence


def test_a_name_that_nobody_knows_does_not_answer():
    assert NetworkProber(FakeClock()).probe(SOURCE, reads_from("nowhere.invalid:9092")).is_reachable is False


@pytest.mark.parametrize(
    "server",
    [
        "broker",
        "127.0.0.1:not-a-port",
        "127.0.0.1:99999999",
        "127.0.0.1:0",
        "a b:9092",
        "x" * 70 + ".y:9092",
        "[::1]",
        "",
    ],
)
def test_an_address_that_makes_no_sense_cannot_be_told_and_holds_nothing_up(server):
    answer = NetworkProber(FakeClock()).probe(SOURCE, reads_from(server))

    assert answer.is_reachable is None
    assert server in answer.evidence


@pytest.mark.parametrize("protocol", ["SASL_SSL", "PLAINTEXT", "ssl"])
def test_a_protocol_before_a_server_is_no_part_of_its_name(listener, protocol):
    server = f"{protocol}://{address_of(listener)}"

    assert NetworkProber(FakeClock()).probe(SOURCE, reads_from(server)).is_reachable is True


@pytest.mark.parametrize("form", ["[::1]:{}", "PLAINTEXT://[::1]:{}", "::1:{}"])
def test_an_address_with_colons_of_its_own_is_read_as_kafka_reads_it(form):
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        spec = reads_from(form.format(server.getsockname()[1]))

        assert NetworkProber(FakeClock()).probe(SOURCE, spec).is_reachable is True


def test_a_server_that_cannot_be_told_keeps_no_other_from_answering(listener):
    spec = reads_from("broker", address_of(listener))

    assert NetworkProber(FakeClock()).probe(SOURCE, spec).is_reachable is True


def test_a_broker_is_not_away_as_long_as_one_of_its_servers_cannot_be_told(listener):
    closed = address_of(listener)
    listener.close()

    assert NetworkProber(FakeClock()).probe(SOURCE, reads_from("broker", closed)).is_reachable is None


@pytest.fixture
def silent_port():
    """A port of each of this host's addresses that neither accepts nor refuses: its queue is full."""
    with socket.create_server(("", 0), backlog=0) as server, contextlib.ExitStack() as waiting:
        port = server.getsockname()[1]
        for _ in range(3):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", port))
        yield port


def test_many_silent_servers_take_no_longer_than_one(silent_port, monkeypatch):
    monkeypatch.setattr(probes, "CONNECT_LIMIT", timedelta(seconds=0.3))
    servers = [f"127.0.0.{number}:{silent_port}" for number in range(1, 21)]
    started = time.monotonic()

    answer = NetworkProber(FakeClock()).probe(SOURCE, reads_from(*servers))

    assert answer.is_reachable is False
    assert time.monotonic() - started < 3


def test_a_name_service_that_hangs_holds_up_neither_the_look_nor_the_stream(listener, monkeypatch):
    closed, released = address_of(listener), threading.Event()
    listener.close()
    monkeypatch.setattr(probes, "PROBE_LIMIT", timedelta(seconds=0.3))
    resolve = socket.getaddrinfo

    def hang_for_one(host, *others, **named):
        if host == "hangs":
            released.wait(5)
        return resolve(host, *others, **named)

    monkeypatch.setattr(socket, "getaddrinfo", hang_for_one)
    try:
        answer = NetworkProber(FakeClock()).probe(SOURCE, reads_from("hangs:9092", closed))
    finally:
        released.set()

    assert answer.is_reachable is None
    assert "hangs:9092: no answer" in answer.evidence


def test_an_answer_holds_for_a_while_so_that_a_broker_in_trouble_is_not_stormed(listener):
    clock, spec = FakeClock(), reads_from(address_of(listener))
    prober = NetworkProber(clock)
    prober.probe(SOURCE, spec)
    listener.close()

    at_once = prober.probe(SOURCE, spec)
    clock.advance(PROBE_INTERVAL)
    later = prober.probe(SOURCE, spec)

    assert (at_once.is_reachable, later.is_reachable) == (True, False)


def writes_to(table: str):
    return a_stream(sink=SinkSpec(table=table, dead_letters=f"{table}_dead"))


def test_a_table_that_is_not_there_yet_answers_where_it_could_be_made(tmp_path):
    (tmp_path / "tables").mkdir()
    spec = writes_to(f"file://{tmp_path}/tables/orders")

    assert NetworkProber(FakeClock()).probe(SINK, spec).is_reachable is True


def test_a_table_below_a_file_can_never_be_written(tmp_path):
    (tmp_path / "tables").touch()
    spec = writes_to(f"file://{tmp_path}/tables/orders")

    assert NetworkProber(FakeClock()).probe(SINK, spec).is_reachable is False


def test_a_table_whose_mount_is_missing_cannot_be_told(tmp_path):
    """The folders above it are of another file system: that they can be written says nothing."""
    answer = NetworkProber(FakeClock()).probe(SINK, writes_to(f"file://{tmp_path}/mount/tables/orders"))

    assert answer.is_reachable is None
    assert f"{tmp_path}/mount/tables is not there" in answer.evidence


def a_table(folder: Path):
    table = folder / "orders"
    table.mkdir()
    return writes_to(f"file://{table}")


def test_a_table_that_can_be_written_answers(tmp_path):
    assert NetworkProber(FakeClock()).probe(SINK, a_table(tmp_path)).is_reachable is True


def test_a_table_that_may_not_be_written_does_not_answer(tmp_path, monkeypatch):
    """Its parent may be: that says nothing. Root may write anywhere, so the permission is played."""
    spec = a_table(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, _: str(path) != local_path(spec.sink.table))

    assert NetworkProber(FakeClock()).probe(SINK, spec).is_reachable is False


@pytest.mark.parametrize(
    ("blocks", "answers"), [(1000, False), (0, True)], ids=["a full disk", "a file system that tells of no blocks"]
)
def test_a_table_on_a_full_disk_does_not_answer(tmp_path, monkeypatch, blocks, answers):
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=blocks, f_bavail=0))

    answer = NetworkProber(FakeClock()).probe(SINK, a_table(tmp_path))

    assert answer.is_reachable is answers
    assert ("no space left" in answer.evidence) is not answers


def test_a_file_system_that_does_not_say_how_full_it_is_cannot_be_told(tmp_path, monkeypatch):
    def fail(_):
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(os, "statvfs", fail)

    answer = NetworkProber(FakeClock()).probe(SINK, a_table(tmp_path))

    assert answer.is_reachable is None
    assert "Stale file handle" in answer.evidence


def test_a_table_elsewhere_cannot_be_told_from_here():
    assert NetworkProber(FakeClock()).probe(SINK, writes_to("s3://bucket/orders")).is_reachable is None


@pytest.mark.parametrize("kind", ["delta", "files"])
def test_a_folder_that_is_read_answers_when_it_is_there(tmp_path: Path, kind: str):
    there, away = (a_stream(source=_folder_source(kind, tmp_path / name)) for name in ("in", "away"))
    (tmp_path / "in").mkdir()

    assert NetworkProber(FakeClock()).probe(SOURCE, there).is_reachable is True
    answer = NetworkProber(FakeClock()).probe(SOURCE, away)
    assert answer.is_reachable is None
    assert "away is not there" in answer.evidence


def _folder_source(kind: str, folder: Path):
    address = f"file://{folder}"
    return DeltaTableSource(table=address) if kind == "delta" else FilesSource(path=address, format=FileFormat.TEXT)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        pytest.param("jdbc:postgresql://db:6432/shop?ssl=true", "db:6432", id="port of a database"),
        pytest.param("jdbc:postgresql://db/shop", "db:5432", id="port by default"),
        pytest.param("https://api.shop/v1", "api.shop:443", id="https"),
        pytest.param("http://[::1]:8080/x", "[::1]:8080", id="address of six"),
        pytest.param("jdbc:sqlite:/data/x.db", "", id="no server"),
        pytest.param("http://api:99999999/x", "", id="no port"),
        pytest.param("http://[::1/hook", "", id="half an address of six"),
    ],
)
def test_the_server_in_an_address(url: str, server: str) -> None:
    assert server_of(url) == server


def test_a_sink_of_several_places_waits_for_the_one_that_is_away(tmp_path, listener):
    table = f"file://{tmp_path}/orders"
    with socket.create_server(("127.0.0.1", 0)) as closed:
        away = f"http://{address_of(closed)}/alerts"
    kafka = KafkaSink(bootstrap_servers=address_of(listener), topic="alerts")
    spec = a_stream(sink=SinkSpec(table=table, kafka=kafka, rest=RestSink(url=away)))

    answer = NetworkProber(FakeClock()).probe(SINK, spec)

    assert (answer.is_reachable, answer.target) == (False, away.removeprefix("http://").removesuffix("/alerts"))


def test_a_sink_whose_places_all_answer_is_there(tmp_path, listener):
    server = address_of(listener)
    jdbc = JdbcSink(url=f"jdbc:postgresql://{server}/shop", table="orders")
    spec = a_stream(sink=SinkSpec(jdbc=jdbc, rest=RestSink(url=f"http://{server}/alerts")))

    assert NetworkProber(FakeClock()).probe(SINK, spec).is_reachable is True


def test_of_a_custom_source_or_sink_nobody_can_tell():
    spec = a_stream(source=CustomSource(format="rate"), sink=SinkSpec(custom=CustomSink(format="noop")))
    prober = NetworkProber(FakeClock())

    assert prober.probe(SOURCE, spec).is_reachable is None
    assert prober.probe(SINK, spec).is_reachable is None
