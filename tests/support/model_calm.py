"""After the trouble: everything answers again, and the stream must come to what it is meant to do."""

from datetime import timedelta

from streamops.control.layout import log_folder
from streamops.control.records import ClaimMode, DriverEnded, Outcome, RestartRequested
from streamops.control.state import Desire
from streamops.supervision.decision import Action
from support.model_invariants import assert_ends_are_proven, assert_log_is_sound
from support.model_stage import Stage
from support.specs import PERSON, seconds

ROUNDS = 150
"""Of ten seconds: the longest wait is a start that is given up after five minutes, then takeover, claim and back-off."""

DAY = timedelta(days=1)
"""Longer than any two clocks of a schedule are apart."""

EXCUSES = {
    "foreign writer": {"foreign", "clock"},
    "is unsafe": {"moved back", "foreign"},
    "is safe-if-idempotent": {"rerun"},
    "failures": {"failure"},
    "times in a row": {"failure"},
    "which no restart mends": {"failure"},
}
"""What a parking says, and what must have happened for it to be right."""


def calm_down(stage: Stage) -> None:
    """All faults end and whoever was held goes on. Wrong clocks stay wrong; hung and paused drivers stay so.

    But for one that has not come to its first beat: it can't write, no watchdog guards it yet, and where its submit is on
    no record either, only a look for orphans can find it.
    """
    for switch in stage.switches.values():
        switch.unreachable = ""
    for host in stage.world.hosts.known.values():
        host.is_cut_off = False
    stage.world.words.clear()
    stage.world.processes.kill_works = True
    stage.world.are_source_and_sink_down = False
    stage.world.processes.submit_error = None
    for driver in stage.world.alive:
        if not driver.has_begun:
            driver.hangs = driver.is_paused = False
    for name in stage.held:
        stage.go_on(name)
    while stage.late:
        stage.land()
    if stage.fleet.lost:
        stage.lose(stage.fleet.lost)


def assert_it_comes_to_what_is_declared(stage: Stage) -> None:
    """Stopped: nothing lives and nothing starts. Running: one driver commits. Then every accepted restart was done."""
    if stage.world.state.desire is Desire.STOPPED:
        _assert_it_stands_still(stage)
        stage.world.person().start("calm again")
    _assert_it_runs(stage)
    newest = stage.world.state.newest
    asked = [record.body.epoch for record in stage.world.records if isinstance(record.body, RestartRequested)]
    assert newest
    assert all(newest.number > epoch for epoch in asked), "a restart was not done"


def assert_it_rests_between_two_runs(stage: Stage) -> None:
    """Of a scheduled stream: an open run comes to its end, nothing lives, and a further run reads all that there is."""
    if stage.world.state.desire is Desire.STOPPED:
        _assert_it_stands_still(stage)
        stage.world.person().start("calm again")
    _assert_it_is_idle(stage)
    stage.batches_to_read = 2
    until = stage.world.hosts[PERSON.host].clock.now() + DAY
    run = stage.world.person().begin_run(ClaimMode.CATCHUP, "the next hour", until=until)
    _assert_it_is_idle(stage)
    assert _outcomes_since(stage, run.number)[-1] is Outcome.FINISHED


def _outcomes_since(stage: Stage, number: int) -> list[Outcome]:
    return [
        record.body.outcome
        for record in stage.world.records
        if record.number > number and isinstance(record.body, DriverEnded)
    ]


def _assert_it_is_idle(stage: Stage) -> None:
    for _ in range(ROUNDS):
        _end_what_people_asked_for(stage)
        _round(stage)
        state = stage.world.state
        if state.maintenance is None and not stage.world.alive and _all_rest_on(stage, Action.IDLE):
            assert state.open_epochs == ()
            begun = len(stage.world.drivers)
            stage.pass_time(seconds(40), supervised=True)
            assert len(stage.world.drivers) == begun, "something was started between two runs"
            return
    raise AssertionError(f"not at rest: {_account(stage)}")


def assert_a_damaged_log_is_left_alone(stage: Stage) -> None:
    """Every driver has halted, none is started, and nothing is put where the missing records belong."""
    before = stage.world.storage.list(log_folder(stage.world.control))
    stage.pass_time(stage.world.spec.timings.halt + seconds(10), supervised=True)
    begun, started = len(stage.world.writes), len(stage.world.drivers)
    stage.pass_time(seconds(120), supervised=True)
    assert stage.world.storage.list(log_folder(stage.world.control)) == before
    assert len(stage.world.writes) == begun
    assert len(stage.world.drivers) == started


def _assert_it_stands_still(stage: Stage) -> None:
    for _ in range(ROUNDS):
        _round(stage)
        if not stage.world.alive and _all_rest_on(stage, Action.STOPPED, Action.PARKED):
            begun = len(stage.world.drivers)
            stage.pass_time(seconds(40), supervised=True)
            assert len(stage.world.drivers) == begun, "something was started although the stream is stopped"
            return
    raise AssertionError(f"not stopped: {_account(stage)}")


def _assert_it_runs(stage: Stage) -> None:
    """A run that is open finishes, or its time is over, before the live query is back."""
    for _ in range(ROUNDS):
        _end_what_people_asked_for(stage)
        begun = len(stage.world.writes)
        _round(stage)
        state = stage.world.state
        is_back = state.replacement is None and state.maintenance is None
        if is_back and _all_rest_on(stage, Action.KEEP) and len(stage.world.writes) > begun:
            newest = stage.world.state.newest
            assert newest
            assert newest.claim.mode is ClaimMode.LIVE
            assert [driver.epoch for driver in stage.world.alive] == [newest.number]
            assert stage.world.state.open_epochs == (newest,)
            return
    raise AssertionError(f"not running: {_account(stage)}")


def _round(stage: Stage) -> None:
    stage.pass_time(seconds(5), supervised=False)
    stage.pass_time(seconds(5), supervised=True)
    _vouch_for_the_lost(stage)
    assert_log_is_sound(stage.world.records)
    assert_ends_are_proven(stage.world.state, stage.world.drivers, misreported=stage.world.misreported)


def _vouch_for_the_lost(stage: Stage) -> None:
    """A person is asked about a driver that nobody can see any more; where its host is there, a supervisor settles it."""
    asked = " ".join(decision.reason for who in stage.attending if (decision := stage.decisions.get(who)))
    for epoch in stage.world.state.open_epochs if stage.fleet.lost else ():
        if f"--confirm-dead {epoch.number} " in asked:
            assert epoch.number not in [driver.epoch for driver in stage.world.alive]
            stage.world.person().confirm_dead(epoch.number, f"{stage.fleet.lost} burnt down")


def _all_rest_on(stage: Stage, *actions: Action) -> bool:
    decisions = [stage.decisions.get(who) for who in stage.attending]
    return all(decision and decision.action in actions for decision in decisions)


def _end_what_people_asked_for(stage: Stage) -> None:
    """A person ends a maintenance, and releases what was parked for a reason that the schedule explains."""
    stage.end_maintenance()
    parked = stage.world.state.parked
    if parked is None:
        return
    whys = [excuses for words, excuses in EXCUSES.items() if words in parked.reason]
    assert any(excuses & stage.excuses for excuses in whys), f"parked without a reason: {parked.reason}"
    stage.world.person().release("looked at it", accepts_unsafe="--accept-unsafe" in parked.reason)


def _account(stage: Stage) -> str:
    records = "\n".join(
        f"{record.number} {record.at:%H:%M:%S} {record.by.actor}@{record.by.host} {record.body.kind}"
        f" {getattr(record.body, 'epoch', '')} {getattr(record.body, 'outcome', '')}: {record.reason[:120]}"
        for record in stage.world.records
    )
    drivers = [(driver.epoch, driver.is_alive, driver.may_write) for driver in stage.world.drivers]
    return f"{stage.decisions}\n{drivers}\n{records}"
