"""J8 on trial: every window that the watermark has passed is in the table once, with its exact figures."""

import pytest

from streamops.sandbox.inputs import USUAL, sensor_readings
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]

FIGURES = ("kind", "device", "start", "end", "readings", "sum", "avg", "min", "max")


def test_each_window_comes_out_once_with_its_figures(trial):
    sent = sensor_readings.records(seed=8, count=2_000, shares=USUAL)
    run = trial("sensor_windows")

    run.play(sent, kill_in=(1, 3))
    run.stop()

    expected = {
        "tumbling": sensor_readings.expected_tumbling(sent),
        "sliding": sensor_readings.expected_sliding(sent),
    }
    account = run.account(
        found=run.rows(*FIGURES),
        expected=[
            (kind, one.device, one.start, one.end, one.count, one.sum, one.avg, one.min, one.max)
            for kind, windows in expected.items()
            for one in windows
        ],
        dead_letters=sensor_readings.expected_dead_letters(sent),
    )
    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)

    users = {(kind, one.device, one.start): one.users for kind, windows in expected.items() for one in windows}
    for kind, device, start, about in run.rows("kind", "device", "start", "users"):
        assert about == pytest.approx(users[kind, device, start], rel=0.15)
