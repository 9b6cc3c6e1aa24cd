"""The rules of the model: what may happen to one stream at any moment. Hypothesis draws schedules of them and shrinks what fails.

Left out, since a port promises that it does not happen:
- a listing that misses a record that was already written: the stores that streamops takes are consistent;
- a launcher that says "not started" about a driver that it has started;
- a paused driver that plans a batch before its watchdog has ticked once after it was resumed.
"""

import atexit
import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from streamops.control.drivers import driver_instances
from streamops.control.records import Claimed, Outcome
from streamops.errors import ControlLogError, LaunchError
from streamops.launch import DriverState
from streamops.spec.sinks import SinkGuarantee
from support.driver import SimulatedDriver
from support.model_calm import assert_a_damaged_log_is_left_alone, assert_it_comes_to_what_is_declared, calm_down
from support.model_invariants import assert_ends_are_proven, assert_log_is_sound
from support.model_stage import SAME_HOST, Fleet, Stage, after_calls, at
from support.model_tasks import Fate
from support.specs import PERSON, seconds

WHO = st.integers(0, 2)
WHICH = st.integers(0, 2)
CALLS = st.integers(1, 40)
FATES = st.sampled_from([Fate.DONE, Fate.DONE, *Fate])
MOMENTS = st.sampled_from(
    ["before create", "after create", "before submit", "after submit", "before kill", "after kill", "before write"]
)
HOSTS = st.sampled_from(["host-1", "host-2", "cluster", PERSON.host])
REQUESTS = st.sampled_from(["stop", "stop!", "start", "restart", "restart!", "release", "release!"])
TEXTS = st.sampled_from(
    [
        "[STREAM_FAILED] x",
        "[KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE] gone",
        "java.lang.OutOfMemoryError: Java heap space",
        "org.apache.kafka.common.errors.TimeoutException: no answer",
        "java.io.IOException: No space left on device",
    ]
)
SPANS = st.sampled_from([5, 10, 20, 35, 120])
"""The longest lets a single supervisor come from a claim left behind to the next submit."""
FROZEN = st.sampled_from([1, 20, 31, 80])

TALLY: Counter[str] = Counter()
"""Schedules and steps so far: figures of the whole run."""


class StreamModel(RuleBasedStateMachine):
    """Two or three supervisors, their drivers, people, and everything that goes wrong around them."""

    fleet: Fleet = SAME_HOST
    title = ""
    """What its schedules are counted under; the fleet's name unless it says something."""

    @initialize(
        guarantee=st.sampled_from([SinkGuarantee.IDEMPOTENT, SinkGuarantee.EXACTLY_ONCE_OR_NOTHING]),
        length=st.integers(0, 20),
    )
    def begin(self, guarantee: SinkGuarantee, length: int) -> None:
        self.stage = Stage(STATE_ROOT, self.fleet, guarantee)
        self._length = length
        self.stage.excuses |= {"rerun"} if guarantee is SinkGuarantee.EXACTLY_ONCE_OR_NOTHING else set()
        self.world = self.stage.world
        TALLY[f"{self.title or self.fleet.name} schedules"] += 1

    # Supervisors

    @rule(who=WHO)
    def settle(self, who: int) -> None:
        self.stage.settle(self._supervisor(who))

    @rule(who=WHO, calls=CALLS)
    def settle_up_to_a_call(self, who: int, calls: int) -> None:
        self.stage.settle(self._supervisor(who), until=after_calls(calls))

    @rule(who=WHO, moment=MOMENTS, dies=st.booleans())
    def settle_up_to_an_act(self, who: int, moment: str, dies: bool) -> None:
        self.stage.settle(self._supervisor(who), until=at(moment))
        if dies:
            self.stage.crash(self._supervisor(who))

    @rule(who=WHO, hands_over=st.booleans())
    def crash(self, who: int, hands_over: bool) -> None:
        self.stage.crash(self._supervisor(who), hands_over=hands_over)

    # Whoever is held

    @precondition(lambda self: self.stage.held)
    @rule(which=WHICH, calls=CALLS, fate=FATES)
    def go_on_for_some_calls(self, which: int, calls: int, fate: Fate) -> None:
        self._go_on(which, fate, calls)

    @precondition(lambda self: self.stage.held)
    @rule(which=WHICH, fate=FATES)
    def go_on_to_the_end(self, which: int, fate: Fate) -> None:
        self._go_on(which, fate, None)

    @precondition(lambda self: self.stage.late)
    @rule()
    def land_a_late_write(self) -> None:
        self.stage.land()

    # Drivers

    @precondition(lambda self: self.world.alive)
    @rule(which=WHICH, step=st.sampled_from(["beat", "work"]), calls=st.integers(0, 10))
    def drive(self, which: int, step: str, calls: int) -> None:
        for driver in self._drivers(which):
            self.stage.drive(driver, step, after_calls(calls) if calls else None)

    @precondition(lambda self: self.world.alive)
    @rule(which=WHICH, what=st.sampled_from(["kill", "hang", "pause", "resume"]))
    def strike(self, which: int, what: str) -> None:
        self.stage.excuses.add("failure")
        for driver in self._drivers(which):
            match what:
                case "kill":
                    self.world.kill(driver)
                case "hang":
                    driver.hangs = True
                case "pause":
                    driver.is_paused = True
                case _:
                    driver.resume()

    @precondition(lambda self: self.world.alive)
    @rule(which=WHICH, text=TEXTS)
    def fail(self, which: int, text: str) -> None:
        self._leave(which, Outcome.FAILED, text)

    @precondition(lambda self: self.world.alive)
    @rule(which=WHICH)
    def finish(self, which: int) -> None:
        self._leave(which, Outcome.FINISHED, "")

    @precondition(lambda self: self.fleet.is_managed and self.world.alive)
    @rule(which=WHICH, state=st.sampled_from([DriverState.GONE, DriverState.UNKNOWN]))
    def misreport(self, which: int, state: DriverState) -> None:
        for driver in self._drivers(which):
            self.world.misreport(driver, state)

    # Time

    @rule(span=SPANS, supervised=st.booleans(), only=st.none() | WHO)
    def pass_time(self, span: int, supervised: bool, only: int | None) -> None:
        who = None if only is None else self._supervisor(only)
        self.stage.pass_time(seconds(span), supervised=supervised, only=who)

    @rule(span=FROZEN)
    def freeze(self, span: int) -> None:
        self.stage.excuses.add("failure")
        self.world.freeze(seconds(span))

    @rule(host=HOSTS, hours=st.sampled_from([-3, -0.1, 0.1, 3]))
    def set_the_wall_clock(self, host: str, hours: float) -> None:
        self.stage.excuses.add("clock")
        self.world.hosts[host].clock.error += seconds(3600 * hours)

    # Outages

    @rule(what=st.sampled_from(["storage", "launcher"]), host=HOSTS, is_down=st.booleans())
    def cut_off(self, what: str, host: str, is_down: bool) -> None:
        self.stage.excuses.add("failure")
        if what == "storage":
            self.stage.storage_on(host)
            self.stage.switches[host].unreachable = "/" if is_down else ""
        else:
            self.world.hosts[host].is_cut_off = is_down

    @rule(what=st.sampled_from(["submit", "kill", "source"]), is_broken=st.booleans())
    def break_something(self, what: str, is_broken: bool) -> None:
        self.stage.excuses.add("failure")
        processes = self.world.processes
        if what == "submit":
            processes.submit_error = LaunchError("spark-submit is not there") if is_broken else None
        elif what == "kill":
            processes.kill_works = not is_broken
        else:
            self.world.are_source_and_sink_down = is_broken

    # People

    @rule(request=REQUESTS, calls=st.integers(0, 8))
    def ask(self, request: str, calls: int) -> None:
        person = self.world.person(storage=self.stage.storage_on(PERSON.host))
        option = {"release!": {"accepts_unsafe": True}, "stop!": {"force": True}, "restart!": {"force": True}}
        name = request.rstrip("!")
        self.stage.person(
            lambda: getattr(person, name)("because", **option.get(request, {})), after_calls(calls) if calls else None
        )

    @rule(act=st.sampled_from(["end maintenance", "confirm dead", "begin maintenance", "write", "put back"]))
    def act(self, act: str) -> None:
        """What people do to the host, the checkpoint and the log beside it."""
        match act:
            case "confirm dead":
                self._confirm_dead()
            case "begin maintenance":
                self.stage.begin_maintenance(seconds(120))
            case "end maintenance":
                self.stage.end_maintenance()
            case "write":
                self.stage.write_as_a_stranger()
            case _:
                self.stage.put_checkpoint_back()

    # What holds after every step; the world itself watches submits and batches.

    @invariant()
    def the_log_is_sound(self) -> None:
        TALLY[f"{self.title or self.fleet.name} steps"] += 1
        assert_log_is_sound(self.world.records)

    @invariant()
    def an_end_on_record_is_one(self) -> None:
        assert_ends_are_proven(self.world.state, self.world.drivers, misreported=self.world.misreported)

    def teardown(self) -> None:
        if not hasattr(self, "stage"):
            return
        try:
            self.come_to_rest()
        finally:
            self.stage.end()

    def come_to_rest(self) -> None:
        """The trouble is over."""
        calm_down(self.stage)
        assert_it_comes_to_what_is_declared(self.stage)

    def _confirm_dead(self) -> None:
        """A person who has made sure: no driver of the epoch lives, and one that is submitted yet sees a newer claim."""
        state, living = self.world.state, {driver.epoch for driver in self.world.alive}
        settled = [epoch for epoch in state.open_epochs if epoch.submission or epoch in state.older_open]
        for epoch in [epoch for epoch in settled if epoch.number not in living][:1]:
            self.world.person().confirm_dead(epoch.number, "the host is switched off")

    def _supervisor(self, who: int) -> int:
        return who % len(self.stage.supervisors)

    def _drivers(self, which: int) -> list[SimulatedDriver]:
        """The driver that is meant, unless it is in the middle of something."""
        return [driver for driver in self.world.alive[which : which + 1] if not self.stage.is_held(driver)]

    def _leave(self, which: int, outcome: Outcome, text: str) -> None:
        self.stage.excuses.add("failure")
        for driver in self._drivers(which):
            if driver.is_moving:
                driver.leave(outcome, text)

    def _go_on(self, which: int, fate: Fate, calls: int | None) -> None:
        names = sorted(self.stage.held)
        # A batch that its driver planned, and that shows only when its end is on record, passes for a stranger's: a person looks.
        self.stage.excuses |= {Fate.DONE: set(), Fate.FAILS: {"failure"}, Fate.LATE: {"failure", "foreign"}}[fate]
        with suppress(ControlLogError):
            self.stage.go_on(names[which % len(names)], after_calls(calls) if calls else None, fate)


class DamagedLogModel(StreamModel):
    """The same, and in the end the log is deleted, or put back from a backup that knows nothing of the newest driver."""

    title = "damaged log"

    def teardown(self) -> None:
        if not hasattr(self, "stage"):
            return
        try:
            self._damage()
        finally:
            self.stage.end()

    def _damage(self) -> None:
        """With people and supervisors in the middle of what they do."""
        records, storage, control = self.world.records, self.world.storage, self.world.control
        traces = driver_instances(storage, control)
        if not traces:
            return
        newest = traces[-1][0]
        claim = next(one for one in records if isinstance(one.body, Claimed) and one.body.epoch == newest)
        self.stage.cut_log(self._length % (claim.number + 1))
        calm_down(self.stage)
        if self._is_behind(newest):
            assert_a_damaged_log_is_left_alone(self.stage)

    def _is_behind(self, epoch: int) -> bool:
        """Unless the very claim that was under way has taken the place of one that is gone: then both drivers halt."""
        try:
            return epoch >= self.world.state.next_epoch
        except ControlLogError:
            return True


STATE_ROOT = Path(tempfile.mkdtemp(prefix="streamops-model-"))
"""Takes the drivers' bundle only, which is the same for all."""
atexit.register(shutil.rmtree, STATE_ROOT, ignore_errors=True)
