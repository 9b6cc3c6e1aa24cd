"""J10 on trial: the last update of each window is right. Kafka is at least once, and the crash makes that visible."""

import pytest

from streamops_sandbox.catalogue.cases import case_of
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_the_last_update_of_each_window_is_right_and_a_crash_repeats_some(trial):
    case = case_of("event_aggregates")

    account = trial(case.stream, "event_aggregates").prove(case, seed=10, count=2_000, kill_in=(1, 3))

    assert (account.kills, account.lost) == (2, 0)
    # All of it repeated, nothing of it wrong.
    assert account.duplicated == account.repeated > 0
