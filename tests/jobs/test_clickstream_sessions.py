"""J9 on trial: the sessions that the watermark has passed equal those that a plain computation finds."""

import pytest

from streamops_sandbox.catalogue.cases import case_of
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_each_session_comes_out_once(trial):
    case = case_of("clickstream_sessions")

    account = trial(case.stream).prove(case, seed=9, count=2_000, kill_in=(1, 3))

    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
