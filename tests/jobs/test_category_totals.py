"""J14 on trial: the merged totals equal those of all orders, kept in RocksDB with its changelog."""

import pytest

from streamops_sandbox.catalogue.cases import case_of
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_the_totals_are_those_of_all_orders(trial):
    case = case_of("category_totals")

    account = trial(case.stream).prove(case, seed=14, count=2_000, kill_in=(1, 3))

    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
