"""J7 on trial: each event that is not late is in the table once, although producers and a crash repeat some."""

import pytest

from streamops.sandbox.inputs import USUAL, events
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_each_event_is_in_the_table_once(trial):
    sent = events.records(seed=7, count=2_000, shares=USUAL)
    run = trial("events_dedup")

    run.play(sent, kill_in=(1, 3))
    run.stop()

    account = run.account(
        found=run.rows("event_id", "type", "user", "amount", "event_time"),
        expected=[
            (event.event_id, event.type, event.user, event.amount, event.event_time)
            for event in events.expected_unique(sent)
        ],
        dead_letters=events.expected_dead_letters(sent),
    )
    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
