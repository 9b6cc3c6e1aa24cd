"""J16 on trial: nothing is lost, what comes twice is counted, and what its logs do not have alarms nobody."""

from collections.abc import Callable

import pytest

from streamops.checkpoint.reader import read_checkpoint
from streamops.control.drivers import driver_instances
from streamops.control.layout import PROGRESS, control_folder, driver_folder
from streamops.progress import read_progress
from streamops.storage import join
from streamops.storage.local import LocalStorage
from streamops_sandbox.catalogue.cases import case_of
from support.job_account import TRIAL_MARKS
from support.job_trial import JobTrial

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]

A_MINUTE = "60000"
"""Longer than a wave takes: the batch of the wave before the second blow is in no log."""


def test_nothing_is_lost_and_what_was_not_logged_comes_twice(trial: Callable[..., JobTrial]) -> None:
    """The trial asks `streamops check`, `lag` and `plan` before it stops: each must find nothing."""
    run = trial("async_progress_relay", "pseudonymous_events", STREAMOPS_ASYNC_INTERVAL_MS=A_MINUTE)

    account = run.prove(case_of("async_progress_relay"), seed=16, count=2_000, kill_in=(1, 3))

    assert (account.kills, account.lost) == (2, 0)
    assert 0 < account.duplicated < 2_000
    assert batches_that_ran(run) > len(read_checkpoint(LocalStorage(), run.spec.checkpoint).offsets_log.ids)


def batches_that_ran(run: JobTrial) -> int:
    """By what the drivers told."""
    storage, control = LocalStorage(), control_folder(run.spec.checkpoint)
    events = (
        event
        for driver in driver_instances(storage, control)
        for event in read_progress(storage, join(driver_folder(control, *driver), PROGRESS)).events
    )
    return sum(event.has_run and event.name == run.spec.name for event in events)
