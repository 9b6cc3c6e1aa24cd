"""J11 on trial: each click is in the table with its purchase, or without one, as a batch join has it."""

import pytest

from streamops_sandbox.catalogue.cases import case_of
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_each_click_comes_out_with_its_purchase_or_without_one(trial):
    case = case_of("clicks_purchases")

    account = trial(case.stream).prove(case, seed=11, count=1_000, kill_in=(1, 3))

    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
