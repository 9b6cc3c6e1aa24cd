"""What the port promises, asked of every storage. A storage that passes here may hold a control log."""

import os
import stat
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from streamops.control.log import LogReader
from streamops.errors import ObjectExistsError, ObjectNotFoundError, ObjectTooLargeError, StorageError
from streamops.storage import FileAccess, join
from streamops.storage.local import LocalStorage
from streamops.storage.memory import MemoryStorage

CREATORS = 8
ROUNDS = 200


class Place:
    """A storage and an address below which a test may do as it likes."""

    def __init__(self, storage, root):
        self.storage = storage
        self.root = root

    def at(self, *parts):
        return join(self.root, *parts)


@pytest.fixture(params=["local", "memory"])
def place(request, tmp_path):
    if request.param == "local":
        return Place(LocalStorage(), f"file://{tmp_path}")
    return Place(MemoryStorage(), "memory://root")


@pytest.fixture
def storage(place):
    return place.storage


# list


def test_names_come_in_order(place, storage):
    for name in ("10", "9", "b", "a", "B"):
        storage.write(place.at("log", name), b"x")

    assert storage.list(place.at("log")) == ("10", "9", "B", "a", "b")


def test_a_listing_names_only_what_lies_directly_below(place, storage):
    storage.write(place.at("log", "1"), b"x")
    storage.write(place.at("log", "2-driver", "heartbeat.json"), b"x")
    storage.write(place.at("logs", "3"), b"x")

    assert storage.list(place.at("log")) == ("1", "2-driver")


@pytest.mark.parametrize("slash", ["", "/"], ids=["plain", "trailing-slash"])
def test_a_trailing_slash_means_nothing_to_a_listing(place, storage, slash):
    storage.write(place.at("log", "1"), b"x")

    assert storage.list(place.at("log") + slash) == ("1",)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param("", ("1", "2", "3"), id="from the start"),
        pytest.param("2", ("3",), id="behind a name that is there"),
        pytest.param("25", ("3",), id="behind a name that is not there"),
        pytest.param("3", (), id="behind the last one"),
    ],
)
def test_a_listing_begins_behind_a_name(place, storage, after, expected):
    for name in ("1", "2", "3"):
        storage.write(place.at("log", name), b"x")

    assert storage.list(place.at("log"), after=after) == expected


def test_a_directory_that_is_not_there_is_empty(place, storage):
    assert storage.list(place.at("nowhere", "at", "all")) == ()


def test_a_file_where_a_directory_is_expected_is_not_an_empty_directory(place, storage):
    storage.write(place.at("log"), b"x")

    with pytest.raises(StorageError):
        storage.list(place.at("log"))


# details


def test_details_tell_the_size_of_each_file(place, storage):
    storage.write(place.at("log", "b"), b"12345")
    storage.write(place.at("log", "a"), b"")

    assert [(found.name, found.size) for found in storage.details(place.at("log"))] == [("a", 0), ("b", 5)]


def test_details_leave_folders_out(place, storage):
    storage.write(place.at("log", "1"), b"x")
    storage.write(place.at("log", "2-driver", "heartbeat.json"), b"x")

    assert [found.name for found in storage.details(place.at("log"))] == ["1"]
    assert storage.details(place.at("log"), only=["2-driver"]) == ()


def test_only_the_files_that_were_named_are_told_of(place, storage):
    for name in ("1", "2", "3"):
        storage.write(place.at("log", name), b"x")

    assert [found.name for found in storage.details(place.at("log"), only=("3", "1", "gone"))] == ["1", "3"]


def test_a_file_that_is_written_again_becomes_younger(place, storage):
    storage.write(place.at("log", "1"), b"old")
    (before,) = storage.details(place.at("log"))
    time.sleep(0.02)
    storage.write(place.at("log", "1"), b"newer")
    (after,) = storage.details(place.at("log"))

    assert after.modified_at > before.modified_at
    assert (before.size, after.size) == (3, 5)
    assert after.modified_at.tzinfo is not None


@pytest.mark.parametrize("only", [None, ("1",)], ids=["all", "some"])
def test_a_directory_that_is_not_there_has_no_details(place, storage, only):
    assert storage.details(place.at("nowhere", "at", "all"), only=only) == ()


@pytest.mark.parametrize("only", [None, ("1",)], ids=["all", "some"])
def test_a_file_has_no_details_of_files_below_it(place, storage, only):
    storage.write(place.at("log"), b"x")

    with pytest.raises(StorageError):
        storage.details(place.at("log"), only=only)


# read


def test_what_was_written_is_read(place, storage):
    content = bytes(range(256)) * 10
    storage.write(place.at("f"), content)

    assert storage.read(place.at("f")) == content


def test_an_empty_file_is_a_file(place, storage):
    storage.create(place.at("f"), b"")

    assert storage.read(place.at("f")) == b""


def test_a_missing_file_is_named(place, storage):
    with pytest.raises(ObjectNotFoundError, match="gone"):
        storage.read(place.at("gone"))


def test_a_file_of_exactly_the_limit_is_read(place, storage):
    storage.write(place.at("f"), b"12345")

    assert storage.read(place.at("f"), limit=5) == b"12345"


def test_a_larger_file_is_refused(place, storage):
    storage.write(place.at("f"), b"123456")

    with pytest.raises(ObjectTooLargeError):
        storage.read(place.at("f"), limit=5)


def test_a_directory_is_not_read_as_a_file(place, storage):
    storage.write(place.at("folder", "f"), b"x")

    with pytest.raises(StorageError):
        storage.read(place.at("folder"))


# delete_folder


def test_an_emptied_folder_goes(place, storage):
    storage.write(place.at("drivers", "1-a", "heartbeat.json"), b"x")
    storage.delete(place.at("drivers", "1-a", "heartbeat.json"))

    storage.delete_folder(place.at("drivers", "1-a"))

    assert storage.list(place.at("drivers")) == ()


def test_a_folder_that_holds_something_stays_with_all_that_it_holds(place, storage):
    storage.write(place.at("drivers", "1-a", "deep", "heartbeat.json"), b"x")

    with pytest.raises(StorageError):
        storage.delete_folder(place.at("drivers", "1-a"))
    assert storage.read(place.at("drivers", "1-a", "deep", "heartbeat.json")) == b"x"


def test_a_folder_that_is_gone_already_is_no_error(place, storage):
    storage.delete_folder(place.at("drivers", "1-a"))


def test_a_file_is_not_deleted_as_a_folder(place, storage):
    storage.write(place.at("f"), b"x")

    with pytest.raises(StorageError):
        storage.delete_folder(place.at("f"))
    assert storage.read(place.at("f")) == b"x"


def test_a_deleted_folder_is_made_again_by_the_next_write(place, storage):
    storage.write(place.at("a", "f"), b"x")
    storage.delete(place.at("a", "f"))
    storage.delete_folder(place.at("a"))

    storage.write(place.at("a", "f"), b"again")

    assert storage.read(place.at("a", "f")) == b"again"


# write


def test_a_write_replaces(place, storage):
    storage.write(place.at("f"), b"the longer old content")
    storage.write(place.at("f"), b"new")

    assert storage.read(place.at("f")) == b"new"


def test_a_write_makes_the_folders_it_needs(place, storage):
    storage.write(place.at("a", "b", "c", "f"), b"x")

    assert storage.list(place.at("a", "b")) == ("c",)


def test_a_reader_sees_the_old_content_or_the_new_one_never_a_part(place, storage):
    contents = [bytes([value]) * 100_000 for value in range(4)]
    storage.write(place.at("f"), contents[0])
    is_over = threading.Event()

    def keep_writing():
        while not is_over.is_set():
            for content in contents:
                storage.write(place.at("f"), content)

    with ThreadPoolExecutor() as pool:
        writer = pool.submit(keep_writing)
        seen = {storage.read(place.at("f")) for _ in range(300)}
        is_over.set()
        writer.result()

    assert seen <= set(contents)


# create


def test_a_create_refuses_a_file_that_is_there_and_leaves_it_as_it_is(place, storage):
    storage.create(place.at("f"), b"first")

    with pytest.raises(ObjectExistsError):
        storage.create(place.at("f"), b"second")
    assert storage.read(place.at("f")) == b"first"


def test_a_create_refuses_a_written_file_too(place, storage):
    storage.write(place.at("f"), b"first")

    with pytest.raises(ObjectExistsError):
        storage.create(place.at("f"), b"second")


def test_a_deleted_file_may_be_created_again(place, storage):
    storage.create(place.at("f"), b"first")
    storage.delete(place.at("f"))
    storage.create(place.at("f"), b"second")

    assert storage.read(place.at("f")) == b"second"


@pytest.mark.parametrize("verb", ["create", "write"])
def test_a_file_where_a_folder_is_needed_is_no_lost_race(place, storage, verb):
    """Whoever takes it for a lost race would wait for a record that never comes."""
    storage.write(place.at("log"), b"a file")

    with pytest.raises(StorageError) as caught:
        getattr(storage, verb)(place.at("log", "1"), b"x")
    assert not isinstance(caught.value, ObjectExistsError)


@pytest.mark.parametrize("verb", ["create", "write"])
def test_a_folder_where_the_file_belongs_is_no_lost_race(place, storage, verb):
    storage.write(place.at("log", "1"), b"x")

    with pytest.raises(StorageError) as caught:
        getattr(storage, verb)(place.at("log"), b"x")
    assert not isinstance(caught.value, ObjectExistsError)


# delete


def test_a_deleted_file_is_gone(place, storage):
    storage.write(place.at("log", "1"), b"x")
    storage.delete(place.at("log", "1"))

    assert storage.list(place.at("log")) == ()
    with pytest.raises(ObjectNotFoundError):
        storage.read(place.at("log", "1"))


def test_deleting_what_is_not_there_is_fine(place, storage):
    storage.delete(place.at("gone"))
    storage.delete(place.at("nowhere", "gone"))


# Leftovers


def test_neither_a_write_nor_a_lost_create_leaves_anything_behind(place, storage):
    storage.write(place.at("log", "1"), b"x")
    storage.write(place.at("log", "1"), b"y")
    with pytest.raises(ObjectExistsError):
        storage.create(place.at("log", "1"), b"z")

    assert storage.list(place.at("log")) == ("1",)


def test_the_log_reader_does_not_see_what_a_crash_left_behind(place, storage):
    leftover = f".{0:020d}.json.0123456789abcdef.tmp"
    storage.write(place.at("log", leftover), b"half a rec")

    assert LogReader(storage, place.root).read() == ()


# Races


def winners_of_a_round(storage, address, pool, barrier):
    def create(creator):
        barrier.wait()
        try:
            storage.create(address, b"%d" % creator)
        except ObjectExistsError:
            return None
        return creator

    return [winner for winner in pool.map(create, range(CREATORS)) if winner is not None]


def test_of_eight_creators_at_once_exactly_one_wins(place, storage):
    barrier = threading.Barrier(CREATORS)
    with ThreadPoolExecutor(CREATORS) as pool:
        for number in range(ROUNDS):
            address = place.at("log", str(number))
            winners = winners_of_a_round(storage, address, pool, barrier)
            assert len(winners) == 1
            assert storage.read(address) == b"%d" % winners[0]


_meet = None


def _enter(barrier):
    global _meet
    _meet = barrier


def _create_all(task):
    root, rounds, creator = task
    won = []
    for number in range(rounds):
        _meet.wait()
        try:
            LocalStorage().create(join(root, str(number)), b"%d" % creator)
            won.append(number)
        except ObjectExistsError:
            continue
    return won


def test_of_eight_processes_that_create_one_local_file_exactly_one_wins(tmp_path):
    rounds, context = 20, get_context("fork")
    barrier = context.Barrier(CREATORS)
    root = f"file://{tmp_path}"
    with ProcessPoolExecutor(CREATORS, mp_context=context, initializer=_enter, initargs=(barrier,)) as pool:
        won = list(pool.map(_create_all, [(root, rounds, creator) for creator in range(CREATORS)]))

    assert sorted(number for numbers in won for number in numbers) == list(range(rounds))
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


# Only of the local file system


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read_is_not_an_empty_one(tmp_path):
    (tmp_path / "log").mkdir(mode=0)

    with pytest.raises(StorageError):
        LocalStorage().list(f"file://{tmp_path}/log")


def test_a_path_through_a_file_is_not_an_empty_folder(tmp_path):
    (tmp_path / "file").write_bytes(b"x")

    with pytest.raises(StorageError):
        LocalStorage().list(f"file://{tmp_path}/file/log")


def test_the_local_storage_refuses_addresses_of_other_places():
    with pytest.raises(StorageError, match="s3://"):
        LocalStorage().read("s3://bucket/key")


def test_nothing_of_a_failed_write_is_left(tmp_path):
    (tmp_path / "target").mkdir()

    with pytest.raises(StorageError):
        LocalStorage().write(f"file://{tmp_path}/target", b"x")
    assert os.listdir(tmp_path) == ["target"]


def modes(root: Path) -> dict[str, int]:
    """Of everything below a folder, by its path in it."""
    return {str(path.relative_to(root)): stat.S_IMODE(path.stat().st_mode) for path in sorted(root.rglob("*"))}


@pytest.fixture(params=[0o022, 0o000, 0o077], ids=["umask 022", "umask 000", "umask 077"])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(
    ("access", "file_mode", "folder_mode"),
    [
        pytest.param(FileAccess.OWNER, 0o600, 0o700, id="owner"),
        pytest.param(FileAccess.GROUP, 0o660, 0o2770, id="group"),
    ],
)
def test_files_and_folders_are_for_their_owner_or_group_alone(tmp_path, access, file_mode, folder_mode):
    storage = LocalStorage(access)

    storage.create(f"file://{tmp_path}/c.streamops/log/1.json", b"x")
    storage.write(f"file://{tmp_path}/c.streamops/snapshot.json", b"x")
    storage.write(f"file://{tmp_path}/c.streamops/snapshot.json", b"y")

    assert modes(tmp_path) == {
        "c.streamops": folder_mode,
        "c.streamops/log": folder_mode,
        "c.streamops/log/1.json": file_mode,
        "c.streamops/snapshot.json": file_mode,
    }


@pytest.mark.parametrize("access", FileAccess)
def test_a_folder_that_was_there_keeps_its_mode(tmp_path, access):
    (tmp_path / "log").mkdir(mode=0o755)
    (tmp_path / "log").chmod(0o755)

    LocalStorage(access).create(f"file://{tmp_path}/log/1.json", b"x")

    assert modes(tmp_path)["log"] == 0o755


def test_a_fifo_is_no_file_and_nobody_waits_for_its_writer(tmp_path):
    os.mkfifo(tmp_path / "1.json")

    with pytest.raises(StorageError, match="no regular file"):
        LocalStorage().read(f"file://{tmp_path}/1.json")


def test_a_device_is_no_file(tmp_path):
    with pytest.raises(StorageError, match="no regular file"):
        LocalStorage().read("file:///dev/zero")
