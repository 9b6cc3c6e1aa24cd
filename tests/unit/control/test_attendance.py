"""The sign that somebody looks after a stream."""

from datetime import timedelta

import pytest

from streamops.control.attendance import (
    SIGN_INTERVAL,
    UNATTENDED_AFTER,
    Attendance,
    AttendanceStore,
    attendance_address,
    read_attendance,
)
from streamops.errors import StorageError
from streamops.storage.memory import MemoryStorage
from support.clock import START, FakeClock
from support.specs import SUPERVISOR, seconds
from support.storage import SwitchableStorage

ROOT = "memory://state"


@pytest.fixture
def storage():
    return SwitchableStorage(MemoryStorage())


@pytest.fixture
def clock():
    return FakeClock()


def a_book(storage, clock) -> AttendanceStore:
    return AttendanceStore(storage, ROOT, stream="orders", author=SUPERVISOR, clock=clock)


def test_a_sign_says_who_and_when(storage, clock):
    a_book(storage, clock).sign()

    assert read_attendance(storage, ROOT, "orders") == Attendance(stream="orders", at=START, by=SUPERVISOR)


def test_a_young_sign_is_not_written_again(storage, clock):
    book = a_book(storage, clock)
    book.sign()
    clock.advance(SIGN_INTERVAL - seconds(1))
    book.sign()
    young = read_attendance(storage, ROOT, "orders")

    clock.advance(seconds(1))
    book.sign()

    assert young.at == START
    assert read_attendance(storage, ROOT, "orders").at == START + SIGN_INTERVAL


def test_a_stream_that_nobody_ever_looked_after_has_no_sign(storage):
    assert read_attendance(storage, ROOT, "orders") is None


def test_a_sign_that_cannot_be_read_is_none(storage):
    storage.write(attendance_address(ROOT, "orders"), b"{")

    assert read_attendance(storage, ROOT, "orders") is None


def test_a_sign_that_cannot_be_left_does_not_end_the_supervision(storage, clock):
    storage.unreachable = "/"

    a_book(storage, clock).sign()

    storage.unreachable = ""
    assert read_attendance(storage, ROOT, "orders") is None


def test_a_place_that_cannot_be_asked_is_no_missing_sign(storage):
    storage.unreachable = "/"

    with pytest.raises(StorageError):
        read_attendance(storage, ROOT, "orders")


@pytest.mark.parametrize(
    ("age", "is_over"),
    [
        pytest.param(UNATTENDED_AFTER, False, id="as old as it may be"),
        pytest.param(UNATTENDED_AFTER + seconds(1), True, id="older"),
        pytest.param(timedelta(hours=-5), False, id="from a clock that is ahead: it counts as now"),
    ],
)
def test_a_stream_without_a_young_sign_is_attended_by_nobody(age, is_over):
    assert Attendance(stream="orders", at=START - age, by=SUPERVISOR).is_over(START) is is_over


def test_a_sign_above_all_bounds_is_no_sign(storage):
    storage.write(attendance_address(ROOT, "orders"), b"x" * 6_000_000)

    assert read_attendance(storage, ROOT, "orders") is None
