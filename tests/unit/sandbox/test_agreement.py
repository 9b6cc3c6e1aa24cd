"""What counts as a contradiction between status, reconcile, plan, the list of DAGs and the next step, and for how long."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from streamops.status import Phase
from streamops.supervision.decision import Action
from support.agreement import RULES, StreamSample, Word, contradictions

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WELL = StreamSample(
    stream="orders",
    at=NOON,
    status=Word.FINE,
    phase=Phase.RUNNING,
    reconcile=Word.FINE,
    plan=Word.FINE,
    next_step=Action.KEEP,
    planned_step=Action.KEEP,
    list_state="running",
)
STOPPED = replace(
    WELL, phase=Phase.STOPPED, next_step=Action.STOPPED, planned_step=Action.STOPPED, list_state="success"
)
PARKED = replace(
    WELL,
    status=Word.ILL,
    phase=Phase.PARKED,
    reconcile=Word.ILL,
    plan=Word.ILL,
    next_step=Action.PARKED,
    planned_step=Action.PARKED,
    list_state="failed",
)


def lasting(sample: StreamSample, seconds: float) -> list[StreamSample]:
    """The same again every five seconds."""
    return [replace(sample, at=NOON + timedelta(seconds=second)) for second in range(0, int(seconds) + 1, 5)]


@pytest.mark.parametrize("sample", [WELL, STOPPED, PARKED], ids=["running", "stopped", "parked"])
def test_what_fits_together_never_contradicts(sample: StreamSample) -> None:
    assert contradictions(lasting(sample, 1200)) == ()


@pytest.mark.parametrize(
    ("sample", "rule"),
    [
        pytest.param(
            replace(PARKED, next_step=Action.CLAIM, planned_step=Action.CLAIM, phase=Phase.WAITING),
            "started-against-the-plan",
            id="the plan refuses and a start is next",
        ),
        pytest.param(
            replace(PARKED, plan=Word.FINE),
            "refused-against-the-plan",
            id="the plan is safe and it is parked (defect 2)",
        ),
        pytest.param(
            replace(WELL, planned_step=Action.PARK), "plan-tells-another-step", id="plan and supervisor see other steps"
        ),
        pytest.param(replace(PARKED, status=Word.FINE), "healthy-and-refused", id="status is fine and it is parked"),
        pytest.param(
            replace(WELL, waits_for="kafka:9092 has not answered for 25 s"),
            "healthy-and-waits",
            id="status is fine and its broker is away",
        ),
        pytest.param(
            replace(STOPPED, plan=Word.ILL),
            "healthy-and-cannot-start",
            id="stopped, broken, and status is fine (defect 5)",
        ),
        pytest.param(
            replace(STOPPED, status=Word.ILL), "ill-in-status-alone", id="reconcile knows nothing of what status tells"
        ),
        pytest.param(
            replace(STOPPED, reconcile=Word.ILL),
            "ill-in-reconcile-alone",
            id="status knows nothing of what reconcile tells",
        ),
    ],
)
def test_what_is_read_at_once_contradicts_in_two_neighbouring_samples(sample: StreamSample, rule: str) -> None:
    assert rule in [found.rule for found in contradictions(lasting(sample, 5))]
    assert contradictions([sample]) == ()
    assert contradictions([sample, replace(WELL, at=NOON + timedelta(seconds=5))]) == ()


@pytest.mark.parametrize(
    ("sample", "rule"),
    [
        pytest.param(
            replace(PARKED, list_state="running"), "runs-in-the-list-alone", id="parked, and teal in the list"
        ),
        pytest.param(
            replace(STOPPED, list_state="running"), "runs-in-the-list-alone", id="stopped, and teal in the list"
        ),
        pytest.param(
            replace(WELL, phase=Phase.WAITING, status=Word.WARNING),
            "waits-behind-a-running-list",
            id="no driver, and teal",
        ),
        pytest.param(replace(WELL, list_state="failed"), "red-in-the-list-alone", id="red, and nothing is wrong"),
        pytest.param(replace(WELL, list_state="success"), "ended-in-the-list-alone", id="green, and it runs"),
    ],
)
def test_the_list_may_be_late_by_a_minute(sample: StreamSample, rule: str) -> None:
    assert contradictions(lasting(sample, 60)) == ()
    assert [found.rule for found in contradictions(lasting(sample, 65))] == [rule]


def test_a_verdict_on_a_living_stream_may_be_a_round_old() -> None:
    ruined = replace(WELL, plan=Word.ILL)

    assert contradictions(lasting(ruined, 480)) == ()
    assert [found.rule for found in contradictions(lasting(ruined, 485))] == ["runs-on-a-ruin"]


def test_a_contradiction_that_comes_twice_is_told_twice_with_its_span() -> None:
    wrong = replace(STOPPED, status=Word.ILL)
    calm = replace(STOPPED, at=NOON + timedelta(seconds=6))
    again = [replace(one, at=one.at + timedelta(minutes=1)) for one in lasting(wrong, 10)]

    found = contradictions([*lasting(wrong, 5), calm, *again])

    assert [(one.rule, one.lasted.total_seconds()) for one in found] == [
        ("ill-in-status-alone", 5.0),
        ("ill-in-status-alone", 10.0),
    ]


def test_streams_are_judged_by_themselves() -> None:
    wrong = replace(STOPPED, status=Word.ILL)
    other = replace(STOPPED, stream="returns", at=NOON + timedelta(seconds=5))

    assert contradictions([wrong, other]) == ()


def test_each_rule_says_what_it_means() -> None:
    assert all(rule.contradicts.__doc__ for rule in RULES)
