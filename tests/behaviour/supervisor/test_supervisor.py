"""The real supervisor over memory, with drivers that keep the real lease: what happens to one stream over time."""

from dataclasses import replace
from hashlib import sha256

import pytest

from streamops.control.codec import encode
from streamops.control.drivers import ExitRecord
from streamops.control.layout import driver_folder
from streamops.control.log import ControlLog
from streamops.control.records import Claimed, DriverEnded, KillBegun, MaintenanceBegun, Outcome, Parked, Submitted
from streamops.control.state import Desire
from streamops.errors import ControlLogError, JobChangedError, LaunchError, StorageError, StreamOpsError
from streamops.failures.policy import RestartPolicy
from streamops.launch import DriverState
from streamops.spec.sinks import SinkGuarantee
from streamops.storage import join
from streamops.supervision.act import new_record
from streamops.supervision.decision import RESTING, Action
from support.checkpoints import OTHER_QUERY_ID, write_checkpoint
from support.records import write_log
from support.specs import PERSON, TIMINGS, a_stream, seconds
from support.storage import SwitchableStorage
from support.world import World


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def a_running_stream(world):
    """A supervisor and a driver that has committed batches."""
    supervisor = world.supervisor()
    supervisor.settle()
    world.run(seconds(20), supervisor)
    assert world.driver.batches
    return supervisor


def kinds(world):
    return [record.body.kind for record in world.records]


def outcomes(world):
    return [record.body.outcome for record in world.records if isinstance(record.body, DriverEnded)]


# A new stream


def test_a_new_stream_is_claimed_then_submitted_then_left_alone(world):
    supervisor = world.supervisor()

    decision = supervisor.settle()

    assert decision.action is Action.KEEP
    assert kinds(world) == ["claimed", "submitted"]
    assert len(world.alive) == 1


def test_the_claim_is_on_record_before_the_submit_is_made(world):
    supervisor = world.supervisor()

    first = supervisor.step()

    assert first.action is Action.CLAIM
    assert kinds(world) == ["claimed"]
    assert world.drivers == []


def test_a_stream_whose_declared_variables_are_not_set_claims_nothing_and_says_which(world):
    launch = replace(world.spec.launch, environment=("AWS_*", "PGPASSWORD"))
    world.spec = replace(world.spec, launch=launch)
    supervisor = world.supervisor()

    with pytest.raises(
        LaunchError, match=r"launch\.environment declares PGPASSWORD, not set where its driver would start"
    ):
        supervisor.settle()
    assert (world.records, world.drivers) == ((), [])

    world.processes.environment["PGPASSWORD"] = "hush"
    assert supervisor.settle().action is Action.KEEP
    assert world.processes.drivers[0].request.variables == ("AWS_*", "PGPASSWORD")
    assert "hush" not in repr(world.records) + repr(world.processes.drivers[0].request)


def test_a_look_changes_nothing(world):
    world.supervisor().look()

    assert world.records == ()
    assert world.drivers == []


@pytest.mark.fault("B29")
def test_a_running_stream_gets_no_further_records(world):
    supervisor = a_running_stream(world)
    before = kinds(world)

    world.run(seconds(600), supervisor)

    assert kinds(world) == before
    assert [driver.epoch for driver in world.drivers] == [1]


def test_another_supervisor_attaches_to_the_living_driver(world):
    a_running_stream(world)
    before = kinds(world)

    decision = world.run(seconds(200), world.supervisor())

    assert decision.action is Action.KEEP
    assert kinds(world) == before


# Restarts


def test_a_dead_driver_is_replaced_by_the_next_epoch(world):
    supervisor = a_running_stream(world)
    world.kill(world.driver)

    supervisor.settle()

    assert [driver.epoch for driver in world.drivers] == [1, 2]
    assert outcomes(world) == [Outcome.DIED]


def test_the_next_driver_goes_on_where_the_last_one_was_killed(world):
    supervisor = a_running_stream(world)
    world.driver.work()
    world.kill(world.driver)

    world.run(seconds(60), supervisor)

    batches = [batch for _, batch in world.writes]
    assert set(range(max(batches) + 1)) == set(batches)
    assert len(batches) - len(set(batches)) <= 1, "at most the batch in flight is run again"


def test_a_driver_that_leaves_an_error_is_recorded_with_it(world):
    supervisor = a_running_stream(world)
    world.driver.leave(Outcome.FAILED, "[KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE] gone")

    supervisor.settle()

    (end,) = [record.body for record in world.records if isinstance(record.body, DriverEnded)]
    assert end.outcome is Outcome.FAILED
    assert end.error_classes == ("KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE",)


def test_a_driver_that_dies_before_its_first_beat_is_a_failed_launch_and_waits_before_the_next(world):
    supervisor = world.supervisor()
    supervisor.settle()
    world.kill(world.driver)

    decision = supervisor.settle()

    assert outcomes(world) == [Outcome.LAUNCH_FAILED]
    assert decision.action is Action.WAIT
    assert decision.until == world.clock.now() + RestartPolicy().initial_delay


def test_a_submit_that_fails_is_recorded_and_costs_an_epoch(world):
    world.processes.submit_error = LaunchError("spark-submit is not there")
    supervisor = world.supervisor()

    decision = supervisor.settle()

    assert decision.action is Action.WAIT
    assert kinds(world) == ["claimed", "driver_ended"]
    assert outcomes(world) == [Outcome.LAUNCH_FAILED]


def test_a_stream_that_never_gets_anywhere_is_parked_when_its_budget_is_spent(world):
    world.processes.submit_error = LaunchError("spark-submit is not there")

    decision = world.run(seconds(3600), world.supervisor())

    assert decision.action is Action.PARKED
    assert outcomes(world) == [Outcome.LAUNCH_FAILED] * (RestartPolicy().thrash_limit + 1)
    assert kinds(world)[-1] == "parked"


def test_a_released_stream_starts_again(world):
    world.processes.submit_error = LaunchError("spark-submit is not there")
    supervisor = world.supervisor()
    world.run(seconds(3600), supervisor)
    world.processes.submit_error = None

    world.person().release("the path was wrong")
    decision = world.run(seconds(30), supervisor)

    assert decision.action is Action.KEEP
    assert world.driver.batches


def test_a_stream_that_fails_too_often_within_an_hour_is_parked_although_it_makes_progress(tmp_path):
    world = World(tmp_path, spec=a_stream(restart=RestartPolicy(budget_per_hour=3)))
    supervisor = world.supervisor()
    for _ in range(4):
        world.run(seconds(30), supervisor)
        world.kill(world.driver)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert world.alive == []


@pytest.mark.parametrize("outcome", [Outcome.LEASE_LOST, Outcome.STOPPED], ids=["lease-lost", "stopped-by-a-stranger"])
def test_drivers_that_end_at_once_are_not_replaced_without_a_pause(world, outcome):
    """Such ends cost no budget; a pause is the only thing between them and a loop at full speed."""
    supervisor = world.supervisor()

    for _ in range(20):
        supervisor.settle()
        for driver in world.alive:
            driver.beat()
            driver.leave(outcome, "the claim could not be checked")

    assert len(world.drivers) < 20


def find_another_job(driver):
    """What a driver does whose job's file is not the one of its claim."""
    driver.beat()
    driver.leave(Outcome.LEASE_LOST, f"[{JobChangedError.ERROR_CLASS}] job.py has changed since it was claimed")


def test_a_deployment_between_claim_and_driver_costs_no_budget_and_the_next_claim_has_the_new_hash(tmp_path):
    job = tmp_path / "job.py"
    job.write_text("before")
    world = World(tmp_path, spec=a_stream(job=str(job)))
    supervisor = world.supervisor()
    supervisor.settle()
    job.write_text("deployed")
    find_another_job(world.driver)

    decision = supervisor.settle()
    world.run(decision.until - world.clock.now() + seconds(5), supervisor)

    first, second = [record.body for record in world.records if isinstance(record.body, Claimed)]
    assert "job-changed" in decision.reason
    assert (first.job_sha256, second.job_sha256) == tuple(sha256(text).hexdigest() for text in (b"before", b"deployed"))
    assert world.driver.epoch == 2
    assert world.state.failures == ()


def test_a_job_file_that_is_another_one_for_every_driver_parks_the_stream(world):
    supervisor = world.supervisor()

    for _ in range(100):
        decision = supervisor.settle()
        for driver in world.alive:
            find_another_job(driver)
        world.clock.advance(seconds(60))

    assert decision.action is Action.PARKED
    assert world.spec.job in decision.reason
    assert len(world.drivers) == RestartPolicy().thrash_limit + 1
    assert world.state.failures == ()


def test_a_missing_job_file_is_an_error_of_ours_that_names_it(tmp_path):
    world = World(tmp_path, spec=a_stream(job=str(tmp_path / "gone.py")))

    with pytest.raises(StreamOpsError, match=r"gone\.py"):
        world.supervisor().settle()


# Stop, start, maintenance


def test_a_stop_request_ends_the_driver_between_batches_and_nothing_is_started(world):
    supervisor = a_running_stream(world)

    world.person().stop("upgrade of the broker")
    decision = world.run(seconds(600), supervisor)

    assert decision.action is Action.STOPPED
    assert "upgrade of the broker" in decision.reason
    assert outcomes(world) == [Outcome.STOPPED]
    assert world.state.failures == ()


def test_a_start_request_starts_it_again(world):
    supervisor = a_running_stream(world)
    world.person().stop("upgrade")
    world.run(seconds(60), supervisor)

    world.person().start("upgrade done")
    decision = world.run(seconds(30), supervisor)

    assert decision.action is Action.KEEP
    assert world.driver.epoch == 2


def test_a_driver_that_ignores_a_stop_request_is_killed_after_its_grace(world):
    supervisor = a_running_stream(world)
    driver = world.driver
    world.person().stop("upgrade")

    for _ in range(30):  # It beats and goes on with one endless batch.
        world.clock.advance(seconds(5))
        driver.beat()
        decision = supervisor.settle()

    assert driver.process.signals == ["kill"]
    assert decision.action is Action.STOPPED


def test_a_stopped_stream_stays_stopped_for_a_supervisor_that_comes_later(world):
    world.person().stop("not before Monday")

    decision = world.run(seconds(60), world.supervisor())

    assert decision.action is Action.STOPPED
    assert world.drivers == []


def test_a_stop_that_comes_between_claim_and_submit_keeps_the_stream_still(world):
    """The driver reads the log behind its own claim only: a stop in front of a newer claim would never reach it."""
    supervisor = world.supervisor()
    supervisor.step()
    world.person().stop("wait, not yet")

    decision = world.run(seconds(300), supervisor)

    assert world.writes == []
    assert world.alive == []
    assert decision.action is Action.STOPPED


def test_a_stop_that_comes_while_the_submit_is_made_keeps_the_stream_still(world):
    def tick(moment):
        if moment == "after submit" and len(world.drivers) == 1:
            world.person().stop("wait, not yet")

    supervisor = world.supervisor(tick=tick)
    world.run(seconds(300), supervisor)

    assert [driver.process.signals for driver in world.drivers] == [["kill"]], "its handle is on no record"
    assert world.writes == []


def test_a_stop_holds_for_a_claim_that_a_dead_supervisor_left_behind(world):
    world.supervisor().step()
    world.person().stop("not now")

    world.run(seconds(300), world.supervisor())

    assert world.writes == []
    assert world.alive == []


def test_maintenance_lets_the_driver_stop_and_starts_it_again_when_the_time_is_over(world):
    supervisor = a_running_stream(world)
    until = world.clock.now() + seconds(300)
    ControlLog(world.storage, world.control).append(
        new_record(
            MaintenanceBegun(until=until),
            number=world.state.next_number,
            clock=world.clock,
            author=PERSON,
            reason="compaction",
        )
    )

    resting = world.run(seconds(120), supervisor)
    resumed = world.run(seconds(300), supervisor)

    assert resting.action is Action.WAIT
    assert resting.until == until
    assert resumed.action is Action.KEEP
    assert world.state.maintenance is None


# Signs of life


def test_a_hung_driver_is_killed_and_replaced_only_after_the_takeover_time(world):
    supervisor = a_running_stream(world)
    hung = world.driver
    hung.hangs = True

    for _ in range(40):
        world.clock.advance(seconds(2))
        supervisor.settle()
        if hung.process.signals:
            break

    stood_still = world.records[-1].at - next(r.at for r in world.records if isinstance(r.body, Submitted))
    assert stood_still >= TIMINGS.takeover
    assert hung.process.signals == ["kill"]
    assert Outcome.KILLED in outcomes(world)
    assert world.driver.epoch == 2


def test_a_driver_without_a_first_beat_is_given_the_start_time(world):
    supervisor = world.supervisor()
    supervisor.settle()
    first = world.driver

    for _ in range(59):
        world.clock.advance(seconds(5))
        supervisor.settle()
    patient = list(first.process.signals)
    world.clock.advance(seconds(10))
    supervisor.settle()

    assert patient == []
    assert first.process.signals == ["kill"]


def test_a_driver_has_its_whole_start_time_even_when_the_submit_came_long_after_the_claim(world):
    """Its beats are missed from the submit on, not from the claim on."""
    storage = SwitchableStorage(world.storage)
    supervisor = world.supervisor(storage=storage)
    supervisor.step()
    supervisor.look()
    storage.unreachable = "/"
    world.run_through_trouble(TIMINGS.start + seconds(60), supervisor)
    storage.unreachable = ""

    supervisor.settle()
    supervisor.settle()

    assert [driver.process.signals for driver in world.drivers] == [[]]
    assert len(world.alive) == 1


def test_an_unseen_driver_whose_beat_moves_is_kept(world):
    a_running_stream(world)

    decision = world.run(seconds(600), world.supervisor(host="host-2"))

    assert decision.action is Action.KEEP
    assert len(world.drivers) == 1


def test_an_unseen_driver_whose_beat_stands_still_waits_for_a_persons_word(world):
    a_running_stream(world)
    elsewhere = world.supervisor(host="host-2")
    world.run(seconds(10), elsewhere)
    world.kill(world.driver)

    waiting = world.run(seconds(3600), elsewhere)
    world.person().confirm_dead(1, "host-1 is switched off")
    going_on = world.run(seconds(30), elsewhere)

    assert waiting.action is Action.WAIT
    assert waiting.needs_attention
    assert going_on.action is Action.KEEP
    assert outcomes(world) == [Outcome.CONFIRMED_DEAD]
    assert world.driver.epoch == 2


@pytest.mark.fault("B71")
def test_an_unknown_answer_of_the_launcher_replaces_nobody(world):
    supervisor = a_running_stream(world)
    first = world.driver
    world.processes.hide(first.process)

    decision = world.run(seconds(3600), supervisor)

    assert decision.action in (Action.KEEP, Action.WAIT)
    assert len(world.drivers) == 1


def test_an_unreachable_storage_is_an_error_and_not_a_dead_driver(world):
    storage = SwitchableStorage(world.storage)
    supervisor = world.supervisor(storage=storage)
    supervisor.settle()
    world.drive()
    storage.unreachable = "/"

    with pytest.raises(StorageError):
        supervisor.settle()
    storage.unreachable = ""
    decision = supervisor.settle()

    assert decision.action is Action.KEEP
    assert len(world.drivers) == 1


@pytest.mark.fault("B66")
def test_a_broken_driver_is_killed_before_the_next_is_submitted(world):
    supervisor = a_running_stream(world)
    broken = world.driver
    world.processes.break_(broken.process)

    supervisor.settle()

    assert broken.process.signals == ["kill"]
    assert broken.process.state is DriverState.ENDED
    assert world.driver.epoch == 2


def test_nothing_is_submitted_while_a_kill_has_no_effect(world):
    supervisor = a_running_stream(world)
    broken = world.driver
    world.processes.kill_works = False
    world.processes.break_(broken.process)

    decision = supervisor.settle()

    assert decision.action is Action.WAIT
    assert len(world.drivers) == 1
    assert kinds(world).count("kill_begun") == 1


# Dead supervisors


def test_a_claim_that_a_dead_supervisor_left_behind_is_superseded_after_the_claim_time(world):
    world.supervisor().step()
    other = world.supervisor()

    waiting = other.settle()
    world.run(TIMINGS.claim, other)

    assert waiting.action is Action.WAIT
    assert [driver.epoch for driver in world.drivers] == [2]
    assert outcomes(world) == [Outcome.NEVER_STARTED]


@pytest.mark.fault("B30")
@pytest.mark.fault("B69")
def test_a_driver_whose_submit_was_never_recorded_is_killed_before_the_next_is_submitted(world):
    class Crash(BaseException):
        pass

    def tick(moment):
        if moment == "after submit":
            raise Crash

    with pytest.raises(Crash):
        world.supervisor(tick=tick).settle()
    lost = world.driver
    world.run(TIMINGS.claim + TIMINGS.takeover + seconds(30), world.supervisor())

    assert lost.process.signals == ["kill"]
    assert world.driver.epoch == 2


def test_an_unreadable_beat_of_a_claim_left_behind_is_not_taken_for_no_beat(world):
    world.supervisor().step()
    world.storage.write(join(driver_folder(world.control, 1, "0123456789abcdef"), "heartbeat.json"), b"{")
    other = world.supervisor(host="host-2")
    world.run(TIMINGS.claim, other)

    # Somewhere else a driver of this claim may run: its beat is there, it just can't be read.
    world.run(seconds(10), other)

    assert world.drivers == []


# Whose checkpoint it is


def test_a_foreign_writer_parks_the_stream_until_a_person_accepts_it(world):
    supervisor = a_running_stream(world)
    world.person().stop("night")
    world.run(seconds(60), supervisor)
    last = max(batch for _, batch in world.writes)
    write_checkpoint(world.storage, world.spec.checkpoint, planned=[last + 1], committed=[last + 1])
    world.person().start("morning")

    parked = world.run(seconds(30), supervisor)
    world.person().release("the notebook is closed", accepts_unsafe=True)
    released = world.run(seconds(30), supervisor)

    assert parked.action is Action.PARKED
    assert "foreign writer" in parked.reason
    assert released.action is Action.KEEP


def test_another_query_in_the_checkpoint_is_a_foreign_writer(world):
    supervisor = a_running_stream(world)
    world.person().stop("night")
    world.run(seconds(60), supervisor)
    write_checkpoint(world.storage, world.spec.checkpoint, query_id=OTHER_QUERY_ID)
    world.person().start("morning")

    decision = world.run(seconds(30), supervisor)

    assert decision.action in (Action.PARKED, Action.BLOCKED)
    assert world.alive == []


def test_a_checkpoint_that_moved_back_is_not_started(world):
    supervisor = a_running_stream(world)
    world.person().stop("night")
    world.run(seconds(60), supervisor)
    last = max(batch for _, batch in world.writes)
    for folder in ("offsets", "commits"):
        world.storage.delete(join(world.spec.checkpoint, folder, str(last)))
    world.person().start("morning")

    decision = world.run(seconds(30), supervisor)

    assert decision.action is Action.PARKED
    assert "unsafe" in decision.reason
    assert world.alive == []


def test_a_checkpoint_with_history_but_without_log_is_parked_until_it_is_adopted(world):
    write_checkpoint(world.storage, world.spec.checkpoint, planned=[0, 1], committed=[0, 1])
    supervisor = world.supervisor()

    parked = world.run(seconds(30), supervisor)
    world.person().adopt("migrated from cron", watch=seconds(60))
    adopted = world.run(seconds(30), supervisor)

    assert parked.action is Action.PARKED
    assert adopted.action is Action.KEEP


def test_a_checkpoint_that_moves_is_not_adopted(world):
    write_checkpoint(world.storage, world.spec.checkpoint, planned=[0, 1], committed=[0, 1])
    world.clock.on_sleep = lambda: write_checkpoint(world.storage, world.spec.checkpoint, planned=[2], committed=[])

    with pytest.raises(ControlLogError, match="somebody runs it"):
        world.person().adopt("migrated from cron", watch=seconds(60))


def test_a_log_that_belongs_to_another_stream_is_left_alone(world):
    a_running_stream(world)
    world.person().stop("night")
    world.run(seconds(60), world.supervisor())
    before = kinds(world)
    world.person().start("morning")

    decision = world.run(
        seconds(300),
        world.supervisor(spec=a_stream("payments"), state_root=world.state_root + "/other"),
    )

    assert decision.action is Action.BLOCKED
    assert "orders" in decision.reason
    assert kinds(world) == [*before, "start_requested"]


def test_the_living_driver_of_another_streams_log_is_left_alone(world):
    a_running_stream(world)
    world.driver.hangs = True
    before = kinds(world)
    stranger = world.supervisor(spec=a_stream("payments"), state_root=world.state_root + "/other")

    for _ in range(40):
        world.clock.advance(seconds(5))
        decision = stranger.settle()

    assert decision.action is Action.BLOCKED
    assert kinds(world) == before
    assert world.driver.process.signals == []


def test_a_claim_left_behind_in_another_streams_log_is_not_taken_over(world):
    world.supervisor().step()
    stranger = world.supervisor(spec=a_stream("payments"), state_root=world.state_root + "/other")

    for _ in range(20):
        world.clock.advance(seconds(5))
        decision = stranger.settle()

    assert decision.action is Action.BLOCKED
    assert kinds(world) == ["claimed"]


def test_two_streams_never_get_one_checkpoint_through_one_registry(world):
    a_running_stream(world)

    other = a_stream("payments", checkpoint=world.spec.checkpoint + "/inner")
    decision = world.run(seconds(30), world.supervisor(spec=other))

    assert decision.action is Action.BLOCKED
    assert "orders" in decision.reason


def test_a_supervisor_that_has_seen_the_log_does_not_take_its_deletion_for_a_new_stream(world):
    supervisor = a_running_stream(world)
    delete_log(world)

    with pytest.raises(ControlLogError, match="removed"):
        supervisor.settle()


def test_a_deleted_log_halts_the_driver_and_blocks_the_stream_without_a_new_record(world):
    a_running_stream(world)
    running = world.driver
    delete_log(world)

    decision = world.run(seconds(30), world.supervisor())

    assert not running.is_alive
    assert decision.action is Action.BLOCKED
    assert "adopt" in decision.reason
    assert world.alive == []
    assert world.records == ()


def test_after_a_deleted_log_was_adopted_the_next_driver_does_not_take_an_old_ones_folder_for_a_second_instance(world):
    a_running_stream(world)
    delete_log(world)
    world.run(seconds(30), world.supervisor())

    world.person().adopt("the log is lost", watch=seconds(60))
    decision = world.run(seconds(30), world.supervisor())

    assert decision.action is Action.KEEP
    assert world.driver.epoch == 2
    assert world.driver.batches


def test_a_log_put_back_from_a_backup_halts_the_driver_and_blocks_the_stream(world):
    supervisor = a_running_stream(world)
    backup = world.records
    world.kill(world.driver)
    world.run(seconds(40), supervisor)
    running = world.driver
    cut_log(world, len(backup))

    decision = world.run(seconds(30), world.supervisor())

    assert not running.is_alive
    assert decision.action is Action.BLOCKED
    assert "epoch 2" in decision.reason
    assert world.records == backup


def test_a_restored_log_that_is_completed_again_goes_on_as_if_nothing_had_been(world):
    supervisor = a_running_stream(world)
    backup = len(world.records)
    world.kill(world.driver)
    world.run(seconds(40), supervisor)
    missing = world.records[backup:]
    cut_log(world, backup)
    blocked = world.run(seconds(30), world.supervisor())

    write_log(world.storage, world.control, missing)
    decision = world.run(seconds(90), world.supervisor())

    assert (blocked.action, decision.action) == (Action.BLOCKED, Action.KEEP)
    assert world.driver.epoch == 3


def test_an_adoption_is_refused_while_a_driver_beats(world):
    """Its checkpoint may stand still for long: an idle topic."""
    a_running_stream(world)
    delete_log(world)
    world.clock.on_sleep = world.driver.beat

    with pytest.raises(ControlLogError, match="somebody runs it"):
        world.person().adopt("the log is lost", watch=seconds(30))


def cut_log(world, length):
    """The log as a backup holds it that was made when it had so many records."""
    for name in world.storage.list(join(world.control, "log"))[length:]:
        world.storage.delete(join(world.control, "log", name))
    if "snapshot.json" in world.storage.list(world.control):
        world.storage.delete(join(world.control, "snapshot.json"))


def delete_log(world):
    for name in world.storage.list(join(world.control, "log")):
        world.storage.delete(join(world.control, "log", name))


def test_a_log_that_was_deleted_and_begun_anew_is_not_read_on_from_the_middle(world):
    """The known state belongs to records that are gone: numbers alone do not make it the same log."""
    supervisor = a_running_stream(world)
    records = world.records
    delete_log(world)
    log = ControlLog(world.storage, world.control)
    for record in records:
        log.append(replace(record, nonce="another" + record.nonce))

    with pytest.raises(ControlLogError):
        supervisor.settle()


# Never blind


@pytest.mark.parametrize(
    ("guarantee", "expected"),
    [
        pytest.param(SinkGuarantee.IDEMPOTENT, Action.KEEP, id="idempotent: the batch in flight may run again"),
        pytest.param(SinkGuarantee.AT_LEAST_ONCE, Action.KEEP, id="at-least-once: repetition is accepted"),
        pytest.param(SinkGuarantee.EXACTLY_ONCE_OR_NOTHING, Action.PARKED, id="exactly-once: a person decides"),
    ],
)
def test_a_batch_in_flight_is_run_again_as_the_sink_allows(tmp_path, guarantee, expected):
    world = World(tmp_path, spec=a_stream(guarantee=guarantee))
    supervisor = a_running_stream(world)
    while not len(world.writes) > len(world.storage.list(join(world.spec.checkpoint, "commits"))):
        world.driver.work()
    world.kill(world.driver)

    decision = world.run(seconds(30), supervisor)

    assert decision.action is expected


def test_the_submit_rests_on_the_checkpoint_as_the_last_driver_left_it_not_as_it_was_at_the_claim(tmp_path):
    """The orphan begins a batch between the next claim and its own end: to run it again is for a person to accept."""

    class Crash(BaseException):
        pass

    def crash(moment):
        if moment == "after submit":
            raise Crash

    def begin_a_batch(moment):
        if moment == "before kill":
            world.driver.work()

    world = World(tmp_path, spec=a_stream(guarantee=SinkGuarantee.EXACTLY_ONCE_OR_NOTHING))
    with pytest.raises(Crash):
        world.supervisor(tick=crash).settle()
    world.driver.beat()
    for _ in range(4):
        world.driver.work()
    other = world.supervisor(tick=begin_a_batch)
    other.settle()
    world.clock.advance(TIMINGS.claim)
    other.settle()
    world.run(seconds(120), other)

    batches = [batch for _, batch in world.writes]
    assert world.state.newest.number >= 2
    assert len(batches) == len(set(batches)), "a batch was run again without anybody's consent"


def test_a_start_that_could_only_fail_is_parked_with_the_file(world):
    supervisor = a_running_stream(world)
    last = max(int(name) for name in world.storage.list(join(world.spec.checkpoint, "offsets")))
    world.kill(world.driver)
    world.storage.write(join(world.spec.checkpoint, "offsets", str(last)), b"")

    decision = world.run(seconds(30), supervisor)

    assert decision.action is Action.PARKED
    assert f"offsets/{last}" in decision.reason


# Records


def test_every_record_says_who_did_it_and_why(world):
    supervisor = a_running_stream(world)
    world.kill(world.driver)
    supervisor.settle()

    assert all(record.by.actor == "supervise" and record.reason for record in world.records)


def test_a_kill_is_on_record_before_it_is_done(world):
    supervisor = a_running_stream(world)
    world.processes.kill_works = False
    world.processes.break_(world.driver.process)

    supervisor.step()

    assert isinstance(world.records[-1].body, KillBegun)


@pytest.mark.fault("B72")
def test_the_outcome_of_a_driver_is_its_own_word(world):
    """A second instance that found the epoch taken must not hide why the first one failed."""
    supervisor = a_running_stream(world)
    world.driver.leave(Outcome.FAILED, "[ARITHMETIC_OVERFLOW] x")
    for instance in ("00000000aaaaaaaa", "ffffffffaaaaaaaa"):
        late = ExitRecord(epoch=1, instance=instance, outcome=Outcome.LEASE_LOST, at=world.clock.now().isoformat())
        world.storage.write(join(driver_folder(world.control, 1, instance), "exit.json"), encode(late))

    supervisor.settle()

    assert outcomes(world) == [Outcome.FAILED]


def test_parking_and_desire_survive_the_supervisor(world):
    world.processes.submit_error = LaunchError("spark-submit is not there")
    world.run(seconds(3600), world.supervisor())

    decision = world.supervisor().settle()

    assert decision.action is Action.PARKED
    assert decision.action in RESTING
    assert world.state.desire is Desire.RUNNING
    assert sum(isinstance(record.body, Parked) for record in world.records) == 1
    assert all(record.body.job_sha256 for record in world.records if isinstance(record.body, Claimed))
