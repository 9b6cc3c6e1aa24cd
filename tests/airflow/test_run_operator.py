"""The task of a bounded run, slice by slice, as a worker runs it: real control log, real processes, no Airflow database."""

import json
import threading
from dataclasses import dataclass
from datetime import timedelta

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowRuntimeError, AirflowSkipException, ErrorType
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import ErrorResponse, GetTaskStates, TaskStatesResult

from streamops.airflow.operators import run as run_operator
from streamops.airflow.triggers.run import RunTrigger
from streamops.control.records import ClaimMode, Outcome
from support.airflow_runs import HOUR, SCHEDULED, RunPlace
from support.waiting import eventually

pytestmark = pytest.mark.filterwarnings("ignore:.*cannot be called outside of the Task Runner")


@pytest.fixture
def run_place(place, monkeypatch):
    return RunPlace(place, monkeypatch)


# Asking


def test_the_first_slice_asks_for_the_run_starts_its_driver_and_sleeps(place, run_place):
    deferred = run_place.begin()

    assert place.kinds == ["maintenance_begun", "claimed", "submitted"]
    assert place.state.newest.claim.mode is ClaimMode.CATCHUP
    assert place.is_alive(place.handles[0])
    assert deferred.method_name == "resume"


def test_a_run_bears_its_dag_run_and_who_asked(run_place):
    run_place.begin()

    (asked,) = run_place.asked
    assert asked.reason == "scheduled [catchup__orders scheduled__1]"
    assert asked.by.actor == "airflow:catchup__orders"


def test_a_form_bears_the_name_and_the_reason_of_the_person(run_place):
    run_place.begin(task=run_place.task(reason="after the outage"), triggering_user_name="ana")

    (asked,) = run_place.asked
    assert asked.reason == "after the outage [catchup__orders scheduled__1]"
    assert asked.by.actor == "person:ana@airflow"


def test_a_run_has_the_time_that_the_stream_declares(place, run_place):
    place.declare(**SCHEDULED, catchup={"budget": "30m"})

    run_place.begin()

    (asked,) = run_place.asked
    assert timedelta(minutes=29) < asked.body.until - asked.at <= timedelta(minutes=30)


def test_a_form_may_give_it_another_time(run_place):
    run_place.begin(task=run_place.task(budget_hours="1.5"))

    (asked,) = run_place.asked
    assert timedelta(minutes=89) < asked.body.until - asked.at <= timedelta(minutes=90)


@pytest.mark.parametrize("given", ["soon", "0", "-1", "nan", "1e30"])
def test_a_time_that_makes_no_sense_fails_and_asks_for_nothing(place, run_place, given):
    with pytest.raises(AirflowFailException, match=f"expected a budget in hours, more than 0, found '{given}'"):
        run_place.result(task=run_place.task(budget_hours=given))

    assert place.kinds == []


def test_a_task_that_sleeps_has_no_time_out(run_place):
    """At its end Airflow would cancel the trigger: the budget ends a run, between two batches."""
    assert run_place.begin().timeout is None


def test_the_trigger_knows_the_run_and_its_task(place, run_place):
    trigger = run_place.begin().trigger

    assert isinstance(trigger, RunTrigger)
    assert (trigger.stream, trigger.config, trigger.run_number) == ("orders", place.config, run_place.run_number)
    assert (trigger.dag_id, trigger.run_id, trigger.task_name) == ("catchup__orders", "scheduled__1", "run")


# Once for each DAG run


def test_a_retry_finds_its_run_and_goes_on_with_it(place, run_place):
    first = run_place.begin()

    again = run_place.begin()

    assert place.kinds == ["maintenance_begun", "claimed", "submitted"]
    assert again.trigger.run_number == first.trigger.run_number


def test_a_retry_finds_its_run_when_it_is_over_already(place, run_place):
    """The worker died with the result in its hands, and nothing waits any more."""
    run_place.begin()
    run_place.finish()
    place.supervisor().settle()
    run_place.broker.has("orders", (0, 23), (0, 40))

    assert run_place.result()["outcome"] == "finished"
    assert len(run_place.asked) == 1


def test_the_next_dag_run_asks_anew(place, run_place):
    run_place.begin()
    run_place.finish()
    run_place.woken()

    run_place.begin(run_id="scheduled__2")

    assert len(run_place.asked) == 2
    assert place.state.newest.number == 2


# Skipped


def test_nothing_new_is_skipped_with_the_offsets(place, run_place):
    run_place.begin()
    run_place.finish()
    run_place.woken()
    run_place.broker.has("orders", (0, 24), (0, 40))

    with pytest.raises(AirflowSkipException) as skipped:
        run_place.result(run_id="scheduled__2")

    assert str(skipped.value) == ("stream orders: nothing new since batch 1: orders-0 ends at 24, orders-1 ends at 40")
    assert len(run_place.asked) == 1


def test_a_cluster_that_does_not_answer_is_no_reason_to_leave_a_run_out(place, run_place):
    run_place.begin()
    run_place.finish()
    run_place.woken()
    run_place.broker.trouble = "no broker is there"

    run_place.begin(run_id="scheduled__2")

    assert len(run_place.asked) == 2


def test_a_stream_that_was_stopped_on_purpose_is_skipped_with_who_and_why(place, run_place):
    place.person().stop("moving house")

    with pytest.raises(AirflowSkipException, match="stopped on purpose by person:ana: moving house"):
        run_place.result()

    assert place.kinds == ["stop_requested"]


def test_a_run_that_somebody_else_attends_to_is_left_to_them(place, run_place):
    run_place.ask_elsewhere()
    run_place.attend()

    with pytest.raises(AirflowSkipException, match="person:ana is at work on it until"):
        run_place.result()

    assert place.kinds == ["maintenance_begun"]


def test_a_run_that_nobody_attends_to_is_taken_over(place, run_place, task_log):
    """Its supervisor is gone: a terminal that was closed, an Airflow that was put up anew."""
    left = run_place.ask_elsewhere()
    run_place.attend(ago=HOUR)

    deferred = run_place.begin()

    assert deferred.trigger.run_number == left.number
    assert place.kinds == ["maintenance_begun", "claimed", "submitted"]
    assert f"run={left.number} was asked for, and nobody sees it through: it is taken over" in task_log.text


def test_a_live_query_of_before_must_be_stopped_first(place, run_place):
    """The stream was live when it was started, and is declared as scheduled now."""
    place.declare()
    place.start()
    place.declare(**SCHEDULED)

    with pytest.raises(AirflowSkipException, match=r"its live query of before still holds the claim \(epoch 1\)"):
        run_place.result()


# The end


def test_a_run_that_has_read_all_returns_what_it_did(place, run_place):
    run_place.begin()
    run_place.finish(batches=3, rows=63)

    result = run_place.woken()

    assert place.kinds[-2:] == ["driver_ended", "maintenance_ended"]
    took = result.pop("seconds")
    assert 0 <= took < 60
    assert result == {
        "outcome": "finished",
        "run": run_place.run_number,
        "epochs": [1],
        "batches": 3,
        "first_batch": 0,
        "last_batch": 2,
        "rows": 63,
        "estimated_seconds": None,
        "estimate_error": None,
        "offsets": [{"orders": {"0": 25, "1": 40}}],
    }


def test_what_a_run_returns_fits_into_airflows_database(run_place):
    run_place.begin()
    run_place.finish()

    result = run_place.woken()

    assert json.loads(json.dumps(result)) == result


def test_a_run_that_another_supervisor_saw_through_ends_the_task_all_the_same(place, run_place):
    run_place.begin()
    run_place.finish()
    place.supervisor().settle()
    before = place.kinds

    assert run_place.woken(wake="idle")["outcome"] == "finished"
    assert place.kinds == before


def test_a_live_query_yields_and_comes_back(place, run_place):
    place.declare()
    place.start()
    catchup = run_place.task(reason="far behind")
    run_place.begin(task=catchup)
    run_place.finish(batches=1, outcome=Outcome.STOPPED)
    run_place.woken_into_sleep(catchup)
    run_place.finish(batches=2)

    result = catchup.resume(
        run_place.context(), {"wake": "record-end", "reason": "x", "run": str(run_place.run_number)}
    )

    assert result["epochs"] == [2]
    assert place.state.newest.claim.mode is ClaimMode.LIVE
    assert place.state.newest.number == 3


def test_the_run_of_a_live_stream_that_another_supervisor_saw_through_ends_the_task(place, run_place):
    """`stream__orders` may do everything: the claim, the end, and the live query again."""
    place.declare()
    place.start()
    catchup = run_place.task(reason="far behind")
    run_place.begin(task=catchup)
    for batches, outcome in ((1, Outcome.STOPPED), (2, Outcome.FINISHED)):
        run_place.finish(batches=batches, outcome=outcome)
        place.supervisor().settle()

    result = catchup.resume(run_place.context(), {"wake": "keep", "reason": "x", "run": str(run_place.run_number)})

    assert (result["outcome"], result["epochs"]) == ("finished", [2])
    assert place.is_alive(place.handles[-1])


def test_a_driver_that_dies_is_replaced_within_the_same_try(place, run_place):
    place.declare(**SCHEDULED, restart={"initial_delay": "0s"})
    run_place.begin()
    place.kill(place.handles[0])

    run_place.woken_into_sleep()

    assert place.kinds[-3:] == ["driver_ended", "claimed", "submitted"]
    assert len(run_place.asked) == 1


def test_a_run_whose_time_is_over_fails_and_says_that_the_next_one_goes_on(place, run_place):
    run_place.begin(task=run_place.task(budget_hours="0.0003"))
    run_place.wait_until_over()
    run_place.woken_into_sleep()
    run_place.finish(batches=1, outcome=Outcome.STOPPED)

    with pytest.raises(AirflowFailException) as failure:
        run_place.woken()

    told = str(failure.value)
    assert told.startswith("stream orders: budget-spent: 1 batch (0), 63 rows, ")
    assert told.endswith("the next run goes on from there")


def test_a_run_that_somebody_ended_fails_with_their_reason(place, run_place):
    run_place.begin()
    place.person().end_run("not now")
    run_place.finish(batches=1, outcome=Outcome.STOPPED)

    with pytest.raises(AirflowFailException, match=r"stream orders: ended: 1 batch .*: not now"):
        run_place.woken()


# Standing still


def test_a_parked_stream_fails_its_task_with_the_reason_and_the_way_out(place, run_place):
    place.declare(**SCHEDULED, restart={"thrash_limit": 0})
    run_place.begin()
    place.kill(place.handles[0])

    with pytest.raises(AirflowFailException) as failure:
        run_place.woken()

    assert place.kinds[-1] == "parked"
    assert "stream orders is parked: " in str(failure.value)
    assert "streamops release orders --reason" in str(failure.value)


def test_no_run_is_asked_of_a_parked_stream(place, run_place):
    run_place.park()

    with pytest.raises(AirflowFailException, match="stream orders is parked: six failures in a row"):
        run_place.result()

    assert place.kinds == ["parked"]


def test_a_stream_that_is_stopped_during_its_run_fails_the_task(place, run_place):
    run_place.begin()
    place.person().stop("moving house")
    run_place.finish(batches=1, outcome=Outcome.STOPPED)

    with pytest.raises(AirflowFailException, match="stream orders is stopped: stopped by person:ana: moving house"):
        run_place.woken()


def test_a_stream_that_left_the_settings_fails_with_its_name(place, run_place):
    task = run_place.task(reason="x")
    place.project.load(streams={})

    with pytest.raises(AirflowFailException, match="orders"):
        run_place.result(task=task)


# Trouble


def test_storage_that_fails_is_a_wait(place, run_place, eyes, task_log):
    """The run lasts as long as its driver, whoever can't look at it meanwhile."""
    run_place.begin()
    eyes.storage.unreachable = "/"

    deferred = run_place.woken_into_sleep()

    assert deferred.trigger.run_number == run_place.run_number
    assert "stream=orders can't be run now, trying again" in task_log.warnings
    assert place.is_alive(place.handles[0])


# An end that a person gives the task while a slice of it runs


@dataclass
class Server:
    """Airflow's server, which says what state the task has; it does not answer where that is None."""

    state: str | None

    def send(self, msg: object) -> object:
        assert isinstance(msg, GetTaskStates)
        if self.state is None:
            raise AirflowRuntimeError(ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail={"message": "away"}))
        (run_id,), (task_id,) = msg.run_ids, msg.task_ids
        return TaskStatesResult(task_states={run_id: {task_id: self.state}})


@pytest.fixture
def server(monkeypatch):
    server = Server("running")
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", server, raising=False)
    return server


GIVEN = ["failed", "success", "skipped"]
GOES_ON = [
    pytest.param("running", id="a worker that is shut down"),
    pytest.param("restarting", id="cleared"),
    pytest.param("up_for_retry", id="tried again"),
    pytest.param(None, id="a server that is away"),
]


@pytest.mark.parametrize("state", GIVEN)
def test_a_task_that_was_given_an_end_during_its_slice_ends_its_run_and_does_not_sleep(place, run_place, server, state):
    server.state = state

    with pytest.raises(AirflowFailException, match=f"is ended, its task was marked {state}"):
        run_place.result()

    record = run_place.records[-1]
    assert (record.body.kind, record.reason) == ("maintenance_ended", f"its task was marked {state}")
    assert record.by.actor == "airflow:catchup__orders/run"


@pytest.mark.parametrize("state", GOES_ON)
def test_any_other_task_sleeps_and_its_run_goes_on(place, run_place, server, state):
    server.state = state

    run_place.begin()

    assert place.kinds == ["maintenance_begun", "claimed", "submitted"]


@pytest.mark.parametrize("state", GIVEN)
def test_a_sigterm_because_of_an_end_that_was_given_ends_the_run(place, run_place, server, state):
    task = run_place.task()
    run_place.begin(task=task)
    server.state = state

    task.on_kill()

    record = run_place.records[-1]
    assert (record.body.kind, record.reason) == ("maintenance_ended", f"its task was marked {state}")
    assert place.is_alive(place.handles[0])


@pytest.mark.parametrize("state", GOES_ON)
def test_any_other_sigterm_leaves_the_run_alone(place, run_place, server, state):
    task = run_place.task()
    run_place.begin(task=task)
    server.state = state

    task.on_kill()

    assert place.kinds == ["maintenance_begun", "claimed", "submitted"]


def test_a_sigterm_before_there_is_a_run_does_nothing(place, run_place, server):
    server.state = "failed"

    run_place.task().on_kill()

    assert place.kinds == []


def test_a_sigterm_that_came_before_the_run_was_on_record_is_not_forgotten(place, run_place, server):
    """No driver is started for it: the next thing that happens may be SIGKILL."""
    task = run_place.task()
    server.state = "failed"
    task.on_kill()

    with pytest.raises(AirflowFailException, match="its task was marked failed"):
        run_place.result(task=task)

    assert place.kinds == ["maintenance_begun", "maintenance_ended"]


def test_a_line_to_the_server_that_is_held_does_not_hold_the_handler_up(run_place, server, monkeypatch):
    """The slice that the signal came into may be at it: it goes on once the handler returns."""
    monkeypatch.setattr(run_operator, "KILL_PATIENCE", timedelta(seconds=0.1))
    task = run_place.task()
    run_place.begin(task=task)
    is_free = threading.Event()
    server.state = "failed"
    answer = server.send
    monkeypatch.setattr(server, "send", lambda msg: (is_free.wait(), answer(msg))[1])

    task.on_kill()
    before = run_place.records[-1].body.kind
    is_free.set()

    assert before == "submitted"
    assert eventually(lambda: run_place.records[-1].body.kind == "maintenance_ended")
