"""A backfill before it begins: the stream that it is, and its plan in words."""

import pytest

from streamops.backfill import BackfillEstimate
from streamops.backfill.asked import Expired
from streamops.backfill.backfill_service import PlannedBackfill, backfill_spec
from streamops.backfill.backfill_text import plan_lines, range_lines, refusal_lines
from streamops.control.records import ClaimMode
from streamops.errors import BackfillError
from streamops.spec import CatchupSpec, LaunchSpec, Mode, Trigger, TriggerKind
from support.backfills import a_plan, offsets
from support.specs import a_scheduled_stream, a_stream

# The stream that a backfill is


def test_it_is_a_stream_of_its_own_beside_the_declared_one():
    spec = backfill_spec(a_stream(), a_plan(id="the-march"))

    assert spec.name == "orders__the_march"
    assert spec.checkpoint == "file:///data/checkpoints/orders.backfills/the-march/checkpoint"
    assert spec.description == "Backfill the-march of orders: from 2026-03-01 to 2026-03-02"


def test_it_writes_where_the_plan_says_and_knows_rows_as_the_stream_does():
    declared = a_stream()

    spec = backfill_spec(declared, a_plan(table="file:///data/again", dead_letters="file:///data/again_dead"))

    assert (spec.sink.table, spec.sink.dead_letters) == ("file:///data/again", "file:///data/again_dead")
    assert spec.sink.guarantee is declared.sink.guarantee


@pytest.mark.parametrize("declared", [a_stream(), a_scheduled_stream()], ids=["live", "scheduled"])
def test_it_runs_what_is_written_down_and_has_no_schedule(declared):
    spec = backfill_spec(declared, a_plan())

    assert (spec.mode, spec.trigger, spec.schedule) == (Mode.BACKFILL, Trigger(kind=TriggerKind.ONCE), None)
    assert spec.bounded_run is ClaimMode.BACKFILL


def test_it_has_the_resources_of_a_catch_up_and_the_job_and_source_of_the_stream():
    declared = a_stream(
        launch=LaunchSpec(master="local[1]", conf=(("spark.driver.memory", "1g"), ("spark.ui.enabled", "false"))),
        catchup=CatchupSpec(master="local[4]", conf=(("spark.driver.memory", "2g"),)),
    )

    spec = backfill_spec(declared, a_plan())

    assert spec.launch.master == "local[4]"
    assert spec.launch.conf == (("spark.driver.memory", "2g"), ("spark.ui.enabled", "false"))
    assert (spec.job, spec.source) == (declared.job, declared.source)


# The plan


def test_a_plan_is_told_a_fact_a_line():
    plan = a_plan(table="file:///data/again", is_redirected=True, notes=("rows are only added",))
    planned = PlannedBackfill(plan=plan, estimate=BackfillEstimate(seconds=61.4, reason="by 200 records a second"))

    assert list(plan_lines(planned)) == [
        "backfill march of orders: from 2026-03-01 to 2026-03-02",
        "  because  a wrong rate",
        "  reads    13 offsets of 2 partitions in 2 steps",
        "           orders-0 [5, 9): 4",
        "           orders-1 [3, 12): 9",
        "  writes   file:///data/again",
        "  takes    about 61 s (by 200 records a second)",
        "  note     rows are only added",
    ]


def test_the_stream_s_own_table_is_named_as_such():
    assert "  writes   file:///data/orders, the table of the stream itself" in list(
        plan_lines(PlannedBackfill(plan=a_plan()))
    )


@pytest.mark.parametrize(
    ("estimate", "line"),
    [
        pytest.param(
            BackfillEstimate(seconds=90.0, is_ceiling=True, reason="it was seen to read 5 records a second at least"),
            "  takes    at most 90 s (it was seen to read 5 records a second at least)",
            id="a ceiling",
        ),
        pytest.param(
            BackfillEstimate(seconds=None, reason="no batch of it was seen"),
            "  takes    nobody knows how long: no batch of it was seen",
            id="unknown",
        ),
    ],
)
def test_how_sure_the_estimate_is_is_told(estimate, line):
    assert line in list(plan_lines(PlannedBackfill(plan=a_plan(), estimate=estimate)))


def test_what_is_missing_by_a_person_s_leave_is_told_last():
    expired = (Expired(topic="orders", partition=0, first=2, end=5),)

    assert list(plan_lines(PlannedBackfill(plan=a_plan(), expired=expired)))[-1] == "  MISSING  orders-0 [2, 5): 3"


def test_of_many_partitions_the_first_are_named():
    plan = a_plan(start=offsets(*[0] * 20), chunks=(offsets(*[3] * 20),))

    lines = list(range_lines(plan))

    assert lines[0] == "orders-0 [0, 3): 3"
    assert lines[11:] == ["orders-11 [0, 3): 3", "and 8 partitions more"]


# Refused


def test_a_refusal_names_each_obstacle_and_what_is_missing():
    planned = PlannedBackfill(
        plan=None,
        refusals=("the range is empty: name another one", "the table is another stream's: name another one"),
        expired=(
            Expired(topic="orders", partition=0, first=500, end=800),
            Expired(topic="orders", partition=1, first=None, end=40),
        ),
    )

    assert list(refusal_lines("orders", planned)) == [
        "backfill of orders refused: the range is empty: name another one",
        "backfill of orders refused: the table is another stream's: name another one",
        "  MISSING  orders-0 [500, 800): 300",
        "  MISSING  orders-1: what was before 40, as far as it belonged to the range",
    ]


def test_a_refused_plan_can_t_be_begun():
    with pytest.raises(BackfillError, match=r"^the range is empty; the table is another's$"):
        PlannedBackfill(plan=None, refusals=("the range is empty", "the table is another's")).refuse()
