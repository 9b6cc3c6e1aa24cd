"""With which trigger the next driver runs: the run that was asked for says, else the declaration."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamops.control.records import ClaimMode, MaintenanceBegun
from streamops.spec import Trigger, TriggerKind
from streamops.supervision.desired_run import next_trigger
from support.clock import START
from support.records import a_claim, a_state, a_submit, an_end
from support.specs import a_scheduled_stream, a_stream

CATCH_UP = MaintenanceBegun(until=START + timedelta(hours=1), run=ClaimMode.CATCHUP)
A_PERSON_S = MaintenanceBegun(until=START + timedelta(hours=1))
ITS_CLAIM = replace(a_claim(), mode=ClaimMode.CATCHUP)
OWN, AVAILABLE_NOW, ONCE = TriggerKind.PROCESSING_TIME, TriggerKind.AVAILABLE_NOW, TriggerKind.ONCE
RUNS_ONCE = a_scheduled_stream(trigger=Trigger(kind=ONCE))


@pytest.mark.parametrize(
    ("spec", "bodies", "after", "trigger"),
    [
        pytest.param(a_stream(), [], 0, OWN, id="as it is declared"),
        pytest.param(a_stream(), [CATCH_UP], 0, AVAILABLE_NOW, id="a run was asked for"),
        pytest.param(a_stream(), [CATCH_UP], 2, OWN, id="its time is over"),
        pytest.param(a_stream(), [A_PERSON_S], 0, OWN, id="nothing runs meanwhile"),
        pytest.param(a_stream(), [CATCH_UP, ITS_CLAIM], 0, AVAILABLE_NOW, id="a claim waits for its driver"),
        pytest.param(a_stream(), [CATCH_UP, ITS_CLAIM], 2, OWN, id="a claim whose run is over is not submitted"),
        pytest.param(
            a_stream(), [CATCH_UP, ITS_CLAIM, a_submit()], 2, OWN, id="its driver is there: the next is another"
        ),
        pytest.param(
            a_stream(), [CATCH_UP, ITS_CLAIM, a_submit(), an_end()], 0, AVAILABLE_NOW, id="the run is tried again"
        ),
        pytest.param(RUNS_ONCE, [CATCH_UP], 0, ONCE, id="a scheduled stream keeps its own"),
    ],
)
def test_the_trigger_of_the_next_driver(spec, bodies, after, trigger):
    assert next_trigger(a_state(*bodies), spec, now=START + timedelta(hours=after)) is trigger
