"""A snapshot is a cache: with it, without it, or with a broken one the state is the same."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamops.control.codec import decode, encode
from streamops.control.fold import fold
from streamops.control.layout import record_address
from streamops.control.log import ControlLog
from streamops.control.records import Parked, StartRequested
from streamops.control.snapshot import (
    FOLD_VERSION,
    SNAPSHOT_INTERVAL,
    Snapshot,
    load_state,
    refresh_state,
    save_snapshot_if_due,
)
from streamops.control.state import LogState
from streamops.errors import CorruptRecordError, NewerRecordError, StorageError
from streamops.storage.memory import MemoryStorage
from support.records import a_log, a_record, lawful_logs, logs, write_log
from support.storage import SwitchableStorage

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


def test_a_snapshot_that_cannot_be_asked_for_is_not_a_missing_one():
    storage = SwitchableStorage(MemoryStorage())
    storage.unreachable = "snapshot"

    with pytest.raises(StorageError):
        load_state(storage, CONTROL)


def test_an_older_snapshot_that_overtook_a_newer_one_does_no_harm():
    storage = MemoryStorage()
    expected = append_all(storage, LONG)
    storage.write(SNAPSHOT, encode(Snapshot(fold_version=FOLD_VERSION, state=fold(LONG[:50]))))

    assert load_state(storage, CONTROL) == expected


def test_keys_of_a_newer_version_in_a_snapshot_are_skipped():
    storage = MemoryStorage()
    expected = append_all(storage, LONG)
    content = json.loads(storage.read(SNAPSHOT))
    content["state"]["new_key"] = content["new_key"] = 1
    storage.write(SNAPSHOT, json.dumps(content).encode())

    assert load_state(storage, CONTROL) == expected


@pytest.mark.parametrize("left", [0, 40], ids=["log deleted", "older backup put back"])
def test_a_log_that_ends_before_what_has_been_seen_is_an_error(left):
    storage = MemoryStorage()
    state = append_all(storage, LONG)
    for number in range(left, len(LONG)):
        storage.delete(record_address(CONTROL, number))

    with pytest.raises(CorruptRecordError, match="records were removed"):
        load_state(storage, CONTROL)
    with pytest.raises(CorruptRecordError, match="records were removed"):
        refresh_state(storage, CONTROL, state)


def test_a_record_of_a_newer_version_is_refused_however_the_state_is_had():
    storage = MemoryStorage()
    state = append_all(storage, LONG)
    write_log(storage, CONTROL, (a_record(Parked(), len(LONG), min_reader=99),))

    with pytest.raises(NewerRecordError):
        load_state(storage, CONTROL)
    with pytest.raises(NewerRecordError):
        refresh_state(storage, CONTROL, state)
