"""Which streams get on, row by row."""

import pytest

from streamops.control.records import ClaimMode, MaintenanceBegun
from streamops.supervision.decision import Action, Decision
from streamops.supervision.standstill import Standstill, standstill
from streamops.supervision.supervisor import Look
from support.observations import NOW, observed
from support.records import a_claim, a_state, a_submit

RUNNING = a_state(a_claim(1), a_submit(1))


def look(action, *, state=RUNNING, **decision):
    return Look(observation=observed(state), decision=Decision(action=action, reason="so it is", **decision))


@pytest.mark.parametrize("action", [Action.KEEP, Action.CLAIM, Action.PARK, Action.RECORD_END, Action.KILL])
def test_a_stream_that_gets_on_or_has_something_done_for_it(action):
    assert standstill(look(action)) is None


@pytest.mark.parametrize(
    ("action", "is_wanted"), [(Action.PARKED, False), (Action.BLOCKED, False), (Action.STOPPED, True)]
)
def test_what_only_a_person_ends(action, is_wanted):
    assert standstill(look(action)) == Standstill(reason="so it is", needs_a_person=True, is_wanted=is_wanted)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(look(Action.WAIT, until=NOW), id="a back-off"),
        pytest.param(look(Action.WAIT, needs_attention=True), id="a driver that nobody sees"),
        pytest.param(look(Action.KEEP, waits_for="its broker does not answer"), id="its source is away"),
        pytest.param(look(Action.KEEP, needs_attention=True), id="it beats and gets nowhere"),
    ],
)
def test_what_may_end_by_itself(found):
    assert standstill(found) == Standstill(reason="so it is", needs_a_person=False)


def test_a_wait_that_ends_by_watching_is_no_standstill():
    """Whoever fails meanwhile forgets what it has watched."""
    assert standstill(look(Action.WAIT)) is None


def test_the_live_query_that_waits_for_a_bounded_run_is_no_standstill():
    state = a_state(a_claim(1), a_submit(1), MaintenanceBegun(until=NOW, run=ClaimMode.CATCHUP))

    assert standstill(look(Action.WAIT, state=state, until=NOW)) is None
