"""What one look at a checkpoint hands out, whatever lies in its files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.reader import read_checkpoint
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from support.checkpoints import metadata, write_checkpoint
from support.specs import CHECKPOINT


@pytest.fixture
def storage():
    return MemoryStorage()


def read(storage, **checkpoint):
    write_checkpoint(storage, CHECKPOINT, **checkpoint)
    return read_checkpoint(storage, CHECKPOINT)


def put(storage, file, content):
    storage.write(join(CHECKPOINT, file), content)


def test_the_entries_on_which_a_start_rests_are_handed_out(storage):
    facts = read(storage, planned=[3, 4, 5], committed=[3, 4])

    assert (facts.previous.batch, facts.newest.batch, facts.commit.batch) == (4, 5, 4)
    assert facts.commit.next_watermark_ms == 0
    assert facts.offsets_log.ids == (3, 4, 5)
    assert facts.commits_log.ids == (3, 4)


def test_what_is_not_there_is_not_handed_out(storage):
    facts = read(storage, planned=[0, 2])

    assert (facts.previous, facts.commit) == (None, None)
    assert facts.offsets_log.holes() == (range(1, 2),)


def test_below_the_start_of_a_batch_in_flight_one_entry_more_is_read(storage):
    facts = read(storage, planned=[2, 4, 5], committed=[4])

    assert facts.earlier.batch == 2


def test_an_entry_that_no_start_reads_may_be_broken(storage):
    put(storage, "offsets/3", b"")
    facts = read(storage, planned=[4, 5], committed=[4])

    assert (facts.earlier, facts.broken) == (None, ())


@pytest.mark.parametrize(
    ("content", "expected"),
    [(metadata(), True), (b"", True), (None, False)],
    ids=["readable", "broken is there too", "missing"],
)
def test_whether_there_is_metadata(storage, content, expected):
    if content is not None:
        put(storage, "metadata", content)

    assert read_checkpoint(storage, CHECKPOINT).has_metadata is expected


def test_the_newest_entry_tells_which_spark_wrote_it(storage):
    assert read(storage).spark_fingerprint == ""
    assert read(storage, planned=[0]).spark_fingerprint == "3.5"


hostile = st.binary(max_size=60) | st.binary(max_size=60).map(b"v1\n{}\n".__add__)


@given(st.dictionaries(st.sampled_from(["metadata", "offsets/1", "offsets/2", "commits/2"]), hostile))
def test_no_files_do_anything_worse_than_being_broken(files):
    hostile_storage = MemoryStorage()
    for file, content in files.items():
        put(hostile_storage, file, content)

    facts = read_checkpoint(hostile_storage, CHECKPOINT)

    assert {broken.file for broken in facts.broken} <= files.keys()
    assert all(broken.reason.isprintable() for broken in facts.broken)
