"""An input folder beside the log of the source that reads it."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.places import input_files
from streamops.places.input_files import read_input
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from support.base_checkpoint import ADDRESS, files
from support.storage import SwitchableStorage

IN = "file:///in"
AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def log_entry(log_id, *paths):
    """What batch `log_id` read, as Spark writes it."""
    stamp = int(AT.timestamp() * 1000)
    lines = [json.dumps({"path": path, "timestamp": stamp, "batchId": log_id}) for path in paths]
    return "\n".join(("v1", *lines)).encode()


def placed(inputs=(), *, logs=None):
    """A checkpoint whose source took one file a batch, and files in the input folder."""
    logs = logs or {f"0/{batch}": log_entry(batch, f"{IN}/{batch}.json") for batch in range(5)}
    found = {name: content for name, content in files().items() if not name.startswith("sources/")}
    found |= {f"sources/{name}": content for name, content in logs.items()}
    storage = MemoryStorage(now=lambda: AT)
    for name, content in found.items():
        storage.write(join(ADDRESS, name), content)
    for name in inputs:
        storage.write(f"{IN}/{name}", b"{}")
    return storage


def compared(storage, address=IN):
    return read_input(storage, ADDRESS, inspect_checkpoint(storage, ADDRESS), address=address)


def names(found):
    return [file.address.removeprefix(f"{IN}/") for file in found]


def test_files_that_no_batch_has_taken_are_unread():
    found = compared(placed(["3.json", "4.json", "5.json", "6.json"]))

    assert names(found.unread) == ["5.json", "6.json"]
    assert (found.source, found.problem, found.is_whole) == ("sources/0", "", True)
    assert names(found.recorded) == ["0.json", "1.json", "2.json", "3.json", "4.json"]
    assert found.recorded[0].modified_at == AT


def test_hidden_files_and_copies_under_way_are_not_input():
    assert names(compared(placed(["_SUCCESS", ".5.json.crc", "5.json._COPYING_", "5.json"])).unread) == ["5.json"]


def test_partitions_are_followed_and_other_folders_are_not():
    found = compared(placed(["day=1/a.json", "day=1/hour=2/b.json", "archive/c.json"]))

    assert sorted(names(found.files)) == ["day=1/a.json", "day=1/hour=2/b.json"]


def test_what_the_log_escapes_is_the_same_file():
    storage = placed(["a b%.json"], logs={f"0/{n}": log_entry(n, f"{IN}/a%20b%25.json") for n in range(5)})

    assert compared(storage).unread == ()


def test_another_spelling_of_the_same_place_is_the_same_file(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    storage = placed(logs={f"0/{n}": log_entry(n, f"file:{tmp_path}/link/a.json") for n in range(5)})
    storage.write(f"file://{tmp_path}/real/a.json", b"{}")

    found = compared(storage, f"file://{tmp_path}/real")

    assert (len(found.files), found.unread) == (1, ())


def test_a_path_that_no_listing_gives_is_of_no_file_that_is_there():
    """Spark compares texts: `in/./4.json` was read, and `in/4.json` comes again."""
    logs = {f"0/{batch}": log_entry(batch, f"{IN}/{batch}.json") for batch in range(4)}
    found = compared(placed(["3.json", "4.json"], logs={**logs, "0/4": log_entry(4, "file:/./in/4.json")}))

    assert names(found.unread) == ["4.json"]
    assert [file.address for file in found.outside] == ["file:/./in/4.json"]


def test_entries_behind_a_compact_file_and_in_it_are_both_known():
    logs = {
        "0/9.compact": log_entry(9, *(f"{IN}/{n}.json" for n in range(10))),
        "0/10": log_entry(10, f"{IN}/10.json"),
    }

    found = compared(placed([f"{n}.json" for n in range(12)], logs=logs))

    assert names(found.unread) == ["11.json"]


def test_of_several_sources_the_one_that_reads_here_is_compared():
    logs = {f"0/{n}": log_entry(n, f"file:///other/{n}.json") for n in range(5)}
    logs |= {f"1/{n}": log_entry(n, f"{IN}/{n}.json") for n in range(5)}

    found = compared(placed(["4.json"], logs=logs))

    assert (found.source, found.unread) == ("sources/1", ())


def test_where_none_of_several_sources_has_read_here_nothing_is_compared():
    logs = {f"{source}/{n}": log_entry(n, f"file:///{source}/{n}.json") for n in range(5) for source in (0, 1)}

    found = compared(placed(["4.json"], logs=logs))

    assert (found.source, found.recorded, found.is_moved, found.unread) == ("", (), False, ())


def test_a_partition_that_is_a_link_lies_where_spark_lists_it(tmp_path):
    for name in ("in", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "in" / "date=2").symlink_to(tmp_path / "elsewhere")
    inside = f"file:{tmp_path}/in/date=2/a.json"
    storage = placed(logs={f"0/{n}": log_entry(n, inside) for n in range(5)})
    storage.write(f"file://{tmp_path}/in/date=2/a.json", b"{}")

    found = compared(storage, f"file://{tmp_path}/in")

    assert (found.is_moved, found.outside, found.unread) == (False, (), ())


def test_of_a_log_that_is_too_long_to_read_the_newest_entries_are_known():
    old = {f"0/{n}": log_entry(n, f"file:///old/{n}.json") for n in range(300)}
    logs = old | {f"0/{n}": log_entry(n, f"{IN}/{n}.json") for n in range(290, 300)}

    found = compared(placed(["299.json"], logs=logs))

    assert not found.is_whole
    assert not found.is_moved
    assert f"{IN}/299.json" in {file.address for file in found.recorded}


def test_what_the_batch_in_flight_takes_is_asked_for_by_name(monkeypatch):
    monkeypatch.setattr(input_files, "MAX_FILES", 3)
    storage = placed([f"{n}.json" for n in range(9)])
    storage.delete(join(ADDRESS, "commits", "4"))

    (file,) = compared(storage).planned

    assert (file.address, file.found_at, file.is_in_flight) == (f"{IN}/4.json", AT, True)


@pytest.mark.parametrize(
    "logs",
    [
        pytest.param({"0/0": b"v1\n7"}, id="a rate source"),
        pytest.param({"0/3": b"v1\n{"}, id="an entry that is cut"),
        pytest.param({"0/4": log_entry(4, f"{IN}/4.json"), "0/2": log_entry(2, f"{IN}/2.json")}, id="a hole"),
    ],
)
def test_nothing_is_called_unread_where_the_log_does_not_tell_all(logs):
    found = compared(placed(["9.json"], logs=logs))

    assert (found.is_whole, found.unread) == (False, ())


def test_nothing_is_called_unread_where_a_pattern_decides_what_is_read():
    found = compared(placed(["4.json", "9.csv"]), f"{IN}/*.json")

    assert (found.address, found.is_whole, found.unread) == (IN, False, ())


@pytest.mark.parametrize("limit", ["MAX_FILES", "MAX_FOLDERS"])
def test_a_folder_that_is_too_large_is_not_judged_by_a_part_of_it(limit, monkeypatch):
    monkeypatch.setattr(input_files, limit, 3)

    found = compared(placed([f"day={n}/{n}.json" for n in range(9)]))

    assert (found.is_whole, found.unread) == (False, ())
    assert len(found.files) <= 3


def test_a_folder_that_is_not_there_and_one_that_does_not_answer_are_told():
    storage = SwitchableStorage(placed())
    gone = compared(storage)
    storage.unreachable = IN

    assert gone.problem == "there is no such folder"
    assert compared(storage).problem == f"{IN} can't be reached"


def test_times_beyond_the_calendar_are_its_ends():
    line = '{{"path":"file:///in/{0}.json","timestamp":{1},"batchId":{0}}}'
    logs = {f"0/{n}": ("v1\n" + line.format(n, stamp)).encode() for n, stamp in enumerate((10**18, -(10**18)))}

    found = compared(placed(logs=logs))

    assert [file.modified_at.year for file in found.recorded] == [9999, 1]
    assert found.recorded[0].modified_at - AT > timedelta(0)


@given(
    st.lists(
        st.text() | st.sampled_from(["file:///a\0b/c", "file:", "s3:", "s3a://", "/", "", "%", "file:///../../x"])
    ),
    st.integers(),
)
def test_hostile_entries_give_facts(paths, stamp):
    lines = [json.dumps({"path": path, "timestamp": stamp, "batchId": 0}) for path in paths]
    storage = placed(["a"], logs={"0/0": "\n".join(("v1", *lines)).encode()})

    found = compared(storage)

    assert len(found.recorded) == (sum(bool(path) for path in paths) if found.source else 0)
    assert names(found.files) == ["a"]
