"""What file, Kafka, rate and other sources keep in a checkpoint."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.compact_log import IdRange
from streamops.checkpoint.source_log import (
    MAX_FOLDERS,
    MAX_LOG_FILES,
    SHOWN,
    SourceKind,
    content_kind,
    parse_initial_offsets,
    parse_source_entries,
    parse_start_time,
    read_source_log,
    read_source_logs,
)
from streamops.errors import CheckpointError, StorageError
from streamops.storage.memory import MemoryStorage
from support.storage import SwitchableStorage

CHECKPOINT = "file:///c/orders"
KAFKA = '{"orders":{"0":0,"1":0,"2":0}}'
PARSERS = [parse_source_entries, parse_initial_offsets, parse_start_time]


def entry(log_id, name=None):
    path = f"file:///in/{name or log_id}.json"
    return json.dumps({"path": path, "timestamp": 1_772_366_400_000, "batchId": log_id}, separators=(",", ":"))


def log_file(*lines):
    return "\n".join(("v1", *lines)).encode()


def checkpoint(files):
    storage = MemoryStorage()
    for name, content in files.items():
        storage.write(f"{CHECKPOINT}/sources/{name}", content)
    return storage


def file_source(names, *, folder="0"):
    """A file source's log; `9.compact` repeats all entries up to 9."""
    files = {}
    for name in map(str, names):
        last = int(name.removesuffix(".compact"))
        ids = range(last + 1) if name.endswith(".compact") else (last,)
        files[f"{folder}/{name}"] = log_file(*map(entry, ids))
    return files


def read(files, log_ids=range(0), **more):
    return read_source_log(checkpoint(files), CHECKPOINT, "0", log_ids=log_ids, **more)


def input_names(facts):
    return [file.path.removeprefix("file:///in/").removesuffix(".json") for file in facts.files]


def test_the_input_files_of_a_pending_batch():
    facts = read(file_source(range(6)), range(4, 6))

    assert facts.kind is SourceKind.FILE
    assert input_names(facts) == ["4", "5"]
    assert (facts.files[0].log_id, facts.files[0].modified_ms) == (4, 1_772_366_400_000)
    assert (facts.files_total, facts.absent, facts.broken, facts.is_named) == (2, (), (), False)


def test_a_compaction_in_the_range_yields_its_own_batch_only():
    assert input_names(read(file_source([*range(9), "9.compact", 10]), range(8, 11))) == ["8", "9", "10"]


def test_ids_that_were_cleaned_up_are_found_in_the_compact_file():
    facts = read(file_source([8, "9.compact", 10]), range(7, 11))

    assert input_names(facts) == ["7", "9", "8", "10"]
    assert facts.absent == ()


def test_ids_that_no_file_holds_are_absent():
    assert read(file_source(["9.compact", 10, 12]), range(9, 41)).absent == (
        IdRange(first=11, last=11),
        IdRange(first=13, last=40),
    )


def test_a_compact_file_above_the_limit_is_named_and_not_read():
    facts = read(file_source(["9.compact", 10]), range(8, 11), limit=200)

    assert input_names(facts) == ["10"]
    assert (facts.unread, facts.unread_total) == (("sources/0/9.compact",), 1)


def test_no_range_makes_it_read_more_than_so_many_files():
    facts = read(file_source(range(MAX_LOG_FILES + 101)), range(10**15))

    assert (facts.files_total, facts.unread_total, len(facts.unread)) == (MAX_LOG_FILES, 101, SHOWN)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "sources/0/4 is empty", id="P12c"),
        pytest.param(log_file(entry(4), '{"path":"file:/'), "sources/0/4 line 3: cut or not JSON", id="cut"),
        pytest.param(log_file(entry(4), ""), None, id="a trailing newline"),
        pytest.param(log_file("", entry(4)), "line 2: cut", id="an empty line"),
        pytest.param(b"v2\n{}", "sources/0/4 line 1: 'v2' needs a newer streamops", id="a later version"),
        pytest.param(log_file('{"path":1,"timestamp":2,"batchId":3}'), "line 2: an entry has", id="no entry"),
        pytest.param(log_file("[" * 50_000), "line 2: cut or not JSON", id="deep"),
    ],
)
def test_a_broken_file_is_a_fact_and_hides_no_other(content, reason):
    facts = read({**file_source(range(6)), "0/4": content}, range(3, 6))

    assert input_names(facts) == (["3", "5"] if reason else ["3", "4", "5"])
    assert [broken.file for broken in facts.broken] == ["sources/0/4"] * bool(reason)
    assert all(reason in broken.reason for broken in facts.broken)


def test_a_compact_file_that_is_empty_is_broken_although_no_batch_asks_for_it():
    facts = read({**file_source([*range(9), "9.compact", 10]), "0/9.compact": b""}, range(10, 11), reads_files=True)

    assert [broken.reason for broken in facts.broken] == ["sources/0/9.compact is empty"]


@pytest.mark.parametrize(("changed", "is_broken"), [("10", True), ("9.compact", False)])
def test_the_last_entry_of_all_has_no_negative_batch(changed, is_broken):
    files = file_source([*range(9), "9.compact", 10])
    files[f"0/{changed}"] = log_file(*(entry(log_id) for log_id in range(9)), entry(-1))

    facts = read(files, range(10, 11), reads_files=True)

    assert [broken.file for broken in facts.broken] == ([f"sources/0/{changed}"] if is_broken else [])


def test_a_file_that_has_changed_places_with_another_is_renumbered():
    """FileStreamSourceLog takes of each file the entries with its own number."""
    files = file_source(range(6))
    files["0/5"], files["0/0"] = files["0/0"], files["0/5"]

    facts = read(files, range(5, 6), reads_files=True)

    assert (facts.renumbered, facts.exchanged, facts.unlisted) == ((0, 5), (0, 5), ())


def test_a_file_that_has_changed_places_with_one_that_names_nothing_is_unlisted():
    """996:273: the entry of the one is under the number of the other, and the entry of that one is nowhere."""
    files = file_source([0, 1, 2])
    files["0/2"], files["0/1"] = files["0/1"], b"v1"

    assert read(files, range(2, 3), reads_files=True).unlisted == (1, 2)


def test_a_compact_file_that_lacks_an_entry_leaves_its_id_out():
    files = file_source(["9.compact", 10])
    files["0/9.compact"] = log_file(*(entry(log_id) for log_id in range(10) if log_id != 4))

    assert read(files, range(10, 11), reads_files=True).left_out == (4,)


def test_a_compact_file_that_lacks_one_of_several_files_of_an_id_is_told_by_the_single_file_beside_it():
    files = {**file_source(["9.compact", 10]), "0/4": log_file(entry(4), entry(4, name="more"))}

    assert read(files, range(10, 11), reads_files=True).left_out == (4,)
    assert read({**files, "0/4": b"v"}, range(10, 11), reads_files=True).left_out == ()
    assert read({**files, "0/4": log_file(entry(4, name="edited"))}, range(10, 11), reads_files=True).left_out == ()


def test_what_a_start_takes_as_read_goes_by_the_compact_file():
    """CompactibleFileStreamLog.allFiles; a batch takes its input from the file of its own id (tried on 4.2.0)."""
    files = {**file_source([*range(9), "9.compact", 10]), "0/4": log_file(entry(4, name="edited"))}

    assert input_names(read(files, range(11), reads_files=True, is_restored=True)) == [*map(str, range(11))]
    assert "edited" in input_names(read(files, range(11), reads_files=True))


def test_what_a_start_takes_as_read_goes_by_whatever_stands_in_a_file():
    """992:466: two files have changed places; FileStreamSource takes every entry, whatever its number (tried on 4.2.0)."""
    files = file_source([0, 1, 2])
    files["0/0"], files["0/2"] = files["0/2"], files["0/0"]

    assert input_names(read(files, range(3), reads_files=True, is_restored=True)) == ["2", "1", "0"]
    assert input_names(read(files, range(3), reads_files=True)) == ["1"]


def test_an_entry_of_a_compact_file_with_another_number_is_not_left_out():
    """Its file is known to have been read, whatever the number."""
    files = file_source(["9.compact", 10])
    files["0/9.compact"] = log_file(*(entry(7 if log_id == 4 else log_id, name=str(log_id)) for log_id in range(10)))

    assert read(files, range(10, 11), reads_files=True).left_out == ()


def test_the_first_offsets_of_kafka():
    facts = read({"0/0": b"\0v1\n" + KAFKA.encode(), "0/.0.crc": b"x"})

    assert (facts.kind, facts.initial_offsets, facts.broken) == (SourceKind.KAFKA, KAFKA, ())


def test_the_first_offsets_of_kafka_as_spark_2_1_wrote_them():
    assert read({"0/0": b"\0" + KAFKA.encode()}).initial_offsets == KAFKA


def test_cut_first_offsets_of_kafka_are_broken_and_still_kafka():
    facts = read({"0/0": b'\0v1\n{"orders":'})

    assert (facts.kind, facts.initial_offsets) == (SourceKind.KAFKA, None)
    assert facts.broken[0].reason == "sources/0/0 line 2: cut or not JSON"


def test_the_start_of_a_rate_source():
    facts = read({"0/0": b"v1\n1772366400000"})

    assert (facts.kind, facts.started_ms) == (SourceKind.RATE, 1_772_366_400_000)


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        pytest.param({"0/_schema_log_7/0": b"v1\n{}"}, SourceKind.DELTA_SCHEMA_LOG, id="Delta's schema log"),
        pytest.param({"0/shard-commit/7": b"v1"}, SourceKind.OTHER, id="Kinesis"),
        pytest.param({"0/0": b"v1\n{}"}, SourceKind.OTHER, id="an object without path"),
        pytest.param({"0/0": b"hello"}, SourceKind.OTHER, id="no version"),
        pytest.param({"0/9.compact": b""}, SourceKind.FILE, id="a compact file, whatever is in it"),
        pytest.param(
            {"0/0": b"", "0/1": log_file(entry(1))}, SourceKind.FILE, id="the newest file where the first is empty"
        ),
        pytest.param({"0/0": b"v1"}, SourceKind.UNKNOWN, id="nothing behind the version"),
        pytest.param({"0/.0.crc": b""}, SourceKind.UNKNOWN, id="a side file only"),
        pytest.param({}, SourceKind.UNKNOWN, id="no folder"),
    ],
)
def test_the_content_tells_the_kind(files, kind):
    assert read(files).kind is kind


def test_all_sources_in_plan_order_then_by_name():
    files = file_source(range(2), folder="10") | file_source([0], folder="orders") | file_source([0], folder="2")
    files |= {"a-b/0": b"", "..secret/0": b"", "new\nline/0": b""}

    found = read_source_logs(checkpoint(files), CHECKPOINT, log_ids={"10": range(1, 2)})

    assert [(source.folder, source.is_named) for source in found.sources] == [
        ("2", False),
        ("10", False),
        ("orders", True),
    ]
    assert [source.files_total for source in found.sources] == [0, 1, 0]
    assert found.foreign == 3


def test_a_stray_file_among_the_sources_hides_no_other():
    found = read_source_logs(checkpoint({**file_source([0]), "README": b"hello"}), CHECKPOINT)

    assert [(source.kind, len(source.broken), len(source.unreachable)) for source in found.sources] == [
        (SourceKind.FILE, 0, 0)
    ]
    assert found.foreign == 1


def test_a_folder_that_cannot_be_asked_is_neither_broken_nor_whole():
    storage = SwitchableStorage(checkpoint(file_source([0], folder="0") | file_source([0], folder="1")))
    storage.unreachable = "sources/1"

    found = read_source_logs(storage, CHECKPOINT)

    assert [(source.folder, source.kind, source.broken) for source in found.sources] == [
        ("0", SourceKind.FILE, ()),
        ("1", SourceKind.UNKNOWN, ()),
    ]
    assert [place.reason for place in found.sources[1].unreachable] == [f"{CHECKPOINT}/sources/1 can't be reached"]


def test_more_folders_than_any_query_has_are_counted():
    found = read_source_logs(checkpoint({f"{n}/0": b"v1\n7" for n in range(MAX_FOLDERS + 3)}), CHECKPOINT)

    assert (len(found.sources), found.unread_folders) == (MAX_FOLDERS, 3)


def test_sources_that_cannot_be_asked_are_not_none():
    storage = MemoryStorage()
    storage.write(f"{CHECKPOINT}/sources", b"")

    with pytest.raises(StorageError):
        read_source_logs(storage, CHECKPOINT)


def test_the_size_of_the_newest_compact_file_is_told():
    files = file_source([*range(9), "9.compact"])

    assert read(files).compact_bytes == len(files["0/9.compact"])
    assert read(file_source(range(9))).compact_bytes is None


class Hostile:
    """A storage that gives any names and any content, and no way out of the checkpoint."""

    def __init__(self, names, content):
        self._names = tuple(names)
        self._content = content

    def list(self, directory, *, after=""):
        self._refuse_escape(directory)
        return self._names

    def details(self, directory, *, only=None):
        self._refuse_escape(directory)
        return ()

    def read(self, address, *, limit=0):
        self._refuse_escape(address)
        return self._content[:limit]

    def _refuse_escape(self, address):
        assert address.startswith(CHECKPOINT)
        assert ".." not in address.split("/")


NAMES = st.lists(st.text() | st.integers(-2, 60).map(str) | st.integers(0, 60).map("{}.compact".format) | st.just(".."))
CONTENTS = (
    st.binary() | st.binary().map(b"v1\n{".__add__) | st.binary().map(b"\0v1\n".__add__) | st.just(log_file(entry(3)))
)


@given(NAMES, CONTENTS, st.integers(0, 50), st.integers(0, 2**63))
def test_hostile_sources_give_facts(names, content, first, count):
    asked = range(first, first + count)

    found = read_source_logs(Hostile(names, content), CHECKPOINT, log_ids={str(n): asked for n in range(3)})

    assert all(file.log_id in asked for source in found.sources for file in source.files)


def refusal(parse, content):
    try:
        parse(content, address="sources/0/4")
    except CheckpointError as error:
        return str(error)
    return ""


@given(st.sampled_from(PARSERS), CONTENTS | st.recursive(st.none(), st.lists).map(lambda v: log_file(json.dumps(v))))
def test_a_parser_gives_a_value_or_names_the_file(parse, content):
    assert content_kind(content) in SourceKind
    reason = refusal(parse, content)

    assert reason.isprintable()
    assert not reason or reason.startswith("sources/0/4")
