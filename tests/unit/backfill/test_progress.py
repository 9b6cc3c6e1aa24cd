"""How far a backfill has come."""

import pytest

from streamops.backfill.effects import progress_of
from support.backfills import a_plan, offsets

PLAN = a_plan(start=offsets(0, 0), chunks=(offsets(6, 4), offsets(12, 8), offsets(18, 11)))

CASES = {
    "nothing committed": ([-1, -1], (0, 0, 0)),
    "nothing known": ([], (0, 0, 0)),
    "the companion is behind": ([1, 0], (1, 10, 34)),
    "two steps": ([1, 1], (2, 20, 68)),
    "all": ([2, 2], (3, 29, 100)),
    "more than there is": ([7, 7], (3, 29, 100)),
}


@pytest.mark.parametrize(("commits", "expected"), CASES.values(), ids=CASES)
def test_a_step_counts_when_every_query_has_committed_it(commits, expected):
    progress = progress_of(PLAN, commits)

    assert (progress.steps_done, progress.records_done, progress.percent) == expected
    assert progress.is_done == (progress.steps_done == 3)
