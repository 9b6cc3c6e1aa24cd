"""J18 on trial: after a kill its batches go on, under the same query id, without Kafka and without a table."""

from collections.abc import Callable

import pytest

from streamops.checkpoint.reader import read_checkpoint
from streamops.storage.local import LocalStorage
from support.job_account import TRIAL_MARKS
from support.job_trial import JobTrial

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]


def test_its_batches_go_on_after_a_kill_under_the_same_query_id(trial: Callable[..., JobTrial]) -> None:
    run = trial("rate_demo")
    run.until(lambda: run.committed() >= 2, "three batches")
    before = read_checkpoint(LocalStorage(), run.spec.checkpoint)

    struck = run.kill_in_batch()

    run.until(lambda: run.committed() >= struck + 2, f"the batches up to {struck + 2}")
    after = read_checkpoint(LocalStorage(), run.spec.checkpoint)
    assert before.query_id is not None
    assert after.query_id == before.query_id
    # The batch that was struck ran again under its own number: no batch is missing.
    assert tuple(range(after.last_commit + 1)) == after.commits_log.ids
    run.stop()
