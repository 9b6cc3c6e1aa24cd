"""What a policy on stalls may say."""

import pytest

from streamops.liveness import StallPolicy
from support.specs import seconds


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"window_floor": seconds(0)}, "window_floor must be positive", id="told at once, for ever"),
        pytest.param({"factor": 0.5}, "factor must lie", id="a usual batch would be a stall"),
        pytest.param({"factor": 11}, "factor must lie", id="restarted before anybody is told"),
        pytest.param({"factor": float("nan")}, "factor must lie", id="no number"),
        pytest.param({"restart_floor": seconds(599)}, "restart_floor must not be shorter", id="restarted first"),
        pytest.param({"first_batch": seconds(599)}, "first_batch must not be shorter", id="a start is slower"),
    ],
)
def test_a_policy_that_contradicts_itself_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        StallPolicy(**changes)


def test_all_windows_may_be_equal():
    assert StallPolicy(window_floor=seconds(5), restart_floor=seconds(5), first_batch=seconds(5)).factor == 3
