"""Airflow's four components as daemons: set up once, started and stopped together or one by one."""

import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from streamops_sandbox.airflow_api import AirflowApi
from streamops_sandbox.daemon import Daemons
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.json_file import write_json
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.set_up import run_set_up
from streamops_sandbox.state import ADMIN, SandboxState

AIRFLOW = (sys.executable, "-P", "-m", "airflow")
"""-P keeps the working directory, the project with its folders `config` and `docker`, off the import path."""

START_LIMIT = timedelta(seconds=180)
"""On two busy cores the API server alone takes 100 s."""

STOP_GRACE = timedelta(seconds=20)
"""An idle component needs 2 to 12 s. The scheduler waits for running tasks without an end of its own; they are killed
with it, and Airflow finds them failed at the next start."""

_MIGRATE_LIMIT = timedelta(seconds=180)
_COMMAND_LIMIT = timedelta(seconds=300)


class Component(StrEnum):
    """The parts of Airflow, named as its command line names them."""

    API_SERVER = "api-server"
    SCHEDULER = "scheduler"
    DAG_PROCESSOR = "dag-processor"
    TRIGGERER = "triggerer"

    @property
    def daemon(self) -> str:
        """The name of its daemon record and log file."""
        return f"airflow-{self.value}"

    @property
    def command(self) -> tuple[str, ...]:
        """How it is started; secrets come by the environment."""
        if self in (Component.SCHEDULER, Component.TRIGGERER):
            # Their log servers listen on all interfaces; see airflow_environment.
            return (*AIRFLOW, self.value, "--skip-serve-logs")
        return (*AIRFLOW, self.value)


class Airflow:
    """The sandbox's Airflow, whose components run with the given environment."""

    def __init__(
        self,
        layout: SandboxLayout,
        daemons: Daemons,
        *,
        state: SandboxState,
        environment: Mapping[str, str],
        api: AirflowApi,
    ) -> None:
        self._layout = layout
        self._daemons = daemons
        self._state = state
        self._environment = environment
        self._api = api

    def start(self, *components: Component) -> None:
        """Start the components (all four by default) unless they run, and return when they are healthy.

        The API server comes first: a task reports to it, and one that gets no answer has failed before it began.
        Raises SandboxError with the end of the log of what did not come up.
        """
        wanted = components or tuple(Component)
        self._set_up()
        first = [component for component in wanted if component is Component.API_SERVER]
        for part in (first, [component for component in wanted if component not in first]):
            for component in part:
                self._daemons.start(component.daemon, component.command, environment=self._environment)
            if part:
                self.wait_healthy(*part)

    def wait_healthy(self, *components: Component) -> None:
        """Return when the components report a heartbeat of their present process."""
        wanted = components or tuple(Component)
        self._daemons.wait_ready(
            *(component.daemon for component in wanted),
            missing=lambda: ", ".join(self.unhealthy(*wanted)),
            what="airflow",
            limit=START_LIMIT,
        )

    def stop(self, *components: Component) -> None:
        """Stop the components (all four by default); those that report to the API server stop before it."""
        wanted = components or tuple(Component)
        clients = [component.daemon for component in wanted if component is not Component.API_SERVER]
        self._daemons.stop(*clients, grace=STOP_GRACE)
        if Component.API_SERVER in wanted:
            self._daemons.stop(Component.API_SERVER.daemon, grace=STOP_GRACE)

    def kill(self, component: Component) -> bool:
        """SIGKILL for the component's main process alone, as in a crash; False when it was not alive."""
        return self._daemons.kill(component.daemon)

    def run(self, *arguments: str) -> None:
        """One command of Airflow's command line, to its end; SandboxError with the end of its log when it fails."""
        run_set_up(
            [*AIRFLOW, *arguments],
            what=f"run airflow {' '.join(arguments)}",
            log=self._layout.logs / f"airflow-{arguments[0]}.log",
            limit=_COMMAND_LIMIT,
            environment=self._environment,
        )

    def unhealthy(self, *components: Component) -> tuple[str, ...]:
        """The components that do not run or have not reported since their process started.

        A component killed a moment ago still counts as healthy for Airflow: its last heartbeat is young.
        """
        wanted = components or tuple(Component)
        try:
            beats = self._api.heartbeats()
        except SandboxError:
            # The others report through the database, but only the API server can tell.
            return tuple(component.value for component in wanted)
        return tuple(component.value for component in wanted if not self._is_healthy(component, beats))

    def _is_healthy(self, component: Component, beats: Mapping[str, datetime]) -> bool:
        record = self._daemons.running(component.daemon)
        if record is None:
            return False
        if component is Component.API_SERVER:
            return True
        beat = beats.get(component.value)
        return beat is not None and beat >= record.started_at

    def _set_up(self) -> None:
        """Password file and database schema; nothing happens when both are there for this version of Airflow."""
        write_json(self._layout.airflow_passwords, {ADMIN: self._state.admin_password})
        installed = _airflow_version()
        if self._migrated_to.is_file() and self._migrated_to.read_text(encoding="utf-8") == installed:
            return
        run_set_up(
            [*AIRFLOW, "db", "migrate"],
            what="create the database of airflow",
            log=self._layout.logs / "airflow-db-migrate.log",
            limit=_MIGRATE_LIMIT,
            environment=self._environment,
        )
        self._migrated_to.write_text(installed, encoding="utf-8")

    @property
    def _migrated_to(self) -> Path:
        return self._layout.airflow_home / "migrated-to-version"


def _airflow_version() -> str:
    try:
        return version("apache-airflow-core")
    except PackageNotFoundError as error:
        raise SandboxError("airflow is not installed in this environment: run `make setup`") from error
