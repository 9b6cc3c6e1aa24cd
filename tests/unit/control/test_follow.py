"""The driver's rule at every beat: go on only while the newest claim is one's own, and stop when asked."""

from datetime import UTC, datetime

import pytest

from streamops.control.codec import encode_record
from streamops.control.follow import ClaimWatch
from streamops.control.layout import record_address
from streamops.control.records import (
    KillBegun,
    MaintenanceBegun,
    MaintenanceEnded,
    Parked,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
    UnknownBody,
    VerdictChanged,
)
from streamops.errors import ControlLogError, ObjectNotFoundError, StorageError
from streamops.storage.memory import MemoryStorage
from support.records import a_claim, a_record, a_submit, an_end
from support.storage import SwitchableStorage

CONTROL = "memory://orders.streamops"
CLAIM_AT = 2
UNTIL = datetime(2026, 3, 2, tzinfo=UTC)
MAINTENANCE = MaintenanceBegun(until=UNTIL)
STOP, START = StopRequested(epoch=1), StartRequested()


class Log:
    """A log in which the driver's claim is record 2, and what is written behind it."""

    def __init__(self):
        self.storage = SwitchableStorage(MemoryStorage())
        self._next = 0
        for body in (StopRequested(epoch=0), StartRequested(), a_claim(1)):
            self.append(body)

    def append(self, body, **changes):
        self.put(self._next, a_record(body, self._next, **changes))
        self._next += 1

    def put(self, number, record):
        self.storage.write(record_address(CONTROL, number), encode_record(record))

    def watch(self, token="token-1"):
        return ClaimWatch(self.storage, CONTROL, number=CLAIM_AT, token=token)


@pytest.fixture
def log():
    return Log()


@pytest.mark.parametrize(
    ("behind", "holds", "stops"),
    [
        pytest.param([], True, False, id="nothing behind the claim: go on"),
        pytest.param([a_submit(1)], True, False, id="the own submit"),
        pytest.param([KillBegun(epoch=1)], True, False, id="a kill needs no consent: the signal follows"),
        pytest.param([Parked(), Released()], True, False, id="parking concerns restarts, not the one that runs"),
        pytest.param([UnknownBody(kind="annotated")], True, False, id="a kind that may be skipped"),
        pytest.param([VerdictChanged(after="critical")], True, False, id="a verdict decides nothing"),
        pytest.param([a_claim(2)], False, False, id="a newer claim"),
        pytest.param([a_claim(1, token="another")], False, False, id="the same epoch, another token"),
        pytest.param([a_submit(1), a_claim(2), an_end(2)], False, False, id="a newer claim that has ended already"),
        pytest.param([STOP], True, True, id="a stop"),
        pytest.param([STOP, START], True, False, id="a stop that was taken back"),
        pytest.param([START, STOP], True, True, id="the last word counts"),
        pytest.param([MAINTENANCE], True, True, id="maintenance"),
        pytest.param([MAINTENANCE, MaintenanceEnded()], True, False, id="maintenance that is over"),
        pytest.param([STOP, MAINTENANCE, MaintenanceEnded()], True, True, id="its end does not take back a stop"),
        pytest.param([MAINTENANCE, STOP, START], True, True, id="a start does not end a maintenance"),
        pytest.param([RestartRequested(epoch=1)], True, True, id="a restart of this driver"),
        pytest.param([RestartRequested(epoch=0)], True, False, id="a restart of one before it has been done"),
        pytest.param([RestartRequested(epoch=1), START], True, True, id="a start does not take a restart back"),
        pytest.param([STOP, a_claim(2)], False, True, id="a stop and then a newer claim: halt"),
    ],
)
@pytest.mark.parametrize("looks", ["all-at-once", "one-by-one"])
def test_where_a_driver_stands(log, behind, holds, stops, looks):
    watch = log.watch()
    watch.look()
    for body in behind:
        log.append(body)
        if looks == "one-by-one":
            watch.look()

    standing = watch.look()

    assert standing.holds_claim is holds
    assert bool(standing.stop) is stops


def test_what_came_before_the_claim_is_not_asked(log):
    """Records 0 and 1 are a stop and a start; a reader of the whole log is the supervisor, not the driver."""
    log.storage.delete(record_address(CONTROL, 0))

    assert log.watch().look().holds_claim


def test_a_lost_claim_names_who_took_it_and_why(log):
    log.append(a_claim(2), reason="it hangs")

    assert log.watch().look().lost == "epoch 2 was claimed by supervise: it hangs"


def test_a_stop_names_who_asks_and_why(log):
    log.append(STOP, reason="upgrade")

    assert log.watch().look().stop == "supervise: upgrade"


def test_a_claim_once_lost_stays_lost(log):
    watch = log.watch()
    log.append(a_claim(2))
    watch.look()
    log.storage.delete(record_address(CONTROL, CLAIM_AT + 1))

    assert not watch.look().holds_claim


def test_a_log_that_is_gone_means_halt(log):
    watch = log.watch()
    watch.look()
    for number in range(CLAIM_AT + 1):
        log.storage.delete(record_address(CONTROL, number))

    assert "gone" in watch.look().lost


def test_a_log_that_was_never_there_means_halt():
    watch = ClaimWatch(MemoryStorage(), CONTROL, number=0, token="t")

    assert not watch.look().holds_claim


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(a_record(a_claim(1, token="another"), CLAIM_AT), id="another claim stands there"),
        pytest.param(a_record(Parked(), CLAIM_AT), id="another record stands there: the log was begun anew"),
    ],
)
def test_a_changed_claim_means_halt(log, record):
    watch = log.watch()
    watch.look()
    log.put(CLAIM_AT, record)

    assert not watch.look().holds_claim


def test_a_driver_with_the_wrong_token_never_holds_the_claim(log):
    watch = log.watch(token="stolen")

    assert not watch.look().holds_claim
    with pytest.raises(ControlLogError, match="not the claim of this driver"):
        watch.claim()


def test_a_record_of_a_newer_version_may_be_a_claim_and_means_halt(log):
    log.append(Parked(), min_reader=99)

    assert "upgrade" in log.watch().look().lost


def test_a_broken_record_may_be_a_claim_and_means_halt(log):
    log.storage.write(record_address(CONTROL, CLAIM_AT + 1), b"")

    assert not log.watch().look().holds_claim


def test_a_record_that_was_copied_to_another_number_may_stand_for_a_claim_and_means_halt(log):
    log.put(CLAIM_AT + 1, a_record(a_submit(1), CLAIM_AT + 5))

    assert "copied or renamed" in log.watch().look().lost


def test_a_log_that_cannot_be_asked_is_no_answer(log):
    """Whether it halts is the watchdog's business then."""
    watch = log.watch()
    log.storage.unreachable = "/log"

    with pytest.raises(StorageError) as caught:
        watch.look()
    assert not isinstance(caught.value, ObjectNotFoundError)


@pytest.mark.parametrize("last_word", [START, MaintenanceEnded()], ids=["start", "maintenance-ended"])
def test_a_look_that_failed_half_way_forgets_nothing(log, last_word):
    watch = log.watch()
    log.append(STOP if last_word is START else MAINTENANCE)
    log.append(last_word)
    log.storage.unreachable = record_address(CONTROL, CLAIM_AT + 2)
    with pytest.raises(StorageError):
        watch.look()
    log.storage.unreachable = ""

    standing = watch.look()

    assert standing.holds_claim
    assert not standing.stop


def test_the_claim_is_handed_out(log):
    assert log.watch().claim() == a_claim(1)
