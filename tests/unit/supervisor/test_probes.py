"""Whether what a stream waits for answers: real sockets and real folders."""

import socket

import pytest

from streamops.restart import Remedy
from streamops.spec import KafkaSource, SinkSpec
from streamops.supervisor.probes import PROBE_INTERVAL, NetworkProber
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


@pytest.mark.parametrize("server", ["nowhere.invalid:9092", "broker", "127.0.0.1:not-a-port", "127.0.0.1:99999999"])
def test_an_address_that_makes_no_sense_is_an_answer_and_no_error(server):
    assert NetworkProber(FakeClock()).probe(SOURCE, reads_from(server)).is_reachable is False


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
    spec = writes_to(f"file://{tmp_path}/tables/orders")

    assert NetworkProber(FakeClock()).probe(SINK, spec).is_reachable is True


def test_a_table_below_a_file_can_never_be_written(tmp_path):
    (tmp_path / "tables").touch()
    spec = writes_to(f"file://{tmp_path}/tables/orders")

    assert NetworkProber(FakeClock()).probe(SINK, spec).is_reachable is False


def test_a_table_elsewhere_cannot_be_told_from_here():
    assert NetworkProber(FakeClock()).probe(SINK, writes_to("s3://bucket/orders")).is_reachable is None
