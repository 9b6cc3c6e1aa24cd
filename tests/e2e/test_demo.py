"""The demo in a fresh sandbox, left up, and then what people do to tasks in Airflow's UI.

What is proven, in order:

1. The driver is killed and the stream goes on from its checkpoint; the Airflow task, the triggerer and the scheduler are
   killed and the stream does not notice; every order is in the table once.
2. Marking the task failed, and then success, does not stop the stream: the next run attaches to the living driver.
3. A secret of the environment is in no file: not in Airflow's database (XCom, rendered templates, triggers), nor in a log, a
   claim or a driver's folder.
4. `streamops stop` does stop it, between two batches, and `streamops status` says so.
5. After `sandbox down` nothing of it runs.
"""

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streamops_sandbox.drivers import live_drivers
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.sandbox import Sandbox
from streamops_sandbox.waiting import SilentNarrator
from support.processes import processes_of

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]

PROJECT = Path(__file__).parents[2]
DAG = "stream__orders_to_delta"
CANARY = "canary-5d1f0c7be2a94f"


@pytest.fixture(scope="module")
def sandbox(run: Run, sandbox_root: Path) -> Iterator[Sandbox]:
    """The sandbox after the demo, still up."""
    demo = run("streamops_sandbox.demo", PGPASSWORD=CANARY, SLACK_WEBHOOK=f"https://hooks.example/{CANARY}")
    assert demo.returncode == 0, demo.stdout
    # The coverage of the dead stream, partition by partition.
    assert re.search(r"orders-0 +covered +\d+ +0 +\d+ +\d+ +20\d\d-", demo.stdout), demo.stdout
    sandbox = Sandbox(SandboxLayout(project=PROJECT, root=sandbox_root), narrator=SilentNarrator())
    yield sandbox
    sandbox.down()


def control(sandbox: Sandbox) -> str:
    return f"file://{sandbox.layout.data}/checkpoints/orders_to_delta.streamops"


def supervising_runs(sandbox: Sandbox) -> dict[str, str | None]:
    """The state of task supervise in each run, newest first."""
    api = sandbox.api()
    return {
        run.run_id: next(
            (task.state for task in api.task_instances(DAG, run.run_id) if task.task_id == "supervise"), None
        )
        for run in api.dag_runs(DAG)
    }


def eventually(condition: Callable[[], bool], *, seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.5)
    return True


def test_no_kill_of_driver_task_triggerer_or_scheduler_loses_or_repeats_an_order(sandbox: Sandbox) -> None:
    result = json.loads((sandbox.layout.root / "demo.json").read_text())
    assert result["sent"] == result["delivered"] > 0
    assert (result["lost"], result["duplicated"], result["double_writers"]) == (0, 0, 0)
    assert result["malformed"] == result["dead_letters"] > 0
    assert result["epochs"] == 2
    assert result["worker_kill_stopped_stream"] is False


@pytest.mark.parametrize("state", ["failed", "success"])
def test_marking_the_task_never_stops_the_stream_and_the_next_run_attaches(sandbox: Sandbox, state: str) -> None:
    (before,) = live_drivers(control(sandbox))
    assert eventually(lambda: "deferred" in supervising_runs(sandbox).values())
    marked = next(run for run, found in supervising_runs(sandbox).items() if found == "deferred")

    sandbox.api().set_task_state(DAG, marked, "supervise", state=state)

    assert eventually(
        lambda: any(found == "deferred" for run, found in supervising_runs(sandbox).items() if run != marked)
    ), supervising_runs(sandbox)
    assert supervising_runs(sandbox)[marked] == state
    (after,) = live_drivers(control(sandbox))
    assert (after.epoch, after.leader) == (before.epoch, before.leader)


def test_a_secret_of_the_environment_is_in_no_file(sandbox: Sandbox, sandbox_root: Path) -> None:
    """Of Airflow, which runs with it, nor of the drivers that its tasks have started."""
    (driver,) = live_drivers(control(sandbox))
    environment = Path(f"/proc/{driver.leader}/environ").read_bytes()
    contents = {file: _content(file) for file in sandbox_root.rglob("*") if file.is_file()}

    assert any(file.name == "airflow.db" for file in contents)
    assert CANARY.encode() not in environment
    assert [str(file) for file, content in contents.items() if CANARY.encode() in content] == []


def _content(file: Path) -> bytes:
    """Of a file that a running driver may rename or remove meanwhile; nothing then."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def test_the_command_line_stops_the_stream_and_says_so(sandbox: Sandbox, run: Run) -> None:
    environment = sandbox.environment()
    stop = ("streamops.cli.main", "stop", "orders_to_delta", "--reason", "the test is over", "--yes", "--wait")

    stopped = run(*stop, **environment)

    assert stopped.returncode == 0, stopped.stdout
    assert live_drivers(control(sandbox)) == ()
    status = run("streamops.cli.main", "status", "--json", **environment)
    assert '"stopped"' in status.stdout, status.stdout


def test_nothing_runs_after_down(sandbox: Sandbox, sandbox_root: Path) -> None:
    sandbox.down()

    assert processes_of(sandbox_root) == {}
