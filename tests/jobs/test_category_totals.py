"""J14 on trial: the merged totals equal those of all orders, kept in RocksDB with its changelog."""

from datetime import date

import pytest

from streamops.sandbox.inputs import USUAL, category_orders
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]

DAY = date(2026, 1, 1)
"""All orders are of this one; late ones are hours behind, and count: the day is not over."""


def test_the_totals_are_those_of_all_orders(trial):
    sent = category_orders.records(seed=14, count=2_000, shares=USUAL)
    run = trial("category_totals")

    run.play(sent, kill_in=(1, 3))
    run.stop()

    account = run.account(
        found=run.rows("day", "category", "orders", "revenue"),
        expected=[
            (DAY, total.category, total.orders, total.revenue) for total in category_orders.expected_totals(sent)
        ],
        dead_letters=category_orders.expected_dead_letters(sent),
    )
    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
