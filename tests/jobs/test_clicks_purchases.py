"""J11 on trial: each click is in the table with its purchase, or without one, as a batch join has it."""

import pytest

from streamops.sandbox.inputs import USUAL, clicks, purchases
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_each_click_comes_out_with_its_purchase_or_without_one(trial):
    clicked = clicks.records(seed=11, count=1_000, shares=USUAL)
    bought = purchases.records(seed=11, count=500, shares=USUAL)
    run = trial("clicks_purchases")

    run.play([*clicked, *bought], kill_in=(1, 3))
    run.stop()

    account = run.account(
        found=run.rows("click_id", "user", "page", "clicked_at", "purchase_id", "amount", "purchased_at"),
        expected=[
            (
                pair.click_id,
                pair.user,
                pair.page,
                pair.clicked_at,
                pair.purchase_id,
                pair.amount,
                pair.purchased_at,
            )
            for pair in purchases.expected_joined(clicked, bought)
        ],
        dead_letters=[*clicks.expected_dead_letters(clicked), *purchases.expected_dead_letters(bought)],
    )
    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
