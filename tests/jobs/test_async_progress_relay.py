"""J16 on trial: nothing is lost, what comes twice is counted, and the holes of its logs alarm nobody."""

from collections.abc import Callable

import pytest

from streamops.checkpoint import read_checkpoint
from streamops.sandbox.catalogue.cases import case_of
from streamops.storage.local import LocalStorage
from support.job_account import TRIAL_MARKS
from support.job_trial import JobTrial

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_nothing_is_lost_and_its_holes_alarm_nobody(trial: Callable[..., JobTrial]) -> None:
    """The trial asks `streamops check`, `lag` and `plan` before it stops: each must find nothing."""
    run = trial("async_progress_relay", "pseudonymous_events")

    account = run.prove(case_of("async_progress_relay"), seed=16, count=4_000, kill_in=(1, 3))

    assert (account.kills, account.lost) == (2, 0)
    assert account.duplicated < 4_000
    facts = read_checkpoint(LocalStorage(), run.spec.checkpoint)
    assert facts.offsets_log.holes() or facts.commits_log.holes()
