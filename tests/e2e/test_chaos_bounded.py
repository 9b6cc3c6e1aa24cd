"""Bounded runs forced against a live query, and runs of a scheduled stream, under `streamops supervise`, without Airflow.

What is proven, with orders coming all the while and a blow in each round:

1. Nothing is lost and nothing comes twice, dead letters included, by two streams that read the same topic.
2. At no moment two drivers of one stream live: neither live query and run, nor two runs.
3. Each run reads all that there was when it began, and the live query comes back.
4. Afterwards nothing of it runs.
"""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.processes import processes_of

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(900)]


def test_runs_and_live_query_take_turns_and_lose_and_repeat_nothing(
    run: Callable[..., subprocess.CompletedProcess[str]], sandbox_root: Path
) -> None:
    chaos = run("streamops_sandbox.chaos", "catchup", "--cycles", "2", "--seed", "4")

    assert chaos.returncode == 0, chaos.stdout
    (found,) = json.loads((sandbox_root / "chaos.json").read_text())["bounded"]
    assert [(one["stream"], one["outcome"]) for one in found["rounds"]] == [
        ("orders_to_delta", "finished"),
        ("orders_by_the_hour", "finished"),
    ] * 2
    assert found["double_writers"] == 0
    assert [(one["lost"], one["duplicated"]) for one in found["accounts"]] == [(0, 0), (0, 0)]
    assert all(one["delivered"] == one["sent"] > 0 for one in found["accounts"])
    assert processes_of(sandbox_root) == {}
