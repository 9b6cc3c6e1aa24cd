"""J9 on trial: the sessions that the watermark has passed equal those that a plain computation finds."""

import pytest

from streamops.sandbox.inputs import USUAL, clicks
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_each_session_comes_out_once(trial):
    sent = clicks.records(seed=9, count=2_000, shares=USUAL)
    run = trial("clickstream_sessions")

    run.play(sent, kill_in=(1, 3))
    run.stop()

    account = run.account(
        found=run.rows("user", "first_click", "last_click", "duration_seconds", "pages", "entry_page", "exit_page"),
        expected=[
            (
                session.user,
                session.start,
                session.end - clicks.GAP,
                (session.end - clicks.GAP - session.start).total_seconds(),
                session.pages,
                session.entry_page,
                session.exit_page,
            )
            for session in clicks.expected_sessions(sent)
        ],
        dead_letters=clicks.expected_dead_letters(sent),
    )
    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
