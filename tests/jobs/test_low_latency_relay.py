"""J15 on trial: one job under three triggers. Nothing is lost; what comes twice is what the declaration says, and is counted."""

from collections.abc import Callable

import pytest

from streamops_sandbox.catalogue.cases import case_of
from support.job_account import TRIAL_MARKS
from support.job_trial import JobTrial

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]

RECORDS = 2_000


@pytest.mark.parametrize(
    ("stream", "topic"),
    [
        pytest.param("low_latency_relay", "purchases_by_batch", id="batches that were cut"),
        pytest.param("low_latency_relay_continuous", "purchases_continuously", id="what no epoch had marked"),
        pytest.param("low_latency_relay_real_time", "purchases_in_real_time", id="batches that no log had yet"),
    ],
)
def test_nothing_is_lost_and_only_what_was_written_last_comes_twice(
    trial: Callable[..., JobTrial], stream: str, topic: str
) -> None:
    run = trial(stream, topic)

    account = run.prove(case_of(stream), seed=15, count=RECORDS, kill_in=(1, 3))

    assert (account.kills, account.lost) == (2, 0)
    # Two waves at most, of which a quarter are purchases.
    assert account.duplicated < RECORDS / 4
