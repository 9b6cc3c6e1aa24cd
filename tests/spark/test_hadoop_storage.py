"""The driver's files through the JVM: what the storage port promises of reading and replacing, on a real session."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from streamops.errors import ObjectNotFoundError, ObjectTooLargeError, StorageError
from streamops.spark.hadoop import HadoopStorage
from streamops.storage import join
from streamops.storage.local import LocalStorage

pytestmark = pytest.mark.spark

REWRITES = 300


@pytest.fixture
def storage(spark):
    return HadoopStorage(spark)


@pytest.fixture
def at(tmp_path):
    """Addresses below a folder of the test's own."""
    return lambda *parts: join(f"file://{tmp_path}", *parts)


# list


def test_names_come_in_order(storage, at):
    for name in ("10", "9", "b", "a", "B"):
        storage.write(at("log", name), b"x")

    assert storage.list(at("log")) == ("10", "9", "B", "a", "b")


def test_a_listing_names_only_what_lies_directly_below(storage, at):
    storage.write(at("log", "1"), b"x")
    storage.write(at("log", "2-driver", "heartbeat.json"), b"x")

    assert storage.list(at("log")) == ("1", "2-driver")
    assert storage.list(at("log") + "/") == ("1", "2-driver")


def test_a_listing_begins_behind_a_name(storage, at):
    for name in ("1", "2", "3"):
        storage.write(at("log", name), b"x")

    assert storage.list(at("log"), after="2") == ("3",)
    assert storage.list(at("log"), after="25") == ("3",)


def test_a_directory_that_is_not_there_is_empty(storage, at):
    assert storage.list(at("nowhere", "at", "all")) == ()


def test_a_file_where_a_directory_is_expected_is_not_a_directory(storage, at):
    storage.write(at("log"), b"x")

    with pytest.raises(StorageError):
        storage.list(at("log"))


# details


def test_details_are_those_of_the_local_disk(storage, at):
    for name, content in (("b", b"12345"), ("a", b"")):
        storage.write(at("log", name), content)
    storage.write(at("log", "folder", "f"), b"x")

    found, local = (place.details(at("log")) for place in (storage, LocalStorage()))
    assert [(detail.name, detail.size) for detail in found] == [("a", 0), ("b", 5)]
    assert all(
        abs(ours.modified_at - its.modified_at).total_seconds() < 1 for ours, its in zip(found, local, strict=True)
    )
    assert [detail.name for detail in storage.details(at("log"), only=["b", "folder"])] == ["b"]
    assert storage.details(at("nowhere")) == ()


# read


@pytest.mark.parametrize("size", [0, 1, 4096, 1_000_000], ids=str)
def test_what_was_written_is_read(storage, at, size):
    content = (bytes(range(256)) * (size // 256 + 1))[:size]
    storage.write(at("f"), content)

    assert storage.read(at("f")) == content


def test_a_missing_file_is_named(storage, at):
    with pytest.raises(ObjectNotFoundError, match="gone"):
        storage.read(at("gone"))


def test_a_read_is_bounded(storage, at):
    storage.write(at("f"), b"123456")

    assert storage.read(at("f"), limit=6) == b"123456"
    with pytest.raises(ObjectTooLargeError):
        storage.read(at("f"), limit=5)


def test_a_directory_is_not_read_as_a_file(storage, at):
    storage.write(at("folder", "f"), b"x")

    with pytest.raises(StorageError):
        storage.read(at("folder"))


# write


def test_a_write_replaces(storage, at):
    storage.write(at("f"), b"the longer old content")
    storage.write(at("f"), b"new")

    assert storage.read(at("f")) == b"new"


def test_nothing_but_the_file_is_left(storage, at, tmp_path):
    """Checksum side files would pass for drivers' files to whoever lists the folder."""
    storage.write(at("f"), b"old")
    storage.write(at("f"), b"new")

    assert os.listdir(tmp_path) == ["f"]


def test_a_write_over_a_folder_is_refused(storage, at):
    storage.write(at("folder", "f"), b"x")

    with pytest.raises(StorageError):
        storage.write(at("folder"), b"x")
    assert storage.read(at("folder", "f")) == b"x"


def test_a_reader_never_sees_the_file_missing_or_torn_while_it_is_rewritten(storage, at):
    """A supervisor that finds no beat, or half a one, would take a living driver for one that never started."""
    contents = [bytes([65 + number % 4]) * 20_000 for number in range(REWRITES)]
    storage.write(at("heartbeat.json"), contents[0])
    is_over = threading.Event()
    seen: set[bytes] = set()

    def keep_reading() -> int:
        reader, reads = LocalStorage(), 0
        while not is_over.is_set():
            seen.add(reader.read(at("heartbeat.json")))
            reads += 1
        return reads

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(keep_reading)
        try:
            for content in contents:
                storage.write(at("heartbeat.json"), content)
        finally:
            is_over.set()
        assert reading.result() >= 10

    assert seen <= set(contents)


# Both sides of the port see the same files


@pytest.mark.parametrize("name", ["plain", "with space", "100%25", "ä", "a+b", "a=b", "a#b"])
def test_a_supervisor_and_a_driver_mean_the_same_file(storage, at, name):
    LocalStorage().write(at(name, "from supervisor"), b"s")
    storage.write(at(name, "from driver"), b"d")

    assert storage.read(at(name, "from supervisor")) == b"s"
    assert LocalStorage().read(at(name, "from driver")) == b"d"
    assert storage.list(at(name)) == LocalStorage().list(at(name)) == ("from driver", "from supervisor")


# What can't be reached

UNREACHABLE = [
    pytest.param("hdfs://127.0.0.1:9/x", id="nobody listens"),
    pytest.param("nosuch://bucket/x", id="a scheme that nobody serves"),
]


@pytest.mark.parametrize("address", UNREACHABLE)
def test_a_place_that_cannot_be_reached_is_never_an_empty_one(storage, address):
    with pytest.raises(StorageError):
        storage.list(address)


@pytest.mark.parametrize("address", UNREACHABLE)
def test_a_place_that_cannot_be_reached_is_not_a_missing_file(storage, address):
    with pytest.raises(StorageError) as caught:
        storage.read(address)
    assert not isinstance(caught.value, ObjectNotFoundError)


@pytest.mark.parametrize("address", UNREACHABLE)
def test_a_write_to_a_place_that_cannot_be_reached_fails(storage, address):
    with pytest.raises(StorageError, match=address.partition(":")[0]):
        storage.write(address, b"x")
