"""From a stream's name to the desks of its acts, runs and backfills, inside an Airflow process."""

from streamops.airflow.kafka_access import kafka_access
from streamops.airflow.wiring import supervisor_of
from streamops.backfill.backfill_service import BackfillService, backfill_spec, places_of
from streamops.backfill.run_service import RunService
from streamops.clock import SystemClock
from streamops.control.backfill_plan import read_plan
from streamops.control.layout import control_folder
from streamops.control.snapshot import load_state
from streamops.kafka.confluent import ConfluentBroker
from streamops.operations.requests import this_author
from streamops.operations.stream_operations import StreamOperations
from streamops.settings import settings_in_force
from streamops.spec import StreamSpec
from streamops.storage.kinds import storage_for
from streamops.supervision.place import refuse_unmounted


def build_desk(stream: str, config: str, *, actor: str) -> StreamOperations:
    """The desk of a declared stream. SettingsError when its declaration is wrong or gone."""
    settings = settings_in_force(config)
    return _desk_of(settings.stream(stream), settings.state_root, actor=actor, may_submit=False)


def build_run_desk(stream: str, config: str, *, actor: str, may_submit: bool = False, backfill: str = "") -> RunService:
    """The desk of the bounded runs of a declared stream, or of one of its backfills.

    Who may submit sees with the stream's connections, as `wiring.supervisor_of` has it. SettingsError where there is no such
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
