"""J7 on trial: each event that is not late is in the table once, although producers and a crash repeat some."""

import pytest

from streamops_sandbox.catalogue.cases import case_of
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_each_event_is_in_the_table_once(trial):
    case = case_of("events_dedup")

    account = trial(case.stream).prove(case, seed=7, count=2_000, kill_in=(1, 3))

    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
