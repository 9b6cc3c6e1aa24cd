"""A log is read whole or not at all: a state that rests on half of the records is no state."""

import pytest

from streamops.control.codec import encode_record
from streamops.control.layout import record_address
from streamops.control.log import LOOKED_PAST, LogReader
from streamops.control.records import Parked, Released
from streamops.errors import CorruptRecordError, NewerRecordError, StorageError
from streamops.storage.memory import MemoryStorage
from support.counting_storage import CountingStorage
from support.records import a_log, a_record, write_log
from support.storage import InterruptibleStorage, SwitchableStorage

CONTROL = "memory://orders.streamops"
RECORDS = a_log(Parked(), Released(), Parked(), Released(), Parked())


@pytest.fixture
def storage():
    return MemoryStorage()


@pytest.fixture
def reader(storage):
    return LogReader(storage, CONTROL)


def test_there_is_no_log_yet(reader):
    assert reader.read() == ()


def test_the_control_folder_lies_beside_the_checkpoint(storage):
    reader = LogReader.of_checkpoint(storage, "file:///data/orders")

    assert reader.control == "file:///data/orders.streamops"


def test_records_come_in_order(storage, reader):
    write_log(storage, CONTROL, tuple(reversed(RECORDS)))

    assert reader.read() == RECORDS


@pytest.mark.parametrize("after", range(-1, 5))
def test_reading_goes_on_behind_a_number(storage, reader, after):
    write_log(storage, CONTROL, RECORDS)

    assert reader.read_behind(after) == RECORDS[after + 1 :]


def test_order_holds_beyond_the_digits_of_a_small_number(storage, reader):
    records = tuple(a_record(Parked(), number) for number in range(120))
    write_log(storage, CONTROL, records)

    assert reader.read() == records
    assert reader.read_behind(98) == records[99:]


@pytest.mark.parametrize("name", [".00000000000000000000.json.ab.tmp", "00000000000000000000.json.bak", "5.json", "_x"])
def test_other_files_in_the_folder_are_skipped(storage, reader, name):
    write_log(storage, CONTROL, RECORDS)
    storage.write(f"{CONTROL}/log/{name}", b"?")

    assert reader.read() == RECORDS


@pytest.mark.parametrize(
    ("missing", "after"),
    [
        pytest.param(0, -1, id="the first"),
        pytest.param(2, -1, id="one in the middle"),
        pytest.param(3, 2, id="the first behind what is known"),
    ],
)
def test_a_hole_is_an_error_that_names_the_missing_file(storage, reader, missing, after):
    write_log(storage, CONTROL, RECORDS)
    storage.delete(record_address(CONTROL, missing))

    with pytest.raises(CorruptRecordError, match=f"{missing:020d}.json is missing"):
        reader.read()
    with pytest.raises(CorruptRecordError, match=f"{missing:020d}.json is missing"):
        reader.read_behind(after)


@pytest.mark.parametrize("width", range(1, 1 + LOOKED_PAST))
def test_a_hole_as_wide_as_is_looked_past_shows_without_a_listing(storage, reader, width):
    write_log(storage, CONTROL, RECORDS)
    for number in range(1, 1 + width):
        storage.delete(record_address(CONTROL, number))

    with pytest.raises(CorruptRecordError, match=r"1\.json is missing"):
        reader.read_behind(0)


def test_a_wider_hole_shows_when_the_log_is_read_whole(storage, reader):
    records = tuple(a_record(Parked(), number) for number in range(3 + LOOKED_PAST))
    write_log(storage, CONTROL, records)
    for number in range(1, 2 + LOOKED_PAST):
        storage.delete(record_address(CONTROL, number))

    assert reader.read_behind(0) == ()
    with pytest.raises(CorruptRecordError, match=r"1\.json is missing"):
        reader.read()


def test_records_that_come_while_the_end_is_looked_for_are_no_hole(storage):
    """Others append the missing number and the one behind it between two of the reader's questions."""
    write_log(storage, CONTROL, RECORDS[:2])
    asked = []

    def tick(moment):
        asked.append(moment)
        if moment == f"before read {record_address(CONTROL, 3)}":
            write_log(storage, CONTROL, RECORDS[2:])

    assert LogReader(InterruptibleStorage(storage, tick), CONTROL).read_behind(0) == RECORDS[1:]


def test_what_is_new_is_read_without_a_listing_however_long_the_log_is(storage):
    write_log(storage, CONTROL, tuple(a_record(Parked(), number) for number in range(500)))
    counting = CountingStorage(storage)

    LogReader(counting, CONTROL).read_behind(498)

    assert counting.calls == {"read": 2 + LOOKED_PAST}


def test_a_record_that_was_copied_to_another_number_is_an_error(storage, reader):
    write_log(storage, CONTROL, RECORDS)
    storage.write(record_address(CONTROL, 5), encode_record(RECORDS[2]))

    with pytest.raises(CorruptRecordError, match=r"5\.json holds record 2"):
        reader.read()


def test_a_broken_record_is_an_error_that_names_its_file(storage, reader):
    write_log(storage, CONTROL, RECORDS)
    storage.write(record_address(CONTROL, 3), b"")

    with pytest.raises(CorruptRecordError, match=r"3\.json"):
        reader.read()


def test_a_record_of_a_newer_version_stops_the_reader(storage, reader):
    write_log(storage, CONTROL, (*RECORDS, a_record(Parked(), 5, min_reader=99)))

    with pytest.raises(NewerRecordError, match=r"5\.json"):
        reader.read()


def test_a_log_that_cannot_be_asked_is_not_an_empty_one(storage):
    switchable = SwitchableStorage(storage)
    switchable.unreachable = "/log"

    with pytest.raises(StorageError):
        LogReader(switchable, CONTROL).read()
