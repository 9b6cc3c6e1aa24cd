"""What a reconciler says about a stream that is attended and does not run, row by row."""

from datetime import timedelta

import pytest

from streamops.control.attendance import Attendance
from streamops.reconcile import FindingKind, ReconcileSeverity, reconcile
from streamops.reconcile.facts import GRACE, FleetFacts, Overdue, StreamFacts, is_recent
from streamops.supervision.decision import Action, Decision
from support.observations import NOW
from support.records import a_claim, a_state, a_submit, an_end
from support.specs import CHECKPOINT, SUPERVISOR

SECOND = timedelta(seconds=1)


def due(action: Action, *, waited_for: str = "", **changes) -> Overdue:
    return Overdue(decision=Decision(action=action, reason="so it is", **changes), waited_for=waited_for)


@pytest.mark.parametrize(
    ("overdue", "kind", "severity"),
    [
        pytest.param(due(Action.CLAIM), FindingKind.OVERDUE, ReconcileSeverity.CRITICAL, id="a claim"),
        pytest.param(due(Action.RECORD_END), FindingKind.OVERDUE, ReconcileSeverity.CRITICAL, id="an end"),
        pytest.param(due(Action.PARK), FindingKind.OVERDUE, ReconcileSeverity.CRITICAL, id="not even parked"),
        pytest.param(
            due(Action.CLAIM, waited_for="127.0.0.1:9092"),
            FindingKind.OVERDUE,
            ReconcileSeverity.WARNING,
            id="the source may be back since a moment ago",
        ),
        pytest.param(
            due(Action.WAIT, needs_attention=True, until=NOW),
            FindingKind.WAITING,
            ReconcileSeverity.WARNING,
            id="for a person",
        ),
        pytest.param(due(Action.WAIT), FindingKind.WAITING, ReconcileSeverity.WARNING, id="for nothing that will come"),
        pytest.param(due(Action.WAIT, until=NOW), None, None, id="back-off"),
        pytest.param(due(Action.WAIT, waited_for="127.0.0.1:9092"), None, None, id="the source does not answer"),
        pytest.param(due(Action.KEEP), None, None, id="it lives elsewhere"),
        pytest.param(None, None, None, id="the log grew a moment ago"),
    ],
)
def test_an_attended_stream_that_stands_still_is_told_by_what_is_due(overdue, kind, severity):
    stream = StreamFacts(
        stream="orders",
        checkpoint=CHECKPOINT,
        state=a_state(a_claim(1), a_submit(1), an_end(1)),
        attendance=Attendance(stream="orders", at=NOW, by=SUPERVISOR),
        overdue=overdue,
        changed_at=NOW - GRACE,
    )

    found = reconcile(FleetFacts(at=NOW, streams=(stream,)), NOW)

    assert [(one.kind, one.severity) for one in found] == ([(kind, severity)] if kind else [])
    assert all("so it is" in one.evidence for one in found)


@pytest.mark.parametrize(
    ("moment", "is_young"),
    [
        pytest.param(NOW, True, id="now"),
        pytest.param(NOW - GRACE + SECOND, True, id="within the grace"),
        pytest.param(NOW - GRACE, False, id="over"),
        pytest.param(NOW + GRACE - SECOND, True, id="clocks differ a little"),
        pytest.param(NOW + GRACE, False, id="a clock is wrong"),
        pytest.param(None, False, id="nobody knows"),
    ],
)
def test_a_stamp_is_young_within_the_grace_on_either_side(moment, is_young):
    assert is_recent(moment, NOW) is is_young


def test_what_a_living_driver_waits_for_is_told_at_once():
    decision = Decision(action=Action.KEEP, reason="it runs", waits_for="kafka:9092 has not answered for 25 s")
    stream = StreamFacts(
        stream="orders",
        checkpoint=CHECKPOINT,
        state=a_state(a_claim(1), a_submit(1)),
        attendance=Attendance(stream="orders", at=NOW, by=SUPERVISOR),
        decision=decision,
        changed_at=NOW,
    )

    (found,) = reconcile(FleetFacts(at=NOW, streams=(stream,)), NOW)

    assert (found.kind, found.severity) == (FindingKind.WAITING, ReconcileSeverity.WARNING)
    assert found.evidence == decision.waits_for
