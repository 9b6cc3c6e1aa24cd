"""The DAG that compares what is declared with what is, and what a task may learn from its Airflow."""

import asyncio
import logging
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time import comms, task_runner
from airflow.sdk.execution_time.comms import DagResult, DRCount, ErrorResponse, GetDag, GetDRCount, GetTICount, TICount
from airflow.serialization.serialized_objects import DagSerialization

from streamops.airflow import reconciling
from streamops.airflow.page_text import LINE
from streamops.airflow.reconciling import RECONCILE_DAG, AirflowFacts, run_reconciler
from streamops.airflow.triggers import StreamTrigger
from streamops.control import codec
from streamops.control.attendance import Attendance, attendance_address, read_attendance
from streamops.control.records import Author
from streamops.reconcile.facts import StreamTask
from streamops.reconcile.finding import AwaitedStream, FindingStore, read_book, write_book
from streamops.settings import load_settings
from streamops.storage.local import LocalStorage
from support.dags import only_dag
from support.settings import a_declared_stream

DAG = "stream__orders"


def api_error(status: int) -> AirflowRuntimeError:
    """As a worker wraps what the API server answered."""
    return AirflowRuntimeError(ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail={"status_code": status}))


API_ERROR_500 = api_error(500)


@dataclass
class Server:
    """The execution API as a task sees it: one answer a question."""

    is_paused: bool = False
    is_present: bool = True
    error: Exception | None = None
    living_runs: int = 0
    deferred: int = 0
    asked: list[object] = field(default_factory=list)

    def send(self, msg: object) -> object:
        self.asked.append(msg)
        if self.error:
            raise self.error
        match msg:
            case GetDag() if not self.is_present:
                raise api_error(404)
            case GetDag(dag_id=dag_id):
                return DagResult(
                    dag_id=dag_id,
                    is_paused=self.is_paused,
                    bundle_name="dags",
                    bundle_version=None,
                    relative_fileloc="streams.py",
                    owners="airflow",
                    tags=[],
                    next_dagrun=None,
                )
            case GetDRCount():
                return DRCount(count=self.living_runs)
            case GetTICount():
                return TICount(count=self.deferred)
        raise AssertionError(f"a question that no server was asked before: {msg}")


@pytest.fixture
def server(monkeypatch):
    server = Server()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", server, raising=False)
    return server


def sign(place, *, ago: timedelta, actor: str = "airflow:trigger") -> None:
    """Somebody looked after the stream so long ago."""
    attendance = Attendance(stream="orders", at=datetime.now(UTC) - ago, by=Author(actor=actor, host="host-1", pid=7))
    address = attendance_address(load_settings(place.config).state_root, "orders")
    LocalStorage().write(address, codec.encode(attendance))


LONG = timedelta(minutes=10)


# The DAG


def test_it_runs_every_minute_and_never_catches_up(place):
    dag = only_dag(place.config, "reconcile.py")

    assert dag.dag_id == RECONCILE_DAG
    assert dag.schedule == timedelta(minutes=1)
    assert (dag.catchup, dag.max_active_runs, dag.is_paused_upon_creation) == (False, 1, False)
    (task,) = dag.tasks
    assert (task.task_id, task.execution_timeout) == ("reconcile", timedelta(minutes=5))
    assert dag.dagrun_timeout == timedelta(minutes=10)


def test_what_went_wrong_is_left_to_the_next_minute(place, monkeypatch):
    """Tried again is only what never got so far: a worker without an answer of Airflow's server."""
    monkeypatch.setattr(reconciling, "settings_in_force", lambda config: 1 / 0)

    with pytest.raises(AirflowFailException, match="ZeroDivisionError"):
        only_dag(place.config, "reconcile.py").get_task("reconcile").python_callable()


def test_it_survives_the_way_through_the_database(place):
    back = DagSerialization.from_dict(DagSerialization.to_dict(only_dag(place.config, "reconcile.py")))

    assert back.task_ids == ["reconcile"]
    assert back.max_active_runs == 1


# What the task does


def test_a_stream_that_is_looked_after_is_fine(place, server):
    place.start()

    only_dag(place.config, "reconcile.py").get_task("reconcile").python_callable()

    assert len(server.asked) == 1


def test_it_fails_with_what_is_critical(place, server):
    place.start()
    server.is_paused = True
    sign(place, ago=timedelta(0))

    with pytest.raises(
        AirflowFailException, match=r"^orders: its DAG stream__orders is paused(.|\n)*1 critical, 1 of them new"
    ):
        run_reconciler(place.config)


def test_the_second_time_the_same_is_no_news(place, server, caplog):
    place.start()
    server.is_paused = True
    sign(place, ago=timedelta(0))
    with pytest.raises(AirflowFailException):
        run_reconciler(place.config)
    caplog.clear()

    with (
        caplog.at_level(logging.INFO, logger="streamops"),
        pytest.raises(AirflowFailException, match=r"\[since (.|\n)*1 critical, 0 of them new"),
    ):
        run_reconciler(place.config)

    assert [record.levelname for record in caplog.records if "paused-dag" in record.message] == ["INFO"]


def test_a_lost_stream_is_started_when_no_run_of_its_dag_lives(place, server):
    place.kill(place.start())
    sign(place, ago=LONG)

    with pytest.raises(AirflowFailException, match="unattended"):
        run_reconciler(place.config)

    assert place.kinds == ["claimed", "submitted", "driver_ended", "claimed", "submitted"]
    assert place.is_alive(place.handles[-1])
    assert place.state.newest.claimed.by.actor == f"airflow:{RECONCILE_DAG}"


def test_a_lost_stream_of_a_paused_dag_is_not_started(place, server):
    place.kill(place.start())
    sign(place, ago=LONG)
    server.is_paused = True

    with pytest.raises(AirflowFailException, match="lost-driver"):
        run_reconciler(place.config)

    assert place.kinds == ["claimed", "submitted", "driver_ended"]


@pytest.mark.fault("B78")
def test_a_lost_stream_with_a_run_is_left_to_it(place, server):
    place.kill(place.start())
    sign(place, ago=LONG)
    server.living_runs = server.deferred = 1

    with pytest.raises(AirflowFailException, match=r"is deferred,\s+and no trigger looks after it"):
        run_reconciler(place.config)

    assert place.kinds == ["claimed", "submitted"]


@pytest.mark.parametrize(
    ("server_says", "signed_ago", "told"),
    [
        pytest.param({"is_paused": True}, timedelta(0), "its DAG stream__orders is paused", id="paused"),
        pytest.param({"is_present": False}, timedelta(0), "Airflow has no DAG", id="missing"),
        pytest.param(
            {"living_runs": 1, "deferred": 1}, timedelta(seconds=95), "deferred, and no trigger", id="triggerer dead"
        ),
        pytest.param({}, timedelta(seconds=95), "no run of stream__orders lives", id="runs deleted"),
        pytest.param({"error": API_ERROR_500}, timedelta(seconds=95), "unsupervised since", id="Airflow is silent"),
    ],
)
def test_an_unsupervised_stream_that_runs_fails_it(place, server, server_says, signed_ago, told):
    place.start()
    sign(place, ago=signed_ago)
    for name, value in server_says.items():
        setattr(server, name, value)

    with pytest.raises(AirflowFailException, match=told.replace(" ", r"\s+")) as failure:
        run_reconciler(place.config)

    assert place.kinds == ["claimed", "submitted"]
    assert max(len(line) for line in str(failure.value).splitlines()) <= LINE


def test_what_airflow_said_is_kept_for_reports_from_outside(place, server):
    place.start()
    server.is_paused = True
    sign(place, ago=timedelta(0))
    with pytest.raises(AirflowFailException):
        run_reconciler(place.config)

    told = read_book(LocalStorage(), load_settings(place.config).state_root).told

    assert [(task.stream, task.task.is_paused) for task in told.idle] == [("orders", True)]


def test_one_bad_declaration_hides_no_other_stream(place, server, caplog):
    """The bad one runs by its last good declaration, and its mistake is told beside what is critical."""
    place.start()
    sign(place, ago=LONG)
    other = a_declared_stream("clicks", launch={"spark_submit": str(place.spark_submit)})
    place.project.load(streams={"orders": a_declared_stream(job="jobs/none.py"), "clicks": other})
    # A stream that was declared, or seen first, a moment ago is given time to be picked up.
    long_ago = datetime.now(UTC) - LONG
    os.utime(place.config, (long_ago.timestamp(), long_ago.timestamp()))
    awaited = AwaitedStream(stream="clicks", since=long_ago)
    write_book(LocalStorage(), load_settings(place.config).state_root, FindingStore(awaited=(awaited,)))

    with pytest.raises(AirflowFailException, match="2 critical") as failed:
        run_reconciler(place.config)

    told = str(failed.value)
    assert "clicks: no supervisor has ever signed for it" in told
    assert "orders: unsupervised since" in told
    assert told.count("  unattended [new]: ") == 2
    assert "orders: wrong-settings" in caplog.text


def test_settings_that_declare_nothing_fail_it(place):
    place.project.load_text("streams: [")

    with pytest.raises(AirflowFailException, match="declare nothing"):
        run_reconciler(place.config)


# What a task may ask


@pytest.mark.parametrize(
    ("server_says", "task"),
    [
        pytest.param({}, StreamTask(dag=DAG, living_runs=0), id="there, and idle"),
        pytest.param({"is_paused": True}, StreamTask(dag=DAG, is_paused=True, living_runs=0), id="paused"),
        pytest.param({"is_present": False}, StreamTask(dag=DAG, is_present=False), id="missing"),
        pytest.param(
            {"living_runs": 1, "deferred": 1}, StreamTask(dag=DAG, living_runs=1, is_deferred=True), id="deferred"
        ),
        pytest.param({"error": API_ERROR_500}, None, id="no answer is no finding"),
        pytest.param({"error": OSError("no line to the server")}, None, id="no line is no finding either"),
    ],
)
def test_airflow_is_asked_through_the_execution_api(server, server_says, task):
    for name, value in server_says.items():
        setattr(server, name, value)

    assert AirflowFacts().task_of("orders", in_detail=True) == task


def test_the_questions_are_those_that_a_task_of_this_airflow_may_ask():
    """Each is part of the protocol between a task and its supervisor, so no connection and no password is needed."""
    assert {"GetDag", "GetDRCount", "GetTICount"} <= {kind.__name__ for kind in comms.ToSupervisor.__args__[0].__args__}


# The sign of a trigger


def test_a_trigger_that_looks_leaves_a_sign(place):
    place.start()
    state_root = load_settings(place.config).state_root
    sign(place, ago=LONG)

    async def watch():
        trigger = StreamTrigger(stream="orders", config=place.config, quiet_seconds=0, interval_seconds=0.01)
        task = asyncio.ensure_future(anext(trigger.run()))
        for _ in range(500):
            found = await asyncio.to_thread(read_attendance, LocalStorage(), state_root, "orders")
            if not found.is_over(datetime.now(UTC)):
                break
            await asyncio.sleep(0.01)
        task.cancel()
        return found

    assert asyncio.run(watch()).by.actor == "airflow:trigger"
    assert read_attendance(LocalStorage(), state_root, "orders").is_over(datetime.now(UTC)) is False


def test_a_trigger_that_can_not_look_leaves_none(place, eyes):
    place.start()
    state_root = load_settings(place.config).state_root
    sign(place, ago=LONG)
    eyes.storage.unreachable = place.control

    async def watch():
        trigger = StreamTrigger(stream="orders", config=place.config, quiet_seconds=0, interval_seconds=0.01)
        task = asyncio.ensure_future(anext(trigger.run()))
        await asyncio.to_thread(eyes.have_asked, 1)
        await asyncio.sleep(0.2)
        task.cancel()

    asyncio.run(watch())

    assert read_attendance(LocalStorage(), state_root, "orders").is_over(datetime.now(UTC))
