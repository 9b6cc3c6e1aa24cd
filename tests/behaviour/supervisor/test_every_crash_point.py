"""Whoever acts is killed before and after every call of storage and launcher, one by one, and another one goes on.

Each scenario must end as it does without a crash: the same drivers in the end, no second writer on the way (the world
watches), nothing done twice, nothing forgotten.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from streamops.control.fold import fold
from streamops.control.log import ControlLog
from streamops.control.records import (
    Adopted,
    Claimed,
    ClaimMode,
    DriverEnded,
    MaintenanceBegun,
    MaintenanceEnded,
    Outcome,
    Parked,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
)
from streamops.control.snapshot import SNAPSHOT_INTERVAL
from streamops.errors import ControlLogError, LaunchError
from streamops.operations.requests import Requests
from streamops.storage import join
from streamops.supervision.act import new_record
from streamops.supervision.decision import Action, Decision
from streamops.supervision.supervisor import Supervisor
from support.checkpoints import write_checkpoint
from support.clock import START
from support.model_invariants import assert_ends_are_proven, assert_log_is_sound
from support.model_tasks import Gone
from support.specs import PERSON, TIMINGS, a_scheduled_stream, seconds
from support.storage import InterruptibleStorage
from support.world import World

POINTS: dict[str, int] = {}
"""Crash points by scenario: a figure of the whole run."""

HOUR = timedelta(hours=1)

ROUNDS = 60
"""Of ten seconds: longer than any wait there is."""


class Calls:
    """Counts the calls of whoever is to die, and ends it at one of them."""

    def __init__(self, dies_at: int) -> None:
        self._dies_at = dies_at
        self.made = 0
        self.last = ""

    def __call__(self, moment: str) -> None:
        self.made, self.last = self.made + 1, moment
        if self.made == self._dies_at:
            raise Gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What has happened, what a supervisor makes of it, and what must be so in the end."""

    name: str
    arrange: Callable[[World], None]
    epochs: int
    """Drivers that ever began a batch."""
    act: Callable[[World, Supervisor], None] = lambda world, supervisor: _settle(supervisor)
    rest: Action = Action.KEEP
    also: Callable[[World], None] = field(default=lambda world: None)
    is_managed: bool = False
    is_scheduled: bool = False


def _settle(supervisor: Supervisor) -> None:
    supervisor.settle()


def _nothing(world: World) -> None:
    pass


def _running(world: World) -> Supervisor:
    supervisor = world.supervisor()
    supervisor.settle()
    world.run(seconds(20), supervisor)
    return supervisor


def _dead(world: World) -> None:
    _running(world)
    world.kill(world.driver)


def _failed(world: World) -> None:
    _running(world)
    world.driver.leave(Outcome.FAILED, "org.apache.kafka.common.errors.TimeoutException: no answer")


def _hung(world: World) -> None:
    _running(world)
    world.driver.is_paused = True


def _wait_for_the_takeover(world: World, supervisor: Supervisor) -> None:
    supervisor.settle()
    world.freeze(TIMINGS.takeover + seconds(1))
    supervisor.settle()


def _stopping(world: World) -> None:
    _running(world)
    world.person().stop("night")
    world.drive()


def _over_its_grace(world: World) -> None:
    _running(world)
    world.person().stop("night")
    world.clock.advance(TIMINGS.stop + seconds(1))


def _stopped_by_force(world: World) -> None:
    _running(world)
    world.person().stop("now", force=True)


def _restarting(world: World) -> None:
    _running(world)
    world.person().restart("new job file")
    world.drive()


def _restarting_by_force(world: World) -> None:
    _running(world)
    world.person().restart("new job file", force=True)


def _to_be_parked(world: World) -> None:
    _running(world)
    world.driver.leave(Outcome.FAILED, "[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] The schema of the state has changed")


def _parked(world: World) -> None:
    _to_be_parked(world)
    world.supervisor().settle()
    assert world.state.parked


def _released(world: World) -> None:
    _parked(world)
    world.person().release("the job is as it was")


def _append(world: World, body: MaintenanceBegun | StartRequested, number: int) -> None:
    record = new_record(body, number=number, clock=world.clock, author=PERSON, reason="because")
    ControlLog(world.storage, world.control).append(record)


def _maintained(world: World) -> None:
    supervisor = _running(world)
    _append(world, MaintenanceBegun(until=world.clock.now() + seconds(60)), world.state.next_number)
    world.run(seconds(55), supervisor)
    assert not world.alive
    world.clock.advance(seconds(10))


def _left_behind(world: World) -> None:
    world.supervisor().step()


def _wait_for_the_claim(world: World, supervisor: Supervisor) -> None:
    supervisor.settle()
    world.run(TIMINGS.claim + seconds(5))
    supervisor.settle()


def _submitted_without_a_record(world: World) -> None:
    def die(moment: str) -> None:
        if moment == "after submit":
            raise Gone

    with pytest.raises(Gone):
        world.supervisor(tick=die).settle()
    world.drive()


def _superseded(world: World) -> None:
    """Two claims are open, the older one with a driver that nobody has on record."""
    _submitted_without_a_record(world)
    other = world.supervisor()
    other.settle()
    world.run(TIMINGS.claim + seconds(1))
    other.step()
    assert len(world.state.open_epochs) == 2


def _failing_submits(world: World) -> None:
    world.processes.submit_error = LaunchError("spark-submit is not there")


def _fail_then_mend(world: World, supervisor: Supervisor) -> None:
    supervisor.settle()
    world.processes.submit_error = None
    world.run(seconds(20))
    supervisor.settle()


def _to_be_adopted(world: World) -> None:
    write_checkpoint(world.storage, world.spec.checkpoint, planned=[0, 1], committed=[0, 1])
    world.supervisor().settle()
    assert world.state.parked
    world.person().adopt("migrated from cron", watch=seconds(60))


def _before_a_snapshot(world: World) -> None:
    """The next start completes the interval."""
    _dead(world)
    for number in range(world.state.next_number, SNAPSHOT_INTERVAL - 2):
        _append(world, StartRequested(), number)


def _asked_for_a_run(world: World, *, budget: timedelta = HOUR) -> None:
    world.person().begin_run(ClaimMode.CATCHUP, "far behind", until=world.clock.now() + budget)


def _asked_to_catch_up(world: World) -> None:
    _running(world)
    _asked_for_a_run(world)
    world.drive()


def _catching_up(world: World, *, budget: timedelta = HOUR) -> None:
    """Its run has more to read than it has time for."""
    supervisor = _running(world)
    world.on_start = lambda driver: setattr(driver, "batches_to_read", 1000)
    _asked_for_a_run(world, budget=budget)
    world.run(seconds(40), supervisor)
    assert world.state.newest.claim.mode is ClaimMode.CATCHUP
    world.on_start = lambda driver: None


def _over_its_time(world: World) -> None:
    _catching_up(world, budget=seconds(60))
    world.freeze(seconds(25))
    world.drive()


def _scheduled_over_its_time(world: World) -> None:
    world.on_start = lambda driver: setattr(driver, "batches_to_read", 1000)
    _asked_for_a_run(world, budget=seconds(40))
    world.run(seconds(20), world.supervisor())
    world.freeze(seconds(25))
    world.drive()


def _see_the_run_through(world: World, supervisor: Supervisor) -> None:
    """It acts when there is something to do: the run begins, ends, and what is declared goes on."""
    for _ in range(3):
        supervisor.settle()
        for _ in range(8):
            world.drive()
    supervisor.settle()


def _has_finished_its_run(world: World) -> None:
    ends = [record.body.outcome for record in world.records if isinstance(record.body, DriverEnded)]
    assert Outcome.FINISHED in ends
    assert world.state.maintenance is None


def _has_spent_its_time(world: World) -> None:
    ends = [record.body.outcome for record in world.records if isinstance(record.body, DriverEnded)]
    assert Outcome.FINISHED not in ends
    assert world.state.maintenance is None


def _is_parked_once(world: World) -> None:
    assert sum(isinstance(record.body, Parked) for record in world.records) == 1


SCENARIOS = (
    Scenario(name="first start", arrange=_nothing, epochs=1),
    Scenario(name="driver dead", arrange=_dead, epochs=2),
    Scenario(name="driver failed with an exit record", arrange=_failed, epochs=2),
    Scenario(name="driver dead (manager)", arrange=_dead, epochs=2, is_managed=True, act=_wait_for_the_takeover),
    Scenario(name="hung driver", arrange=_hung, epochs=2, act=_wait_for_the_takeover),
    Scenario(name="hung driver (manager)", arrange=_hung, epochs=2, act=_wait_for_the_takeover, is_managed=True),
    Scenario(name="stop", arrange=_stopping, epochs=1, rest=Action.STOPPED),
    Scenario(name="stop over its grace", arrange=_over_its_grace, epochs=1, rest=Action.STOPPED),
    Scenario(name="forced stop", arrange=_stopped_by_force, epochs=1, rest=Action.STOPPED),
    Scenario(name="restart", arrange=_restarting, epochs=2),
    Scenario(name="forced restart", arrange=_restarting_by_force, epochs=2),
    Scenario(name="parking", arrange=_to_be_parked, epochs=1, rest=Action.PARKED, also=_is_parked_once),
    Scenario(name="release after a parking", arrange=_released, epochs=2, also=_is_parked_once),
    Scenario(name="maintenance that is over", arrange=_maintained, epochs=2),
    Scenario(name="claim left behind", arrange=_left_behind, epochs=1, act=_wait_for_the_claim),
    Scenario(name="submit without a record", arrange=_submitted_without_a_record, epochs=2, act=_wait_for_the_claim),
    Scenario(name="superseded claim", arrange=_superseded, epochs=2),
    Scenario(name="submit failed", arrange=_failing_submits, epochs=1, act=_fail_then_mend),
    Scenario(name="adopt, then start", arrange=_to_be_adopted, epochs=1),
    Scenario(name="snapshot due", arrange=_before_a_snapshot, epochs=2),
    Scenario(
        name="catch-up of a live stream",
        arrange=_asked_to_catch_up,
        epochs=3,
        act=_see_the_run_through,
        also=_has_finished_its_run,
    ),
    Scenario(
        name="run whose time is over",
        arrange=_over_its_time,
        epochs=3,
        act=_see_the_run_through,
        also=_has_spent_its_time,
    ),
    Scenario(
        name="scheduled run",
        arrange=_asked_for_a_run,
        epochs=1,
        act=_see_the_run_through,
        rest=Action.IDLE,
        also=_has_finished_its_run,
        is_scheduled=True,
    ),
    Scenario(
        name="scheduled run whose time is over",
        arrange=_scheduled_over_its_time,
        epochs=1,
        act=_see_the_run_through,
        rest=Action.IDLE,
        also=_has_spent_its_time,
        is_scheduled=True,
    ),
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_supervisor_may_die_at_every_call(tmp_path, scenario, record_property):
    points = _play(tmp_path, scenario, dies_at=0)
    for point in range(1, points + 1):
        _play(tmp_path, scenario, dies_at=point)

    assert points > 10
    POINTS[scenario.name] = points
    record_property("figure", f"crash points, {scenario.name}: {points}")


def _play(state_root: Path, scenario: Scenario, *, dies_at: int) -> int:
    """The calls that were made."""
    spec = a_scheduled_stream() if scenario.is_scheduled else None
    world = World(state_root, spec=spec, is_managed=scenario.is_managed)
    scenario.arrange(world)
    calls, before = Calls(dies_at), _drivers_without_a_record(world)
    supervisor = world.supervisor(storage=InterruptibleStorage(world.storage, calls), tick=calls)
    with suppress(Gone):
        scenario.act(world, supervisor)
    orphans = _drivers_without_a_record(world) - before
    world.processes.submit_error = None
    decision = _calm(world, scenario.rest)

    account = f"{scenario.name}, killed at call {calls.made}, {calls.last}: {decision}"
    assert decision.action is scenario.rest, account
    assert len(world.alive) == (1 if scenario.rest is Action.KEEP else 0), account
    assert len({epoch for epoch, _ in world.writes}) == scenario.epochs + len(orphans), account
    assert_log_is_sound(world.records)
    assert_ends_are_proven(world.state, world.drivers, misreported=world.misreported)
    assert world.state == fold(world.records), "the snapshot tells something else than the log"
    scenario.also(world)
    return calls.made


def _drivers_without_a_record(world: World) -> set[int]:
    """Whose supervisor died between submit and record: each is replaced, and has run its batches until then."""
    newest = world.state.newest
    return {
        driver.epoch for driver in world.alive if newest and driver.epoch == newest.number and not newest.submission
    }


def _calm(world: World, rest: Action) -> Decision:
    """One supervisor that knows nothing goes on until nothing changes any more."""
    supervisor = world.supervisor()
    for _ in range(ROUNDS):
        begun, decision = len(world.writes), supervisor.settle()
        world.run(seconds(10))
        has_run = len(world.writes) > begun or rest is not Action.KEEP
        is_through = world.state.replacement is None and world.state.maintenance is None
        if decision.action is rest and has_run and is_through:
            return decision
    raise AssertionError(f"not {rest}: {decision}, {[record.body.kind for record in world.records]}")


# What people ask for


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Something that a person asks for, again when the first try was cut off."""

    name: str
    arrange: Callable[[World], object]
    ask: Callable[[Requests], object]
    kind: str
    rest: Action = Action.KEEP
    claims: int = 1
    """That follow from it, where the stream runs in the end."""


def _stopped(world: World) -> None:
    supervisor = _running(world)
    world.person().stop("night")
    world.run(seconds(20), supervisor)


def _put_back(world: World) -> None:
    _stopped(world)
    world.person().start("morning")
    for folder in ("offsets", "commits"):
        address = join(world.spec.checkpoint, folder)
        world.storage.delete(join(address, max(world.storage.list(address), key=int)))
    world.supervisor().settle()
    assert world.state.parked


def _unseen(world: World) -> None:
    """Its driver ran on a host that is switched off."""
    other = world.supervisor(host="host-2")
    other.settle()
    world.run(seconds(20), other)
    world.kill(world.driver)


def _with_history(world: World) -> None:
    write_checkpoint(world.storage, world.spec.checkpoint, planned=[0, 1], committed=[0, 1])
    world.supervisor().settle()


REQUESTS = (
    Request(
        name="stop", arrange=_running, ask=lambda they: they.stop("x"), kind=StopRequested.kind, rest=Action.STOPPED
    ),
    Request(
        name="stop by force",
        arrange=_running,
        ask=lambda they: they.stop("x", force=True),
        kind=StopRequested.kind,
        rest=Action.STOPPED,
    ),
    Request(name="start", arrange=_stopped, ask=lambda they: they.start("x"), kind=StartRequested.kind),
    Request(name="restart", arrange=_running, ask=lambda they: they.restart("x"), kind=RestartRequested.kind),
    Request(name="release", arrange=_parked, ask=lambda they: they.release("x"), kind=Released.kind),
    Request(
        name="release to an unsafe start",
        arrange=_put_back,
        ask=lambda they: they.release("x", accepts_unsafe=True),
        kind=Released.kind,
    ),
    Request(name="confirm dead", arrange=_unseen, ask=lambda they: they.confirm_dead(1, "x"), kind=DriverEnded.kind),
    Request(
        name="adopt", arrange=_with_history, ask=lambda they: they.adopt("x", watch=seconds(60)), kind=Adopted.kind
    ),
    Request(
        name="run",
        arrange=_running,
        ask=lambda they: they.begin_run(ClaimMode.CATCHUP, "x", until=START + HOUR),
        kind=MaintenanceBegun.kind,
        claims=2,
    ),
    Request(name="end a run", arrange=_catching_up, ask=lambda they: they.end_run("x"), kind=MaintenanceEnded.kind),
)


@pytest.mark.parametrize(
    "request_",
    [pytest.param(one, id=one.name) for one in REQUESTS],
)
def test_a_person_may_be_cut_off_at_every_call_and_ask_again(tmp_path, request_, record_property):
    points = _ask(tmp_path, request_, dies_at=0)
    for point in range(1, points + 1):
        _ask(tmp_path, request_, dies_at=point)

    assert points > 2
    POINTS[f"request to {request_.name}"] = points
    record_property("figure", f"crash points, request to {request_.name}: {points}")


@pytest.mark.skipif("not POINTS", reason="the scenarios were not run")
def test_the_crash_points_are_many(record_property):
    assert sum(POINTS.values()) > 0
    record_property("figure", f"crash points in all: {sum(POINTS.values())}")


def _ask(state_root: Path, request: Request, *, dies_at: int) -> int:
    """The calls that were made."""
    world = World(state_root)
    request.arrange(world)
    arranged = len(world.records)
    calls = Calls(dies_at)
    try:
        request.ask(world.person(storage=InterruptibleStorage(world.storage, calls)))
    except Gone:
        # As a person does who got no answer; that it was done already is an answer.
        with suppress(ControlLogError):
            request.ask(world.person())
    _calm(world, request.rest)

    account = f"{request.name}, cut off at call {calls.made}, {calls.last}"
    new = world.records[arranged:]
    assert [record.body.kind for record in new if record.by == PERSON] == [request.kind], account
    claims = [record for record in new if isinstance(record.body, Claimed)]
    assert len(claims) == (request.claims if request.rest is Action.KEEP else 0), account
    assert_log_is_sound(world.records)
    return calls.made
