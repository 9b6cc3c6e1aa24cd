"""J2 on trial: the counts equal those of the whole topic, although a batch was struck twice."""

import pytest

from streamops_sandbox.catalogue.cases import case_of
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_the_counts_are_those_of_the_whole_topic(trial):
    case = case_of("word_count")

    account = trial(case.stream).prove(case, seed=2, count=2_000, kill_in=(1, 3))

    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)
