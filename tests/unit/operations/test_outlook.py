"""Whether a plan counts as refused: by what a start would do, or by what the supervisor knows besides."""

import pytest

from streamops.diagnosis.restart_plan import RestartPlan, Safety
from streamops.operations.snapshot import StartForecast
from streamops.supervision.decision import Action


@pytest.mark.parametrize(
    ("is_accepted", "next_step", "is_refused"),
    [
        (True, Action.CLAIM, False),
        (True, Action.STOPPED, False),
        (True, Action.KEEP, False),
        (False, Action.CLAIM, True),
        (True, Action.PARK, True),
        (True, Action.PARKED, True),
        (True, Action.BLOCKED, True),
    ],
)
def test_a_start_that_its_supervisor_would_not_make_is_refused(is_accepted, next_step, is_refused):
    outlook = StartForecast(
        stream="orders",
        plan=RestartPlan(safety=Safety.SAFE, summary=""),
        is_accepted=is_accepted,
        checkpoints=(),
        living_epoch=0,
        next_step=next_step,
        reason="",
        until=None,
    )

    assert outlook.is_refused is is_refused
