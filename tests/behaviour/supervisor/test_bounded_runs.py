"""Bounded runs: of a scheduled stream, and in a live query's place. Never both, whatever dies in between."""

import json
from datetime import timedelta

import pytest

from streamops.checkpoint.reader import read_checkpoint
from streamops.control.records import Claimed, ClaimMode, DriverEnded, KillBegun, MaintenanceEnded, Outcome
from streamops.errors import ControlLogError
from streamops.spec import Mode, TriggerKind
from streamops.spec.wire import spec_text
from streamops.supervision.decision import Action
from support.specs import TIMINGS, a_scheduled_stream, a_stream, seconds
from support.world import World

HOUR = timedelta(hours=1)


@pytest.fixture
def scheduled(tmp_path):
    return World(tmp_path, spec=a_scheduled_stream())


def claims(world):
    return [record.body.mode for record in world.records if isinstance(record.body, Claimed)]


def outcomes(world):
    return [record.body.outcome for record in world.records if isinstance(record.body, DriverEnded)]


def commits(world):
    return read_checkpoint(world.storage, world.spec.checkpoint).last_commit + 1


def ask_for_a_run(world, budget=HOUR):
    return world.person().begin_run(ClaimMode.CATCHUP, "much to read", until=world.clock.now() + budget)


def a_live_stream(world):
    supervisor = world.supervisor()
    supervisor.settle()
    world.run(seconds(20), supervisor)
    return supervisor


# A scheduled stream


def test_a_scheduled_stream_rests_until_a_run_is_asked_for(scheduled):
    supervisor = scheduled.supervisor()

    decision = supervisor.settle()

    assert decision.action is Action.IDLE
    assert scheduled.records == ()


def test_a_run_of_a_scheduled_stream_reads_all_and_ends(scheduled):
    supervisor = scheduled.supervisor()
    ask_for_a_run(scheduled)

    decision = scheduled.run(seconds(120), supervisor)

    assert decision.action is Action.IDLE
    assert claims(scheduled) == [ClaimMode.CATCHUP]
    assert outcomes(scheduled) == [Outcome.FINISHED]
    assert scheduled.state.maintenance is None
    assert scheduled.state.failures == ()


def test_each_run_is_an_epoch_of_its_own_and_goes_on_where_the_last_one_ended(scheduled):
    supervisor = scheduled.supervisor()
    for _ in range(3):
        ask_for_a_run(scheduled)
        scheduled.run(seconds(120), supervisor)

    assert [epoch for epoch, _ in scheduled.writes] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [batch for _, batch in scheduled.writes] == [0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_a_run_whose_driver_dies_goes_on_with_another_one(scheduled):
    supervisor = scheduled.supervisor()
    ask_for_a_run(scheduled)
    scheduled.run(seconds(10), supervisor)
    scheduled.kill(scheduled.driver)

    scheduled.run(seconds(180), supervisor)

    assert claims(scheduled) == [ClaimMode.CATCHUP, ClaimMode.CATCHUP]
    assert outcomes(scheduled) == [Outcome.DIED, Outcome.FINISHED]


def test_a_run_whose_driver_a_person_restarts_goes_on_with_another_one_and_leaves_nothing_out(scheduled):
    supervisor = scheduled.supervisor()
    scheduled.on_start = lambda driver: setattr(driver, "batches_to_read", 6 if driver.epoch == 1 else 3)
    ask_for_a_run(scheduled)
    scheduled.run(seconds(20), supervisor)
    done = commits(scheduled)
    assert scheduled.alive

    scheduled.person().restart("the new job")
    decision = scheduled.run(seconds(180), supervisor)

    assert decision.action is Action.IDLE
    assert claims(scheduled) == [ClaimMode.CATCHUP, ClaimMode.CATCHUP]
    assert outcomes(scheduled) == [Outcome.STOPPED, Outcome.FINISHED]
    assert commits(scheduled) > done
    assert {batch for _, batch in scheduled.writes} == set(range(commits(scheduled)))
    assert scheduled.state.maintenance is None
    assert scheduled.state.replacement is None


def test_a_restart_during_the_catch_up_of_a_live_stream_is_the_runs_and_the_live_query_comes_back_after_it(world):
    supervisor = a_live_stream(world)
    world.on_start = lambda driver: setattr(driver, "batches_to_read", 6 if driver.epoch == 2 else 3)
    ask_for_a_run(world)
    world.run(seconds(30), supervisor)
    assert world.driver.epoch == 2

    world.person().restart("other resources")
    decision = world.run(seconds(300), supervisor)

    assert decision.action is Action.KEEP
    assert claims(world) == [ClaimMode.LIVE, ClaimMode.CATCHUP, ClaimMode.CATCHUP, ClaimMode.LIVE]
    assert outcomes(world) == [Outcome.STOPPED, Outcome.STOPPED, Outcome.FINISHED]


def test_a_run_that_finds_nothing_new_ends_well_and_writes_no_batch(scheduled):
    supervisor = scheduled.supervisor()
    ask_for_a_run(scheduled)
    scheduled.run(seconds(120), supervisor)
    done = list(scheduled.writes)
    scheduled.on_start = lambda driver: setattr(driver, "batches_to_read", 0)

    ask_for_a_run(scheduled)
    decision = scheduled.run(seconds(120), supervisor)

    assert decision.action is Action.IDLE
    assert outcomes(scheduled) == [Outcome.FINISHED, Outcome.FINISHED]
    assert scheduled.writes == done
    assert (scheduled.state.failures, scheduled.state.unasked_ends) == ((), ())


def test_a_run_that_ended_well_forgives_what_failed_before(scheduled):
    supervisor = scheduled.supervisor()
    ask_for_a_run(scheduled)
    scheduled.run(seconds(10), supervisor)
    scheduled.kill(scheduled.driver)
    scheduled.run(seconds(180), supervisor)

    assert scheduled.state.failures == ()


def test_a_run_whose_time_is_over_stops_between_two_batches_and_the_next_one_goes_on(scheduled):
    supervisor = scheduled.supervisor()
    scheduled.on_start = lambda driver: setattr(driver, "batches_to_read", 1000)
    ask_for_a_run(scheduled, budget=seconds(60))

    decision = scheduled.run(seconds(120), supervisor)

    assert decision.action is Action.IDLE
    assert outcomes(scheduled) == [Outcome.STOPPED]
    planned = max(batch for _, batch in scheduled.writes)
    scheduled.on_start = lambda driver: setattr(driver, "batches_to_read", 2)
    ask_for_a_run(scheduled)
    scheduled.run(seconds(60), supervisor)
    # The batch that the stop came into is run again, with its own range.
    again = [batch for epoch, batch in scheduled.writes if epoch == 2]
    assert again in ([planned, planned + 1], [planned + 1, planned + 2])


def test_a_driver_that_does_not_stop_when_its_time_is_over_is_killed(scheduled):
    supervisor = scheduled.supervisor()
    scheduled.on_start = lambda driver: setattr(driver, "batches_to_read", 1000)
    ask_for_a_run(scheduled, budget=seconds(30))
    scheduled.run(seconds(20), supervisor)
    scheduled.driver.work = lambda: None

    scheduled.run(TIMINGS.stop + seconds(60), supervisor)

    assert any(isinstance(record.body, KillBegun) for record in scheduled.records)
    assert outcomes(scheduled) == [Outcome.STOPPED]
    assert scheduled.supervisor().look().decision.action is Action.IDLE


def test_a_run_that_somebody_ends_is_not_begun_again(scheduled):
    supervisor = scheduled.supervisor()
    scheduled.on_start = lambda driver: setattr(driver, "batches_to_read", 1000)
    run = ask_for_a_run(scheduled)
    scheduled.run(seconds(20), supervisor)

    scheduled.person().end_run("enough", number=run.number)
    decision = scheduled.run(seconds(60), supervisor)

    assert decision.action is Action.IDLE
    assert outcomes(scheduled) == [Outcome.STOPPED]


def test_the_end_of_another_run_is_none_of_this_one(scheduled):
    run = ask_for_a_run(scheduled)

    assert scheduled.person().end_run("enough", number=run.number + 1) is None
    assert scheduled.state.maintenance is not None


def test_a_stream_that_stands_still_takes_no_run(scheduled):
    scheduled.person().stop("leave")

    with pytest.raises(ControlLogError, match="stopped on purpose: `streamops start orders` first"):
        ask_for_a_run(scheduled)


def test_a_second_run_is_refused_while_one_is_open(scheduled):
    ask_for_a_run(scheduled)

    with pytest.raises(ControlLogError, match="a bounded run by person:ana is under way until"):
        ask_for_a_run(scheduled)


def test_a_stop_during_a_run_stops_its_driver_and_the_start_goes_on_with_the_run(scheduled):
    supervisor = scheduled.supervisor()
    ask_for_a_run(scheduled)
    scheduled.run(seconds(10), supervisor)
    scheduled.person().stop("look first")
    stopped = scheduled.run(seconds(60), supervisor)
    scheduled.person().start("fine")

    scheduled.run(seconds(120), supervisor)

    assert stopped.action is Action.STOPPED
    assert outcomes(scheduled) == [Outcome.STOPPED, Outcome.FINISHED]


def test_a_claim_that_a_run_left_behind_does_not_stay_open_when_it_is_over(scheduled):
    """Whoever follows the run waits for the end of its last epoch, and nothing is to run that would supersede it."""
    ask_for_a_run(scheduled)
    scheduled.supervisor().step()
    scheduled.person().end_run("enough")

    decision = scheduled.run(TIMINGS.claim + seconds(30), scheduled.supervisor())

    assert decision.action is Action.IDLE
    assert scheduled.state.open_epochs == ()
    assert outcomes(scheduled) == [Outcome.NEVER_STARTED, Outcome.NEVER_STARTED]
    assert scheduled.drivers == []


# In a live query's place


def test_a_live_query_yields_to_a_run_and_comes_back(world):
    supervisor = a_live_stream(world)
    ask_for_a_run(world)

    decision = world.run(seconds(180), supervisor)

    assert decision.action is Action.KEEP
    assert claims(world) == [ClaimMode.LIVE, ClaimMode.CATCHUP, ClaimMode.LIVE]
    assert outcomes(world) == [Outcome.STOPPED, Outcome.FINISHED]
    assert world.state.maintenance is None


def test_a_run_of_a_live_stream_has_its_own_resources(world):
    supervisor = a_live_stream(world)
    ask_for_a_run(world)
    world.run(seconds(60), supervisor)

    run = next(record.body for record in world.records if getattr(record.body, "mode", None) is ClaimMode.CATCHUP)

    assert run.spec == spec_text(world.spec.as_run(ClaimMode.CATCHUP))
    assert world.spec.as_run(ClaimMode.CATCHUP).trigger.kind is TriggerKind.AVAILABLE_NOW


def test_a_run_that_finishes_the_batch_in_flight_goes_by_the_trigger_once(world):
    supervisor = a_live_stream(world)
    while len(world.driver.batches) == commits(world):
        world.run(seconds(5), supervisor)
    world.kill(world.driver)
    world.person().begin_run(ClaimMode.CATCHUP, "stuck", until=world.clock.now() + HOUR, is_once=True)

    world.run(seconds(180), supervisor)

    triggers = [
        json.loads(record.body.spec)["trigger"]["kind"] for record in world.records if isinstance(record.body, Claimed)
    ]
    assert triggers == ["processing_time", "once", "processing_time"]


def test_a_run_that_is_to_finish_a_batch_is_not_made_where_none_is_in_flight(world):
    supervisor = a_live_stream(world)
    while commits(world) < len(world.driver.batches):
        world.driver.work()
    world.person().begin_run(ClaimMode.CATCHUP, "stuck", until=world.clock.now() + HOUR, is_once=True)
    world.kill(world.driver)

    world.run(seconds(60), supervisor)

    assert claims(world) == [ClaimMode.LIVE, ClaimMode.LIVE]
    assert world.state.maintenance is None


def test_the_live_query_comes_back_when_the_run_outlasts_its_time(world):
    supervisor = a_live_stream(world)
    world.on_start = lambda driver: setattr(driver, "batches_to_read", 1000)
    ask_for_a_run(world, budget=seconds(60))

    world.run(seconds(180), supervisor)

    assert claims(world) == [ClaimMode.LIVE, ClaimMode.CATCHUP, ClaimMode.LIVE]
    assert outcomes(world) == [Outcome.STOPPED, Outcome.STOPPED]
    assert world.driver.epoch == 3


def test_a_live_query_that_is_dead_does_not_come_before_the_run(world):
    supervisor = a_live_stream(world)
    world.kill(world.driver)
    ask_for_a_run(world)

    world.run(seconds(180), supervisor)

    assert claims(world) == [ClaimMode.LIVE, ClaimMode.CATCHUP, ClaimMode.LIVE]


def test_a_claim_for_the_live_query_is_not_submitted_once_a_run_is_asked_for(world):
    supervisor = world.supervisor()
    look = supervisor.look()
    supervisor.act(look)
    ask_for_a_run(world)

    supervisor.settle()
    world.run(seconds(120), supervisor)

    assert claims(world)[:2] == [ClaimMode.LIVE, ClaimMode.CATCHUP]
    assert outcomes(world)[0] is Outcome.NEVER_STARTED


def test_a_supervisor_that_dies_at_any_moment_of_a_run_is_replaced_by_another(world):
    a_live_stream(world)
    ask_for_a_run(world)

    for _ in range(40):
        world.run(seconds(5), world.supervisor())

    world.run(seconds(240), world.supervisor())
    assert claims(world)[-1] is ClaimMode.LIVE
    assert Outcome.FINISHED in outcomes(world)
    assert world.state.maintenance is None


def test_a_run_that_was_only_asked_for_is_over_when_its_time_is(world):
    supervisor = a_live_stream(world)
    ask_for_a_run(world, budget=seconds(60))
    world.drive()
    world.freeze(HOUR)

    world.run(seconds(120), world.supervisor())

    assert any(isinstance(record.body, MaintenanceEnded) for record in world.records)
    assert world.driver.epoch == len(claims(world))
    assert claims(world)[-1] is ClaimMode.LIVE
    assert supervisor.look().decision.action is Action.KEEP


# A backfill


def test_a_backfill_runs_when_it_is_asked_for_and_rests_when_it_is_done(tmp_path):
    world = World(tmp_path, spec=a_scheduled_stream(mode=Mode.BACKFILL, schedule=None))
    supervisor = world.supervisor()
    assert supervisor.settle().action is Action.IDLE
    world.person().begin_run(ClaimMode.BACKFILL, "repair", until=world.clock.now() + HOUR)
    world.run(seconds(10), supervisor)
    world.kill(world.driver)

    decision = world.run(seconds(180), supervisor)

    assert decision.action is Action.IDLE
    assert claims(world) == [ClaimMode.BACKFILL, ClaimMode.BACKFILL]
    assert outcomes(world) == [Outcome.DIED, Outcome.FINISHED]


def test_only_a_live_stream_may_have_a_query_without_end():
    with pytest.raises(ValueError, match="a backfill stream needs a trigger whose query ends by itself"):
        a_stream(mode=Mode.BACKFILL)
