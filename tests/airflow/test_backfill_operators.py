"""The tasks of a backfill, slice by slice, as a worker runs them: real control log, real processes, no Airflow database."""

import json

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from streamops.airflow.triggers.run import RunTrigger
from streamops.control.records import ClaimMode, Outcome
from support.airflow_backfills import NAME, BackfillPlace

pytestmark = pytest.mark.filterwarnings("ignore:.*cannot be called outside of the Task Runner")


@pytest.fixture
def form(place, monkeypatch):
    form = BackfillPlace(place, monkeypatch)
    yield form
    form.kill_drivers()


# The plan


def test_the_plan_is_shown_and_nothing_is_changed(place, form, task_log):
    form.plan(dry_run=True)

    lines = (
        f'backfill {NAME} of orders: from {{"orders":{{"0":100,"1":50}}}} to {{"orders":{{"0":400,"1":150}}}}',
        "  because  a wrong rate",
        "  reads    400 offsets of 2 partitions in 2 steps",
        "           orders-0 [100, 400): 300",
        "           orders-1 [50, 150): 100",
        f"  writes   {place.project.address('again')}",
    )
    assert "\n".join(lines) in task_log.text
    assert form.names == ()


def test_a_refused_plan_fails_with_the_reason_the_way_out_and_what_is_missing(form):
    form.broker.has("orders", (250, 1000), (60, 200))

    with pytest.raises(AirflowFailException) as refused:
        form.plan()

    told = str(refused.value).splitlines()
    assert told[0].startswith("backfill of orders refused: ")
    assert told[1:] == ["  MISSING  orders-0 [100, 250): 150", "  MISSING  orders-1 [50, 60): 10"]
    assert form.names == ()


def test_what_is_deleted_may_be_accepted(form, task_log):
    form.broker.has("orders", (250, 1000), (60, 200))

    form.plan(accept_expired=True)

    assert "           orders-0 [250, 400): 150\n           orders-1 [60, 150): 90\n" in task_log.text
    assert task_log.text.endswith("  MISSING  orders-0 [100, 250): 150\n  MISSING  orders-1 [50, 60): 10")


def test_the_stream_s_own_table_is_refused_where_it_does_not_know_rows_by_their_key(form):
    with pytest.raises(AirflowFailException, match="idempotent-by-key"):
        form.plan(table=None)


def test_a_plan_that_is_kept_is_not_made_anew(form, task_log):
    form.begin()
    form.broker.has("orders", (999, 1000), (199, 200))

    form.plan()

    assert f"stream=orders backfill={NAME} has its plan already" in task_log.text


@pytest.mark.parametrize("task", ["plan", "result"])
@pytest.mark.parametrize(
    ("filled_in", "told"),
    [
        pytest.param({"from": "yesterday"}, "from: found 'yesterday', expected a time with its zone", id="no range"),
        pytest.param({"to": "2026-03-01T00:00"}, "has no time zone", id="a time without a zone"),
        pytest.param({"slack_minutes": -1}, "the slack must not be negative", id="negative slack"),
        pytest.param(
            {"slack_minutes": 1e30}, "slack_minutes: found 1e+30, expected a number", id="a slack beyond all time"
        ),
        pytest.param({"table": "/"}, "table: found '/', expected a folder of its own", id="a table everywhere"),
        pytest.param({"table": "s3://me:key@b/x"}, "table: expected an address without a password", id="a password"),
        pytest.param({"stream": "returns"}, "returns", id="a stream that is not declared"),
    ],
)
def test_a_mistake_in_the_form_fails_with_what_was_found(form, task, filled_in, told):
    with pytest.raises(AirflowFailException) as refused:
        getattr(form, task)(**filled_in)

    assert told in str(refused.value)
    assert "me:key" not in str(refused.value)
    assert form.names == ()


# Asking


def test_a_dry_run_is_skipped_and_leaves_nothing(form):
    with pytest.raises(AirflowSkipException, match="a dry run: the plan is in the log of the task before"):
        form.result(dry_run=True)

    assert form.names == ()


def test_the_first_slice_keeps_the_plan_starts_a_driver_and_sleeps(place, form):
    deferred = form.begin()

    assert (form.kept.id, form.kept.by, form.kept.reason) == (NAME, "person:ana@airflow", "a wrong rate")
    assert (form.kept.records, form.kept.table) == (400, place.project.address("again"))
    assert form.kinds == ["maintenance_begun", "claimed", "submitted"]
    assert form.state.newest.claim.mode is ClaimMode.BACKFILL
    assert form.is_driver_alive
    assert deferred.method_name == "resume"


def test_the_stream_itself_is_not_touched(place, form):
    form.begin()

    assert place.kinds == []


def test_the_trigger_knows_the_backfill(form):
    trigger = form.begin().trigger

    assert isinstance(trigger, RunTrigger)
    assert (trigger.stream, trigger.backfill, trigger.run_number) == ("orders", NAME, form.asked[-1].number)


def test_a_refused_backfill_begins_nothing(form):
    form.broker.has("orders", (250, 1000), (60, 200))

    with pytest.raises(AirflowFailException, match="MISSING  orders-0"):
        form.result()

    assert form.names == ()


def test_a_retry_finds_its_plan_and_its_run(form):
    first = form.begin()
    # What the topic holds by now would make another plan.
    form.broker.has("orders", (300, 1000), (60, 200))

    again = form.begin()

    assert form.kept.records == 400
    assert form.kinds == ["maintenance_begun", "claimed", "submitted"]
    assert again.trigger.run_number == first.trigger.run_number


@pytest.mark.parametrize("task", ["plan", "result"])
def test_a_plan_of_another_range_is_not_taken_for_this_one(form, task):
    form.begin()

    with pytest.raises(AirflowFailException, match="begin another run"):
        getattr(form, task)(**{"from": '{"orders":{"0":101,"1":50}}'})

    assert form.kinds == ["maintenance_begun", "claimed", "submitted"]


def test_a_further_try_is_refused_once_the_topic_was_made_anew(form):
    form.broker.has("orders", (0, 1000), (0, 200), topic_id="first")
    form.begin()
    form.broker.has("orders", (0, 1000), (0, 200), topic_id="second")

    with pytest.raises(AirflowFailException, match="topic orders was deleted and made anew since the plan was made"):
        form.result()

    assert form.kinds == ["maintenance_begun", "claimed", "submitted"]


# The end


def test_a_backfill_that_has_read_its_range_returns_what_it_did(form):
    form.begin()
    form.run_steps(2)
    form.leave(Outcome.FINISHED)

    result = form.woken()

    assert form.kinds[-2:] == ["driver_ended", "maintenance_ended"]
    took = result.pop("seconds")
    assert 0 <= took < 60
    assert result == {
        "outcome": "finished",
        "run": form.asked[-1].number,
        "epochs": [1],
        "batches": 2,
        "first_batch": 0,
        "last_batch": 1,
        "rows": 400,
        "estimated_seconds": None,
        "estimate_error": None,
        "offsets": [{"orders": {"0": 400, "1": 150}}],
    }


def test_what_a_backfill_returns_fits_into_airflows_database(form):
    form.begin()
    form.run_steps(2)
    form.leave(Outcome.FINISHED)

    result = form.woken()

    assert json.loads(json.dumps(result)) == result


def test_one_that_another_supervisor_saw_through_ends_the_task(form):
    form.begin()
    form.run_steps(2)
    form.leave(Outcome.FINISHED)
    form.supervisor().settle()

    assert form.result()["outcome"] == "finished"
    assert len(form.asked) == 1


def test_one_that_is_parked_fails_and_a_cleared_task_goes_on_with_the_same_plan(place, form):
    place.declare(restart={"budget_per_hour": 0})
    form.begin()
    form.run_steps(1)
    form.leave(Outcome.FAILED, text="Could not read records in offset [250, 400) for topic partition orders-0")

    with pytest.raises(AirflowFailException, match=r"^stream orders is parked: "):
        form.woken()
    assert form.kinds[-1] == "parked"
    form.begin()
    form.run_steps(1)
    form.leave(Outcome.FINISHED)

    result = form.woken()
    assert (result["outcome"], result["epochs"][-1], result["last_batch"]) == ("finished", 2, 1)
    assert form.names == (NAME,)


def test_one_that_is_parked_names_what_of_the_rest_is_deleted(place, form):
    place.declare(restart={"budget_per_hour": 0})
    form.begin()
    form.run_steps(1)
    form.broker.has("orders", (300, 1000), (60, 200))
    form.leave(Outcome.FAILED)

    with pytest.raises(AirflowFailException) as failure:
        form.woken()

    assert str(failure.value).splitlines() == [
        "stream orders is parked: 1 failures within an hour, allowed: 0",
        "When the cause is mended: clear this task, and it goes on;"
        " what is deleted by then takes another backfill that accepts it",
        "  MISSING  orders-0 [250, 300): 50",
    ]


def test_a_cluster_that_does_not_answer_leaves_the_reason_alone(place, form):
    place.declare(restart={"budget_per_hour": 0})
    form.begin()
    form.broker.trouble = "no broker is there"
    form.leave(Outcome.FAILED)

    with pytest.raises(AirflowFailException) as failure:
        form.woken()

    told = str(failure.value).splitlines()
    assert told[0].startswith("stream orders is parked: ")
    assert not any("MISSING" in line for line in told)


def test_one_that_was_stopped_fails_and_a_cleared_task_goes_on_with_the_same_plan(form):
    form.begin()
    form.run_steps(1)
    form.person().end_run("not now")
    form.leave(Outcome.STOPPED)

    with pytest.raises(AirflowFailException, match=r"ended: 1 batch .*: not now"):
        form.woken()
    form.begin()
    form.run_steps(1)
    form.leave(Outcome.FINISHED)

    result = form.woken()
    assert (result["outcome"], result["batches"], result["first_batch"]) == ("finished", 1, 1)
    assert form.names == (NAME,)
