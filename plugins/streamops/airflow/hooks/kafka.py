"""Credentials for Kafka out of an Airflow connection, for the DAGs that look at topics."""

from typing import Any

from streamops.airflow.hooks.connection import connection_of
from streamops.errors import SettingsError
from streamops.kafka.broker import KafkaAccess, access_of
from streamops.spec import StreamSpec

KAFKA_CONNECTION_TYPE = "kafka"

_SERVERS = "bootstrap.servers"


def kafka_access(spec: StreamSpec) -> KafkaAccess:
    """How to reach the cluster of a stream's source.

    Where the source names a connection, its extra gives the settings: a JSON object with settings of librdkafka, as the
    provider apache-kafka has it (KafkaBaseHook). The servers stay the stream's own: one connection may serve several clusters.
    Callbacks (`error_cb` and the like) are left out: nothing here calls them. SettingsError where the connection can't be
    had or is of another kind; the message repeats no value of it.
    """
    access = access_of(spec.kafka.bootstrap_servers, spec.kafka.options)
    if not spec.kafka.connection:
        return access
    connection = connection_of(spec.kafka.connection, place=f"stream {spec.name}: ")
    place = f"stream {spec.name}: connection {spec.kafka.connection}"
    if connection.conn_type != KAFKA_CONNECTION_TYPE:
        raise SettingsError(f"{place} is of type {connection.conn_type!r}, expected {KAFKA_CONNECTION_TYPE!r}")
    settings = {name: _text(value, f"{place}: {name}") for name, value in _extra(connection, place).items()}
    return access.with_properties(
        {name: value for name, value in settings.items() if name != _SERVERS and not name.endswith("_cb")}
    )


def _extra(connection: Any, place: str) -> dict[str, Any]:
    """Airflow takes an extra that does not parse for an empty one (3.3): here that would be to try without credentials."""
    extra = connection.extra_dejson
    if not isinstance(extra, dict) or (not extra and (connection.extra or "{}").strip() != "{}"):
        raise SettingsError(f"{place}: its extra is no JSON object with settings of librdkafka")
    return extra


def _text(value: Any, place: str) -> str:
    """As librdkafka takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise SettingsError(f"{place}: found a {type(value).__name__}, expected a text, a number, true or false")
