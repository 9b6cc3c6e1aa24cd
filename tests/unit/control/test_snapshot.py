"""A snapshot is a cache: with it, without it, or with a broken one the state is the same."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamops.control.codec import decode, encode
from streamops.control.fold import fold
from streamops.control.layout import record_address
from streamops.control.log import LOOKED_PAST_FIRST, ControlLog
from streamops.control.records import Outcome, Parked, StartRequested, StopRequested
from streamops.control.snapshot import (
    FOLD_VERSION,
    SNAPSHOT_INTERVAL,
    Snapshot,
    load_and_keep,
    load_state,
    refresh_state,
    save_snapshot_if_due,
)
from streamops.control.state import MAX_FAILURES_KEPT, LogState
from streamops.errors import StorageError
from streamops.storage import FileKind
from streamops.storage.bounds import BOUNDS
from streamops.storage.memory import MemoryStorage
from support.counting_storage import CountingStorage
from support.records import a_claim, a_log, a_record, an_end, lawful_logs, logs, write_log
from support.storage import InterruptibleStorage, SwitchableStorage

CONTROL = "memory://orders.streamops"
SNAPSHOT = f"{CONTROL}/snapshot.json"
LONG = a_log(*[Parked(), StartRequested()] * 60)


def append_all(storage, records):
    """As a supervisor does it: append, then snapshot when due."""
    log, state = ControlLog(storage, CONTROL), LogState()
    for record in records:
        log.append(record)
        save_snapshot_if_due(storage, CONTROL, state, record)
        state = fold((record,), state)
    return state


@given(logs)
def test_a_snapshot_gives_back_the_very_state(records):
    snapshot = Snapshot(fold_version=FOLD_VERSION, state=fold(records))

    assert decode(Snapshot, encode(snapshot), address=SNAPSHOT) == snapshot


@settings(max_examples=15)
@given(lawful_logs(max_size=130))
def test_the_state_is_the_same_with_and_without_a_snapshot(records):
    storage = MemoryStorage()
    expected = append_all(storage, records)

    with_snapshot = load_state(storage, CONTROL)
    storage.delete(SNAPSHOT)
    without = load_state(storage, CONTROL)

    assert with_snapshot == without == expected


@settings(max_examples=25)
@given(lawful_logs(), st.integers(0, 40))
def test_a_state_brought_up_to_date_is_the_state_read_anew(records, known):
    storage = MemoryStorage()
    write_log(storage, CONTROL, records)
    old = fold(records[:known])

    if not old.is_empty:
        assert refresh_state(storage, CONTROL, old) == load_state(storage, CONTROL)


def test_a_snapshot_is_written_every_fifty_records():
    storage = MemoryStorage()
    log, state, written_at = ControlLog(storage, CONTROL), LogState(), []
    for record in LONG:
        before = storage.list(CONTROL)
        storage.delete(SNAPSHOT)
        log.append(record)
        save_snapshot_if_due(storage, CONTROL, state, record)
        state = fold((record,), state)
        if "snapshot.json" in storage.list(CONTROL):
            written_at.append(state.next_number)
        assert before is not None

    assert written_at == [SNAPSHOT_INTERVAL, 2 * SNAPSHOT_INTERVAL]


def test_a_first_look_at_a_long_log_reads_only_what_lies_behind_the_snapshot():
    storage = MemoryStorage()
    expected = append_all(storage, LONG)
    for number in range(90):  # Never done for real; here it shows that nobody asks for them.
        storage.delete(record_address(CONTROL, number))

    assert load_state(storage, CONTROL) == expected


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"fold_version":1,"sta', id="cut"),
        pytest.param(b"[]", id="another shape"),
        pytest.param(encode(Snapshot(fold_version=FOLD_VERSION + 1, state=fold(LONG[:50]))), id="of another fold"),
        pytest.param(encode(Snapshot(fold_version=6, state=fold(LONG[:50]))), id="of the fold that knew no verdicts"),
        pytest.param(encode(Snapshot(fold_version=7, state=fold(LONG[:50]))), id="of the fold that knew no topics"),
        pytest.param(encode(Snapshot(fold_version=FOLD_VERSION, state=LogState())), id="of an empty log"),
    ],
)
def test_a_snapshot_that_cannot_be_used_is_passed_over(content):
    storage = MemoryStorage()
    expected = append_all(storage, LONG)
    storage.write(SNAPSHOT, content)

    assert load_state(storage, CONTROL) == expected


def test_a_snapshot_that_cannot_be_had_for_whatever_cause_is_no_snapshot():
    storage = SwitchableStorage(MemoryStorage())
    expected = append_all(storage, LONG)
    storage.unreachable = "snapshot"

    assert load_state(storage, CONTROL) == expected
    assert load_and_keep(storage, CONTROL) == expected


def test_a_log_that_cannot_be_asked_is_an_error_whatever_the_snapshot_says():
    storage = SwitchableStorage(MemoryStorage())
    append_all(storage, LONG)
    storage.unreachable = "/log"

    with pytest.raises(StorageError):
        load_state(storage, CONTROL)


# Kept after a long fold


def an_upgraded_log(storage):
    """A log whose snapshot is of an older fold."""
    expected = append_all(storage, LONG)
    storage.write(SNAPSHOT, encode(Snapshot(fold_version=FOLD_VERSION - 1, state=fold(LONG[:100]))))
    return expected


def test_after_an_upgrade_a_log_is_folded_from_its_start_once_and_not_by_every_process():
    storage = CountingStorage(MemoryStorage())
    expected = an_upgraded_log(storage)

    first = load_and_keep(storage, CONTROL)
    storage.calls.clear()
    second = load_and_keep(storage, CONTROL)

    assert first == second == expected
    assert storage.calls == {"read": 2 + LOOKED_PAST_FIRST + 1}


def test_a_short_fold_leaves_no_snapshot():
    storage = MemoryStorage()
    write_log(storage, CONTROL, LONG[:SNAPSHOT_INTERVAL])

    load_and_keep(storage, CONTROL)

    assert "snapshot.json" not in storage.list(CONTROL)


def test_whoever_only_reads_leaves_no_snapshot():
    storage = MemoryStorage()
    write_log(storage, CONTROL, LONG)

    load_state(storage, CONTROL)

    assert "snapshot.json" not in storage.list(CONTROL)


def test_whoever_may_not_write_goes_on_without_a_snapshot():
    class ReadOnly(SwitchableStorage):
        def write(self, address, content):
            raise StorageError(f"{address}: Permission denied")

    storage = MemoryStorage()
    write_log(storage, CONTROL, LONG)

    assert load_and_keep(ReadOnly(storage), CONTROL) == fold(LONG)


def test_a_slow_fold_does_not_replace_the_newer_snapshot_of_a_faster_process():
    """Both begin without one; the other one folds, appends and keeps its snapshot while this one reads on."""
    storage = MemoryStorage()
    write_log(storage, CONTROL, LONG)
    more = tuple(a_record(Parked(), number) for number in range(len(LONG), 150))
    reads = []

    def tick(now):
        reads.append(now)
        if reads.count(f"before read {SNAPSHOT}") == 2 and "snapshot.json" not in storage.list(CONTROL):
            write_log(storage, CONTROL, more)
            load_and_keep(storage, CONTROL)

    load_and_keep(InterruptibleStorage(storage, tick), CONTROL)

    assert decode(Snapshot, storage.read(SNAPSHOT), address=SNAPSHOT).state.next_number == 150
    assert load_state(storage, CONTROL) == fold((*LONG, *more))


def test_a_log_that_is_taken_away_during_a_long_fold_does_not_come_back_as_its_snapshot():
    storage = MemoryStorage()
    write_log(storage, CONTROL, LONG)
    reads = []

    def tick(now):
        reads.append(now)
        if reads.count(f"before read {SNAPSHOT}") == 2:
            for number in range(len(LONG)):
                storage.delete(record_address(CONTROL, number))

    load_and_keep(InterruptibleStorage(storage, tick), CONTROL)

    assert storage.list(CONTROL) == ()


# Of any size


def test_a_snapshot_above_its_bound_is_passed_over():
    storage = MemoryStorage()
    expected = append_all(storage, LONG)
    storage.write(SNAPSHOT, b"x" * (BOUNDS[FileKind.SNAPSHOT].read + 1))

    assert load_state(storage, CONTROL) == expected


def test_the_worst_that_older_versions_put_on_record_fits_into_a_snapshot():
    """As many failures as are kept, each with hundreds of words, and a stop whose reason is a book."""
    words = tuple(f"{number:05d}{'W' * 300}" for number in range(200))
    state = LogState()
    for epoch in range(1, 1 + MAX_FAILURES_KEPT):
        end = replace(an_end(epoch, Outcome.FAILED), error_classes=words, text="x" * 50_000)
        bodies = (a_claim(epoch), end)
        state = fold([a_record(body, state.next_number + step) for step, body in enumerate(bodies)], state)
    state = fold([a_record(StopRequested(epoch=1), state.next_number, reason="x" * 5_000_000)], state)

    worst = replace(state, unasked_ends=state.failures)

    assert len(worst.failures) == MAX_FAILURES_KEPT
    assert len(encode(Snapshot(fold_version=FOLD_VERSION, state=worst))) < BOUNDS[FileKind.SNAPSHOT].written
