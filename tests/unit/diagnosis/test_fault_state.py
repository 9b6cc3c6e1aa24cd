"""Faults that users met in state, each with its verdict: groups E and J of the catalogue of reports."""

import json
from datetime import timedelta

import pytest

from streamops.catalogue.state_conf_rules import CHECKPOINT_FORMAT
from streamops.catalogue.watch import HealthSample, Watch
from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.control.records import Outcome
from streamops.diagnosis.restart_plan import Safety
from streamops.failures.classify import DriverEvidence, classify
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.verdict import Verdict
from support.base_checkpoint import ADDRESS, HEADER, entry, files, stored
from support.checked import NOW, checked, start, told
from support.plans import plan_of
from support.rocksdb import snapshot_zip, store_at
from support.state_files import CHANGES

UUID = "01234567-89ab-cdef-0123-456789abcdef"


def deltas(*versions, partition=0):
    return {f"state/0/{partition}/{version}.delta": CHANGES for version in versions}


def pinned(**confs):
    header = json.loads(HEADER) | {"conf": {key.replace("_", "."): value for key, value in confs.items()}}
    return files(offsets_4=entry(4, header=json.dumps(header)))


WHOLE = files(partitions=2) | deltas(1, 2, 3, 4, 5) | deltas(1, 2, 3, 4, 5, partition=1)


def without_files(*names):
    return {name: content for name, content in WHOLE.items() if name not in names}


@pytest.mark.fault("B45")
@pytest.mark.parametrize("version", ["3.5", "4.3"])
def test_state_of_the_next_batch_that_lacks_a_delta_is_futile_to_load(version):
    """bot.dharman.net id 2047037: `Error reading delta file …/state/0/0/3.delta … does not exist`, in each batch."""
    found = checked(without_files("state/0/0/3.delta"), version=version)

    assert told(found) == [("unloadable-state", "critical")]
    assert start(found) == ("futile", None)
    assert found.findings[0].file == "state/0/0"
    assert "3.delta" in found.findings[0].evidence
    assert "do not empty the partition alone" in found.findings[0].not_when


@pytest.mark.fault("B45")
def test_all_files_of_one_partition_are_missed_too():
    """volcengine.com article 2361389, after a YARN kill."""
    found = checked(pinned(spark_sql_shuffle_partitions="2") | deltas(1, 2, 3, 4, 5, partition=1))

    assert told(found) == [("unloadable-state", "critical")]
    assert start(found) == ("futile", None)
    assert "1 of 2 stores" in found.findings[0].evidence


@pytest.mark.fault("B45")
@pytest.mark.parametrize(
    "found",
    [
        pytest.param(WHOLE, id="nothing is missing"),
        pytest.param(without_files("state/0/0/1.delta") | {"state/0/0/4.snapshot": CHANGES}, id="below a snapshot"),
    ],
)
def test_state_that_can_be_loaded_is_quiet(found):
    """bot.dharman.net id 2047037, the other side: old versions are deleted on purpose."""
    result = checked(found)

    assert (result.verdict, told(result), start(result)) == (Verdict.OK, [], ("safe", 5))


def test_state_of_batches_that_the_logs_do_not_have_is_told():
    """Seen on 4.2.0: the planned batch comes again under its id, with more rows than those that the sink has had."""
    found = checked(WHOLE | deltas(6, 7))

    assert told(found) == [("state-ahead", "critical")]
    assert start(found) == ("blocked", 5)


@pytest.mark.fault("B12")
def test_a_state_file_under_its_temporary_name_may_be_the_only_copy():
    """SPARK-40826 (apache/spark#38291): the rename never happened, the batch was committed."""
    found = checked(without_files("state/0/0/5.delta") | {f"state/0/0/.5.delta.{UUID}.TID7.tmp": CHANGES})

    assert told(found) == [("unloadable-state", "critical")]
    assert start(found) == ("futile", None)
    assert found.findings[0].repair.startswith("rename the temporary files that hold")


@pytest.mark.fault("B12")
def test_a_state_file_of_an_uncommitted_batch_is_written_again():
    """SPARK-40826, the harmless side: version 5 belongs to batch 4, which runs again."""
    found = checked(
        {name: content for name, content in without_files("state/0/0/5.delta").items() if name != "commits/4"}
    )

    assert (found.verdict, told(found)) == (Verdict.OK, [("pending-batch", "note")])
    assert start(found) == ("safe-if-idempotent", 4)


@pytest.mark.fault("B47")
@pytest.mark.parametrize(
    "text",
    [
        "StateSchemaNotCompatible: Provided schema doesn't match to the schema for existing state!",
        "[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] Provided value schema does not match existing state value schema.",
        "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match existing state key schema.",
    ],
)
def test_a_changed_schema_of_state_is_futile_and_the_checkpoint_is_sound(text):
    """SPARK-27237 (apache/spark#24173): a retry fails the same way; roll the code back, or begin anew."""
    found = classify(DriverEvidence(outcome=Outcome.FAILED, text=f"org.apache.spark.SparkException: {text}"))
    left_behind = checked({name: content for name, content in WHOLE.items() if name != "commits/4"})

    assert (found.failure_class, found.remedy) == (FailureClass.STATE_INCOMPATIBLE, Remedy.NEVER)
    assert (left_behind.verdict, start(left_behind)) == (Verdict.OK, ("safe-if-idempotent", 4))


@pytest.mark.fault("B48")
def test_settings_that_the_checkpoint_pins_are_a_note():
    """learn.microsoft.com 'state repartitioning': more partitions are asked for, and nothing changes."""
    found = checked(
        pinned(spark_sql_shuffle_partitions="2"),
        confs=(("spark.sql.shuffle.partitions", "400"), ("spark.executor.memory", "4g")),
    )

    assert (found.verdict, told(found), start(found)) == (Verdict.OK, [("ignored-confs", "note")], ("safe", 5))
    assert found.findings[0].evidence == "spark.sql.shuffle.partitions is '2' here, '400' is asked for"


@pytest.mark.fault("B49")
@pytest.mark.parametrize(
    ("store", "rule"),
    [
        pytest.param(store_at(5, sst=b"1234"), "broken-state-file", id="an SST file of another size"),
        pytest.param(
            {"state/0/0/5.zip": snapshot_zip({"000008-0a1b.sst": 5})}, "broken-state-file", id="a missing SST file"
        ),
        pytest.param({"state/0/0/4.zip": snapshot_zip({})}, "unloadable-state", id="a missing zip"),
    ],
)
def test_a_rocksdb_snapshot_that_does_not_fit_its_manifest_is_futile_to_load(store, rule):
    """SPARK-51717, SPARK-43404: `Sst file size mismatch … MANIFEST-000005 may be corrupted`."""
    found = checked(files() | store)

    assert told(found) == [(rule, "critical")]
    assert start(found) == ("futile", None)


@pytest.mark.fault("B49")
def test_a_rocksdb_snapshot_that_fits_is_quiet():
    """SPARK-47036, the other side: files that no manifest names are kept until they are cleaned up."""
    found = checked(files() | store_at(5) | {"state/0/0/SSTs/000099-9f9f.sst": b"left over"})

    assert (found.verdict, told(found), start(found)) == (Verdict.OK, [], ("safe", 5))


@pytest.mark.fault("B50")
def test_a_state_instance_that_is_still_owned_heals_with_a_restart():
    """SPARK-42794 (apache/spark#40425): no surgery on the checkpoint, which is sound."""
    text = (
        "RocksDB instance could not be acquired by [ThreadId: Some(77)] as it was not released by [ThreadId: Some(9)]"
    )

    found = classify(
        DriverEvidence(outcome=Outcome.FAILED, text=f"java.lang.IllegalStateException: {text} after 60002 ms.")
    )

    assert (found.failure_class, found.remedy) == (FailureClass.TRANSIENT, Remedy.BACK_OFF)


def with_unique_ids(newest_commit):
    """State of checkpoint format 2: each commit names the files of its version, `5_<id>.changelog`."""

    def commit(batch):
        told_ids = {"nextBatchWatermarkMs": 0, "stateUniqueIds": {"0": [[f"id{batch + 1}"]]}}
        return f"v2\n{json.dumps(told_ids)}".encode()

    found = files(**{f"commits_{batch}": commit(batch) if batch <= newest_commit else None for batch in range(5)})
    return found | {f"state/0/0/{version}_id{version}.changelog": CHANGES for version in range(1, 6)}


@pytest.mark.fault("B51")
@pytest.mark.parametrize(
    ("newest_commit", "expected"), [(4, ("safe", 5)), (3, ("safe-if-idempotent", 4))], ids=["clean", "in flight"]
)
def test_commits_that_name_their_state_are_read_and_a_pending_batch_is_no_damage(newest_commit, expected):
    """SPARK-51682 (apache/spark#50480): the ordinary crash shape could not be recovered until the fix."""
    found = checked(with_unique_ids(newest_commit))

    assert (found.verdict, start(found)) == (Verdict.OK, expected)


@pytest.mark.parametrize(
    ("confs", "severity", "safety"),
    [
        ((), "note", "safe"),
        (((CHECKPOINT_FORMAT, "2"),), None, "safe"),
        (((CHECKPOINT_FORMAT, "1"),), "critical", "futile"),
    ],
    ids=["unsaid", "as the state was written", "another one"],
)
def test_files_with_ids_are_asked_for_by_a_setting_of_the_run_alone(confs, severity, safety):
    """It is not pinned (OffsetSeqMetadata, 4.0 to 4.3): without it a start of 4.2.0 looks for files without ids."""
    found = checked(with_unique_ids(4), confs=confs)

    assert [how for rule, how in told(found) if rule == "unsaid-checkpoint-format"] == ([severity] if severity else [])
    assert found.restart.safety == safety


@pytest.mark.fault("B51")
def test_state_under_another_id_than_the_commit_names_can_t_be_loaded():
    """SPARK-51682: deleting or rewriting a commit destroys the reference to its state."""
    found = with_unique_ids(4)
    found["state/0/0/5_other.changelog"] = found.pop("state/0/0/5_id5.changelog")

    result = checked(found, confs=((CHECKPOINT_FORMAT, "2"),))

    assert told(result) == [("unloadable-state", "critical")]
    assert start(result) == ("futile", None)


@pytest.mark.fault("B82")
@pytest.mark.parametrize(("earlier", "severity"), [(1300, "note"), (999, "warning")], ids=["it stands", "it grows"])
def test_state_that_nobody_cleans_up_is_told_by_its_growth(earlier, severity):
    """delta-io/delta#108, neoinsights.de: slow decay; a restart does not help and does no harm."""
    versions = 1300
    found = {name: content for name, content in files().items() if not name.startswith(("offsets", "commits"))}
    for batch in (versions - 2, versions - 1):
        found |= {f"offsets/{batch}": entry(batch, source='{"logOffset":4}'), f"commits/{batch}": b"v1\n{}"}
    sample = HealthSample(
        at=NOW - timedelta(days=1),
        verdict=Verdict.OK,
        last_offset=versions - 301,
        last_commit=versions - 301,
        state_files=earlier,
    )

    result = checked(found | deltas(*range(1, versions + 1)), watch=Watch(now=NOW, before=(sample,)))

    assert told(result) == [("growing-state", severity)]
    assert start(result) == ("safe", versions)


@pytest.mark.parametrize(
    ("operators", "told_of", "safety"),
    [
        pytest.param((0, 1), 0, Safety.SAFE, id="both are there"),
        pytest.param((0, 1), 2, Safety.SAFE, id="and the last batch told of two"),
        pytest.param((1,), 0, Safety.FUTILE, id="the first is gone: they are numbered from 0 on"),
        pytest.param((0,), 2, Safety.FUTILE, id="the second is gone, and the last batch told of two"),
        pytest.param((), 1, Safety.FUTILE, id="all state is gone"),
        pytest.param((), 0, Safety.SAFE, id="a query without state"),
    ],
)
def test_an_operator_whose_state_is_gone_as_a_whole(operators, told_of, safety):
    """Tried on 4.2.0, with both providers."""
    found = files() | {f"state/{number}/0/{v}.delta": CHANGES for number in operators for v in range(1, 6)}

    plan = plan_of(inspect_checkpoint(stored(found), ADDRESS), stateful_operators=told_of)

    assert plan.safety is safety
    assert ("not there" in plan.summary) is (safety is Safety.FUTILE)
