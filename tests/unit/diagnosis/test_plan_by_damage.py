"""The damage matrix, row by row, on the files of a checkpoint whose batches 0 to 4 are committed."""

import pytest

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.checkpoint.reader import read_checkpoint
from streamops.diagnosis.restart_plan import Safety
from streamops.engines import engine_after, engine_of
from streamops.errors import SettingsError
from streamops.storage import join
from support.base_checkpoint import ADDRESS, INPUT, entry, files, stored
from support.damage_matrix import DEPTH_ROWS, OFFSET_ROWS, ROWS
from support.plans import plan_of
from support.rocksdb import EMPTY_SST, store_at
from support.state_files import CHANGES


def by_the_logs(found, version):
    return plan_of(read_checkpoint(stored(found), ADDRESS), engine=engine_of(version))


def in_depth(found, version="4.2"):
    return plan_of(inspect_checkpoint(stored(found), ADDRESS), engine=engine_of(version))


@pytest.mark.parametrize(
    ("row", "version"), [pytest.param(row, v, id=f"{row.code} on {v}") for row in ROWS for v in row.engines]
)
def test_a_start_goes_as_it_went_on_real_spark(row, version):
    plan = by_the_logs(row.applied(files()), version)

    assert plan.next_batch == row.runs
    assert plan.reruns == row.reruns
    assert row.error in plan.expected_error
    assert bool(plan.expected_error) == bool(row.error)
    assert (plan.safety is Safety.UNSAFE) is (row.repeats or row.new_id or row.runs_and_fails)
    assert ("new query id" in plan.summary) is row.new_id
    assert plan.summary


@pytest.mark.parametrize(
    ("row", "version"),
    [
        pytest.param(row, version, id=f"{row.code} on {version}")
        for row in (*(row for row in ROWS if row.code != "P16c"), *DEPTH_ROWS)
        for version in row.engines
    ],
)
def test_what_lies_beyond_the_logs_is_foretold_too(row, version):
    plan = in_depth(row.applied(files()), version)

    assert plan.next_batch == row.runs
    assert row.error in plan.expected_error
    assert bool(plan.expected_error) == bool(row.error)
    assert (plan.safety is Safety.UNSAFE) is (row.repeats or row.new_id or row.runs_and_fails)


@pytest.mark.parametrize("row", [pytest.param(row, id=row.code) for row in OFFSET_ROWS])
def test_what_the_entries_of_sources_say_is_foretold(row):
    foretold = in_depth(row.applied(files()))

    assert foretold.next_batch == row.runs
    assert (foretold.safety is Safety.FUTILE) is bool(row.error)
    assert (foretold.safety is Safety.UNSAFE) is row.repeats


@pytest.mark.parametrize(
    ("version", "size", "error"),
    [
        ("3.5", None, "does not exist"),
        ("4.2", None, "CANNOT_LOAD_STATE_STORE"),
        ("3.5", 4, f"SSTs/000008-0a1b.sst has 4 bytes, the manifest says {len(EMPTY_SST)}"),
        ("4.2", 4, "CANNOT_LOAD_STATE_STORE"),
    ],
)
def test_a_damaged_snapshot_of_rocksdb_keeps_the_next_batch_from_running(version, size, error):
    found = files() | store_at(5, sst=b"x" * (size or 0))
    if size is None:
        del found["state/0/0/SSTs/000008-0a1b.sst"]

    plan = in_depth(found, version)

    assert plan.next_batch is None
    assert error in plan.expected_error


def test_a_first_start_beside_another_spelling_of_the_same_path_would_begin_anew():
    """SPARK-26824"""
    storage = stored({})
    for name, content in files().items():
        storage.write(join("file:///checkpoints/my%20orders", name), content)

    snapshot = inspect_checkpoint(storage, "file:///checkpoints/my orders")
    plan = plan_of(snapshot)

    assert (plan.safety, plan.next_batch) == (Safety.UNSAFE, 0)
    assert "'file:///checkpoints/my%20orders' has batches up to 4" in plan.summary


def test_input_that_is_gone_is_told_before_its_batch_is_committed_without_it():
    storage = stored(files(commits_4=None))
    storage.delete(join(INPUT, "4.json"))

    plan = plan_of(inspect_checkpoint(storage, ADDRESS))

    assert (plan.safety, plan.next_batch, plan.expected_error) == (Safety.UNSAFE, 4, "")
    assert "1 input files of batch 4 are gone" in plan.summary


def test_input_of_a_committed_batch_is_no_loss():
    storage = stored(files())
    storage.delete(join(INPUT, "4.json"))

    assert plan_of(inspect_checkpoint(storage, ADDRESS)).safety is Safety.SAFE


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        pytest.param({}, "", id="the newest version is there"),
        pytest.param({"state/0/1/5.delta": None}, "CANNOT_LOAD_STATE_STORE", id="a delta is missing"),
        pytest.param({"state/0/1/2.delta": None}, "CANNOT_LOAD_STATE_STORE", id="an old one, and no snapshot above it"),
        pytest.param({"state/0/1/2.delta": None, "state/0/1/4.snapshot": CHANGES}, "", id="with a snapshot above it"),
        pytest.param({"commits/4": None, "state/0/1/5.delta": None}, "", id="of a batch that will write it again"),
    ],
)
def test_state_that_can_not_be_loaded_ends_a_start(changes, error):
    whole = {f"state/0/{partition}/{v}.delta": CHANGES for partition in (0, 1) for v in range(1, 6)}
    found = files(partitions=2) | whole | changes
    kept = {name: content for name, content in found.items() if content is not None}

    assert in_depth(kept).expected_error == error


def test_emptied_logs_beside_state_are_refused_and_not_read_again():
    found = {name: content for name, content in files().items() if name[:7] not in ("offsets", "commits")}

    plan = in_depth(found | {"state/0/0/1.delta": CHANGES})

    assert (plan.next_batch, plan.expected_error) == (None, "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY")


def test_a_first_start_that_was_cut_off_is_no_history():
    """The source writes its first entry before the first batch is planned."""
    assert in_depth({"sources/0/0": files()["sources/0/0"], "metadata": files()["metadata"]}).safety is Safety.SAFE


def test_what_follows_the_offset_of_a_source_is_no_part_of_its_range():
    found = files(offsets_4=entry(4) + b"\0\0", commits_4=None)

    (source,) = by_the_logs(found, "4.2").ranges

    assert (source.start, source.end) == ('{"logOffset":3}', '{"logOffset":4}')


def test_a_batch_that_runs_again_has_exactly_the_range_of_the_log():
    (source,) = by_the_logs(files(commits_4=None), "4.2").ranges

    assert (source.start, source.end) == ('{"logOffset":3}', '{"logOffset":4}')


def test_sources_of_v2_pair_up_by_their_names():
    before = entry(3, version="v2", source='a:{"logOffset":3}\nb:{"logOffset":30}')
    now = entry(4, version="v2", source='b:{"logOffset":40}\na:{"logOffset":4}')

    first, second = by_the_logs(files(offsets_3=before, offsets_4=now, commits_4=None), "4.3").ranges

    assert (first.start, first.end) == ('{"logOffset":30}', '{"logOffset":40}')
    assert (second.start, second.end) == ('{"logOffset":3}', '{"logOffset":4}')


@pytest.mark.parametrize("version", ["4.2", "4.2.0", "4.2.1"])
def test_a_version_is_found_with_or_without_its_patch(version):
    assert engine_of(version).version == "4.2"


@pytest.mark.parametrize(
    ("version", "finishes"),
    [
        ("3.5.6", False),
        ("3.5.7", True),
        ("4.0.0", False),
        ("4.0.1", False),
        ("4.0.2", True),
        ("4.1.0", True),
        ("4.2", True),
        ("4.3.0", True),
        pytest.param("3.5", None, id="the patch release is not known"),
        pytest.param("4.0", None, id="nor this one"),
        pytest.param("3.5.5-amzn-1", None, id="a vendor may have carried the fix over"),
        pytest.param("3.5.6.1", None, id="nobody knows what that is"),
    ],
)
def test_which_spark_finishes_a_batch_whose_topic_has_changed(version, finishes):
    """SPARK-53560, by KafkaMicroBatchStream of each release."""
    assert engine_of(version).finishes_changed_batch is finishes


@pytest.mark.parametrize(
    ("fingerprint", "version"),
    [("3.5", "3.5"), ("4.0", "4.0"), ("4.2", "4.2"), ("4.3", "4.2"), pytest.param("", "4.2", id="nothing tells")],
)
def test_only_an_older_spark_is_taken_from_the_files(fingerprint, version):
    assert engine_after(fingerprint).version == version


@pytest.mark.parametrize("version", ["2.4", "5.0", "", "four"])
def test_a_version_that_nobody_has_measured_is_refused(version):
    with pytest.raises(SettingsError, match=r"3\.5, 4\.0"):
        engine_of(version)
