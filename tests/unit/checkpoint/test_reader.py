"""One look at a checkpoint: what counts, what is read, and what a reader says about files it could not read."""

import pytest

from streamops.checkpoint.layout import batch_id
from streamops.checkpoint.reader import read_checkpoint
from streamops.errors import ObjectNotFoundError, StorageError
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from support.checkpoints import QUERY_ID, commit, metadata, offsets, write_checkpoint
from support.specs import CHECKPOINT
from support.storage import InterruptibleStorage, SwitchableStorage


@pytest.fixture
def storage():
    return MemoryStorage()


def read(storage, **checkpoint):
    write_checkpoint(storage, CHECKPOINT, **checkpoint)
    return read_checkpoint(storage, CHECKPOINT)


def put(storage, file, content):
    storage.write(join(CHECKPOINT, file), content)


# Names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("7", 7, id="as Spark writes it"),
        pytest.param("00004", 4, id="P9 Java reads it as 4"),
        pytest.param("-1", -1, id="P9 Java reads it as -1"),
        pytest.param("+3", 3, id="Java reads it as 3"),
        pytest.param("7.tmp", None, id="P9 a crash's temporary file"),
        pytest.param(".5.0f0f.tmp", None, id="P9 a hidden one"),
        pytest.param(".4.crc", None, id="a checksum"),
        pytest.param("4.bak", None, id="a person's copy"),
        pytest.param("foo", None, id="P9 anything else"),
        pytest.param("_junk", None, id="P9 junk"),
        pytest.param("", None, id="nothing"),
        pytest.param("9" * 19, None, id="more than Java's long can hold"),
    ],
)
def test_names_that_count_as_batches(name, expected):
    assert batch_id(name) == expected


# Shapes


@pytest.mark.parametrize(
    ("planned", "committed", "newest", "pending"),
    [
        pytest.param([], [], (-1, -1), False, id="brand new"),
        pytest.param([0], [], (0, -1), True, id="the first batch is in flight"),
        pytest.param([0, 1, 2], [0, 1, 2], (2, 2), False, id="C = O: clean"),
        pytest.param([0, 1, 2], [0, 1], (2, 1), True, id="C = O-1: one batch in flight"),
        pytest.param([0, 1, 2, 3], [0, 1], (3, 1), True, id="C < O-1: several trailing entries uncommitted"),
        pytest.param([0, 1], [0, 1, 5], (1, 5), False, id="C > O: commits ahead of offsets"),
        pytest.param([7, 8, 9], [7, 8, 9], (9, 9), False, id="a purged beginning is normal"),
        pytest.param([0, 2, 3], [0, 3], (3, 3), False, id="holes below are not asked for"),
        pytest.param([9, 10, 11], [9, 10], (11, 10), True, id="numbers, not texts: 10 comes after 9"),
    ],
)
def test_the_shape_of_the_two_logs(storage, planned, committed, newest, pending):
    facts = read(storage, planned=planned, committed=committed)

    assert (facts.last_offset, facts.last_commit) == newest
    assert facts.has_pending_batch is pending
    assert facts.is_new is (newest == (-1, -1))
    assert facts.broken == ()


def test_a_checkpoint_that_is_not_there_is_new(storage):
    facts = read_checkpoint(storage, CHECKPOINT)

    assert facts.is_new
    assert facts.query_id is None


def test_metadata_alone_is_no_history(storage):
    facts = read(storage)

    assert facts.is_new
    assert facts.query_id == QUERY_ID


def test_the_newest_entry_is_handed_out(storage):
    facts = read(storage, planned=[0, 1], committed=[0])

    assert facts.newest.batch == 1
    assert facts.newest.sources == ('{"orders":{"0":24,"1":40}}',)


@pytest.mark.parametrize(
    ("planned", "expected"),
    [
        pytest.param([0, 1, 2], True, id="it is there"),
        pytest.param([0, 2], False, id="P4 it is missing"),
        pytest.param([0], True, id="none is needed below batch 0"),
        pytest.param([], True, id="none is needed in a new checkpoint"),
    ],
)
def test_the_entry_below_the_newest_is_looked_for(storage, planned, expected):
    assert read(storage, planned=planned).has_previous_offset is expected


# Broken files


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        pytest.param("offsets/2", b"", "empty", id="P7a newest offsets empty"),
        pytest.param("offsets/1", b"", "empty", id="P7d previous offsets empty"),
        pytest.param("commits/2", b"", "empty", id="P7c newest commit empty"),
        pytest.param("offsets/2", b"v99\n{}\n{}", "v99", id="P15a newest offsets of a newer Spark"),
        pytest.param("commits/2", b'v1\n{"a', "line 2", id="P8j newest commit cut"),
        pytest.param("metadata", b"", "query id", id="P11b metadata empty"),
        pytest.param("metadata", b'{"id":"2f0b2a6e', "query id", id="P11c metadata cut"),
        pytest.param("metadata", b'{"id":"hello"}', "query id", id="P11d no UUID"),
        pytest.param("metadata", b"[]", "query id", id="metadata of another shape"),
        pytest.param("metadata", b"\xff\xff", "query id", id="metadata that is no text"),
        pytest.param("metadata", b'{"id":5}', "query id", id="a number for an id"),
        pytest.param("metadata", b'{"id":"2f0b2a6e8f4e4a6c9d3e1a2b3c4d5e6f"}', "query id", id="Java wants the hyphens"),
        pytest.param("metadata", b"[" * 60_000, "query id", id="deep metadata"),
        pytest.param("metadata", b"x" * (64 * 1024 + 1), "larger", id="metadata that goes on and on"),
        pytest.param("commits/2", b"x" * (16 * 1024 * 1024 + 1), "larger", id="a commit that goes on and on"),
        pytest.param(
            "offsets/2", b"x" * (16 * 1024 * 1024 + 1), "larger", id="a file that is not what it claims to be"
        ),
    ],
)
def test_a_broken_file_that_spark_reads_is_a_fact_with_its_name(storage, file, content, reason):
    write_checkpoint(storage, CHECKPOINT, planned=[0, 1, 2], committed=[0, 1, 2])
    put(storage, file, content)

    facts = read_checkpoint(storage, CHECKPOINT)

    assert [broken.file for broken in facts.broken] == [file]
    assert reason in facts.broken[0].reason


@pytest.mark.parametrize("file", ["offsets/0", "commits/1", "offsets/.2.crc", "offsets/2.tmp"], ids=str)
def test_a_broken_file_that_spark_does_not_read_is_not_looked_at(storage, file):
    write_checkpoint(storage, CHECKPOINT, planned=[0, 1, 2], committed=[0, 1, 2])
    put(storage, file, b"")

    assert read_checkpoint(storage, CHECKPOINT).broken == ()


def test_several_broken_files_do_not_hide_each_other(storage):
    write_checkpoint(storage, CHECKPOINT, planned=[0, 1], committed=[0, 1])
    for file in ("metadata", "offsets/0", "offsets/1", "commits/1"):
        put(storage, file, b"")

    facts = read_checkpoint(storage, CHECKPOINT)

    assert {broken.file for broken in facts.broken} == {"metadata", "offsets/0", "offsets/1", "commits/1"}


@pytest.mark.parametrize("log", ["offsets", "commits"])
def test_a_batch_that_is_listed_but_not_there_under_its_own_name_is_not_passed_over(storage, log):
    """`00005` counts as batch 5, and Spark then asks for `5`."""
    write_checkpoint(storage, CHECKPOINT, planned=[3, 4], committed=[3, 4])
    put(storage, f"{log}/00005", offsets() if log == "offsets" else commit())

    facts = read_checkpoint(storage, CHECKPOINT)

    assert [broken.file for broken in facts.broken] == [f"{log}/5"]


@pytest.mark.parametrize(
    "content", [b"\xff\x1b[2J" * 500, b'{"id":"\\u001b[2J' + b"x" * 999 + b'"}'], ids=["bytes", "id"]
)
def test_a_reason_never_repeats_what_a_file_says_at_length(storage, content):
    put(storage, "metadata", content)

    reason = read_checkpoint(storage, CHECKPOINT).broken[0].reason

    assert reason.isprintable()
    assert len(reason) < 120


def test_an_entry_of_continuous_mode_is_read_and_no_start_goes_on_from_it(storage):
    write_checkpoint(storage, CHECKPOINT, planned=[0])
    put(storage, "offsets/0", b'v1\n\n{"0":{"value":-2,"runTimeMs":5}}')

    facts = read_checkpoint(storage, CHECKPOINT)

    assert facts.newest.header.is_empty
    assert "continuous" in facts.broken[0].reason
    assert "empty" not in facts.broken[0].reason


# The look itself


def test_a_checkpoint_that_cannot_be_asked_is_not_a_new_one(storage):
    switchable = SwitchableStorage(storage)
    for part in ("offsets", "commits", "metadata"):
        switchable.unreachable = part
        with pytest.raises(StorageError) as caught:
            read_checkpoint(switchable, CHECKPOINT)
        assert not isinstance(caught.value, ObjectNotFoundError)


@pytest.mark.parametrize("call", range(1, 8))
def test_a_query_that_goes_on_meanwhile_never_looks_as_if_commits_were_ahead(storage, call):
    """Commits ahead of offsets means `unsafe`; a running query must not be taken for that."""
    write_checkpoint(storage, CHECKPOINT, planned=[3, 4], committed=[3, 4])
    calls = []

    def tick(moment):
        calls.append(moment)
        if len(calls) == call:
            write_checkpoint(storage, CHECKPOINT, planned=[5], committed=[5])

    facts = read_checkpoint(InterruptibleStorage(storage, tick), CHECKPOINT)

    assert facts.last_commit <= facts.last_offset


def test_a_large_checkpoint_costs_two_listings_and_four_files(storage):
    write_checkpoint(storage, CHECKPOINT, planned=range(200), committed=range(200))
    calls = []

    read_checkpoint(InterruptibleStorage(storage, calls.append), CHECKPOINT)

    assert len([call for call in calls if "list" in call]) == 2
    assert len([call for call in calls if "read" in call]) == 4


def test_exactly_these_are_asked_for_and_commits_first(storage):
    write_checkpoint(storage, CHECKPOINT, planned=range(200), committed=range(200))
    calls = []

    read_checkpoint(InterruptibleStorage(storage, calls.append), CHECKPOINT)

    assert [call.replace(CHECKPOINT + "/", "") for call in calls] == [
        "before list commits",
        "before list offsets",
        "before read metadata",
        "before read offsets/199",
        "before read offsets/198",
        "before read commits/199",
    ]


def test_the_query_id_is_spelled_one_way(storage):
    put(storage, "metadata", metadata(QUERY_ID.upper()))

    assert read_checkpoint(storage, CHECKPOINT).query_id == QUERY_ID


def test_the_query_id_may_lack_zeros_as_in_java(storage):
    put(storage, "metadata", metadata("1-2-3-4-5"))

    assert read_checkpoint(storage, CHECKPOINT).query_id == "00000001-0002-0003-0004-000000000005"


class Vanishing(MemoryStorage):
    """A file is deleted right after its folder was listed: a purge, or an older copy that is put back."""

    def __init__(self, address):
        super().__init__()
        self._address = address

    def list(self, directory, *, after=""):
        names = super().list(directory, after=after)
        if self._address.startswith(directory):
            self.delete(self._address)
        return names


@pytest.mark.parametrize("file", ["offsets/3", "offsets/2", "commits/3"])
def test_a_file_that_vanishes_during_the_look_is_no_damage_but_a_reason_to_look_again(file):
    storage = Vanishing(join(CHECKPOINT, file))
    write_checkpoint(storage, CHECKPOINT, planned=range(4), committed=range(4))

    with pytest.raises(StorageError, match=f"{file} vanished"):
        read_checkpoint(storage, CHECKPOINT)


class Busy(MemoryStorage):
    """A fast query: between any two listings it plans and commits batches."""

    def __init__(self):
        super().__init__()
        self.next = 0

    def list(self, directory, *, after=""):
        names = super().list(directory, after=after)
        if directory.endswith("commits") and self.next < 6:
            write_checkpoint(self, CHECKPOINT, planned=range(self.next, self.next + 3), committed=range(self.next + 3))
            self.next += 3
        return names


def test_a_query_that_runs_on_between_two_listings_has_lost_no_commit():
    storage = Busy()
    storage.list(join(CHECKPOINT, "commits"))

    facts = read_checkpoint(storage, CHECKPOINT)

    assert facts.last_offset - facts.last_commit in (0, 1)
