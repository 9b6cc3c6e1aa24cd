"""Scheduled streams as the reconciler sees them: between two runs they need nobody, during one they are missed like any other."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamops.control.attendance import UNATTENDED_AFTER, Attendance
from streamops.control.records import Author, ClaimMode, MaintenanceBegun, Outcome, Parked, StopRequested
from streamops.launch import DriverState, DriverStatus, FoundDriver
from streamops.reconcile import FindingKind, ReconcileSeverity, reconcile
from streamops.reconcile.facts import FleetFacts, StreamFacts, StreamTask
from support.observations import NOW
from support.records import a_claim, a_handle, a_state, a_submit, an_end, token_of
from support.specs import CHECKPOINT, seconds

DAG = "catchup__orders"
OVER = Attendance(
    stream="orders",
    at=NOW - UNATTENDED_AFTER - seconds(1),
    by=Author(actor="airflow:trigger", host="host-1", pid=7),
)
FRESH = replace(OVER, at=NOW - seconds(5))

ASKED = MaintenanceBegun(until=NOW + timedelta(hours=1), run=ClaimMode.CATCHUP)
RUN = (ASKED, replace(a_claim(1), mode=ClaimMode.CATCHUP), a_submit(1))
PAUSED = StreamTask(dag=DAG, is_paused=True)
MISSING = StreamTask(dag=DAG, is_present=False)


def facts(*bodies, **changes) -> StreamFacts:
    """A scheduled stream with such a log that nobody attends to."""
    stream = StreamFacts(stream="orders", checkpoint=CHECKPOINT, is_scheduled=True, state=a_state(*bodies))
    return replace(stream, attendance=OVER, **changes)


def running(**changes) -> StreamFacts:
    """The driver of its run lives."""
    driver = FoundDriver(handle=a_handle("101:5"), control=f"{CHECKPOINT}.streamops", epoch=1, token=token_of(1))
    status = DriverStatus(state=DriverState.RUNNING, evidence="it runs")
    return replace(facts(*RUN), statuses=((1, status),), living=(driver,), **changes)


def found(stream: StreamFacts) -> list[tuple[FindingKind, ReconcileSeverity]]:
    return [(one.kind, one.severity) for one in reconcile(FleetFacts(at=NOW, streams=(stream,)), NOW)]


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(facts(), id="it was never run"),
        pytest.param(facts(*RUN[1:], an_end(1, Outcome.FINISHED)), id="between two runs"),
        pytest.param(facts(task=StreamTask(dag=DAG)), id="its DAG is there and not paused"),
        pytest.param(running(attendance=FRESH), id="a run is under way and attended to"),
        pytest.param(facts(StopRequested(epoch=0)), id="it is stopped"),
    ],
)
def test_nothing_is_missed(stream):
    assert found(stream) == []


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(running(), id="its driver runs"),
        pytest.param(facts(ASKED), id="nobody has begun it yet"),
    ],
)
def test_a_run_that_nobody_attends_to_is_missed(stream):
    assert found(stream) == [(FindingKind.UNATTENDED, ReconcileSeverity.CRITICAL)]


def test_a_run_whose_driver_has_died_unattended_is_lost():
    stream = facts(*RUN, an_end(1))

    assert found(stream) == [
        (FindingKind.LOST_DRIVER, ReconcileSeverity.CRITICAL),
        (FindingKind.UNATTENDED, ReconcileSeverity.CRITICAL),
    ]


@pytest.mark.parametrize(
    ("task", "kind", "repair"),
    [
        pytest.param(PAUSED, FindingKind.PAUSED_DAG, f"airflow dags unpause {DAG}", id="paused"),
        pytest.param(MISSING, FindingKind.MISSING_DAG, "see the import errors of the DAG file", id="missing"),
    ],
)
def test_a_dag_that_begins_no_runs_is_a_warning(task, kind, repair):
    """Nothing runs that could be lost: its backlog grows."""
    (finding,) = reconcile(FleetFacts(at=NOW, streams=(facts(task=task),)), NOW)

    assert (finding.kind, finding.severity) == (kind, ReconcileSeverity.WARNING)
    assert finding.meaning == "no scheduled run of it begins, and its backlog grows"
    assert repair in finding.repair


def test_a_dag_that_is_paused_during_a_run_is_critical():
    """Its trigger watches, and wakes nobody."""
    assert found(running(attendance=FRESH, task=PAUSED)) == [(FindingKind.PAUSED_DAG, ReconcileSeverity.CRITICAL)]


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(facts(StopRequested(epoch=0), task=PAUSED), id="stopped on purpose"),
        pytest.param(facts(Parked(), task=PAUSED), id="parked"),
    ],
)
def test_a_paused_dag_of_a_stream_that_stands_still_begins_no_runs_anyway(stream):
    assert FindingKind.PAUSED_DAG not in [kind for kind, _ in found(stream)]
