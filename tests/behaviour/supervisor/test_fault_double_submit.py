"""What users met whose orchestrator or operator submitted twice. Each test names the report that it answers."""

import pytest

from streamops.control.records import Outcome
from streamops.errors import LaunchError
from streamops.failures.policy import RestartPolicy
from streamops.supervision.decision import Action
from support.fencing import a_running_stream, a_stopped_stream, a_submit_without_a_record, outcomes, when
from support.specs import TIMINGS, a_stream, seconds
from support.world import World

LONG = seconds(900)


def a_submit_that_is_said_to_have_failed(world, *, meanwhile):
    """The driver has come up all the same; `meanwhile` it does something. The supervisor that submitted it."""

    def fail():
        meanwhile(world.driver)
        raise LaunchError("driver pod already exist")

    supervisor = world.supervisor(tick=when("after submit", fail))
    supervisor.settle()
    return supervisor


def begins_a_batch(driver):
    driver.beat()
    driver.work()


@pytest.mark.fault("B30")
@pytest.mark.fault("B69")
@pytest.mark.parametrize("beats", [False, True], ids=["not up yet", "at work"])
def test_whoever_comes_after_a_restart_in_the_middle_of_a_submit_finds_its_driver(world, beats):
    """kubeflow/spark-operator#2573, #2788, #197: restarted between the submit and the update of the status, it submits
    once more. apache/airflow#17479: so does the retry of a task whose worker was taken away.
    """
    first = a_submit_without_a_record(world)
    if beats:
        begins_a_batch(first)

    world.run(TIMINGS.claim + TIMINGS.takeover + seconds(60), world.supervisor())

    assert not first.is_alive
    assert len(world.alive) == 1
    assert world.driver.may_write


@pytest.mark.fault("B30")
@pytest.mark.fault("B69")
@pytest.mark.parametrize("beats", [False, True], ids=["not up yet", "at work"])
def test_whoever_comes_on_another_host_claims_and_submits_nothing_until_its_driver_is_settled(world, beats):
    """kubeflow/spark-operator#2788, apache/airflow#17479, and whoever goes on is elsewhere: from there nobody sees whether the
    driver has ended. It halts, as the claim tells it to, and a person says that it is gone.
    """
    first = a_submit_without_a_record(world)
    if beats:
        begins_a_batch(first)
    elsewhere = world.supervisor(host="host-2")

    waiting = world.run(TIMINGS.claim + TIMINGS.takeover + seconds(60), elsewhere)
    alone = world.drivers == [first]
    world.person().confirm_dead(1, "looked on host-1: it has halted")
    world.run(seconds(60), elsewhere)

    assert (waiting.action, waiting.needs_attention, alone) == (Action.WAIT, True, True)
    assert not first.is_alive
    assert world.driver.may_write


@pytest.mark.fault("B69")
@pytest.mark.parametrize(
    "delay",
    [
        pytest.param(15, id="with the usual pause"),
        pytest.param(0, id="without a pause"),
    ],
)
def test_a_driver_that_runs_although_its_submit_is_said_to_have_failed_has_no_second_writer_beside_it(tmp_path, delay):
    """kubeflow/spark-operator#155, #171: SUBMISSION_FAILED, `driver pod already exist`, and the driver runs well."""
    world = World(tmp_path, spec=a_stream(restart=RestartPolicy(initial_delay=seconds(delay), jitter=0)))

    supervisor = a_submit_that_is_said_to_have_failed(world, meanwhile=lambda driver: driver.beat())
    decision = world.run(LONG, supervisor)

    assert decision.action is Action.KEEP
    assert len(world.alive) == 1


@pytest.mark.fault("B69")
def test_a_driver_whose_submit_is_said_to_have_failed_is_not_taken_for_a_stranger(world):
    """kubeflow/spark-operator#155: what is there already is looked up and adopted."""
    supervisor = a_submit_that_is_said_to_have_failed(world, meanwhile=begins_a_batch)

    assert world.run(LONG, supervisor).action is Action.KEEP


@pytest.mark.fault("B69")
def test_a_submit_whose_fate_nobody_can_tell_is_put_on_no_record(world):
    """kubeflow/spark-operator#171: the place gives no answer to the submit, nor to the question what became of it."""

    def cut_off(driver):
        world.hosts["host-1"].is_cut_off = True

    with pytest.raises(LaunchError):
        a_submit_that_is_said_to_have_failed(world, meanwhile=cut_off)
    told = outcomes(world)
    world.hosts["host-1"].is_cut_off = False

    decision = world.run(LONG, world.supervisor())

    assert told == []
    assert decision.action is Action.KEEP
    assert len(world.alive) == 1


@pytest.mark.fault("B71")
def test_a_status_that_can_not_be_polled_is_unknown_and_starts_nobody(managed):
    """apache/airflow#46334, #71881: the wrong port was asked, and after ten vain attempts the task failed whatever the
    driver did; its retry submitted another.
    """
    supervisor = a_running_stream(managed)
    managed.hosts["host-1"].is_cut_off = True
    managed.run_through_trouble(LONG, supervisor)
    told = outcomes(managed)
    managed.hosts["host-1"].is_cut_off = False

    decision = managed.run(seconds(60), supervisor)

    assert (told, outcomes(managed)) == ([], [])
    assert decision.action is Action.KEEP
    assert [driver.epoch for driver in managed.drivers] == [1]


@pytest.mark.fault("B80")
def test_a_supervisor_that_finds_one_driver_attaches_to_it(world):
    """apache/airflow#41211: the label to find it by was missing, so the retry started a new one."""
    a_running_stream(world)

    decision = world.supervisor().settle()

    assert (decision.action, decision.epoch) == (Action.KEEP, 1)
    assert len(world.drivers) == 1


@pytest.mark.fault("B80")
def test_a_supervisor_that_finds_none_proves_the_end_before_it_starts_another(world):
    """apache/airflow#35395."""
    a_running_stream(world)
    world.kill(world.driver)

    decision = world.supervisor().settle()

    assert outcomes(world) == [Outcome.DIED]
    assert (decision.action, decision.epoch) == (Action.KEEP, 2)


@pytest.mark.fault("B80")
def test_a_completed_driver_beside_the_one_that_runs_confuses_nobody(world):
    """apache/airflow#57416: the completed application of the run before bears the same name."""
    a_stopped_stream(world).settle()

    decision = world.supervisor().settle()

    assert (decision.action, decision.epoch) == (Action.KEEP, 2)
    assert outcomes(world) == [Outcome.STOPPED]
    assert len(world.alive) == 1


@pytest.mark.fault("B80")
def test_of_two_processes_the_one_on_record_is_watched_however_young_the_other_is(world):
    """apache/airflow#60717: of several that match, the newest was chosen. Here a copy of the driver comes up later."""
    supervisor = a_running_stream(world)
    owner = world.driver
    copy = world.processes.add(owner.process.token, request=owner.process.request)
    world.start(copy, copy.request)

    decision = world.run(seconds(60), supervisor)

    assert (decision.action, decision.epoch) == (Action.KEEP, 1)
    assert world.driver is owner
    assert owner.process.signals == []
