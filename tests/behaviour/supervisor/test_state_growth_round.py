"""Rounds of health checks over streams whose drivers tell the size of their state."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from streamops.control.layout import PROGRESS, control_folder, driver_folder
from streamops.storage import join
from streamops.verdict import Verdict
from support.base_checkpoint import BASE_ID
from support.health_rounds import Fleet, verdicts
from support.state_files import CHANGES

HOUR = timedelta(hours=1)


@pytest.fixture
def fleet():
    """A stream with state, and one without."""
    fleet = Fleet("counts", "orders")
    for version in range(1, 6):
        fleet.storage.write(join(fleet.spec("counts").checkpoint, f"state/0/0/{version}.delta"), CHANGES)
    return fleet


def tell(fleet: Fleet, rows: int, *, stateful: tuple[str, ...] = ("counts",)) -> None:
    """The driver of each stream has run a batch after which its query has so many rows; its companion has more of them."""
    operator = {"operatorName": "stateStoreSave", "memoryUsedBytes": 200 * rows}
    batch = {
        "batchId": 4,
        "timestamp": "2026-03-01T12:00:00.000Z",
        "durationMs": {"addBatch": 1, "triggerExecution": 2},
    }
    lines = [
        {**batch, "id": BASE_ID, "stateOperators": []},
        {**batch, "id": BASE_ID, "stateOperators": [{**operator, "numRowsTotal": rows}]},
        {**batch, "id": "companion", "stateOperators": [{**operator, "numRowsTotal": 7 * rows}]},
    ]
    for spec in fleet.specs:
        folder = driver_folder(control_folder(spec.checkpoint), 1, "0a0a0a0a0a0a0a0a")
        told = lines[1:] if spec.name in stateful else lines[:1]
        fleet.storage.write(join(folder, PROGRESS), "\n".join(map(json.dumps, told)).encode())


def watched(fleet: Fleet, hours: int, rows: Callable[[int], int]) -> list[Verdict]:
    """The verdicts on the stream with state, one check an hour."""
    found = []
    for hour in range(hours):
        tell(fleet, rows(hour))
        found.append(verdicts(fleet.round())["counts"])
        fleet.clock.advance(HOUR)
    return found


def test_state_that_only_grows_is_a_warning_after_a_day(fleet):
    found = watched(fleet, 26, lambda hour: 100_000 + 10_000 * hour)

    assert found[:24] == [Verdict.OK] * 24
    assert found[24:] == [Verdict.WARNING] * 2
    (change,) = fleet.told
    assert str(change) == "counts: no verdict -> warning (unbounded-state)"
    assert "found: 340,000 rows, 240% more than a day ago" in change.report


def test_state_that_stays_is_well_and_its_figures_are_kept(fleet):
    assert watched(fleet, 26, lambda hour: 100_000) == [Verdict.OK] * 26

    kept = [entry.sample for entry in fleet.history("counts").past(fleet.clock.now()).entries]
    assert {(sample.state_rows, sample.state_memory) for sample in kept} == {(100_000, 20_000_000)}


def test_state_that_the_progress_tells_of_and_that_is_not_there_is_critical(fleet):
    tell(fleet, 100_000, stateful=("counts", "orders"))

    assert verdicts(fleet.round()) == {"counts": Verdict.OK, "orders": Verdict.CRITICAL}


def test_a_query_without_state_has_no_figures_of_it(fleet):
    tell(fleet, 100_000)

    assert verdicts(fleet.round())["orders"] is Verdict.OK

    (entry,) = fleet.history("orders").past(fleet.clock.now()).entries
    assert (entry.sample.state_rows, entry.sample.state_memory) == (None, None)


def test_progress_that_tells_nothing_leaves_the_verdict_alone(fleet):
    for spec in fleet.specs:
        folder = driver_folder(control_folder(spec.checkpoint), 1, "0a0a0a0a0a0a0a0a")
        fleet.storage.write(join(folder, PROGRESS), b"\xff{\n[]\n")

    assert verdicts(fleet.round())["counts"] is Verdict.OK
