"""The whole suite of processes: broker, Airflow, Spark, killed one after the other.

What is proven:

1. `make demo` in a fresh sandbox: the driver is killed and the stream goes on from its checkpoint; the Airflow task,
   the triggerer and the scheduler are killed and the stream does not notice; every order is in the table once.
2. `make chaos`: kills at random instants, under `streamops supervise`, never two drivers at once.
3. After both nothing of them still runs.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamops.launch.processes import PROC

PROJECT = Path(__file__).parents[2]

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]


@pytest.fixture
def sandbox_root(tmp_path: Path) -> Path:
    return tmp_path / "sandbox"


def run(module: str, *arguments: str, sandbox_root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=PROJECT,
        env={**os.environ, "STREAMOPS_SANDBOX": str(sandbox_root), **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def processes_of(sandbox_root: Path) -> list[str]:
    """Command lines and environments that name the sandbox's folder."""
    left = []
    for entry in PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:
            continue
        if str(sandbox_root).encode() in command + environment:
            left.append(command.replace(b"\0", b" ").decode(errors="replace")[:200])
    return left


def test_no_kill_of_driver_task_triggerer_or_scheduler_loses_or_repeats_an_order(sandbox_root: Path) -> None:
    demo = run("streamops.sandbox.demo", sandbox_root=sandbox_root, DEMO_EXIT="1")

    assert demo.returncode == 0, demo.stdout
    result = json.loads((sandbox_root / "demo.json").read_text())
    assert result["sent"] == result["delivered"] > 0, demo.stdout
    assert (result["lost"], result["duplicated"], result["double_writers"]) == (0, 0, 0)
    assert result["malformed"] == result["dead_letters"] > 0
    assert result["epochs"] == 2
    assert result["worker_kill_stopped_stream"] is False
    assert processes_of(sandbox_root) == []


def test_kills_at_random_instants_lose_and_repeat_nothing(sandbox_root: Path) -> None:
    chaos = run("streamops.sandbox.chaos", "--cycles", "3", sandbox_root=sandbox_root)

    assert chaos.returncode == 0, chaos.stdout
    result = json.loads((sandbox_root / "chaos.json").read_text())
    assert result["cycles"] == 3
    assert result["epochs"] > 3
    assert (result["lost"], result["duplicated"], result["double_writers"]) == (0, 0, 0)
    assert result["delivered"] == result["sent"] > 0
    assert processes_of(sandbox_root) == []
