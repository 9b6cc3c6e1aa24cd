"""Each row of the table in the design's section on the control log, played through with the real supervisor and lease.

Proven elsewhere: two supervisors that meet at any call, and a driver that meets the next claim at any call of its first
beat (`test_two_supervisors`); any order of everything (`test_model`); a driver's death on its own host by boot id,
namespace and process group (`launch/test_local_launcher`); the numbers and nonces of an append (`unit/control/test_log`);
who may have which checkpoint (`unit/control/test_registry`); adoption (`test_supervisor`).
"""

from datetime import timedelta

import pytest

from streamops.control.fold import Failure
from streamops.control.layout import record_address
from streamops.control.log import ControlLog
from streamops.control.records import Claimed, DriverEnded, Outcome, Parked, Submitted
from streamops.errors import ControlLogError, StorageError
from streamops.launch import DriverState
from streamops.restart import RestartPolicy, RestartTiming, advise_restart
from streamops.storage import join
from streamops.supervisor import Action
from streamops.supervisor.act import new_record
from support.checkpoints import commit
from support.clock import START
from support.driver import planned
from support.model_tasks import Gone
from support.specs import SUPERVISOR, TIMINGS, a_stream, seconds
from support.storage import FlakyStorage, InterruptibleStorage, SwitchableStorage
from support.world import World

HOUR = timedelta(hours=1)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture
def managed(tmp_path):
    """Drivers run under a manager that every host can ask."""
    return World(tmp_path, is_managed=True)


def a_running_stream(world, *, host="host-1"):
    """A supervisor and a driver that has committed batches."""
    supervisor = world.supervisor(host=host)
    supervisor.settle()
    world.run(seconds(20), supervisor)
    assert world.driver.batches
    return supervisor


def a_stopped_stream(world):
    """Its driver has obeyed, and a person has asked for a start that nobody has seen yet."""
    supervisor = a_running_stream(world)
    world.person().stop("night")
    world.run(seconds(20), supervisor)
    world.person().start("morning")
    return supervisor


def a_submit_without_a_record(world, *, host="host-1"):
    """The supervisor died right after its submit."""

    def die(moment):
        if moment == "after submit":
            raise Gone

    with pytest.raises(Gone):
        world.supervisor(host=host, tick=die).settle()
    return world.driver


def when(moment, act):
    """A tick that does something once, at a call of a kind."""
    pending = [act]

    def tick(call):
        if call.startswith(moment) and pending:
            pending.pop()()

    return tick


def last_batch(world):
    return max(batch for _, batch in world.writes)


def write_batch(world, batch, *, at=None):
    checkpoint = world.spec.checkpoint
    world.storage.write(join(checkpoint, "offsets", str(batch)), planned(at or world.clock.now()))
    world.storage.write(join(checkpoint, "commits", str(batch)), commit())


def put_checkpoint_back(world):
    """As a copy holds it that is one batch older."""
    for folder in ("offsets", "commits"):
        address = join(world.spec.checkpoint, folder)
        world.storage.delete(join(address, max(world.storage.list(address), key=int)))


def park(world):
    number = world.state.next_number
    record = new_record(Parked(), number=number, clock=world.clock, author=SUPERVISOR, reason="too many failures")
    ControlLog(world.storage, world.control).append(record)


def remove_log(world, *, keep=0):
    for name in world.storage.list(join(world.control, "log"))[keep:]:
        world.storage.delete(join(world.control, "log", name))


def outcomes(world):
    return [record.body.outcome for record in world.records if isinstance(record.body, DriverEnded)]


def submits(world):
    return [record.body.epoch for record in world.records if isinstance(record.body, Submitted)]


# Appending is the compare-and-swap


@pytest.mark.parametrize("fate", ["lost answer", "lost request"])
@pytest.mark.parametrize("create", [1, 2], ids=["the claim", "the submit"])
def test_a_create_without_an_answer_leads_to_one_claim_and_one_driver(world, create, fate):
    """Create 0 is the registry's."""
    fates = [*["ok"] * create, fate]
    supervisor = world.supervisor(storage=FlakyStorage(world.storage, creates=tuple(fates)))

    supervisor.settle()

    assert [record.body.kind for record in world.records] == ["claimed", "submitted"]
    assert [driver.epoch for driver in world.alive] == [1]


def test_a_claim_of_which_nobody_knows_whether_it_is_on_record_is_never_submitted(world):
    """The answer is lost, and so is the look whether the record is there: whoever wrote it forgets the token."""
    switch = SwitchableStorage(FlakyStorage(world.storage, creates=("ok", "lost answer")))
    lose = when(f"before read {record_address(world.control, 0)}", lambda: setattr(switch, "unreachable", "/log/"))
    supervisor = world.supervisor(storage=InterruptibleStorage(switch, lose))

    with pytest.raises(StorageError):
        supervisor.settle()
    switch.unreachable = ""
    world.run(TIMINGS.claim + seconds(30), supervisor)

    assert submits(world) == [2]


def test_a_decision_on_an_old_fold_does_not_land(world):
    supervisor = world.supervisor()
    look = supervisor.look()
    world.person().stop("not now")

    supervisor.act(look)

    assert [record.body.kind for record in world.records] == ["stop_requested"]


def test_a_driver_writes_its_own_folder_and_the_checkpoint_only(world):
    written = []

    def note(moment):
        when_, verb, *address = moment.split()
        if when_ == "after" and verb in ("write", "create", "delete"):
            written.extend(address)

    world.storage_on = lambda host: InterruptibleStorage(world.storage, note)
    a_running_stream(world)
    world.driver.leave(Outcome.FAILED, "x")

    folder = join(world.control, "drivers", "1-")
    assert written
    assert not [one for one in written if not one.startswith((folder, world.spec.checkpoint + "/"))]


# One epoch, one submit


def test_a_slow_submit_that_comes_up_after_its_epoch_was_superseded_does_not_write(world):
    """… and dies of it, although nobody can kill it: its supervisor is gone, and the other one can't see its host."""
    other = world.supervisor(host="host-2")

    def be_overtaken():
        other.settle()
        world.freeze(TIMINGS.claim + seconds(1))
        other.settle()
        world.drive()

    def tick(moment):
        slow(moment)
        if moment == "after submit":
            raise Gone

    slow = when("before submit", be_overtaken)
    with pytest.raises(Gone):
        world.supervisor(tick=tick).settle()
    world.run(seconds(20), other)

    assert {epoch for epoch, _ in world.writes} == {2}
    assert [driver.epoch for driver in world.alive] == [2]


def test_a_late_starter_halts_at_its_first_beat(world):
    """It was submitted in time and came up when the claim was another's: no beat of it could be seen before."""
    late = a_submit_without_a_record(world)
    other = world.supervisor(host="host-2")
    other.settle()
    world.freeze(TIMINGS.claim + seconds(1))
    claimed = other.step()

    late.beat()
    late.work()

    assert claimed.action is Action.CLAIM
    assert not late.is_alive
    assert world.writes == []


def test_a_submit_whose_record_is_refused_leaves_no_driver(world):
    tick = when("after submit", lambda: world.person().stop("wait"))

    world.supervisor(tick=tick).settle()

    assert world.alive == []


def test_nobody_submits_the_claim_of_another(world):
    world.supervisor().step()
    other = world.supervisor()

    world.run(TIMINGS.claim + seconds(30), other)

    assert submits(world) == [2]


# Claim, then read the beats; beat, then read the log


def test_no_driver_is_submitted_before_an_unseen_older_one_must_have_halted(world):
    """Its last beat may just have been acknowledged: from the claim on, halt time and more must pass."""
    older = a_submit_without_a_record(world)
    older.beat()
    older.hangs = True
    other = world.supervisor(host="host-2")
    other.settle()
    world.clock.advance(TIMINGS.claim)
    other.settle()
    claimed = world.clock.monotonic()

    while len(world.drivers) == 1:
        world.run(seconds(5), other)

    assert world.clock.monotonic() - claimed >= TIMINGS.takeover - TIMINGS.claim
    assert not older.is_alive


def test_a_beat_that_was_not_there_when_the_claim_was_judged_still_holds_the_submit_up(world):
    """The older driver's first beat comes between the next claim and the look that leads to its submit."""
    older = a_submit_without_a_record(world)
    other = world.supervisor(host="host-2")
    other.settle()
    world.freeze(TIMINGS.claim + seconds(1))
    other.step()
    world.storage.write(
        join(world.control, "drivers", "1-00aa00aa00aa00aa", "heartbeat.json"), b'{"unreadable": "but there"}'
    )

    other.settle()

    assert world.drivers == [older]


@pytest.mark.parametrize("what", ["deleted", "another's"])
def test_a_driver_whose_claim_is_not_on_record_any_more_halts_at_its_next_beat(world, what):
    a_running_stream(world)
    driver, address = world.driver, record_address(world.control, 0)
    content = world.storage.read(address)
    remove_log(world)
    if what == "another's":
        world.storage.write(address, content.replace(world.drivers[0].process.token.encode(), b"0" * 32))

    driver.beat()

    assert not driver.is_alive


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


# The log and the checkpoint


def test_a_deleted_log_is_not_begun_anew_by_a_supervisor_that_never_saw_it(world):
    a_running_stream(world)
    remove_log(world)

    decision = world.run(seconds(300), world.supervisor())

    assert decision.action is Action.BLOCKED
    assert (world.alive, world.records) == ([], ())


def test_a_driver_that_came_between_a_look_at_the_log_and_one_at_the_traces_is_no_sign_of_a_lost_log(world):
    def start_meanwhile():
        world.supervisor().settle()
        world.drive()

    tick = when(f"before list {world.control}/drivers", start_meanwhile)
    supervisor = world.supervisor(storage=InterruptibleStorage(world.storage, tick))

    decision = supervisor.look().decision

    assert decision.action is not Action.BLOCKED


def test_a_log_that_was_deleted_before_its_driver_left_a_trace_gets_no_second_writer(world):
    """Nothing shows that it ever was: the next claim has the same number, but not the same token."""
    world.supervisor().settle()
    first = world.driver
    remove_log(world)
    world.supervisor().settle()

    first.beat()
    world.run(seconds(60), world.supervisor())

    assert not first.is_alive
    assert {epoch for epoch, _ in world.writes} == {2}


def test_a_log_restored_from_a_backup_gets_no_record_and_no_driver(world):
    supervisor = a_running_stream(world)
    backup = world.records
    world.kill(world.driver)
    world.run(seconds(30), supervisor)
    remove_log(world, keep=len(backup))

    decision = world.run(seconds(300), world.supervisor())

    assert decision.action is Action.BLOCKED
    assert (world.alive, world.records) == ([], backup)


@pytest.mark.parametrize("request_", ["stop", "release"])
def test_a_person_appends_nothing_to_a_deleted_log(world, request_):
    a_running_stream(world)
    remove_log(world)

    with pytest.raises(ControlLogError):
        getattr(world.person(), request_)("because", **({"accepts_unsafe": True} if request_ == "release" else {}))

    assert world.records == ()


def test_a_checkpoint_restored_from_an_older_copy_is_not_run(world):
    supervisor = a_stopped_stream(world)
    put_checkpoint_back(world)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert "unsafe" in decision.reason


def test_a_checkpoint_that_was_put_back_between_claim_and_submit_is_not_run(world):
    supervisor = a_stopped_stream(world)
    supervisor.step()
    put_checkpoint_back(world)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert world.alive == []


def test_a_checkpoint_that_was_put_back_before_the_end_of_its_driver_is_on_record_is_not_run(world):
    """To where it was before that driver was claimed."""
    supervisor = a_stopped_stream(world)
    supervisor.settle()
    world.kill(world.driver)
    put_checkpoint_back(world)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert "unsafe" in decision.reason


def test_a_checkpoint_that_is_behind_the_last_beat_of_its_driver_is_not_run(world):
    supervisor = a_running_stream(world)
    world.run(seconds(20))
    world.kill(world.driver)
    put_checkpoint_back(world)
    put_checkpoint_back(world)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert "unsafe" in decision.reason


def test_progress_between_two_looks_is_a_foreign_writer(world):
    supervisor = a_stopped_stream(world)
    write_batch(world, last_batch(world) + 1)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert "foreign writer" in decision.reason


def test_progress_between_claim_and_submit_is_a_foreign_writer(world):
    supervisor = a_stopped_stream(world)
    supervisor.step()
    write_batch(world, last_batch(world) + 1)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert world.alive == []


def test_a_batch_newer_than_the_last_beat_is_a_foreign_writer(world):
    """It came before anybody looked at the checkpoint again: its position alone could be our own driver's."""
    supervisor = a_running_stream(world)
    world.kill(world.driver)
    world.freeze(10 * TIMINGS.takeover)
    write_batch(world, last_batch(world) + 1)

    decision = world.run(seconds(60), supervisor)

    assert decision.action is Action.PARKED
    assert "last sign" in decision.reason


def test_a_checkpoint_that_moved_to_another_folder_is_not_begun_there(world):
    a_running_stream(world)
    moved = a_stream(checkpoint=world.spec.checkpoint + "_new")

    decision = world.supervisor(spec=moved).settle()

    assert decision.action is Action.BLOCKED
    assert "moved" in decision.reason
    assert len(world.drivers) == 1


# What people say


def test_a_persons_word_for_a_driver_that_lives_leaves_one_writer_after_its_next_beat(world):
    """Outside of the promise, and this is what holds: the lie is found out by the next claim, at the next beat."""
    a_running_stream(world)
    liar = world.driver
    world.person().confirm_dead(1, "it must be")
    liar.beat()

    world.supervisor(host="host-2").step()
    liar.beat()
    liar.work()

    assert not liar.is_alive
    assert isinstance(world.records[-1].body, Claimed)


def test_a_driver_whose_end_is_on_record_halts_at_its_next_beat(world):
    """Whoever recorded it was wrong, and the next driver may be started any moment."""
    a_running_stream(world)
    driver = world.driver
    world.person().confirm_dead(1, "it must be")

    driver.beat()

    assert not driver.is_alive


def test_a_stream_that_was_parked_between_claim_and_submit_is_not_started(world):
    """By another supervisor, for a reason that this one need not see."""
    supervisor = a_stopped_stream(world)
    supervisor.step()
    park(world)

    decision = world.run(seconds(60), supervisor, world.supervisor())

    assert decision.action is Action.PARKED
    assert world.alive == []


def test_a_stream_that_was_parked_over_a_claim_left_behind_can_be_released_to_an_unsafe_start(world):
    a_stopped_stream(world).step()
    write_batch(world, last_batch(world) + 1)
    other = world.supervisor()
    world.run(TIMINGS.claim + seconds(10), other)

    world.person().release("it is closed", accepts_unsafe=True)
    decision = world.run(seconds(60), other)

    assert decision.action is Action.KEEP


def test_an_unsafe_start_that_was_accepted_and_turned_out_safe_leaves_nothing_for_a_later_one(world):
    supervisor = a_stopped_stream(world)
    supervisor.step()
    park(world)
    world.person().release("let it go on", accepts_unsafe=True)

    supervisor.settle()

    assert submits(world) == [1, 2]
    assert not world.state.accepts_unsafe


def test_an_unsafe_start_is_not_accepted_behind_a_submit_that_came_meanwhile(world):
    supervisor = a_stopped_stream(world)
    overtake = when("before create", supervisor.settle)
    person = world.person(storage=InterruptibleStorage(world.storage, overtake))

    with pytest.raises(ControlLogError):
        person.release("looked at it", accepts_unsafe=True)

    assert not world.state.accepts_unsafe
