"""What users met whose streams were run by Airflow: real tasks, real processes. Each test names the report it answers."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowFailException, TaskDeferred

from streamops.airflow.operators import StreamOperator
from streamops.airflow.triggers import StreamTrigger
from streamops.launch import DriverState
from streamops.supervision.decision import Action
from support.waiting import eventually

pytestmark = pytest.mark.filterwarnings("ignore:.*cannot be called outside of the Task Runner")

WORKER = """
import contextlib, sys, time
from airflow.sdk.exceptions import TaskDeferred
from streamops.airflow.operators import StreamOperator
with contextlib.suppress(TaskDeferred):
    StreamOperator(task_id="supervise", stream="orders", config=sys.argv[1]).execute({})
time.sleep(600)
"""
"""A task process that has submitted and is still there."""

NOISY = """#!/bin/sh
echo "ERROR TaskSchedulerImpl: Lost executor 3 on 10.0.0.7: The executor with id 3 exited with exit code 137."
echo "Container name: spark-kubernetes-driver  Container state: Terminated  Exit code: 1"
echo ready
exec sleep 600
"""
"""A spark-submit whose log tells of an executor and of an attempt before."""

QUIET = """#!/bin/sh
while [ ! -e "$0.end" ]; do sleep 0.05; done
exit 0
"""
"""A spark-submit that keeps its arguments, says nothing, and ends when it is let, with code 0."""


@pytest.fixture
def task(place):
    return StreamOperator(task_id="supervise", stream="orders", config=place.config)


def execute(task) -> None:
    """The first slice of a try."""
    with pytest.raises(TaskDeferred):
        task.execute({})


def wake(task) -> None:
    """A further slice, as its trigger wakes it for a driver that seems to have ended."""
    with pytest.raises(TaskDeferred):
        task.resume({}, {"wake": "record-end", "reason": "epoch 1 has ended", "end_at": ""})


@pytest.mark.fault("B30")
def test_a_worker_that_is_taken_away_leaves_one_driver_and_its_retry_attaches_to_it(place, task):
    """apache/airflow#17479, #23520: SIGTERM to the worker, the application goes on, and the retry submits it again."""
    place.spark_submit.write_text(QUIET)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WORKER, place.config]
    with subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL) as worker:
        try:
            assert eventually(lambda: "submitted" in place.kinds, within=60)
        finally:
            os.killpg(worker.pid, signal.SIGTERM)

    execute(task)

    assert worker.returncode == -signal.SIGTERM
    assert place.kinds == ["claimed", "submitted"]
    running = [driver.handle.process for driver in place.launcher.living() if driver.control == place.control]
    assert running == [handle.process for handle in place.handles]


@pytest.mark.fault("B91")
@pytest.mark.parametrize("moment", ["claimed", "submitted"])
def test_a_worker_that_is_killed_at_any_point_of_its_slice_leaves_one_driver_and_the_next_try_knows_it(
    place, task, moment
):
    """apache/airflow#67939, #48536, #70222: a task longer than its token is killed after refused heartbeats."""
    place.spark_submit.write_text(QUIET)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WORKER, place.config]
    with subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL) as worker:
        try:
            assert eventually(lambda: moment in place.kinds, within=60)
        finally:
            os.killpg(worker.pid, signal.SIGKILL)
    place.declare(timings={"claim": "1s"})
    next_try = place.supervisor()

    # What its trigger would tell it in the end: nobody submits the claim any more.
    assert eventually(lambda: next_try.settle().action is Action.KEEP, within=60)
    execute(task)

    running = [driver.token for driver in place.launcher.living() if driver.control == place.control]
    assert running == [place.state.newest.claim.token]
    assert place.state.failures == ()


@pytest.mark.fault("B92")
def test_a_trigger_whose_end_has_come_while_nobody_ran_it_looks_before_it_judges(place, task):
    """apache/airflow#40018: the triggerer was away past a deadline, and a healthy pod was told to have timed out."""
    handle = place.start()
    passed = "2001-01-01T00:00:00+00:00"
    trigger = StreamTrigger(stream="orders", config=place.config, end_at=passed, quiet_seconds=0, interval_seconds=0.02)

    async def the_event() -> dict[str, str]:
        (event,) = [event.payload async for event in trigger.run()]
        return event

    of_a_living_driver = asyncio.run(the_event())
    assert place.is_alive(handle)
    place.kill(handle)
    of_a_dead_one = asyncio.run(the_event())

    assert of_a_living_driver["wake"] == "end-of-run", "its run has lasted its time: green, and the driver lives on"
    assert of_a_dead_one["wake"] == "record-end"
    assert place.kinds == ["claimed", "submitted"]


@pytest.mark.fault("B65")
def test_a_driver_that_exits_with_0_and_says_nothing_never_makes_a_task_green(place, task):
    """apache/airflow#49717, kubeflow/spark-operator#1553: the query had failed, downstream tasks ran."""
    place.declare(restart={"thrash_limit": 0})
    place.spark_submit.write_text(QUIET)
    execute(task)
    Path(f"{place.spark_submit}.end").touch()
    assert eventually(lambda: not place.is_alive(place.handles[0]))

    with pytest.raises(AirflowFailException):
        task.execute({})

    assert place.kinds == ["claimed", "submitted", "driver_ended", "parked"]
    assert len(place.state.failures) == 1


@pytest.mark.fault("B74")
def test_exit_codes_in_a_log_decide_nothing_while_the_driver_lives(place, task):
    """apache/airflow#44810: the code of an attempt before, found in the log, failed a job that had recovered."""
    place.spark_submit.write_text(NOISY)
    execute(task)
    with open(place.handles[0].log) as log:
        assert eventually(lambda: "ready" in log.read())

    wake(task)

    assert place.kinds == ["claimed", "submitted"]
    assert place.launcher.poll(place.handles[0]).state is DriverState.RUNNING


@pytest.mark.fault("B76")
@pytest.mark.fault("B79")
def test_tries_that_airflow_used_up_cost_the_stream_nothing(place, task):
    """apache/airflow#42553, #31212, #27657: one missed heartbeat is detected again and again, and the task jumps over its
    retries to failed. apache/airflow#63243: the application runs on, and the next try adds another.
    """
    for _ in range(4):
        execute(task)
    next_run = StreamOperator(task_id="supervise", stream="orders", config=place.config)
    execute(next_run)

    assert place.kinds == ["claimed", "submitted"]
    assert place.is_alive(place.handles[0])
    assert place.state.failures == ()


@pytest.mark.fault("B76")
def test_what_a_task_can_not_reach_neither_fails_it_nor_ends_its_driver(place, task, eyes):
    """apache/airflow#63243, #48643: two minutes without the API server failed the task of an application that ran."""
    execute(task)
    eyes.storage.unreachable = "/"
    for _ in range(3):
        wake(task)
    eyes.storage.unreachable = ""

    wake(task)

    assert place.kinds == ["claimed", "submitted"]
    assert place.is_alive(place.handles[0])
