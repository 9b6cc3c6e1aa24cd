"""From a stream's name to the desk of its acts, inside an Airflow process."""

from streamops.airflow.wiring import supervisor_of
from streamops.clock import SystemClock
from streamops.settings import load_settings
from streamops.storage.kinds import storage_for
from streamops.supervisor.desk import Desk
from streamops.supervisor.requests import this_author
from streamops.supervisor.runs.run_desk import RunDesk


def build_run_desk(stream: str, config: str, *, actor: str, may_submit: bool = False) -> RunDesk:
    """The desk of a declared stream's bounded runs. SettingsError as `build_desk`."""
    desk = build_desk(stream, config, actor=actor, may_submit=may_submit)
    return RunDesk(desk, storage=storage_for(desk.spec.checkpoint), clock=SystemClock())


def build_desk(stream: str, config: str, *, actor: str, may_submit: bool = False) -> Desk:
    """The desk of a declared stream; who may submit sees with the stream's connections, as `wiring.supervisor_of` has it.

    SettingsError when its declaration is wrong or gone.
    """
    settings = load_settings(config)
    spec = settings.stream(stream)
    return Desk(
        supervisor_of(spec, state_root=settings.state_root, actor=actor, may_submit=may_submit),
        storage=storage_for(spec.checkpoint),
        clock=SystemClock(),
        state_root=settings.state_root,
        author=this_author(actor),
    )
