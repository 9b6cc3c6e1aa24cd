"""From a stream's name to the desk of its acts, inside an Airflow process."""

from streamops.airflow.wiring import supervisor_of
from streamops.clock import SystemClock
from streamops.settings import load_settings
from streamops.storage.kinds import storage_for
from streamops.supervisor.desk import Desk
from streamops.supervisor.requests import this_author


def build_desk(stream: str, config: str, *, actor: str) -> Desk:
    """The desk of a declared stream. SettingsError when its declaration is wrong or gone."""
    settings = load_settings(config)
    spec = settings.stream(stream)
    return Desk(
        supervisor_of(spec, state_root=settings.state_root, actor=actor, may_submit=False),
        storage=storage_for(spec.checkpoint),
        clock=SystemClock(),
        state_root=settings.state_root,
        author=this_author(actor),
    )
