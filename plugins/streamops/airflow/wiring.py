"""From a stream's name to its supervisor, inside an Airflow process."""

import logging
from dataclasses import replace
from typing import Any

from airflow.sdk import BaseHook

from streamops.airflow.kafka_access import kafka_access
from streamops.clock import SystemClock
from streamops.control.registry import SharedRegistry
from streamops.errors import SettingsError
from streamops.launch.local import LocalLauncher
from streamops.operations.requests import this_author
from streamops.retention.source_coverage import cluster_of
from streamops.settings import settings_in_force
from streamops.settings.refusals import refused_deploy_mode, refused_master
from streamops.spec import LaunchSpec, StreamSpec
from streamops.storage.kinds import storage_for
from streamops.supervision.supervisor import Supervisor

log = logging.getLogger(__name__)

SPARK_CONNECTION_TYPE = "spark"

_REGISTRY = SharedRegistry(SystemClock())
"""For all triggers of a triggerer, and all streams of a round."""


def build_supervisor(stream: str, config: str, *, actor: str, may_submit: bool) -> Supervisor:
    """The supervisor of a stream as it is in force. SettingsError when it has no declaration that was ever good."""
    settings = settings_in_force(config, keep=may_submit)
    spec = settings.stream(stream)
    for problem in settings.errors:
        if problem.stream in ("", stream):
            log.warning("stream=%s goes on as it was declared last: %s", stream, problem)
    return supervisor_of(spec, state_root=settings.state_root, actor=actor, may_submit=may_submit)


def supervisor_of(spec: StreamSpec, *, state_root: str, actor: str, may_submit: bool) -> Supervisor:
    """The supervisor of a stream.

    Only who may submit asks Airflow for the stream's connections: a trigger looks and never starts anything. Where it can't
    ask the cluster without them it takes nothing for lost, and the task that it wakes looks again.
    """
    return Supervisor(
        with_connection(spec) if may_submit else spec,
        storage=storage_for(spec.checkpoint, access=spec.file_access),
        launcher=LocalLauncher(),
        clock=SystemClock(),
        state_root=state_root,
        author=this_author(actor),
        broker_for=cluster_of(SystemClock(), kafka_access) if may_submit else cluster_of(SystemClock()),
        registry=_REGISTRY,
    )


def with_connection(spec: StreamSpec) -> StreamSpec:
    """The spec with master, deploy mode and queue of its Airflow connection, where it names one.

    The connection has the form of the provider apache-spark (6.3): host and port are the master, the extras
    `deploy-mode` and `queue` the rest. Unlike there, an unknown connection is an error and not silently `yarn`.
    """
    if not spec.launch.connection:
        return spec
    connection = _connection(spec.launch.connection)
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


def _connection(connection_id: str) -> Any:
    try:
        return BaseHook.get_connection(connection_id)
    except Exception as error:  # secrets backends raise what they like
        raise SettingsError(f"connection {connection_id} can't be had from Airflow: {error}") from error


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
