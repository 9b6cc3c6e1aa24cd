"""The design's table on the control log, played through with the real supervisor and lease: who may claim, submit, begin.

The other rows are in `test_fencing_signs` and `test_fencing_log`. Proven elsewhere: two supervisors that meet at any call,
and a driver that meets the next claim at any call of its first beat (`test_two_supervisors`); any order of everything
(`test_model`); a driver's death on its own host by boot id, namespace and process group (`launch/test_local_launcher`);
the numbers and nonces of an append (`unit/control/test_log`); who may have which checkpoint
(`unit/control/test_registry`); adoption (`test_supervisor`).
"""

import pytest

from streamops.control.layout import record_address
from streamops.control.records import Outcome
from streamops.errors import StorageError
from streamops.storage import join
from streamops.supervision.decision import Action
from support.fencing import a_running_stream, a_submit_without_a_record, remove_log, submits, when
from support.model_tasks import Gone
from support.specs import TIMINGS, seconds
from support.storage import FlakyStorage, InterruptibleStorage, SwitchableStorage

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
    record = record_address(world.control, 0)
    read_back = when(f"before read {record}", lambda: setattr(switch, "unreachable", "/log/"))
    calls = []

    def lose(call):
        calls.append(call)
        if f"before create {record}" in calls:
            read_back(call)

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


def test_no_driver_is_submitted_before_the_beat_of_an_older_one_has_stood_still_for_the_takeover_time(world):
    """That its process is not found may be a mistake; its last beat may just have been acknowledged."""
    older = a_submit_without_a_record(world)
    older.beat()
    world.kill(older)
    other = world.supervisor()
    other.settle()
    stood_still_since = world.clock.monotonic()

    while len(world.drivers) == 1:
        world.run(seconds(5), other)

    assert world.clock.monotonic() - stood_still_since >= TIMINGS.takeover


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
