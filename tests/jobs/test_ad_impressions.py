"""J12 on trial: the clicked impressions are those of a batch join."""

import pytest

from streamops.sandbox.inputs import USUAL, ad_clicks, impressions
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_each_clicked_impression_comes_out_once_for_each_click(trial):
    shown = impressions.records(seed=12, count=1_000, shares=USUAL)
    clicked = ad_clicks.records(seed=12, count=1_000, shares=USUAL)
    run = trial("ad_impressions")

    run.play([*shown, *clicked], kill_in=(1, 3))
    run.stop()

    account = run.account(
        found=run.rows("impression_id", "ad_id", "cost", "shown_at", "ad_click_id", "clicked_at"),
        expected=[
            (pair.impression_id, pair.ad_id, pair.cost, pair.shown_at, pair.ad_click_id, pair.clicked_at)
            for pair in ad_clicks.expected_joined(shown, clicked)
        ],
        dead_letters=[*impressions.expected_dead_letters(shown), *ad_clicks.expected_dead_letters(clicked)],
    )
    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
