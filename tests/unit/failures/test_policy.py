"""When a failed stream is started again: a table, and the laws that no history may break."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.control.fold import fold
from streamops.control.records import Outcome
from streamops.control.state import MAX_FAILURES_KEPT, Failure
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.policy import RestartPolicy, RestartTiming, advise_restart
from support.clock import START
from support.records import a_claim, a_record, an_end
from support.specs import seconds

NOW, LATER, PARK = RestartTiming.NOW, RestartTiming.LATER, RestartTiming.PARK
MOMENT = START
DEFAULT = RestartPolicy(jitter=0)


def failed(ago: float, *, with_progress: bool = False, **changes: Any) -> Failure:
    """A failure so many seconds ago; a negative number lies in the future."""
    at = MOMENT - seconds(ago)
    failure = Failure(epoch=1, at=at, outcome=Outcome.DIED, has_progressed=with_progress, error_classes=())
    return replace(failure, **changes)


def of_class(failure_class: FailureClass, remedy: Remedy, ago: float = 0, *, with_progress: bool = False) -> Failure:
    """A failure that was classified."""
    return failed(ago, with_progress=with_progress, failure_class=str(failure_class), remedy=str(remedy))


def advice(*failures, policy=DEFAULT):
    return advise_restart(failures, policy=policy, now=MOMENT)


@pytest.mark.parametrize(
    ("failures", "timing", "wait"),
    [
        pytest.param([], NOW, 0, id="nothing on record"),
        pytest.param([failed(0, with_progress=True)], NOW, 0, id="it had committed batches: at once"),
        pytest.param([failed(0)], LATER, 15, id="the first without a batch waits 15 s"),
        pytest.param([failed(15)], NOW, 0, id="and those are over"),
        pytest.param([failed(14)], LATER, 1, id="almost"),
        pytest.param([failed(100), failed(0)], LATER, 30, id="the second in a row waits 30 s"),
        pytest.param([failed(300), failed(200), failed(0)], LATER, 60, id="the third 60 s"),
        pytest.param([failed(40), failed(30), failed(20), failed(10), failed(0)], LATER, 240, id="the fifth 240 s"),
        pytest.param(
            [failed(9), failed(5, with_progress=True), failed(0)], LATER, 15, id="a batch begins the count anew"
        ),
        pytest.param([failed(50)] * 6, PARK, 0, id="six in a row without a batch"),
        pytest.param([failed(50, with_progress=True)] * 10, NOW, 0, id="ten in an hour, each with a batch: the budget"),
        pytest.param([failed(50, with_progress=True)] * 11, PARK, 0, id="eleven in an hour: one more than the budget"),
        pytest.param([failed(3600, with_progress=True)] * 50, NOW, 0, id="an hour ago is forgiven"),
        pytest.param([failed(3599, with_progress=True)] * 11, PARK, 0, id="almost an hour ago is not"),
        pytest.param([failed(-3600)], LATER, 15, id="a stamp from the future counts as now"),
        pytest.param([failed(-86400, with_progress=True)] * 11, PARK, 0, id="for the budget too"),
    ],
)
def test_when_to_start_again(failures, timing, wait):
    given_advice = advice(*failures)

    assert given_advice.timing is timing
    assert given_advice.at == MOMENT + seconds(wait) or (timing is NOW and given_advice.at <= MOMENT)
    assert given_advice.reason


def test_the_ceiling_holds():
    patient = RestartPolicy(thrash_limit=50, budget_per_hour=50, jitter=0)

    assert advice(*[failed(0)] * 30, policy=patient).at == MOMENT + patient.max_delay


@pytest.mark.parametrize("count", [100, MAX_FAILURES_KEPT])
def test_hundreds_of_failures_do_not_overflow(count):
    most = MAX_FAILURES_KEPT - 1
    patient = RestartPolicy(thrash_limit=most, budget_per_hour=most, max_delay=timedelta(days=365))

    assert advice(*[failed(7200)] * count, policy=patient).at <= MOMENT + patient.max_delay


def test_without_a_budget_the_first_failure_parks():
    assert advice(failed(0), policy=RestartPolicy(budget_per_hour=0)).timing is PARK


@pytest.mark.fault("B68")
def test_advice_says_what_is_left():
    assert advice(failed(0), failed(0)).budget_left == DEFAULT.budget_per_hour - 2


def test_the_largest_budget_can_still_be_spent():
    """The log keeps the newest failures only: a budget beyond them would never park."""
    most = MAX_FAILURES_KEPT - 1
    policy = RestartPolicy(budget_per_hour=most, thrash_limit=most)
    bodies = [body for epoch in range(1, most + 3) for body in (a_claim(epoch), an_end(epoch))]
    state = fold([a_record(body, number, at=MOMENT) for number, body in enumerate(bodies)])

    assert advise_restart(state.failures, policy=policy, now=MOMENT).timing is PARK


@pytest.mark.parametrize(
    ("failures", "timing", "wait"),
    [
        pytest.param(
            [of_class(FailureClass.STATE_INCOMPATIBLE, Remedy.NEVER, with_progress=True)],
            PARK,
            0,
            id="what can only fail again is parked at once, whatever it did before",
        ),
        pytest.param(
            [of_class(FailureClass.SOURCE_UNAVAILABLE, Remedy.WAIT_FOR_SOURCE, with_progress=True)],
            LATER,
            15,
            id="a broker that went away is not back in a moment, although batches were committed",
        ),
        pytest.param(
            [of_class(FailureClass.KILLED, Remedy.NOW, with_progress=True)],
            NOW,
            0,
            id="a kill says nothing of the next",
        ),
        pytest.param(
            [of_class(FailureClass.CODE_ERROR, Remedy.RETRY_FEW, ago) for ago in (300, 200)], NOW, 0, id="twice is few"
        ),
        pytest.param(
            [of_class(FailureClass.CODE_ERROR, Remedy.RETRY_FEW, ago) for ago in (300, 200, 100)],
            PARK,
            0,
            id="three times in a row is more than a few",
        ),
        pytest.param(
            [
                of_class(FailureClass.CODE_ERROR, Remedy.RETRY_FEW, 400),
                of_class(FailureClass.KILLED, Remedy.NOW, 300),
                of_class(FailureClass.CODE_ERROR, Remedy.RETRY_FEW, 200),
                of_class(FailureClass.CODE_ERROR, Remedy.RETRY_FEW, 0),
            ],
            LATER,
            120,
            id="another class in between begins the few anew, not the row",
        ),
        pytest.param(
            [failed(ago, remedy="of a later version") for ago in (500, 0)], LATER, 30, id="an unknown remedy backs off"
        ),
    ],
)
def test_what_went_wrong_decides(failures, timing, wait):
    given_advice = advice(*failures)

    assert given_advice.timing is timing
    assert timing is not LATER or given_advice.at == MOMENT + seconds(wait)


def test_a_declared_remedy_counts_more_than_the_one_on_record():
    policy = RestartPolicy(remedies=((FailureClass.OUT_OF_MEMORY, Remedy.NEVER),))

    assert advice(of_class(FailureClass.OUT_OF_MEMORY, Remedy.BACK_OFF), policy=policy).timing is PARK


def test_advice_names_the_dependency_that_has_to_answer_first():
    given_advice = advice(of_class(FailureClass.SOURCE_UNAVAILABLE, Remedy.WAIT_FOR_SOURCE, 900))

    assert (given_advice.timing, given_advice.tried_at) == (NOW, MOMENT + timedelta(minutes=5))


def test_a_long_outage_of_a_dependency_neither_parks_nor_spends_the_budget():
    """A person could not release the stream any sooner than the broker comes back."""
    at, failures = MOMENT, []
    while at < MOMENT + timedelta(hours=12):
        failures.append(
            replace(of_class(FailureClass.SOURCE_UNAVAILABLE, Remedy.WAIT_FOR_SOURCE), at=at, epoch=len(failures) + 1)
        )
        next_one = advise_restart(failures, policy=DEFAULT, now=at)
        assert next_one.timing is LATER
        at = next_one.at

    assert next_one.at - failures[-1].at == timedelta(minutes=20)
    assert next_one.in_a_row > DEFAULT.thrash_limit


def test_rare_deaths_of_an_idle_stream_never_add_up():
    """An idle topic gives no batch, so no driver of it ever progresses."""
    daily = [failed(86_400 * day, ran_seconds=86_000) for day in range(30, 0, -1)]

    assert advice(*daily).timing is NOW


def test_a_clock_that_was_far_ahead_does_not_make_the_wait_endless():
    from_the_future = failed(-86_400)

    then = advise_restart([from_the_future], policy=DEFAULT, now=MOMENT, unchanged_for=DEFAULT.initial_delay)

    assert then.timing is NOW


def test_streams_that_failed_together_come_back_apart():
    policy = RestartPolicy(initial_delay=seconds(100), max_delay=seconds(100), jitter=0.5)
    failures = [failed(0, epoch=epoch) for epoch in range(1, 50)]

    waits = {advice(failure, policy=policy).at - MOMENT for failure in failures}

    assert len(waits) > 40
    assert all(seconds(50) <= wait <= seconds(100) for wait in waits)


def test_every_supervisor_comes_to_the_same_moment():
    policy = RestartPolicy()

    assert advice(failed(0), policy=policy) == advice(failed(0), policy=policy)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        pytest.param({"budget_per_hour": -1}, "budget_per_hour", id="a negative budget"),
        pytest.param({"thrash_limit": -1}, "thrash_limit", id="a negative limit"),
        pytest.param({"budget_per_hour": MAX_FAILURES_KEPT}, "budget_per_hour", id="a budget that can't be spent"),
        pytest.param({"initial_delay": seconds(-1)}, "initial_delay", id="a negative wait"),
        pytest.param(
            {"initial_delay": seconds(10), "max_delay": seconds(9)}, "max_delay", id="a first wait above the ceiling"
        ),
        pytest.param({"jitter": 1.1}, "jitter", id="more than all of a wait"),
        pytest.param({"forgive_after": seconds(0)}, "forgive_after", id="forgiven before it ran"),
    ],
)
def test_a_policy_that_makes_no_sense_cannot_be_built(wrong, says):
    with pytest.raises(ValueError, match=says):
        RestartPolicy(**wrong)


# Laws

delays = st.integers(0, 7 * 86400).map(seconds)
policies = st.builds(
    lambda budget, limit, first, second: RestartPolicy(
        budget_per_hour=budget,
        thrash_limit=limit,
        initial_delay=min(first, second),
        max_delay=max(first, second),
        jitter=0,
    ),
    st.integers(0, 20),
    st.integers(0, 20),
    delays,
    delays,
)
histories = st.lists(st.builds(failed, st.integers(-100_000, 100_000), with_progress=st.booleans()), max_size=100).map(
    lambda failures: sorted(failures, key=lambda failure: failure.at)
)


def fruitless(failures):
    count = 0
    for failure in reversed(failures):
        if failure.has_progressed:
            break
        count += 1
    return count


@given(histories, policies)
def test_no_wait_exceeds_the_ceiling(failures, policy):
    assert advice(*failures, policy=policy).at <= MOMENT + policy.max_delay


@given(histories, policies)
def test_a_stream_is_parked_exactly_when_its_budget_or_its_limit_is_passed(failures, policy):
    recent = [failure for failure in failures if failure.at > MOMENT - timedelta(hours=1)]
    is_over = len(recent) > policy.budget_per_hour or fruitless(failures) > policy.thrash_limit

    assert (advice(*failures, policy=policy).timing is PARK) == is_over


@given(histories, policies)
def test_a_wait_lies_in_the_future_and_nothing_else_does(failures, policy):
    given_advice = advice(*failures, policy=policy)

    assert (given_advice.timing is LATER) == (given_advice.at > MOMENT)


@given(histories, policies)
def test_a_stamp_from_the_future_counts_as_now(failures, policy):
    corrected = [
        Failure(
            epoch=failure.epoch,
            at=min(failure.at, MOMENT),
            outcome=failure.outcome,
            has_progressed=failure.has_progressed,
            error_classes=(),
        )
        for failure in failures
    ]

    assert advice(*failures, policy=policy) == advice(*corrected, policy=policy)


@given(histories, policies, st.integers(0, 200_000))
def test_waiting_never_makes_it_worse(failures, policy, later):
    rank = (PARK, LATER, NOW)
    now = advice(*failures, policy=policy).timing
    then = advise_restart(failures, policy=policy, now=MOMENT + seconds(100_000 + later)).timing

    assert rank.index(then) >= rank.index(now)
