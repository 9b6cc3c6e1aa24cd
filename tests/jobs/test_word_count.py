"""J2 on trial: the counts equal those of the whole topic, although a batch was struck twice."""

from streamops.sandbox.inputs import USUAL, words
from support.job_account import TRIAL_MARKS

pytestmark = list(TRIAL_MARKS)


def test_the_counts_are_those_of_the_whole_topic(trial):
    sent = words.records(seed=2, count=2_000, shares=USUAL)
    run = trial("word_count")

    run.play(sent, kill_in=(1, 3))
    run.stop()

    account = run.account(
        found=run.rows("word", "count"),
        expected=words.expected_counts(sent).items(),
        dead_letters=words.expected_dead_letters(sent),
    )
    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
