"""Blows at random instants under `streamops supervise`, without Airflow: two streams at once, each with its own orders.

What is proven:

1. Nothing is lost and nothing comes twice, dead letters included.
2. At no moment two drivers of one stream live.
3. A killed driver is replaced; a killed supervisor is not noticed.
4. Afterwards nothing of it runs, and a second run would be added to its figures.
"""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from streamops_sandbox.chaos.book import Book
from support.processes import processes_of

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

VICTIMS = "driver-kill,python-kill,supervisor-kill"


def test_blows_at_random_instants_lose_and_repeat_nothing(run: Run, sandbox_root: Path) -> None:
    arguments = ("rounds", "--streams", "2", "--cycles", "3", "--victims", VICTIMS)

    chaos = run("streamops_sandbox.chaos", *arguments)

    assert chaos.returncode == 0, chaos.stdout
    (found,) = Book(sandbox_root / "chaos.json").runs()
    assert found.is_good
    assert {str(r.victim): str(r.fate) for r in found.rounds} == {
        "driver-kill": "replaced",
        "python-kill": "replaced",
        "supervisor-kill": "untouched",
    }
    assert all(account.delivered == account.sent > 0 for account in found.accounts)
    totals = json.loads((sandbox_root / "chaos.json").read_text())["totals"]
    assert (totals["cycles"], totals["lost"], totals["duplicated"], totals["double_writers"]) == (3, 0, 0, 0)
    assert processes_of(sandbox_root) == {}
