"""J12 on trial: the clicked impressions are those of a batch join."""

import pytest

from streamops_sandbox.catalogue.cases import case_of
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_each_clicked_impression_comes_out_once_for_each_click(trial):
    case = case_of("ad_impressions")

    account = trial(case.stream).prove(case, seed=12, count=1_000, kill_in=(1, 3))

    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
