"""Where the credentials for Kafka may come from: an Airflow connection of type `kafka`."""

import json
from dataclasses import replace

import pytest

from streamops.airflow.hooks.kafka import kafka_access
from streamops.errors import SettingsError
from streamops.kafka.broker import KafkaAccess
from streamops.spec import KafkaSource
from support.specs import a_stream

SASL = {
    "bootstrap.servers": "elsewhere:9092",
    "security.protocol": "SASL_SSL",
    "sasl.password": "s3cret",
    "enable.ssl.certificate.verification": True,
    "socket.timeout.ms": 5000,
    "error_cb": "my_dags.callbacks.on_error",
}


@pytest.fixture
def connection(monkeypatch):
    """Defines the connection `orders_kafka`."""

    def define(*, kind="kafka", extra=None):
        given = {"conn_type": kind} if extra is None else {"conn_type": kind, "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_ORDERS_KAFKA", json.dumps(given))

    return define


def a_source(connection="orders_kafka", options=()):
    source = KafkaSource(bootstrap_servers="broker:9092", topics=("orders",), options=options)
    return a_stream(source=replace(source, connection=connection))


def test_the_extra_gives_the_settings_and_the_stream_the_servers(connection):
    connection(extra=SASL)

    access = kafka_access(a_source())

    assert access.bootstrap == "broker:9092"
    assert dict(access.properties) == {
        "security.protocol": "SASL_SSL",
        "sasl.password": "s3cret",
        "enable.ssl.certificate.verification": "true",
        "socket.timeout.ms": "5000",
    }


def test_it_wins_over_the_options_of_the_source(connection):
    connection(extra={"security.protocol": "SSL"})

    access = kafka_access(a_source(options=(("kafka.security.protocol", "PLAINTEXT"),)))

    assert dict(access.properties) == {"security.protocol": "SSL"}


def test_an_empty_extra_is_no_settings(connection):
    connection(extra={})

    assert kafka_access(a_source()).properties == ()


def test_a_source_that_names_no_connection_asks_for_none():
    assert kafka_access(a_source(connection="")) == KafkaAccess(bootstrap="broker:9092")


def test_no_secret_shows_where_the_access_is_shown(connection):
    connection(extra=SASL)

    assert "s3cret" not in repr(kafka_access(a_source()))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param({"kind": "spark", "extra": SASL}, "is of type 'spark', expected 'kafka'", id="another kind"),
        pytest.param({"extra": '{"sasl.password": "s3cret"'}, "its extra is no JSON object", id="broken JSON"),
        pytest.param({"extra": '["s3cret"]'}, "its extra is no JSON object", id="a list"),
        pytest.param(
            {"extra": {"sasl.password": {"value": "s3cret"}}},
            "sasl.password: found a dict, expected a text, a number, true or false",
            id="a nested value",
        ),
    ],
)
def test_a_connection_that_cannot_serve_is_refused_without_its_values(connection, given, told):
    connection(**given)

    with pytest.raises(SettingsError) as refused:
        kafka_access(a_source())

    assert "stream orders: connection orders_kafka" in str(refused.value)
    assert told in str(refused.value)
    assert "s3cret" not in str(refused.value)
    assert "s3cret" not in str(refused.value.__cause__ or "")


def test_a_connection_that_is_not_there_is_an_error_and_not_an_attempt_without_credentials():
    with pytest.raises(SettingsError, match="connection nowhere can't be had from Airflow"):
        kafka_access(a_source(connection="nowhere"))
