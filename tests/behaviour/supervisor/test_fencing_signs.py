"""The design's table on the control log: the watchdog, two signs before a takeover, and how long a beat stood still."""

from datetime import timedelta

import pytest

from streamops.control.records import Outcome
from streamops.control.state import Failure
from streamops.failures.policy import RestartPolicy, RestartTiming, advise_restart
from streamops.launch import DriverState
from streamops.operations.act_plan import follow_stop
from streamops.supervision.decision import Action
from support.clock import START
from support.fencing import a_running_stream, a_submit_without_a_record, outcomes, when
from support.specs import TIMINGS, seconds
from support.storage import SwitchableStorage

HOUR = timedelta(hours=1)


# The watchdog


def test_a_driver_that_was_paused_for_longer_than_the_halt_time_does_not_get_to_a_batch(world):
    a_running_stream(world)
    driver, begun = world.driver, len(world.writes)
    driver.is_paused = True
    world.freeze(TIMINGS.halt + seconds(1))

    driver.resume()
    driver.work()

    assert not driver.is_alive
    assert len(world.writes) == begun


def test_a_paused_driver_that_was_taken_for_gone_does_not_write_beside_the_next(managed):
    """The manager has lost sight of it, and its beat stands still: both signs are wrong together."""
    supervisor = a_running_stream(managed)
    paused = managed.driver
    paused.is_paused = True
    managed.misreport(paused, DriverState.GONE)

    managed.run(TIMINGS.takeover + seconds(60), supervisor)
    paused.resume()
    paused.work()

    assert not paused.is_alive
    assert [driver.epoch for driver in managed.alive] == [2]


def test_the_halt_time_counts_from_when_a_beat_was_begun_not_from_its_answer(world):
    a_running_stream(world)
    driver = world.driver
    driver.tick = when("after write", lambda: world.clock.advance(TIMINGS.halt - seconds(2)))

    driver.beat()
    world.freeze(seconds(4))

    assert not driver.is_alive


def test_a_driver_that_cannot_ask_the_log_halts_in_time(world):
    switch = SwitchableStorage(world.storage)
    world.storage_on = lambda host: switch
    a_running_stream(world)
    driver = world.driver
    switch.unreachable = "/log/"

    world.run(TIMINGS.halt + seconds(10))

    assert not driver.is_alive


# Two signs before a takeover


def test_a_manager_that_says_gone_while_the_beat_moves_is_not_believed(managed):
    supervisor = a_running_stream(managed)
    managed.misreport(managed.driver, DriverState.GONE)

    decision = managed.run(seconds(600), supervisor)

    assert decision.action is Action.KEEP
    assert decision.needs_attention
    assert len(managed.drivers) == 1


def test_a_driver_that_is_gone_by_the_managers_word_is_replaced_when_its_beat_has_stood_still(managed):
    supervisor = a_running_stream(managed)
    managed.kill(managed.driver)

    managed.run(TIMINGS.takeover - seconds(10), supervisor)
    before = outcomes(managed)
    managed.run(seconds(60), supervisor)

    assert before == []
    assert outcomes(managed) == [Outcome.DIED]
    assert managed.driver.epoch == 2


def test_an_exit_record_alone_proves_no_end(managed):
    """It gives the reason; the process may still be closing what it writes."""
    supervisor = a_running_stream(managed)
    driver = managed.driver
    driver.leave(Outcome.FINISHED)
    driver.process.state = DriverState.RUNNING
    driver.is_paused = True

    managed.run(TIMINGS.halt - seconds(10), supervisor)

    assert outcomes(managed) == []
    assert len(managed.drivers) == 1


def test_a_driver_that_lives_with_a_still_beat_is_killed_and_confirmed_before_the_next_is_submitted(world):
    supervisor = a_running_stream(world)
    hung = world.driver
    hung.is_paused = True
    world.processes.kill_works = False

    world.run(TIMINGS.takeover + seconds(30), supervisor)
    while_it_lives = len(world.drivers)
    world.processes.kill_works = True
    world.run(seconds(30), supervisor)

    assert hung.process.signals[0] == "kill"
    assert while_it_lives == 1
    assert world.driver.epoch == 2


def test_an_unseen_driver_with_a_still_beat_waits_for_a_person(world):
    a_running_stream(world)
    elsewhere = world.supervisor(host="host-2")
    world.run(seconds(10), elsewhere)
    world.driver.is_paused = True

    decision = world.run(10 * TIMINGS.takeover, elsewhere)

    assert (decision.action, decision.needs_attention) == (Action.WAIT, True)
    assert "--confirm-dead 1" in decision.reason
    assert len(world.drivers) == 1


@pytest.fixture
def left_on_host_1(world):
    """A driver of host-1 that beats, without its submit on record: whoever made it died before that."""
    driver = a_submit_without_a_record(world, host="host-1")
    world.run(seconds(20))
    assert driver.batches
    return driver


def test_a_driver_of_another_host_that_stands_still_is_not_ended_because_it_is_not_found_here(world, left_on_host_1):
    """Every thread of it stands still, the watchdog's too; what it has begun may go on when it wakes."""
    left_on_host_1.is_paused = True

    decision = world.run(10 * TIMINGS.takeover, world.supervisor(host="host-2"))

    assert (decision.action, decision.needs_attention) == (Action.WAIT, True)
    assert "it was started on host-1, this is host-2" in decision.reason
    assert "`streamops start orders --confirm-dead 1 --reason …`" in decision.reason
    assert outcomes(world) == []
    assert world.drivers == [left_on_host_1]


def test_a_supervisor_of_its_host_settles_what_another_host_waits_for(world, left_on_host_1):
    left_on_host_1.is_paused = True
    elsewhere = world.supervisor(host="host-2")
    world.run(2 * TIMINGS.takeover, elsewhere)

    world.run(TIMINGS.takeover + seconds(30), world.supervisor(host="host-1"), elsewhere)

    assert left_on_host_1.process.signals == ["kill"]
    assert outcomes(world)[0] is Outcome.LEASE_LOST
    assert world.driver.epoch > 1


def test_a_person_settles_what_no_supervisor_of_its_host_is_there_for(world, left_on_host_1):
    world.kill(left_on_host_1)
    elsewhere = world.supervisor(host="host-2")
    world.run(2 * TIMINGS.takeover, elsewhere)

    world.person().confirm_dead(1, "host-1 is switched off")
    world.run(seconds(30), elsewhere)

    assert outcomes(world) == [Outcome.CONFIRMED_DEAD]
    assert world.driver.epoch == 2


def test_a_stop_says_that_a_driver_of_another_host_may_still_live(world, left_on_host_1):
    left_on_host_1.is_paused = True
    elsewhere = world.supervisor(host="host-2")
    world.person().stop("night")

    at_first = elsewhere.settle()
    later = world.run(2 * TIMINGS.takeover, elsewhere)

    assert (at_first.action, later.action) == (Action.WAIT, Action.STOPPED)
    assert later.needs_attention
    assert "stopped by person:ana" in later.reason
    assert "it was started on host-1, this is host-2" in later.reason
    assert "it was started on host-1" in follow_stop(elsewhere.look()).evidence


# Stillness


@pytest.mark.parametrize("hands_over", [True, False], ids=["handed over", "begun anew"])
def test_an_observer_that_is_killed_while_it_waits_hands_its_patience_on_or_the_next_begins_anew(managed, hands_over):
    first = a_running_stream(managed)
    managed.kill(managed.driver)
    managed.run(TIMINGS.takeover - seconds(20), first)
    second = managed.supervisor()
    if hands_over:
        second.take_over(first.hand_over())

    managed.run(seconds(40), second)

    assert outcomes(managed) == ([Outcome.DIED] if hands_over else [])


@pytest.mark.fault("B92")
def test_the_time_between_two_observers_does_not_count_as_stillness(managed):
    first = a_running_stream(managed)
    managed.driver.is_paused = True
    managed.misreport(managed.driver, DriverState.GONE)
    managed.run(seconds(20), first)
    memory = first.hand_over()
    managed.freeze(HOUR)
    second = managed.supervisor()
    second.take_over(memory)

    managed.run(seconds(20), second)

    assert outcomes(managed) == []


@pytest.mark.parametrize("error", [-3 * HOUR, 3 * HOUR], ids=["driver behind", "driver ahead"])
def test_clocks_of_two_hosts_are_never_compared(managed, error):
    """A driver whose clock is hours off is neither dead at once nor alive for ever, and its batches are nobody else's."""
    managed.hosts["cluster"].clock.error = error
    supervisor = a_running_stream(managed)
    kept = managed.run(seconds(300), supervisor)
    managed.kill(managed.driver)

    decision = managed.run(TIMINGS.takeover + seconds(40), supervisor)

    assert (kept.action, decision.action) == (Action.KEEP, Action.KEEP)
    assert outcomes(managed) == [Outcome.DIED]
    assert managed.driver.epoch == 2


def test_a_supervisor_whose_clock_jumps_sees_no_time_pass(managed):
    supervisor = a_running_stream(managed)
    managed.driver.is_paused = True
    managed.misreport(managed.driver, DriverState.GONE)
    supervisor.settle()
    managed.hosts["host-1"].clock.error = 5 * HOUR

    supervisor.settle()

    assert outcomes(managed) == []


def test_failures_that_a_clock_ahead_put_on_record_leave_the_budget_like_all_others():
    """By the silence of the log under this observer's eyes, not when this host's clock comes to their stamps."""
    ahead = START + 24 * HOUR
    failures = [
        Failure(epoch=epoch, at=ahead, outcome=Outcome.DIED, has_progressed=True, error_classes=())
        for epoch in (1, 2, 3)
    ]
    policy = RestartPolicy(budget_per_hour=2, jitter=0)

    young = advise_restart(failures, policy=policy, now=START, unchanged_for=HOUR / 2)
    old = advise_restart(failures, policy=policy, now=START, unchanged_for=2 * HOUR)

    assert (young.timing, old.timing) == (RestartTiming.PARK, RestartTiming.NOW)
