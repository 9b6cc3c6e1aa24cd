"""J8 on trial: every window that the watermark has passed is in the table once, with its exact figures."""

import pytest

from streamops_sandbox.catalogue.cases import case_of
from streamops_sandbox.inputs import sensor_readings
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_each_window_comes_out_once_with_its_figures(trial):
    case = case_of("sensor_windows")
    run = trial(case.stream)

    account = run.prove(case, seed=8, count=2_000, kill_in=(1, 3))

    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)

    sent = case.sent(seed=8, count=2_000)[sensor_readings.TOPIC]
    windows = {
        "tumbling": sensor_readings.expected_tumbling(sent),
        "sliding": sensor_readings.expected_sliding(sent),
    }
    users = {(kind, one.device, one.start): one.users for kind, found in windows.items() for one in found}
    for kind, device, start, about in run.rows("kind", "device", "start", "users"):
        assert about == pytest.approx(users[kind, device, start], rel=0.15)
