"""Windows: how long a step may take, by what the stream took lately. Default policy: 10 min or 3 times, 30 min or 10 times."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.liveness import StallPolicy
from streamops.liveness.pace import ENOUGH, in_words, percentile_95, window_of
from support.specs import seconds

MINUTE, HOUR = 60, 3600
POLICY = StallPolicy()


def minutes(*numbers: float):
    return [seconds(number * MINUTE) for number in numbers]


@pytest.mark.parametrize(
    ("durations", "interval", "report", "restart"),
    [
        pytest.param(minutes(*[0.1] * 20), 10, 10 * MINUTE, 30 * MINUTE, id="quick batches: the floors"),
        pytest.param(minutes(*[5] * 20), 10, 15 * MINUTE, 50 * MINUTE, id="long batches: 3 and 10 times"),
        pytest.param(minutes(*[1] * 20), HOUR, HOUR, HOUR, id="an hourly trigger: never before the next"),
        pytest.param(minutes(*[5] * 19, 90), 10, 15 * MINUTE, 50 * MINUTE, id="one giant in 20 does not count"),
        pytest.param(minutes(*[5] * 18, 90, 90), 10, 270 * MINUTE, 900 * MINUTE, id="two giants do"),
        pytest.param(minutes(*[1] * ENOUGH), 10, 10 * MINUTE, 30 * MINUTE, id="just enough to compare with"),
        pytest.param(minutes(*[1] * (ENOUGH - 1)), 10, HOUR, None, id="one too few: generous, and no restart"),
        pytest.param(minutes(40), 10, 2 * HOUR, None, id="few, but long ones"),
        pytest.param([], 10, HOUR, None, id="nothing to compare with"),
        pytest.param([], 2 * HOUR, 2 * HOUR, None, id="nothing, and a slow trigger"),
    ],
)
def test_a_window_follows_what_was_usual(durations, interval, report, restart):
    window = window_of(durations, policy=POLICY, trigger_interval=seconds(interval))

    assert window.report == seconds(report)
    assert window.restart == (None if restart is None else seconds(restart))


taken = st.lists(st.floats(0, 1e5).map(seconds), min_size=1, max_size=40)


@given(taken, st.floats(0, 1e5).map(seconds))
def test_a_restart_never_comes_before_a_report(durations, interval):
    window = window_of(durations, policy=POLICY, trigger_interval=interval)

    assert window.report >= POLICY.window_floor
    assert window.restart is None or window.restart >= max(window.report, POLICY.restart_floor)


@given(taken)
def test_a_batch_like_the_usual_ones_is_inside_the_window(durations):
    assert percentile_95(durations) <= window_of(durations, policy=POLICY, trigger_interval=seconds(0)).report


@pytest.mark.parametrize(
    ("duration", "words"), [(40, "40 s"), (119, "119 s"), (600, "10 min"), (12600, "3.5 h")], ids=str
)
def test_a_duration_is_said_as_people_say_it(duration, words):
    assert in_words(seconds(duration)) == words
