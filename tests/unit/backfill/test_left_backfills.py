"""Backfills as the reconciler sees them: one that is to run and that nobody carries on is told, any other is not."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamops.backfill import progress_of
from streamops.backfill.status import BackfillFacts, standing_of
from streamops.control.attendance import Attendance
from streamops.control.records import ClaimMode, MaintenanceBegun, MaintenanceEnded, Outcome, Parked
from streamops.launch import DriverState, DriverStatus
from streamops.reconcile import FindingKind, ReconcileFinding, ReconcileSeverity, reconcile
from streamops.reconcile.facts import FleetFacts, StreamFacts
from support.backfills import a_plan
from support.observations import NOW
from support.records import a_claim, a_state, a_submit, an_end
from support.specs import CHECKPOINT, SUPERVISOR

LONG_AGO, LATELY = NOW - timedelta(minutes=5, seconds=1), NOW - timedelta(minutes=4, seconds=59)
BEGUN = MaintenanceBegun(until=NOW + timedelta(days=7), run=ClaimMode.BACKFILL)
RUN = (BEGUN, replace(a_claim(1, stream="orders__march"), mode=ClaimMode.BACKFILL), a_submit(1))
SIGN = Attendance(stream="orders__march", at=LONG_AGO, by=SUPERVISOR)


def said(state: DriverState) -> DriverStatus:
    return DriverStatus(state=state, evidence=f"process 101 is {state}")


def a_backfill(*bodies, done: int = 0, **changes) -> BackfillFacts:
    """Two steps, of which so many are done; silent for a little more than five minutes."""
    facts = BackfillFacts(
        stream="orders",
        id="march",
        state=a_state(*bodies),
        progress=progress_of(a_plan(), [done - 1]),
        moved_at=LONG_AGO,
    )
    return replace(facts, **changes)


DEAD = a_backfill(*RUN, done=1, driver=said(DriverState.ENDED))


def found(*backfills: BackfillFacts) -> list[ReconcileFinding]:
    stream = StreamFacts(
        stream="orders",
        checkpoint=CHECKPOINT,
        is_scheduled=True,
        backfills=backfills,
    )
    return list(reconcile(FleetFacts(at=NOW, streams=(stream,)), NOW))


@pytest.mark.parametrize(
    "backfill",
    [
        pytest.param(DEAD, id="its driver is dead, and nobody has recorded it"),
        pytest.param(a_backfill(*RUN, an_end(1)), id="its driver is dead by the record"),
        pytest.param(a_backfill(BEGUN), id="it was asked for, and nobody began it"),
        pytest.param(a_backfill(*RUN, an_end(1), Parked()), id="it is parked"),
        pytest.param(a_backfill(*RUN, driver=said(DriverState.UNKNOWN)), id="its host is lost, and no beat comes"),
        pytest.param(replace(DEAD, attendance=SIGN), id="whoever watched it went long ago"),
    ],
)
def test_a_backfill_that_nobody_carries_on_is_told(backfill):
    assert [(one.kind, one.severity) for one in found(backfill)] == [
        (FindingKind.LEFT_BACKFILL, ReconcileSeverity.WARNING)
    ]


@pytest.mark.parametrize(
    "backfill",
    [
        pytest.param(a_backfill(), id="it was planned and never asked for"),
        pytest.param(a_backfill(*RUN, driver=said(DriverState.RUNNING)), id="its driver lives, though nobody watches"),
        pytest.param(replace(DEAD, moved_at=LATELY), id="its driver died a moment ago"),
        pytest.param(replace(DEAD, attendance=replace(SIGN, at=LATELY)), id="whoever watched it went a moment ago"),
        pytest.param(replace(DEAD, attendance=replace(SIGN, at=NOW)), id="somebody watches it"),
        pytest.param(replace(DEAD, moved_at=NOW + timedelta(hours=1)), id="a stamp from the future counts as now"),
        pytest.param(a_backfill(*RUN, MaintenanceEnded(), an_end(1, Outcome.STOPPED)), id="it was stopped"),
        pytest.param(replace(DEAD, progress=progress_of(a_plan(), [1])), id="all is read, and nobody recorded the end"),
        pytest.param(replace(DEAD, trouble="no such file"), id="what is of it can't be read"),
    ],
)
def test_any_other_backfill_is_not(backfill):
    assert found(backfill) == []


def test_the_finding_names_the_commands():
    april = replace(DEAD, id="april")

    (finding,) = found(april, DEAD)

    assert finding.meaning == "nobody carries on backfills april and march of orders"
    assert finding.repair.startswith(
        "`streamops backfill orders --resume april` or `streamops backfill orders --resume march`; one that is not wanted"
    )
    assert finding.evidence.startswith("backfill april is left, 69 % done: no driver lives, and nobody attends to it")


def test_a_parked_backfill_tells_why():
    standing = standing_of(a_backfill(*RUN, an_end(1), Parked()), now=NOW)

    assert standing.line == (
        "backfill march is parked, 0 % done: reason 4; when that is mended, `streamops backfill orders --resume march` goes on"
        " with it"
    )
