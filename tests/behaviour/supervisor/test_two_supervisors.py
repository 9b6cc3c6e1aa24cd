"""Two supervisors on one stream, interleaved and killed at any call, while drivers come and go.

`World` checks at each submit and at each batch that nobody older may still write; the schedules are drawn by hypothesis.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamops.control.records import Claimed, Outcome, Parked, Submitted
from streamops.control.state import Desire
from streamops.errors import ControlLogError, StreamOpsError
from streamops.supervision.supervisor import Supervisor
from support.specs import a_stream, seconds
from support.storage import InterruptibleStorage
from support.world import World

SAME_HOST = ("host-1", "host-1")
TWO_HOSTS = ("host-1", "host-2")


class Crash(BaseException):
    """The supervisor's process is gone, at this very call."""


@dataclass(frozen=True)
class Supervise:
    """One of the supervisors settles; at its n-th call something else happens first, or it dies."""

    who: int
    interrupted_at: int | None = None
    moment: str = ""
    """Only calls of this kind are counted, `after submit`; empty counts them all."""
    by: tuple[object, ...] = ()
    crashes: bool = False


@dataclass(frozen=True)
class Pass:
    """Time passes while the drivers beat and work."""

    seconds: int


@dataclass(frozen=True)
class Freeze:
    """Time passes and no driver gets to beat."""

    seconds: int


@dataclass(frozen=True)
class Drive:
    """One driver takes one step; at the n-th call of its storage something else happens first."""

    which: int
    step: str
    interrupted_at: int = 0
    by: tuple[object, ...] = ()


@dataclass(frozen=True)
class Kill:
    """One driver is killed from outside, or made to hang."""

    which: int
    hangs: bool


@dataclass(frozen=True)
class Ask:
    """A person wants something."""

    request: str


SIMPLE = st.one_of(
    st.builds(Pass, seconds=st.sampled_from([5, 10, 35])),
    st.builds(Freeze, seconds=st.sampled_from([1, 20, 31, 80])),
    st.builds(Drive, which=st.integers(0, 2), step=st.sampled_from(["beat", "work", "fail"])),
    st.builds(Kill, which=st.integers(0, 2), hangs=st.booleans()),
    st.builds(Ask, request=st.sampled_from(["stop", "start", "release"])),
)
WHO = st.integers(0, 1)
PLAIN_SUPERVISE = st.builds(Supervise, who=WHO)
MEANWHILE = st.lists(st.one_of(PLAIN_SUPERVISE, SIMPLE), max_size=4).map(tuple)
INTERRUPTED = st.one_of(
    st.builds(Supervise, who=WHO, interrupted_at=st.integers(1, 60), by=MEANWHILE, crashes=st.booleans()),
    st.builds(
        Supervise,
        who=WHO,
        interrupted_at=st.integers(1, 3),
        moment=st.sampled_from(["before create", "after create", "before submit", "after submit", "before kill"]),
        by=MEANWHILE,
        crashes=st.booleans(),
    ),
)
SLOW_BEAT = st.builds(
    Drive,
    which=st.integers(0, 1),
    step=st.just("beat"),
    interrupted_at=st.integers(1, 8),
    by=st.lists(st.one_of(PLAIN_SUPERVISE, st.builds(Freeze, seconds=st.sampled_from([31, 80]))), max_size=6).map(
        tuple
    ),
)
SCHEDULES = st.lists(st.one_of(PLAIN_SUPERVISE, INTERRUPTED, INTERRUPTED, SLOW_BEAT, SIMPLE), min_size=3, max_size=12)


class Play:
    """Carries a schedule out."""

    def __init__(self, world: World, hosts: tuple[str, str]) -> None:
        self.world = world
        self._hosts = hosts
        self._interruptions: list[Callable[[str], None] | None] = [None, None]
        self._busy = [False, False]
        self._supervisors = [self._new_supervisor(who) for who in (0, 1)]

    def do(self, event: object) -> None:
        match event:
            case Supervise():
                self._supervise(event)
            case Pass(seconds=number):
                self.world.run(seconds(number))
            case Freeze(seconds=number):
                self.world.freeze(seconds(number))
            case Drive():
                self._drive(event)
            case Kill(which=which, hangs=hangs):
                self._kill(which, hangs=hangs)
            case Ask(request=request):
                self._ask(request)

    def recover(self) -> None:
        """Calm returns: both supervisors go on undisturbed, and a person starts and releases what stands still."""
        for driver in self.world.drivers:
            driver.hangs = False
        for _ in range(12):
            begun = len(self.world.writes)
            self._ask("start")
            self._ask("release")
            self.world.run_through_trouble(seconds(40), *self._supervisors)
            if len(self.world.alive) == 1 and len(self.world.writes) > begun + 1:
                return

    def _new_supervisor(self, who: int) -> Supervisor:
        def tick(moment: str) -> None:
            interruption = self._interruptions[who]
            if interruption:
                interruption(moment)

        storage = InterruptibleStorage(self.world.storage, tick)
        return self.world.supervisor(host=self._hosts[who], storage=storage, tick=tick)

    def _supervise(self, event: Supervise) -> None:
        if self._busy[event.who]:
            return  # It is in the middle of a call: one process does one thing at a time.
        self._busy[event.who] = True
        self._interruptions[event.who] = self._interruption(event) if event.interrupted_at else None
        try:
            self._supervisors[event.who].settle()
        except Crash:
            self._interruptions[event.who] = None
            self._supervisors[event.who] = self._new_supervisor(event.who)
        except StreamOpsError:
            pass
        finally:
            self._interruptions[event.who] = None
            self._busy[event.who] = False

    def _interruption(self, event: Supervise) -> Callable[[str], None]:
        calls = itertools.count(1)

        def interrupt(moment: str) -> None:
            if not moment.startswith(event.moment) or next(calls) != event.interrupted_at:
                return
            for inner in event.by:
                self.do(inner)
            if event.crashes:
                raise Crash

        return interrupt

    def _drive(self, event: Drive) -> None:
        for driver in self.world.alive[event.which : event.which + 1]:
            calls = itertools.count(1)

            def interrupt(moment: str, calls: Iterator[int] = calls) -> None:
                if next(calls) == event.interrupted_at:
                    for inner in event.by:
                        self.do(inner)

            driver.tick, before = interrupt, driver.tick
            if event.step == "fail":
                driver.leave(Outcome.FAILED, "[STREAM_FAILED] x")
            else:
                getattr(driver, event.step)()
            driver.tick = before

    def _kill(self, which: int, *, hangs: bool) -> None:
        for driver in self.world.alive[which : which + 1]:
            driver.hangs = hangs
            if not hangs:
                self.world.kill(driver)

    def _ask(self, request: str) -> None:
        with suppress(ControlLogError):
            getattr(self.world.person(), request)("because")


def assert_the_log_is_sound(world: World) -> None:
    """What must be true of the records, whatever happened."""
    records = world.records
    claims = [record.body.epoch for record in records if isinstance(record.body, Claimed)]
    submits = [record.body.epoch for record in records if isinstance(record.body, Submitted)]
    parkings = [record.reason for record in records if isinstance(record.body, Parked)]
    assert claims == list(range(1, len(claims) + 1))
    assert len(submits) == len(set(submits))
    assert world.state.contradictions == 0
    assert not [reason for reason in parkings if "foreign writer" in reason or "unsafe" in reason]


@pytest.mark.fault("B27")
@pytest.mark.parametrize("hosts", [SAME_HOST, TWO_HOSTS], ids=["same-host", "two-hosts"])
@settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(schedule=SCHEDULES)
def test_there_is_never_a_second_writer_and_the_stream_runs_again(tmp_path, hosts, schedule):
    world = World(tmp_path)
    play = Play(world, hosts)

    for event in schedule:
        play.do(event)
    assert_the_log_is_sound(world)
    writes = len(world.writes)
    play.recover()

    assert_the_log_is_sound(world)
    assert world.state.desire is Desire.RUNNING
    assert len(world.alive) == 1
    assert len(world.writes) > writes


@pytest.mark.parametrize("hosts", [SAME_HOST, TWO_HOSTS], ids=["same-host", "two-hosts"])
def test_a_supervisor_may_die_at_any_call_of_a_first_start(tmp_path, hosts):
    for moment in itertools.count(1):
        world = World(tmp_path, spec=a_stream())
        play = Play(world, hosts)
        play.do(Supervise(who=0, interrupted_at=moment, crashes=True))
        died = not world.state.newest or not world.state.newest.submission or not world.alive
        play.recover()

        assert_the_log_is_sound(world)
        assert len(world.alive) == 1
        if moment > 5 and not died and world.state.next_number == 2:
            break
    assert moment > 10


@pytest.mark.parametrize("hosts", [SAME_HOST, TWO_HOSTS], ids=["same-host", "two-hosts"])
def test_two_supervisors_may_meet_at_any_call_of_a_first_start(tmp_path, hosts):
    """The other one does a whole round, and its driver a first step, between any two calls of the first."""
    for moment in range(1, 45):
        world = World(tmp_path, spec=a_stream())
        play = Play(world, hosts)
        other = (Supervise(who=1), Freeze(31), Supervise(who=1), Drive(0, "beat"), Supervise(who=1))
        play.do(Supervise(who=0, interrupted_at=moment, by=other))
        play.recover()

        assert_the_log_is_sound(world)
        assert len(world.alive) == 1


@pytest.mark.parametrize("moment", range(1, 13))
def test_a_driver_and_the_next_claim_may_meet_at_any_call_of_the_first_beat(tmp_path, moment):
    """It beats, then looks; the supervisor claims, then looks for beats: one of the two always sees the other.

    The submit was not recorded and the driver's host can't be seen, so nothing but beat and log tells them of each other.
    """
    world = World(tmp_path)
    play = Play(world, TWO_HOSTS)
    play.do(Supervise(who=0, interrupted_at=1, moment="after submit", crashes=True))
    play.do(Supervise(who=1))
    play.do(Freeze(31))

    play.do(Drive(0, "beat", interrupted_at=moment, by=(Supervise(who=1), Drive(1, "beat"))))
    world.drivers[0].work()
    for _ in range(3):
        world.drive()
    play.recover()

    assert_the_log_is_sound(world)
    assert len(world.alive) == 1


@pytest.mark.parametrize("beats", [1, 2, 3])
def test_a_submit_that_comes_long_after_its_claim_was_superseded_starts_no_second_writer(tmp_path, beats):
    """The late supervisor dies right after the submit, so nobody but the driver itself can put things right."""
    world = World(tmp_path)
    other = world.supervisor(host="host-2")

    def tick(moment: str) -> None:
        if moment == "before submit":
            other.settle()
            world.freeze(seconds(31))
            other.settle()
            world.drive()
        if moment == "after submit":
            for _ in range(beats):
                world.drive()
            raise Crash

    with pytest.raises(Crash):
        world.supervisor(tick=tick).settle()

    assert [(driver.epoch, driver.may_write) for driver in world.drivers] == [(2, True), (1, False)]
    assert {epoch for epoch, _ in world.writes} == {2}
