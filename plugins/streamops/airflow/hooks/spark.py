"""Master, deploy mode and queue out of an Airflow connection to Spark."""

from dataclasses import replace
from typing import Any

from streamops.airflow.hooks.connection import connection_of
from streamops.errors import SettingsError
from streamops.settings.refusals import refused_deploy_mode, refused_master
from streamops.spec import LaunchSpec, StreamSpec

SPARK_CONNECTION_TYPE = "spark"


def with_connection(spec: StreamSpec) -> StreamSpec:
    """The spec with master, deploy mode and queue of its Airflow connection, where it names one.

    The connection has the form of the provider apache-spark (6.3): host and port are the master, the extras
    `deploy-mode` and `queue` the rest. Unlike there, an unknown connection is an error and not silently `yarn`.
    """
    if not spec.launch.connection:
        return spec
    connection = connection_of(spec.launch.connection)
    if connection.conn_type != SPARK_CONNECTION_TYPE:
        raise SettingsError(
            f"stream {spec.name}: connection {spec.launch.connection} is of type {connection.conn_type!r},"
            f" expected {SPARK_CONNECTION_TYPE!r}"
        )
    launch = _launch_of(connection, spec.launch)
    refusal = refused_master(launch.master) or refused_deploy_mode(launch.deploy_mode)
    if refusal:
        raise SettingsError(
            f"stream {spec.name}: connection {spec.launch.connection}: found {launch.master} in mode"
            f" {launch.deploy_mode}, expected {refusal}"
        )
    return replace(spec, launch=launch)


def _launch_of(connection: Any, declared: LaunchSpec) -> LaunchSpec:
    if not connection.host:
        raise SettingsError(f"connection {declared.connection} names no host: the Spark master is expected there")
    extras = connection.extra_dejson
    return replace(
        declared,
        master=_master(connection),
        deploy_mode=extras.get("deploy-mode") or declared.deploy_mode,
        queue=extras.get("queue") or declared.queue,
    )


def _master(connection: Any) -> str:
    """A connection given as a URI, `spark://head:7077`, has lost the scheme of its host (provider apache-spark 6.3.4)."""
    if not connection.port:
        return str(connection.host)
    scheme = "" if "://" in connection.host else f"{SPARK_CONNECTION_TYPE}://"
    return f"{scheme}{connection.host}:{connection.port}"
