"""What users met while a driver lived, stopped, or would not go. Each test names the report that it answers."""

from dataclasses import replace

import pytest

from streamops.control.records import ClaimMode, DriverEnded, Outcome
from streamops.failures.failure_class import FailureClass
from streamops.failures.policy import RestartPolicy
from streamops.launch import DriverState
from streamops.status import Phase, stream_status
from streamops.supervision.decision import Action
from support.fencing import a_running_stream, a_submit_without_a_record, last_batch, outcomes
from support.specs import TIMINGS, a_scheduled_stream, seconds
from support.world import World

LONG = 5 * TIMINGS.takeover
PAUSE = RestartPolicy().initial_delay


def with_exit_code(world, code):
    """Whoever polls a driver is told this, too."""
    poll = world.processes.poll
    world.processes.poll = lambda handle: replace(poll(handle), exit_code=code)


def ends(world):
    return [record.body for record in world.records if isinstance(record.body, DriverEnded)]


# How it ended


@pytest.mark.fault("B65")
def test_exit_code_0_without_an_exit_record_is_a_failure(world):
    """kubeflow/spark-operator#1402, #1553, apache/airflow#49717: COMPLETED and a green task, for a query that failed."""
    supervisor = a_running_stream(world)
    with_exit_code(world, 0)
    world.kill(world.driver)

    decision = world.run(seconds(60), supervisor)

    assert [(end.outcome, end.failure_class) for end in ends(world)] == [(Outcome.DIED, FailureClass.UNKNOWN)]
    assert len(world.state.failures) == 1
    assert (decision.action, world.driver.epoch) == (Action.KEEP, 2)


@pytest.mark.fault("B93")
def test_a_run_whose_driver_vanished_with_code_0_has_not_finished_and_is_gone_on_with(tmp_path):
    """apache/airflow#41212: deleted by hand, the manager's object said COMPLETED, and the task was green."""
    world = World(tmp_path, spec=a_scheduled_stream())
    supervisor = world.supervisor()
    world.person().begin_run(ClaimMode.CATCHUP, "much to read", until=world.clock.now() + seconds(3600))
    world.run(seconds(10), supervisor)
    with_exit_code(world, 0)
    world.kill(world.driver)

    supervisor.settle()
    is_open = world.state.maintenance is not None
    decision = world.run(seconds(180), supervisor)

    assert is_open, "nothing says that it has read all"
    assert outcomes(world) == [Outcome.DIED, Outcome.FINISHED]
    assert decision.action is Action.IDLE


@pytest.mark.fault("B72")
@pytest.mark.fault("B74")
@pytest.mark.parametrize("code", [1, 143, None])
@pytest.mark.parametrize("outcome", [Outcome.FINISHED, Outcome.STOPPED])
def test_a_driver_that_ended_well_by_its_own_word_has_not_failed_whatever_its_exit_code(world, outcome, code):
    """apache/airflow#20949: FINISHED in the log, and the task fails. apache/airflow#44810: a code found in the log, of an
    executor or an attempt before, decided the state of the task.
    """
    supervisor = a_running_stream(world)
    with_exit_code(world, code)
    world.driver.leave(outcome)

    supervisor.settle()

    assert outcomes(world) == [outcome]
    assert ends(world)[0].failure_class in (FailureClass.ENDED_BY_ITSELF, FailureClass.STOPPED_BY_REQUEST)


@pytest.mark.fault("B72")
def test_a_manager_that_never_learns_of_the_end_makes_no_stream_run_for_ever(managed):
    """apache/airflow#39524: one or two tasks a day stay running after Spark has ended, without a line in the log.

    The driver's exit record and its still beat are two signs; the third is a kill, which hurts nobody who is gone.
    """
    supervisor = a_running_stream(managed)
    driver = managed.driver
    driver.leave(Outcome.FAILED, "java.util.concurrent.TimeoutException: Futures timed out")
    managed.misreport(driver, DriverState.RUNNING)

    managed.run(TIMINGS.halt + seconds(10), supervisor)
    managed.misreport(driver, DriverState.GONE)
    managed.run(TIMINGS.takeover + PAUSE, supervisor)

    assert outcomes(managed) == [Outcome.FAILED]
    assert managed.driver.epoch == 2


# It does not go


@pytest.mark.fault("B66")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("java.lang.OutOfMemoryError: Java heap space", id="SPARK-27900, apache/spark#24796"),
        pytest.param("pyspark.errors.exceptions.base.PySparkRuntimeError: boom", id="SPARK-48547, apache/spark#52091"),
    ],
)
def test_a_process_that_stays_after_its_query_failed_is_killed_and_replaced_with_the_queries_own_reason(world, text):
    """kubeflow/spark-operator#756: a leftover thread keeps the JVM alive, the pod is Running, no restart policy fires."""
    supervisor = a_running_stream(world)
    driver = world.driver
    driver.leave(Outcome.FAILED, text)
    driver.process.state = DriverState.RUNNING
    driver.is_paused = True

    world.run(TIMINGS.halt - seconds(10), supervisor)
    patient = list(driver.process.signals)
    world.run(seconds(20) + PAUSE, supervisor)

    assert patient == []
    assert driver.process.signals == ["kill"]
    assert [(end.outcome, end.text) for end in ends(world)] == [(Outcome.FAILED, text)]
    assert world.driver.epoch == 2


@pytest.mark.fault("B75")
@pytest.mark.fault("B72")
@pytest.mark.parametrize(
    "why",
    [
        pytest.param("deaf", id="apache/airflow#19752: the kill does nothing"),
        pytest.param("lost", id="apache/airflow#39524: the manager says running for ever"),
    ],
)
def test_a_driver_that_can_not_be_killed_gets_no_successor(managed, why):
    supervisor = an_unkillable_driver(managed, why)

    decision = managed.run(LONG, supervisor)

    assert decision.action is Action.WAIT
    assert len(managed.drivers) == 1
    assert outcomes(managed) == []


@pytest.mark.fault("B75")
@pytest.mark.fault("B72")
@pytest.mark.parametrize("why", ["deaf", "lost"])
def test_a_kill_without_effect_is_told_to_a_person(managed, why):
    """apache/airflow#19752: a kill that hung left the task running until somebody happened to look."""
    supervisor = an_unkillable_driver(managed, why)

    managed.run(LONG, supervisor)

    status = stream_status(supervisor.last_look, managed.spec)
    assert status.needs_attention
    assert status.phase is not Phase.RUNNING


def an_unkillable_driver(world, why):
    """One that hangs and does not die of a kill, or that is gone while its manager goes on calling it alive."""
    supervisor = a_running_stream(world)
    driver = world.driver
    driver.is_paused = True
    world.processes.kill_works = False
    if why == "lost":
        world.kill(driver)
        world.misreport(driver, DriverState.RUNNING)
    return supervisor


# Stops


@pytest.mark.fault("B67")
def test_a_stop_that_had_to_be_a_kill_says_which_batch_runs_again(world):
    """SPARK-39218 (apache/spark#36589), SPARK-57963 (apache/spark#57041): offsets without a commit after each stop."""
    supervisor = a_running_stream(world)
    driver = world.driver
    driver.work()
    world.person().stop("upgrade")
    for _ in range(30):  # It beats, and its batch does not end.
        world.freeze(seconds(5))
        driver.beat()
        supervisor.settle()

    world.person().start("upgraded")
    supervisor.settle()

    claim = next(record for record in reversed(world.records) if record.body.kind == "claimed")
    assert driver.process.signals == ["kill"]
    assert claim.reason == (
        f"start is safe-if-idempotent: batch {last_batch(world)} was planned but not committed:"
        " it runs again with exactly its range"
    )


# States in between


def claimed_by_a_supervisor_that_is_gone(world):
    world.supervisor().step()


def submitted_and_not_on_record(world):
    a_submit_without_a_record(world)


def submitted_and_never_up(world):
    world.on_start = lambda driver: setattr(driver, "is_paused", driver.epoch == 1)
    world.supervisor().settle()


def asked_to_make_room_and_deaf(world):
    a_running_stream(world)
    world.person().restart("new settings")
    world.driver.is_paused = True


def gone_by_its_own_word_only(world):
    a_running_stream(world)
    driver = world.driver
    driver.leave(Outcome.FAILED, "boom")
    driver.process.state = DriverState.RUNNING
    driver.is_paused = True


def broken(world):
    a_running_stream(world)
    world.processes.break_(world.driver.process)


@pytest.mark.fault("B68")
@pytest.mark.parametrize(
    "in_between",
    [
        claimed_by_a_supervisor_that_is_gone,
        submitted_and_not_on_record,
        submitted_and_never_up,
        asked_to_make_room_and_deaf,
        gone_by_its_own_word_only,
        broken,
    ],
)
def test_no_state_in_between_outlasts_its_time(world, in_between):
    """kubeflow/spark-operator#2905, #1191, #897: PENDING_RERUN for ever, and no driver. The longest time is a start's."""
    in_between(world)

    decision = world.run(TIMINGS.start + TIMINGS.takeover + PAUSE, world.supervisor())

    assert decision.action is Action.KEEP
    assert world.driver.epoch == 2
    assert world.driver.batches
