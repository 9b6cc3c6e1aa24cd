"""Faults that users met between a checkpoint and its sink or its Delta source, each with its verdict.

Records B05, B20, B59, B62, B63 of the catalogue of reports; the tables are real logs of Delta on a local disk.
"""

import json
from datetime import timedelta

import pytest
from deltalake import DeltaTable

from streamops.catalogue.watch import Watch
from streamops.diagnosis.declared_places import SinkPlace, SourceTable
from streamops.storage import join
from streamops.storage.local import LocalStorage
from streamops.storage.memory import MemoryStorage
from streamops.verdict import Verdict
from support.base_checkpoint import ADDRESS, BASE_ID, entry, files, without
from support.checked import NOW, checked, start, told
from support.checkpoints import OTHER_QUERY_ID
from support.delta_table import TABLE_ID, idempotent_write, streaming_update, write_table
from support.state_files import CHANGES

NEW = {"metadata": files()["metadata"]}


def ids(found):
    return [rule for rule, _ in told(found)]


@pytest.fixture
def table(tmp_path):
    """A table that Delta's own sink wrote up to a batch."""

    def write(newest, *, query_id=BASE_ID):
        commits = (streaming_update(query_id, batch) for batch in range(newest + 1))
        return SinkPlace(storage=LocalStorage(), address=write_table(tmp_path / "table", *commits))

    return write


@pytest.fixture
def written_by_foreach_batch(tmp_path):
    """A table that a foreachBatch wrote under an id of its author's choice, up to a batch."""

    def write(newest):
        commits = (idempotent_write("orders-job", batch) for batch in range(newest + 1))
        address = write_table(tmp_path / "table", *commits)
        return SinkPlace(storage=LocalStorage(), address=address, applications=("orders-job",))

    return write


@pytest.fixture
def directory(tmp_path):
    """A file sink's folder that has batches up to one."""

    def write(newest):
        log = tmp_path / "out" / "_spark_metadata"
        log.mkdir(parents=True)
        for batch in range(newest + 1):
            (log / f"{batch}{'.compact' if batch % 10 == 9 else ''}").write_bytes(b"v1")
        return SinkPlace(storage=LocalStorage(), address=f"file://{tmp_path}/out")

    return write


@pytest.mark.fault("B05")
def test_a_batch_that_delta_has_is_replayed_and_dropped(table):
    """apache/paimon#9666: the crash between write and commit; Delta's sink knows the batch, so nothing is doubled."""
    found = checked(files(commits_4=None), sink=table(4))

    assert (found.verdict, start(found)) == (Verdict.OK, ("safe", 4))
    assert told(found) == [("pending-batch", "note"), ("sink-has-pending-batch", "note")]


@pytest.mark.fault("B05")
def test_a_batch_that_the_file_sink_has_is_replayed_and_dropped(directory):
    """apache/paimon#9666, and the false alarm that must not be: the sink's log holds exactly the batch in flight."""
    found = checked(files(commits_4=None), sink=directory(4))

    assert (found.verdict, start(found)) == (Verdict.OK, ("safe", 4))
    assert "sink-ahead" not in ids(found)


@pytest.mark.fault("B01")
def test_a_torn_entry_of_a_batch_that_the_sink_has_is_not_moved_aside(table):
    """SPARK-13791: the batch would be planned anew, with more rows, and the sink would drop all of them."""
    found = checked(files(offsets_4=b"", commits_4=None), sink=table(4))

    assert ("sink-has-pending-batch", "warning") in told(found)
    assert start(found) == ("futile", None)


@pytest.mark.fault("B09")
def test_an_exchanged_query_id_is_told_by_what_the_sink_knows(table):
    """SPARK-55058: the sink would take the replayed batch again."""
    found = checked(files(commits_4=None), sink=table(4, query_id=OTHER_QUERY_ID))

    assert ("unknown-to-sink", "critical") in told(found)
    assert start(found) == ("unsafe", 4)


@pytest.mark.fault("B20")
@pytest.mark.parametrize("newest", [0, 8, 500])
def test_a_new_checkpoint_beside_an_old_output_directory_loses_batches(directory, newest):
    """kb.databricks.com file-sink-streaming: no error, commits grow, no new data files."""
    found = checked(NEW, sink=directory(newest))

    assert told(found) == [("sink-ahead", "critical")]
    assert start(found) == ("unsafe", 0)
    assert "write to a new output directory" in found.findings[0].repair


@pytest.mark.fault("B20")
def test_an_output_directory_that_fits_its_checkpoint_is_quiet(directory):
    """kb.databricks.com file-sink-streaming, the other side."""
    found = checked(files(), sink=directory(4))

    assert (found.verdict, told(found), start(found)) == (Verdict.OK, [], ("safe", 5))


@pytest.mark.fault("B62")
@pytest.mark.parametrize("logs", [("offsets", "commits"), ("offsets", "commits", "sources")])
def test_a_reset_under_the_same_query_id_is_dropped_by_delta(table, logs):
    """delta-io/delta#1141: the query succeeds, rows are missing."""
    found = checked(
        {name: content for name, content in files().items() if name.split("/")[0] not in logs}, sink=table(4)
    )

    assert ("sink-ahead", "critical") in told(found)
    assert start(found) == ("unsafe", 0)


@pytest.mark.fault("B62")
def test_a_constant_application_id_outlives_the_checkpoint(written_by_foreach_batch):
    """delta-io/delta#1141: `txnAppId` is a constant, and batch ids begin at 0 again."""
    found = checked(NEW, sink=written_by_foreach_batch(4))

    assert told(found) == [("sink-ahead", "critical")]
    assert start(found) == ("unsafe", 0)
    assert "a foreachBatch needs a new `txnAppId`" in found.findings[0].repair


@pytest.mark.fault("B62")
def test_an_older_copy_of_the_checkpoint_is_dropped_until_it_has_caught_up(table):
    """The review note in apache/paimon#9667: ignored as `already written` until the old maximum is passed."""
    found = checked(files(), sink=table(9))

    assert told(found) == [("sink-ahead", "critical")]
    assert start(found) == ("unsafe", 5)
    assert found.findings[0].meaning.startswith("batches 5 to 9 will run, be committed, and be dropped")


@pytest.mark.fault("B62")
def test_batches_that_are_committed_while_the_table_stands_still_are_told(table):
    """delta-io/delta#1141: batches commit, the table's version does not move."""
    found = checked(files(), sink=table(2))

    assert told(found) == [("sink-behind", "critical")]
    assert "the rows of batches 3 to 4 are not in the sink" in found.findings[0].meaning


@pytest.mark.fault("B62")
def test_a_new_query_on_an_old_table_is_quiet(table):
    """delta-io/delta#1141, the right way: a new checkpoint with a new query id."""
    found = checked(NEW, sink=table(400, query_id=OTHER_QUERY_ID))

    assert (found.verdict, told(found), start(found)) == (Verdict.OK, [], ("safe", 0))


@pytest.mark.fault("B63")
def test_state_that_was_kept_while_both_logs_were_deleted_is_told():
    """volcengine.com article 3101341: advice to delete two folders and keep the state."""
    kept = files(**without("offsets", "commits")) | {"state/0/0/1.delta": CHANGES}

    old, new = checked(kept, version="4.0"), checked(kept, version="4.2")

    assert told(old) == told(new) == [("emptied-logs", "critical")]
    assert (start(old), start(new)) == (("unsafe", 0), ("futile", None))


@pytest.mark.fault("B63")
def test_offsets_and_commits_deleted_and_sources_kept_reads_everything_again():
    """volcengine.com article 3101341: 18 rows where 3 were new."""
    found = checked(files(**without("offsets", "commits")))

    assert told(found) == [("emptied-logs", "critical")]
    assert start(found) == ("unsafe", 0)


def edited_last(found, name):
    """A storage in which batch after batch was written, each entry before its commit, and one file long after."""
    minutes = iter(range(1000))
    storage = MemoryStorage(now=lambda: NOW - timedelta(minutes=60 - next(minutes)))
    in_order = sorted(found, key=lambda path: (path.rpartition("/")[2], -len(path)))
    for path in (*(path for path in in_order if path != name), name):
        storage.write(join(ADDRESS, path), found[path])
    return storage


@pytest.mark.fault("B63")
def test_an_entry_that_was_edited_by_hand_is_told():
    """volcengine.com article 3101341: the number in the newest entry is changed, and data is read twice or skipped."""
    edited = files(offsets_4=entry(4, source='{"logOffset":3}'))

    found = checked({}, storage=edited_last(edited, "offsets/4"), watch=Watch(now=NOW))

    assert told(found) == [("copied-entry", "critical"), ("edited-offsets", "warning")]
    assert start(found) == ("blocked", 5)


@pytest.mark.fault("B63")
def test_an_entry_that_its_side_file_was_not_written_for_is_told():
    """volcengine.com article 3101341: the number is changed, and what lies beside it stays as it was."""
    found = checked(files() | {"offsets/.4.crc": b"crc\0\0\0\2\0\1\2\3\4"})

    assert told(found) == [("changed-entry", "warning")]
    assert start(found) == ("safe", 5)


@pytest.mark.fault("B63")
def test_a_missing_checksum_or_one_that_is_none_proves_nothing():
    """volcengine.com article 3101341: a copy without hidden files has none, and Spark never asks for them."""
    found = checked(files() | {"offsets/.4.crc": b"none", "commits/.3.crc": b"none"})

    assert (found.verdict, told(found), start(found)) == (Verdict.OK, [], ("safe", 5))


def reading_delta(version):
    """The logs of a query whose newest batch ends at this version of its source table."""
    offset = {"sourceVersion": 1, "reservoirId": TABLE_ID, "reservoirVersion": version, "index": -1}
    text = json.dumps(offset | {"isStartingVersion": False})
    found = {name: content for name, content in files().items() if not name.startswith("sources/")}
    return found | {f"offsets/{batch}": entry(batch, source=text) for batch in (3, 4)}


def source_of(folder, *, first=0):
    """A source table of the versions 0 to 8, whose commits below the first are cleaned up."""
    address = write_table(folder, *(streaming_update(OTHER_QUERY_ID, batch) for batch in range(8)))
    if first:
        DeltaTable(str(folder)).create_checkpoint()
    for version in range(first):
        (folder / "_delta_log" / f"{version:020d}.json").unlink()
    return SourceTable(storage=LocalStorage(), address=address)


@pytest.mark.fault("B63")
@pytest.mark.parametrize(
    ("version", "rules", "expected"),
    [
        pytest.param(9, [], ("safe", 5), id="all is read"),
        pytest.param(40, [("beyond-delta-table", "critical")], ("futile", None), id="edited to beyond the table"),
    ],
)
def test_an_edited_version_of_a_delta_source_is_held_against_the_table(tmp_path, version, rules, expected):
    """volcengine.com article 3101341: advice to change `reservoirVersion` in the newest entry."""
    found = checked(reading_delta(version), source_table=source_of(tmp_path / "source"))

    assert (told(found), start(found)) == (rules, expected)


@pytest.mark.fault("B59")
@pytest.mark.parametrize(
    ("first", "rules", "expected"),
    [
        pytest.param(5, [], ("safe", 5), id="just in time"),
        pytest.param(7, [("removed-delta-versions", "critical")], ("futile", None), id="too late"),
    ],
)
def test_versions_that_retention_removed_while_the_job_was_down_are_missed(tmp_path, first, rules, expected):
    """delta-io/delta#6395: cannot resume from version 5, the log starts at 7."""
    found = checked(reading_delta(5), source_table=source_of(tmp_path / "source", first=first))

    assert (told(found), start(found)) == (rules, expected)
