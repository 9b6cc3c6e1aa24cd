"""What has become of an act, and whether a request is on record already."""

from dataclasses import replace

import pytest

from streamops.control.drivers import DriverPhase, DriverTraces, QueryBeat, QueryStep
from streamops.control.records import (
    Body,
    Claimed,
    Outcome,
    Parked,
    Position,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
)
from streamops.launch import DriverState
from streamops.operations.act_plan import AwaitedStart, Stage, follow_start, follow_stop
from streamops.operations.log_tail import UnreadableRecord, find_request
from streamops.supervision.decide import decide
from streamops.supervision.supervisor import Look
from support.clock import START
from support.observations import a_beat, observed, seen
from support.records import a_claim, a_log, a_record, a_state, a_submit, an_end
from support.specs import a_stream, seconds

SPEC = a_stream()
SECOND = AwaitedStart(epoch=2)


def claimed(epoch: int, commit: int = -1) -> Claimed:
    return a_claim(epoch, position=Position(query_id="q" if commit >= 0 else "", offset=commit, commit=commit))


def a_look(*bodies: Body, driver: DriverState = DriverState.RUNNING, traces: tuple[DriverTraces, ...] = ()) -> Look:
    state = a_state(*bodies)
    facts = [
        seen(state, epoch.number, status=driver if epoch.submission else None, traces=traces)
        for epoch in state.open_epochs
    ]
    observation = observed(state, *facts)
    return Look(observation=observation, decision=decide(observation, SPEC, mine=frozenset()))


REPLACED = (claimed(1), a_submit(), RestartRequested(epoch=1), an_end(1, Outcome.STOPPED, commit=4))
SECOND_RUNS = (*REPLACED, claimed(2, 4), a_submit(2))


@pytest.mark.parametrize(
    ("bodies", "commit", "stage"),
    [
        pytest.param(SECOND_RUNS, 5, Stage.DONE, id="the new driver has committed"),
        pytest.param(SECOND_RUNS, 4, Stage.PENDING, id="it has not yet"),
        pytest.param(REPLACED, 9, Stage.PENDING, id="no new driver yet, whatever the checkpoint says"),
        pytest.param(REPLACED[:3], 9, Stage.PENDING, id="the old driver goes on committing"),
        pytest.param((*SECOND_RUNS, an_end(2, commit=5)), 5, Stage.DONE, id="it committed and has ended since"),
        pytest.param(
            (*SECOND_RUNS, an_end(2, commit=4)), 4, Stage.PENDING, id="it ended without a batch: another one comes"
        ),
        pytest.param((*SECOND_RUNS, an_end(2, commit=4), Parked()), 4, Stage.FAILED, id="parked"),
        pytest.param((*SECOND_RUNS, StopRequested(epoch=2)), 4, Stage.FAILED, id="stopped meanwhile"),
        pytest.param((claimed(1), a_submit(), claimed(2), a_submit(2)), 0, Stage.DONE, id="the very first batch"),
    ],
)
def test_a_start_has_come_about_when_the_awaited_driver_has_committed(
    bodies: tuple[Body, ...], commit: int, stage: Stage
) -> None:
    assert follow_start(a_look(*bodies), SPEC, SECOND, commit=commit).stage is stage


def test_the_first_batch_of_the_new_driver_is_named() -> None:
    """However many it has committed by the time of the look."""
    progress = follow_start(a_look(*SECOND_RUNS), SPEC, SECOND, commit=9)

    assert (progress.epoch, progress.batch, progress.evidence) == (2, 5, "epoch 2 has committed batch 5")


def test_a_driver_that_goes_on_must_commit_a_batch_more() -> None:
    """`start` after a stop that had not begun: the same epoch, and what it had done before shows nothing."""
    look = a_look(claimed(1), a_submit(), StopRequested(epoch=1), StartRequested())
    awaited = AwaitedStart(epoch=1, commit=7)

    assert follow_start(look, SPEC, awaited, commit=7).stage is Stage.PENDING
    assert follow_start(look, SPEC, awaited, commit=8).batch == 8


@pytest.mark.parametrize(
    ("step", "ran", "stage"),
    [
        pytest.param(QueryStep.WAITING, 41, Stage.DONE, id="it waits for longer than its trigger"),
        pytest.param(QueryStep.WAITING, 39, Stage.PENDING, id="it may not have asked yet"),
        pytest.param(QueryStep.BATCH, 900, Stage.PENDING, id="a long first batch"),
        pytest.param(QueryStep.PLANNING, 900, Stage.PENDING, id="a broker that does not answer"),
    ],
)
def test_a_query_that_waits_has_nothing_to_read(step: QueryStep, ran: float, stage: Stage) -> None:
    query = QueryBeat(query_id="q", name="orders", step=step, step_seconds=1.0, progress_seconds=1.0)
    beat = replace(a_beat(2).heartbeat, phase=DriverPhase.RUNNING, phase_seconds=ran, queries=(query,))  # type: ignore[type-var]
    traces = (replace(a_beat(2), heartbeat=beat),)

    progress = follow_start(a_look(*SECOND_RUNS, traces=traces), SPEC, SECOND, commit=4)

    assert (progress.stage, progress.batch) == (stage, None)


@pytest.mark.parametrize(
    ("bodies", "driver", "stage"),
    [
        pytest.param(
            (claimed(1), a_submit(), StopRequested(epoch=1)), DriverState.RUNNING, Stage.PENDING, id="it lives"
        ),
        pytest.param((claimed(1), a_submit(), StopRequested(epoch=1)), DriverState.UNKNOWN, Stage.PENDING, id="unseen"),
        pytest.param((claimed(1), a_submit(), StopRequested(epoch=1)), DriverState.ENDED, Stage.DONE, id="it is gone"),
        pytest.param(
            (claimed(1), a_submit(), an_end(1), StopRequested(epoch=1)), DriverState.ENDED, Stage.DONE, id="on record"
        ),
        pytest.param(
            (claimed(1), StopRequested(epoch=1)), DriverState.RUNNING, Stage.DONE, id="claimed, never submitted"
        ),
        pytest.param(
            (claimed(1), a_submit(), StopRequested(epoch=1), StartRequested()),
            DriverState.RUNNING,
            Stage.FAILED,
            id="started again",
        ),
    ],
)
def test_a_stop_has_come_about_when_no_driver_lives(
    bodies: tuple[Body, ...], driver: DriverState, stage: Stage
) -> None:
    assert follow_stop(a_look(*bodies, driver=driver)).stage is stage


# On record already

MARK = "[streamops_ops run-1]"


def found(*bodies: Body, marked: int, since: float = 0):  # type: ignore[no-untyped-def]
    log = [
        replace(record, reason=f"upgrade {MARK}") if record.number == marked else record for record in a_log(*bodies)
    ]
    return find_request(reversed(log), MARK, since=START + seconds(since))


@pytest.mark.parametrize(
    ("bodies", "marked", "awaits"),
    [
        pytest.param(
            (claimed(1), a_submit(), RestartRequested(epoch=1)),
            2,
            AwaitedStart(epoch=2),
            id="a restart: the next epoch",
        ),
        pytest.param(
            (claimed(1), a_submit(), RestartRequested(epoch=1), an_end(1), claimed(2)),
            2,
            AwaitedStart(epoch=2),
            id="whatever came behind it",
        ),
        pytest.param(
            (claimed(1), a_submit(), an_end(1), StopRequested(epoch=1), StartRequested()),
            4,
            AwaitedStart(epoch=2, commit=-1),
            id="a start behind an end",
        ),
        pytest.param(
            (claimed(1), a_submit(), StopRequested(epoch=1), StartRequested()),
            3,
            AwaitedStart(epoch=1, commit=-1),
            id="a start of a driver that may go on",
        ),
        pytest.param((Released(),), 0, AwaitedStart(epoch=1), id="before any claim"),
    ],
)
def test_a_request_that_is_on_record_is_found_with_what_it_awaits(
    bodies: tuple[Body, ...], marked: int, awaits: AwaitedStart
) -> None:
    request = found(*bodies, marked=marked)

    assert (request.record.number, request.awaits) == (marked, awaits)


@pytest.mark.parametrize(
    ("bodies", "marked", "since"),
    [
        pytest.param((claimed(1), RestartRequested(epoch=1)), -1, 0.0, id="nobody asked"),
        pytest.param((claimed(1), RestartRequested(epoch=1), an_end(1)), 2, 0.0, id="a supervisor repeats the reason"),
        pytest.param((claimed(1), RestartRequested(epoch=1)), 1, 7200.0, id="long before this run"),
    ],
)
def test_nothing_else_is_taken_for_the_request(bodies: tuple[Body, ...], marked: int, since: float) -> None:
    assert found(*bodies, marked=marked, since=since) is None


def test_a_broken_record_hides_no_request() -> None:
    request = a_record(StopRequested(epoch=1), 4, reason=MARK)
    log = (UnreadableRecord(number=5, trouble="half"), request)

    assert find_request(log, MARK, since=START).record == request  # type: ignore[union-attr]
