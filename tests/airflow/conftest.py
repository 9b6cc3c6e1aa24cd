"""Airflow for the tests of its side. The environment must stand before anything imports Airflow: it reads it once."""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import structlog

ROOT = Path(__file__).parents[2]

if "airflow" in sys.modules:
    raise RuntimeError("Airflow was imported before its test environment was set: import it in tests/airflow only")

_HOME = Path(tempfile.mkdtemp(prefix="streamops-airflow-"))
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)

for _name in [name for name in os.environ if name.startswith(("AIRFLOW_", "_AIRFLOW_"))]:
    del os.environ[_name]
os.environ.update(
    AIRFLOW_HOME=str(_HOME),
    AIRFLOW__CORE__DAGS_FOLDER=str(ROOT / "dags"),
    AIRFLOW__CORE__PLUGINS_FOLDER=str(ROOT / "plugins"),
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{_HOME / 'airflow.db'}",
    AIRFLOW__API_AUTH__JWT_SECRET="only for tests, and long enough to be taken",
    AIRFLOW__LOGGING__LOGGING_LEVEL="WARNING",
    AIRFLOW__LOGGING__NAMESPACE_LEVELS="airflow.task.operators.streamops=INFO",
)

from streamops.airflow import services  # noqa: E402
from streamops.clock import SystemClock  # noqa: E402
from streamops.control.layout import control_folder  # noqa: E402
from streamops.control.log import LogReader  # noqa: E402
from streamops.control.records import DriverHandle, Submitted  # noqa: E402
from streamops.control.snapshot import load_state  # noqa: E402
from streamops.control.state import LogState  # noqa: E402
from streamops.control.state_root import MARKER  # noqa: E402
from streamops.errors import StreamOpsError  # noqa: E402
from streamops.launch import DriverState  # noqa: E402
from streamops.launch.local import LocalLauncher  # noqa: E402
from streamops.operations.requests import Requests  # noqa: E402
from streamops.settings import load_settings  # noqa: E402
from streamops.spec import StreamSpec  # noqa: E402
from streamops.storage.local import LocalStorage  # noqa: E402
from streamops.supervision.supervisor import Supervisor  # noqa: E402
from support.settings import a_declared_stream, a_project  # noqa: E402
from support.specs import PERSON  # noqa: E402
from support.storage import InterruptibleStorage, SwitchableStorage  # noqa: E402
from support.waiting import eventually  # noqa: E402

STREAM = "orders"
LOG_LINES = 60

SPARK_SUBMIT = f"""#!/bin/sh
echo "$@" > "$0.arguments"
line=1
while [ $line -le {LOG_LINES} ]; do echo "line $line"; line=$((line + 1)); done
exec sleep 600
"""
"""Stands in for spark-submit: a real process that writes a log and lives until it is killed."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs Airflow, and Airflow's own dependencies are not ours to mend."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.airflow)
            item.add_marker(pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning"))


class Place:
    """A project with one stream, `orders`, whose drivers are real processes that sleep, and its control log."""

    def __init__(self, root: Path) -> None:
        self.project = a_project(root)
        self.spark_submit = self.project.root / "bin" / "spark-submit"
        self.spark_submit.parent.mkdir()
        self.spark_submit.write_text(SPARK_SUBMIT)
        self.spark_submit.chmod(0o755)
        self.launcher = LocalLauncher()

    @property
    def config(self) -> str:
        return str(self.project.file)

    def declare(self, **changes: Any) -> None:
        """The settings file declares the stream like this."""
        launch = {"spark_submit": str(self.spark_submit), **changes.pop("launch", {})}
        restart = {"initial_delay": "0s", **changes.pop("restart", {})}
        self.project.load(streams={STREAM: a_declared_stream(STREAM, launch=launch, restart=restart, **changes)})

    @property
    def spec(self) -> StreamSpec:
        return load_settings(self.config).stream(STREAM)

    @property
    def control(self) -> str:
        return control_folder(self.project.address(f"data/checkpoints/{STREAM}"))

    def supervisor(self, *, may_submit: bool = True) -> Supervisor:
        return services.build_supervisor(STREAM, self.config, actor="airflow:test", may_submit=may_submit)

    def person(self) -> Requests:
        """Somebody at a terminal."""
        return Requests(self.spec, storage=LocalStorage(), clock=SystemClock(), author=PERSON)

    def start(self) -> DriverHandle:
        """The stream runs, its log is written; the driver's handle."""
        self.supervisor().settle()
        self.wait_for_log()
        return self.handles[-1]

    def wait_for_log(self) -> None:
        log = Path(self.handles[-1].log)
        assert eventually(lambda: log.exists() and f"line {LOG_LINES}\n" in log.read_text())

    def kill(self, handle: DriverHandle) -> None:
        """The driver dies, and everybody can see it."""
        self.launcher.kill(handle)
        assert eventually(lambda: not self.is_alive(handle))

    def is_alive(self, handle: DriverHandle) -> bool:
        return self.launcher.poll(handle).state is not DriverState.ENDED

    @property
    def kinds(self) -> list[str]:
        """What was recorded, in order."""
        return [record.body.kind for record in self._records()]

    @property
    def handles(self) -> list[DriverHandle]:
        """Every driver that was ever submitted, oldest first."""
        return [record.body.handle for record in self._records() if isinstance(record.body, Submitted)]

    @property
    def state(self) -> LogState:
        return load_state(LocalStorage(), self.control)

    @property
    def submit_arguments(self) -> list[str]:
        """What spark-submit was called with last."""
        return Path(f"{self.spark_submit}.arguments").read_text().split()

    def _records(self) -> tuple:
        return LogReader(LocalStorage(), self.control).read()


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.declare()
    yield place
    with suppress(StreamOpsError):  # a test that breaks the log starts no driver
        for handle in place.handles:
            place.launcher.kill(handle)


@pytest.fixture(autouse=True)
def notes(tmp_path, monkeypatch):
    """Where this host keeps who owns a namespace: each test is an Airflow of its own."""
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    return tmp_path / "airflow" / "streamops"


class TaskLog:
    """What tasks have logged, as level and text."""

    def __init__(self, entries: list) -> None:
        self._entries = entries

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self._all())

    @property
    def warnings(self) -> str:
        return "\n".join(text for level, text in self._all() if level == "warning")

    def _all(self) -> list[tuple[str, str]]:
        return [(entry["log_level"], entry["event"] % entry.get("positional_args", ())) for entry in self._entries]


@pytest.fixture
def task_log():
    with structlog.testing.capture_logs() as entries:
        yield TaskLog(entries)


class Eyes:
    """The files as supervisors inside Airflow see them: looks are counted, can be cut off, and can be held up."""

    def __init__(self) -> None:
        self.storage = SwitchableStorage(LocalStorage())
        self.looks = 0
        """Reads of the mark of a state root: each look begins with exactly one."""
        self.calls = 0
        """Of any kind: a look that fails at its first call counts here only."""
        self.on_look: Callable[[str], None] = lambda checkpoint: None

    def __call__(self, address: str, **_: object) -> InterruptibleStorage:
        return InterruptibleStorage(self.storage, lambda moment: self._tick(moment, address))

    def have_looked(self, times: int) -> bool:
        """Wait until that many more looks have begun."""
        wanted = self.looks + times
        return eventually(lambda: self.looks >= wanted, within=60)

    def have_asked(self, times: int) -> bool:
        """Wait until that many more calls were made."""
        wanted = self.calls + times
        return eventually(lambda: self.calls >= wanted, within=60)

    def _tick(self, moment: str, checkpoint: str) -> None:
        self.calls += 1
        if moment.startswith("before read ") and moment.endswith(f"/{MARKER}"):
            self.looks += 1
            self.on_look(checkpoint)


@pytest.fixture
def eyes(monkeypatch):
    eyes = Eyes()
    monkeypatch.setattr(services, "storage_for", eyes)
    return eyes
