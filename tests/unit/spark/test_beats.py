"""The thread that beats: a real thread at a fast pace, over files in memory."""

import threading
from datetime import timedelta

import pytest

from streamops.clock import SystemClock
from streamops.control.drivers import read_traces
from streamops.control.layout import HEARTBEAT, control_folder
from streamops.control.records import StopRequested
from streamops.spark.driver_process import CappedLog
from streamops.spark.lease import BeatThread, DriverIdentity, Lease
from streamops.spark.report import DriverReport
from streamops.storage.memory import MemoryStorage
from support.records import a_claim, a_record, token_of, write_log
from support.specs import CHECKPOINT
from support.storage import SwitchableStorage
from support.waiting import eventually

CONTROL = control_folder(CHECKPOINT)
PACE = timedelta(milliseconds=5)


class RecordingWatchdog:
    """Notes what it is fed, and kills nobody."""

    def __init__(self) -> None:
        self.acknowledged: list[timedelta] = []

    def acknowledge(self, beat_started: timedelta) -> None:
        self.acknowledged.append(beat_started)


class Bench:
    """A beat thread under the claim of epoch 1."""

    def __init__(self, log: str) -> None:
        self.storage = SwitchableStorage(MemoryStorage())
        self.append(a_claim(1), number=0)
        self.clock = SystemClock()
        self.watchdog = RecordingWatchdog()
        self.lost: list[str] = []
        identity = DriverIdentity(
            control=CONTROL, record=0, epoch=1, token=token_of(1), instance="0a0a0a0a", application_id="local-1"
        )
        self.beats = BeatThread(
            Lease(self.storage, identity, DriverReport(), clock=self.clock),
            self.watchdog,
            CappedLog(log, cap=10),
            clock=self.clock,
            interval=PACE,
            on_lost=lambda standing: self.lost.append(standing.lost),
        )

    def append(self, body, *, number: int) -> None:
        write_log(self.storage, CONTROL, (a_record(body, number),))

    @property
    def sequence(self) -> int:
        traces = read_traces(self.storage, CONTROL, 1)
        return traces[0].heartbeat.sequence if traces else 0

    def has_beaten(self, times: int) -> bool:
        wanted = self.sequence + times
        return eventually(lambda: self.sequence >= wanted, within=30)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "1.log"


@pytest.fixture
def bench(log):
    bench = Bench(str(log))
    yield bench
    bench.storage.unreachable = ""
    bench.beats.end()


def test_it_beats_again_and_again(bench):
    bench.beats.start()

    assert bench.has_beaten(3)


def test_an_acknowledged_beat_feeds_the_watchdog_with_its_start(bench):
    before = bench.clock.monotonic()
    bench.beats.start()
    assert eventually(lambda: len(bench.watchdog.acknowledged) >= 3, within=30)

    starts = bench.watchdog.acknowledged
    assert before < starts[0] < starts[1] < starts[2] <= bench.clock.monotonic()


def test_a_beat_that_fails_feeds_nobody_and_the_next_one_does(bench):
    bench.storage.unreachable = HEARTBEAT
    bench.beats.start()
    threading.Event().wait(0.1)
    assert bench.watchdog.acknowledged == []

    bench.storage.unreachable = ""

    assert eventually(lambda: bench.watchdog.acknowledged != [], within=30)


def test_a_log_that_cannot_be_read_feeds_nobody_but_is_no_lost_claim(bench):
    bench.storage.unreachable = "/log/"
    bench.beats.start()

    assert bench.has_beaten(3)
    assert bench.watchdog.acknowledged == []
    assert bench.lost == []
    assert bench.beats.standing.holds_claim


def test_a_lost_claim_is_told_once_and_ends_the_beating(bench):
    bench.beats.start()
    assert bench.has_beaten(2)

    bench.append(a_claim(2), number=1)

    assert eventually(lambda: bench.lost != [], within=30)
    last = bench.sequence
    threading.Event().wait(0.1)
    assert bench.sequence == last
    assert len(bench.lost) == 1
    assert "epoch 2" in bench.lost[0]


def test_the_beat_that_finds_the_claim_lost_does_not_feed_the_watchdog(bench):
    bench.append(a_claim(2), number=1)
    bench.beats.start()

    assert eventually(lambda: bench.lost != [], within=30)
    assert bench.watchdog.acknowledged == []


def test_a_stop_request_is_what_the_standing_says_and_the_beating_goes_on(bench):
    bench.beats.start()
    bench.append(StopRequested(epoch=1), number=1)

    assert eventually(lambda: bench.beats.standing.stop == "supervise: reason 1", within=30)
    assert bench.has_beaten(2)
    assert bench.lost == []


def test_before_the_first_beat_nothing_is_asked_of_the_driver(bench):
    assert bench.beats.standing.holds_claim
    assert bench.beats.standing.stop == ""


def test_it_ends_when_it_is_told_to(bench):
    bench.beats.start()
    assert bench.has_beaten(1)

    bench.beats.end()

    assert eventually(lambda: not any(thread.name == "streamops-beat" for thread in threading.enumerate()), within=30)


def test_it_keeps_the_log_below_its_cap(bench, log):
    log.write_text("x" * 11)
    bench.beats.start()

    assert eventually(lambda: log.read_text() == "", within=30)
