"""Kills at random instants under `streamops supervise`, without Airflow.

What is proven:

1. Nothing is lost and nothing comes twice, dead letters included.
2. At no moment two drivers live.
3. Afterwards nothing of it runs.
"""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.processes import processes_of

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def test_kills_at_random_instants_lose_and_repeat_nothing(run: Run, sandbox_root: Path) -> None:
    chaos = run("streamops.sandbox.chaos", "--cycles", "3")

    assert chaos.returncode == 0, chaos.stdout
    result = json.loads((sandbox_root / "chaos.json").read_text())
    assert result["cycles"] == 3
    assert result["epochs"] > 3
    assert (result["lost"], result["duplicated"], result["double_writers"]) == (0, 0, 0)
    assert result["delivered"] == result["sent"] > 0
    assert processes_of(sandbox_root) == {}
