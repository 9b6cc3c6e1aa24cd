"""From a stream's name to its supervisor, and to what its acts, runs and backfills are done with, in an Airflow process."""

import logging

from streamops.airflow.hooks.kafka import kafka_access
from streamops.airflow.hooks.spark import with_connection
from streamops.backfill.backfill_service import BackfillService, backfill_spec, places_of
from streamops.backfill.run_service import RunService
from streamops.clock import SystemClock
from streamops.control.backfill_plan import read_plan
from streamops.control.layout import control_folder
from streamops.control.registry import SharedRegistry
from streamops.control.snapshot import load_state
from streamops.kafka.confluent import ConfluentBroker
from streamops.launch.local import LocalLauncher
from streamops.operations.requests import this_author
from streamops.operations.stream_operations import StreamOperations
from streamops.retention.source_coverage import cluster_of
from streamops.settings import settings_in_force
from streamops.spec import StreamSpec
from streamops.storage.kinds import storage_for
from streamops.supervision.place import refuse_unmounted
from streamops.supervision.supervisor import Supervisor

log = logging.getLogger(__name__)

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


def build_desk(stream: str, config: str, *, actor: str) -> StreamOperations:
    """The desk of a declared stream. SettingsError when its declaration is wrong or gone."""
    settings = settings_in_force(config)
    return _desk_of(settings.stream(stream), settings.state_root, actor=actor, may_submit=False)


def build_run_desk(stream: str, config: str, *, actor: str, may_submit: bool = False, backfill: str = "") -> RunService:
    """The desk of the bounded runs of a declared stream, or of one of its backfills.

    Who may submit sees with the stream's connections, as `supervisor_of` has it. SettingsError where there is no such
    stream or backfill.
    """
    settings = settings_in_force(config)
    spec = settings.stream(stream)
    storage = storage_for(spec.checkpoint, access=spec.file_access)
    if backfill:
        spec = backfill_spec(spec, read_plan(storage, spec.checkpoint, backfill))
    desk = _desk_of(spec, settings.state_root, actor=actor, may_submit=may_submit)
    return RunService(desk, storage=storage, clock=SystemClock())


def build_backfill_desk(stream: str, config: str, *, actor: str) -> BackfillService:
    """Where backfills of a declared stream are planned. SettingsError also where its cluster can't be asked at all, StorageError
    where its place is not mounted.
    """
    settings = settings_in_force(config)
    spec = settings.stream(stream)
    storage = storage_for(spec.checkpoint, access=spec.file_access)
    state = load_state(storage, control_folder(spec.checkpoint))
    refuse_unmounted(spec, state, storage=storage, state_root=settings.state_root)
    return BackfillService(
        spec,
        storage=storage,
        clock=SystemClock(),
        author=this_author(actor),
        broker=ConfluentBroker(kafka_access(spec), SystemClock()) if spec.reads_kafka else None,
        others=places_of(settings.streams),
    )


def _desk_of(spec: StreamSpec, state_root: str, *, actor: str, may_submit: bool) -> StreamOperations:
    return StreamOperations(
        supervisor_of(spec, state_root=state_root, actor=actor, may_submit=may_submit),
        storage=storage_for(spec.checkpoint, access=spec.file_access),
        clock=SystemClock(),
        state_root=state_root,
        author=this_author(actor),
    )
