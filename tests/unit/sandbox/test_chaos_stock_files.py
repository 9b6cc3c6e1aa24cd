"""The files that run a stream as stock Airflow does."""

import json
from pathlib import Path

import pytest

from streamops.control.assignment import assignment_of
from streamops.control.records import Claimed, ClaimMode, Position
from streamops.spec import StreamSpec
from streamops_sandbox.chaos.stock_files import (
    CONNECTION,
    DEFAULT_PATIENCE_SECONDS,
    stock_environment,
    write_stock_files,
)
from streamops_sandbox.layout import SandboxLayout
from support.specs import a_stream

CONTROL = "file:///s/stock"


@pytest.fixture
def layout(tmp_path: Path) -> SandboxLayout:
    layout = SandboxLayout(project=tmp_path / "project", root=tmp_path / "sandbox", own_dags=True)
    layout.create_folders()
    return layout


@pytest.fixture
def spec(layout: SandboxLayout) -> StreamSpec:
    spec = a_stream()
    write_stock_files(layout, spec, control=CONTROL, retry_delay=15)
    return spec


def test_what_is_written_is_python(layout: SandboxLayout, spec: StreamSpec) -> None:
    for file in (layout.dags / "stock.py", layout.root / "stock" / "plain_main.py"):
        compile(file.read_text(encoding="utf-8"), file, "exec")


def test_the_dags_of_the_project_are_left_alone(layout: SandboxLayout, spec: StreamSpec) -> None:
    assert layout.dags.is_relative_to(layout.root)
    assert not layout.project.exists()


def test_the_plain_main_reads_the_same_work_as_a_driver_of_the_suite(layout: SandboxLayout, spec: StreamSpec) -> None:
    claim = Claimed(
        stream=spec.name,
        epoch=1,
        token="",
        mode=ClaimMode.LIVE,
        position=Position(),
        spec=(layout.root / "stock" / "spec.json").read_text(encoding="utf-8"),
        job_sha256="",
        library_version="",
    )

    assignment = assignment_of(claim)

    assert (assignment.checkpoint, assignment.table) == (spec.checkpoint, spec.sink.table)


def test_a_driver_of_a_task_carries_the_mark_by_which_it_is_found(layout: SandboxLayout, spec: StreamSpec) -> None:
    submit = json.loads((layout.dags / "stock.json").read_text())["submit"]

    assert submit["application_args"][:3] == ["--control", CONTROL, "--epoch"]
    assert submit["conf"] == dict(spec.launch.conf)
    assert submit["retry_delay"] == 15


def test_the_connection_comes_by_the_environment_and_patience_is_airflow_s_own() -> None:
    environment = stock_environment(path="/bin", task_timeout=DEFAULT_PATIENCE_SECONDS)

    assert json.loads(environment[f"AIRFLOW_CONN_{CONNECTION.upper()}"])["conn_type"] == "spark"
    assert environment["AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT"] == "300"
    assert environment["PATH"].endswith(":/bin")
