"""In which order the components of the sandbox's Airflow come up."""

from pathlib import Path
from typing import Any, cast

from streamops_sandbox import airflow as sandbox_airflow
from streamops_sandbox.airflow import Airflow, Component
from streamops_sandbox.airflow_api import AirflowApi
from streamops_sandbox.daemon import Daemons
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.state import SandboxState


class Diary:
    """Daemons that come up at once, and what was asked of them."""

    def __init__(self) -> None:
        self.entries: list[str] = []

    def start(self, name: str, command: Any, *, environment: Any) -> None:
        self.entries.append(f"start {name.removeprefix('airflow-')}")

    def wait_ready(self, *names: str, **how: Any) -> None:
        self.entries.append(f"wait for {' '.join(name.removeprefix('airflow-') for name in names)}")


def started(root: Path, *components: Component) -> list[str]:
    layout = SandboxLayout(project=root, root=root / "sandbox")
    layout.create_folders()
    # A database that is there already: no command of Airflow's is run.
    (layout.airflow_home / "migrated-to-version").write_text(sandbox_airflow._airflow_version())
    diary = Diary()
    airflow = Airflow(
        layout,
        cast(Daemons, diary),
        state=SandboxState.choose(),
        environment={},
        api=AirflowApi("http://127.0.0.1:1", user="admin", password=""),
    )
    airflow.start(*components)
    return diary.entries


def test_nothing_that_runs_tasks_starts_before_the_server_that_tasks_report_to(tmp_path: Path) -> None:
    assert started(tmp_path) == [
        "start api-server",
        "wait for api-server",
        "start scheduler",
        "start dag-processor",
        "start triggerer",
        "wait for scheduler dag-processor triggerer",
    ]


def test_one_component_alone_waits_for_no_other(tmp_path: Path) -> None:
    assert started(tmp_path, Component.TRIGGERER) == ["start triggerer", "wait for triggerer"]
