"""What came of a bounded run, by the control log alone."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamops.backfill.report import RunOutcome, RunReport, report_run
from streamops.control.records import (
    ClaimMode,
    MaintenanceBegun,
    MaintenanceEnded,
    Outcome,
    Parked,
    Position,
    StopRequested,
)
from support.clock import START
from support.records import a_claim, a_log, a_record, a_submit, an_end
from support.specs import seconds


def asked(*, within: float = 3600, estimated: float | None = None) -> MaintenanceBegun:
    """A run is asked for that may last so many seconds."""
    return MaintenanceBegun(until=START + seconds(within), run=ClaimMode.CATCHUP, estimated_seconds=estimated)


def a_run(epoch: int = 2, *, commit: int = 4):
    """The claim of a driver of the run, with the checkpoint at this commit."""
    return replace(a_claim(epoch, position=Position(offset=commit, commit=commit)), mode=ClaimMode.CATCHUP)


def report(*bodies, rows: dict[int, int] | None = None) -> RunReport:
    return report_run(a_log(*bodies), rows_of=rows or {})


FINISHED = an_end(2, Outcome.FINISHED, commit=7)
STOPPED = an_end(2, Outcome.STOPPED, commit=5)


@pytest.mark.parametrize(
    ("bodies", "outcome"),
    [
        pytest.param((asked(),), RunOutcome.UNDER_WAY, id="only asked for"),
        pytest.param((asked(), a_run(), a_submit(2)), RunOutcome.UNDER_WAY, id="its driver runs"),
        pytest.param(
            (asked(), an_end(1, Outcome.STOPPED), a_run(), a_submit(2)),
            RunOutcome.UNDER_WAY,
            id="the live query yielded",
        ),
        pytest.param((asked(), a_run(), a_submit(2), an_end(2)), RunOutcome.UNDER_WAY, id="its driver died"),
        pytest.param(
            (asked(), a_run(), a_submit(2), an_end(2), a_run(3), a_submit(3)),
            RunOutcome.UNDER_WAY,
            id="and has a successor",
        ),
        pytest.param((asked(), a_run(), a_submit(2), FINISHED), RunOutcome.FINISHED, id="it has ended by itself"),
        pytest.param(
            (asked(), a_run(), a_submit(2), FINISHED, MaintenanceEnded(), a_claim(3), a_submit(3)),
            RunOutcome.FINISHED,
            id="and the live query is back",
        ),
        pytest.param(
            (asked(), a_run(), a_submit(2), FINISHED, MaintenanceEnded(), asked(), a_run(3), a_submit(3)),
            RunOutcome.FINISHED,
            id="and another run is under way",
        ),
        pytest.param(
            (asked(within=3), a_run(), a_submit(2), MaintenanceEnded()),
            RunOutcome.UNDER_WAY,
            id="its time is over and its driver has not stopped yet",
        ),
        pytest.param(
            (asked(within=3), a_run(), a_submit(2), MaintenanceEnded(), STOPPED),
            RunOutcome.BUDGET_SPENT,
            id="its time was over",
        ),
        pytest.param(
            (asked(within=3), a_run(), a_submit(2), MaintenanceEnded(), FINISHED),
            RunOutcome.FINISHED,
            id="its time was over, and its query was faster than the stop",
        ),
        pytest.param((asked(), MaintenanceEnded()), RunOutcome.ENDED, id="ended before anything was done"),
        pytest.param(
            (asked(), a_run(), a_submit(2), MaintenanceEnded(), STOPPED), RunOutcome.ENDED, id="ended by somebody"
        ),
        pytest.param(
            (asked(), a_run(), a_submit(2), STOPPED, MaintenanceEnded(), a_claim(3), an_end(3, Outcome.FINISHED)),
            RunOutcome.ENDED,
            id="what others did after it counts for nothing",
        ),
    ],
)
def test_the_outcome(bodies, outcome):
    assert report(*bodies).outcome is outcome


def test_a_run_has_the_batches_between_its_claim_and_its_end():
    found = report(asked(), a_run(commit=4), a_submit(2), FINISHED)

    assert (found.first_batch, found.last_batch, found.batches) == (5, 7, 3)


def test_all_drivers_of_a_run_count_together():
    died = an_end(2, commit=5)
    found = report(
        asked(),
        a_run(2, commit=4),
        a_submit(2),
        died,
        a_run(3, commit=5),
        a_submit(3),
        an_end(3, Outcome.FINISHED, commit=9),
        rows={2: 100, 3: 300},
    )

    assert (found.epochs, found.first_batch, found.last_batch, found.rows) == ((2, 3), 5, 9, 400)


def test_a_run_that_committed_nothing_has_no_batches():
    found = report(asked(), a_run(commit=4), a_submit(2), an_end(2, Outcome.FINISHED, commit=4))

    assert (found.first_batch, found.last_batch, found.batches) == (None, None, 0)
    assert found.line == "finished: no batch, 1 s"


def test_rows_are_unknown_where_no_driver_told():
    assert report(asked(), a_run(), a_submit(2), FINISHED).rows is None


def test_the_live_querys_rows_are_none_of_the_runs():
    assert report(asked(), an_end(1, Outcome.STOPPED), a_run(), a_submit(2), FINISHED, rows={1: 9, 2: 42}).rows == 42


def test_it_lasts_from_its_first_submit_to_its_drivers_last_sign():
    """Records come a second apart; the end was recorded late, by a supervisor that was away."""
    late = replace(FINISHED, last_sign_at=START + seconds(12))
    records = (*a_log(asked(), a_run(), a_submit(2)), a_record(late, 3, at=START + timedelta(hours=2)))

    assert report_run(records, rows_of={}).seconds == 10.0


def test_a_drivers_clock_that_is_behind_makes_no_negative_time():
    early = replace(FINISHED, last_sign_at=START - seconds(60))

    assert report(asked(), a_run(), a_submit(2), early).seconds == 0.0


def test_the_error_of_the_estimate_is_known_and_told():
    late = replace(FINISHED, last_sign_at=START + seconds(17))
    records = (*a_log(asked(estimated=10), a_run(), a_submit(2)), a_record(late, 3, at=START + seconds(20)))
    found = report_run(records, rows_of={2: 42})

    assert found.estimate_error == pytest.approx(0.5)
    assert found.line == "finished: 3 batches (5–7), 42 rows, 15 s, expected were 10 s, +50%"


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param((asked(), a_run(), a_submit(2), FINISHED), id="nothing was expected"),
        pytest.param((asked(estimated=10), a_run(), a_submit(2)), id="it is not over"),
        pytest.param(
            (asked(estimated=10), a_run(), a_submit(2), MaintenanceEnded(), STOPPED), id="it has not read all"
        ),
    ],
)
def test_an_estimate_without_its_counterpart_has_no_error(bodies):
    assert report(*bodies).estimate_error is None


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        pytest.param(a_run(), "reason 1", id="claimed"),
        pytest.param(Parked(), "reason 1", id="parked"),
        pytest.param(StopRequested(epoch=1), "reason 1", id="stopped"),
        pytest.param(MaintenanceEnded(), "reason 1", id="ended"),
    ],
)
def test_the_reason_is_that_of_the_record_that_decides(last, reason):
    assert report(asked(), last).reason == reason


def test_a_maintenance_is_no_run():
    with pytest.raises(ValueError, match="record 0 does not ask for a run"):
        report(MaintenanceBegun(until=START))
