"""The log beside a file sink's output."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.errors import ObjectNotFoundError, StorageError
from streamops.places.sink_log import read_sink_log
from streamops.storage import join
from streamops.storage.memory import MemoryStorage

OUTPUT = "file:///out/orders"


def sink_log(*names):
    storage = MemoryStorage()
    for name in names:
        storage.write(f"{OUTPUT}/_spark_metadata/{name}", b"v1")
    return read_sink_log(storage, OUTPUT)


def status(**changed):
    """An entry as Spark 4.2 writes it; None takes a field away."""
    fields = {
        "path": "file:///out/orders/part-0.parquet",
        "size": 731,
        "isDir": False,
        "modificationTime": 1772366400000,
        "blockReplication": 1,
        "blockSize": 33554432,
        "action": "add",
    }
    kept = {name: value for name, value in {**fields, **changed}.items() if value is not None}
    return f"v1\n{json.dumps(kept)}".encode()


def test_a_directory_without_a_log():
    facts = sink_log()

    assert facts.is_empty
    assert (facts.lowest, facts.highest, facts.missing) == (-1, -1, ())


def test_a_log_after_a_compaction():
    facts = sink_log(*range(9), "9.compact", 10, 11, ".11.crc", ".12.1-2-3.tmp", "junk")

    assert (facts.lowest, facts.highest, facts.compact_ids, facts.missing) == (0, 11, (9,), ())
    assert (facts.temporaries, facts.foreign) == (1, 1)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param([1], (1, 1, [(0, 0)]), id="an old checkpoint and a new directory"),
        pytest.param([*range(9), 10], (0, 10, [(9, 9)]), id="the compact file is gone"),
        pytest.param(["9.compact", 10, 12], (9, 12, [(11, 11)]), id="a hole"),
    ],
)
def test_what_a_reader_of_the_directory_misses(names, expected):
    facts = sink_log(*names)

    assert (facts.lowest, facts.highest, [(gap.first, gap.last) for gap in facts.missing]) == expected


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "_spark_metadata/12 is empty"),
        (b"v2", "_spark_metadata/12 line 1: 'v2' needs a newer"),
        (b"v1\n{", "_spark_metadata/12 line 2: cut or not JSON"),
        (status(blockReplication=None), "_spark_metadata/12 line 2 has no usable value for blockReplication"),
        (status(isDir=0), "_spark_metadata/12 line 2 has no usable value for isDir"),
        (status(size=True), "_spark_metadata/12 line 2 has no usable value for size"),
        (status(path=None), "_spark_metadata/12 line 2 has no usable value for path"),
        (bytes(50), "_spark_metadata/12 line 1"),
    ],
)
def test_an_entry_that_the_next_compaction_can_not_read(content, reason):
    """What lies below the newest compact file is read no more."""
    storage = MemoryStorage()
    for name, written in {"8": b"", "9.compact": b"v1", "10": b"v1", "11": b"v1", "12": content}.items():
        storage.write(f"{OUTPUT}/_spark_metadata/{name}", written)

    facts = read_sink_log(storage, OUTPUT)

    assert len(facts.broken) == 1
    assert facts.broken[0].startswith(reason)
    assert facts.next_compaction == 19


def test_an_entry_of_spark_s_own_is_whole():
    storage = MemoryStorage()
    storage.write(f"{OUTPUT}/_spark_metadata/0", status())

    assert read_sink_log(storage, OUTPUT).broken == ()


def test_a_place_that_cannot_be_asked_is_not_an_empty_one():
    storage = MemoryStorage()
    storage.write(f"{OUTPUT}/_spark_metadata", b"")

    with pytest.raises(StorageError):
        read_sink_log(storage, OUTPUT)


def test_the_size_of_the_newest_compact_file_is_told():
    assert sink_log(*range(9), "9.compact").compact_bytes == 2
    assert sink_log(*range(9)).compact_bytes is None


def test_an_entry_that_a_listing_did_not_show_yet_is_looked_for_once_more():
    class Late(MemoryStorage):
        def list(self, directory, *, after=""):
            names = super().list(directory, after=after)
            self.write(f"{OUTPUT}/_spark_metadata/1", b"v1")
            return names

    storage = Late()
    for entry in (0, 2):
        storage.write(f"{OUTPUT}/_spark_metadata/{entry}", b"v1")

    assert read_sink_log(storage, OUTPUT).missing == ()


class Listed:
    """A storage that gives any names."""

    def __init__(self, names):
        self._names = tuple(names)

    def list(self, directory, *, after=""):
        return self._names

    def details(self, directory, *, only=None):
        return ()

    def read(self, address, *, limit=0):
        raise ObjectNotFoundError(address)


@given(st.lists(st.text() | st.integers().map(str)))
def test_any_names_give_facts(names):
    facts = read_sink_log(Listed(names), OUTPUT)

    assert facts.lowest >= -1
    assert facts.highest <= max([facts.lowest, *(int(n) for n in names if n.lstrip("+-").isdecimal()), -1])


def test_a_file_that_two_entries_name_is_told():
    """As after an entry of the compact file has come back under a later batch."""
    storage = MemoryStorage()
    first, other = status(), status(path="file:///out/orders/part-1.parquet")
    for name, content in (("9.compact", first), ("10", other), ("11", first)):
        storage.write(join(OUTPUT, "_spark_metadata", name), content)

    facts = read_sink_log(storage, OUTPUT)

    assert facts.repeated == ("file:///out/orders/part-0.parquet",)
    assert not facts.broken
