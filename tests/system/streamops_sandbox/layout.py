"""Where everything of the sandbox lies: all of it below one folder, so that removing the folder removes the sandbox."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streamops.clock import SystemClock
from streamops.control.state_root import make_state_root
from streamops.operations.requests import this_author
from streamops.storage import canonical_address
from streamops.storage.local import LocalStorage
from streamops_sandbox.errors import SandboxError

PROJECT_VARIABLE = "STREAMOPS_PROJECT"
"""Names the project folder where the working directory does not lie in it."""

ROOT_VARIABLE = "STREAMOPS_SANDBOX"
"""Names another folder for the sandbox, an absolute one: several may stand side by side."""

PROJECT_MARK = "pyproject.toml"
SANDBOX_FOLDER = ".sandbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLayout:
    """The places of one sandbox; nothing is created by naming them."""

    project: Path
    """The folder with `dags/`, `plugins/`, `config/` and `.jars/`."""

    root: Path
    """The folder that holds the sandbox and nothing else."""

    own_dags: bool = False
    """Whether Airflow runs what the sandbox itself has written into its `dags` folder, instead of the project's DAGs."""

    def __post_init__(self) -> None:
        if not self.project.is_absolute() or not self.root.is_absolute():
            # Daemons are found again from other working directories.
            raise SandboxError(f"sandbox folders must be absolute, found project {self.project} and root {self.root}")

    @classmethod
    def of_project(cls, project: Path) -> "SandboxLayout":
        """The sandbox of a project: `.sandbox` in its folder unless the environment names another."""
        folder = project.resolve()
        return cls(project=folder, root=Path(os.environ.get(ROOT_VARIABLE) or folder / SANDBOX_FOLDER))

    @property
    def state(self) -> Path:
        """The choices that stay: ports, secrets, the Airflow password. Readable by the owner only."""
        return self.root / "state.json"

    @property
    def lock(self) -> Path:
        """Held by the command that is changing the sandbox."""
        return self.root / "lock"

    @property
    def data(self) -> Path:
        """Tables, checkpoints and control logs of the streams."""
        return self.root / "data"

    @property
    def state_roots(self) -> tuple[Path, ...]:
        """Those of the project's settings: its own streams, and the catalogue of jobs."""
        return (self.data / "state", self.data / "catalogue" / "state")

    @property
    def logs(self) -> Path:
        """One log file for each daemon and each set-up command."""
        return self.root / "logs"

    @property
    def daemons(self) -> Path:
        """One JSON record for each daemon that was started."""
        return self.root / "daemons"

    @property
    def kafka(self) -> Path:
        """The broker's configuration and data."""
        return self.root / "kafka"

    @property
    def postgres(self) -> Path:
        """The database server's data; it may belong to another user, who runs the server in the place of root."""
        return self.root / "postgres"

    @property
    def postgres_password(self) -> Path:
        """The password of the database's only user. Readable by the owner of the sandbox only."""
        return self.root / "postgres-password"

    @property
    def rest_ledger(self) -> Path:
        """What the HTTP endpoint has accepted, one JSON object a line."""
        return self.root / "rest" / "ledger.jsonl"

    @property
    def rest_token(self) -> Path:
        """The bearer token that the HTTP endpoint asks for. Readable by the owner of the sandbox only."""
        return self.root / "rest-token"

    @property
    def airflow_home(self) -> Path:
        """AIRFLOW_HOME: database, task logs, password file."""
        return self.root / "airflow"

    @property
    def airflow_passwords(self) -> Path:
        """User name to password, the file Airflow's simple auth manager reads. Readable by the owner only."""
        return self.airflow_home / "passwords.json"

    def orders_state(self, topic: str) -> Path:
        """How far the order generator of a topic has got."""
        return self.root / f"{topic}.json"

    @property
    def settings(self) -> Path:
        """A declaration of streams that the sandbox has written for itself."""
        return self.root / "config" / "streams.yaml"

    @property
    def broker_jars(self) -> Path:
        return self.project / ".jars" / "broker"

    @property
    def postgres_programs(self) -> Path:
        """Where `make setup` puts the programs of PostgreSQL."""
        return self.project / ".jars" / "postgres" / "bin"

    @property
    def dags(self) -> Path:
        """What Airflow runs."""
        return (self.root if self.own_dags else self.project) / "dags"

    @property
    def plugins(self) -> Path:
        return self.project / "plugins"

    @property
    def stream_config(self) -> Path:
        """The declaration of the streams that the sandbox runs unless STREAMOPS_CONFIG says otherwise."""
        return self.project / "config" / "streams.yaml"

    def create_folders(self) -> None:
        """Make the folders, readable by the owner only: logs and Airflow's home may hold secrets.

        The state roots among them are marked, as `streamops init` does it.
        """
        for folder in (self.root, self.data, self.logs, self.daemons, self.kafka, self.airflow_home):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for state_root in self.state_roots:
            address = canonical_address(str(state_root))
            make_state_root(LocalStorage(), address, clock=SystemClock(), author=this_author("sandbox"))


def find_project(start: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """The project folder: STREAMOPS_PROJECT, or the nearest folder from `start` upward with a pyproject.toml.

    Raises SandboxError where neither names one.
    """
    if named := environment.get(PROJECT_VARIABLE):
        project = Path(named).resolve()
        if not (project / PROJECT_MARK).is_file():
            raise SandboxError(f"{PROJECT_VARIABLE} is {named}, which holds no {PROJECT_MARK}: name the project folder")
        return project
    here = start.resolve()
    for folder in (here, *here.parents):
        if (folder / PROJECT_MARK).is_file():
            return folder
    raise SandboxError(
        f"no {PROJECT_MARK} in {here} or above: change into the project or set {PROJECT_VARIABLE} to its folder"
    )
