"""Faults that users met in the logs, the place and the input of a checkpoint, each with its verdict.

Groups A and B of the catalogue of reports. The ones that only look like a fault must stay quiet.
"""

import json
from datetime import UTC, datetime, timedelta

import pytest

from streamops.catalogue.watch import HealthSample, Watch
from streamops.control.records import Outcome, Position
from streamops.diagnosis.declared_places import SourceInput
from streamops.failures.classify import DriverEvidence, classify
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.storage import canonical_address, join
from streamops.storage.memory import MemoryStorage
from streamops.verdict import Verdict
from support.base_checkpoint import BASE_ID, HEADER, compacted, entry, files, source_entry, without
from support.checked import NOW, checked, start, told

UUID = "01234567-89ab-cdef-0123-456789abcdef"
ALL = ("3.5", "4.0", "4.1", "4.2", "4.3")
NEW = {"metadata": files()["metadata"]}


def half(content):
    return content[: len(content) // 2]


TORN = [
    pytest.param(b"", id="0 bytes"),
    pytest.param(f"v1\n{HEADER}".encode(), id="header only"),
    pytest.param(half(entry(4)), id="half of it"),
]


@pytest.mark.fault("B01")
@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize("content", TORN)
def test_a_torn_newest_entry_of_a_committed_batch_is_restored_never_deleted(content, version):
    """apache/spark#11625 (SPARK-13791): an unreadable entry needs opposite reactions, by whether its batch is committed."""
    found = checked(files(offsets_4=content), version=version)

    assert told(found) == [("unreadable-newest-offsets", "critical")]
    assert start(found) == ("futile", None)
    assert found.findings[0].file == "offsets/4"
    assert "do not delete it: batch 4 is committed" in found.findings[0].not_when


@pytest.mark.fault("B01")
@pytest.mark.parametrize("content", TORN)
def test_a_torn_newest_entry_of_an_unfinished_batch_is_moved_aside(content):
    """SPARK-13791: the batch was never finished, and is planned anew; unless the sink has it."""
    found = checked(files(offsets_4=content, commits_4=None))

    assert told(found) == [("unreadable-newest-offsets", "critical"), ("pending-batch", "note")]
    assert start(found) == ("futile", None)
    assert found.findings[0].repair.startswith("move offsets/4 aside")
    assert "when the sink has had batch 4 already" in found.findings[0].not_when


@pytest.mark.fault("B02")
@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize(
    ("changes", "way_out"),
    [
        pytest.param({}, "write offsets/3 anew", id="all is committed"),
        pytest.param({"commits_4": None}, "write offsets/3 anew", id="the newest is not"),
        pytest.param({"commits_3": None, "commits_4": None}, "move offsets/4 aside", id="as reported"),
    ],
)
def test_a_hole_just_below_the_newest_entry_is_fatal(changes, way_out, version):
    """SPARK-38033: offsets 113257 and 113259, commits up to 113257; dropping the newest is right in that case only."""
    found = checked(files(offsets_3=None, **changes), version=version)

    assert told(found)[0] == ("missing-previous-offsets", "critical")
    assert start(found) == ("futile", None)
    assert way_out in found.findings[0].repair


@pytest.mark.fault("B03")
@pytest.mark.parametrize(
    ("changes", "notes"),
    [
        pytest.param({"offsets_1": None}, ["holes-in-history"], id="an old offset entry"),
        pytest.param({"commits_2": None}, ["holes-in-history"], id="an old commit"),
        pytest.param(
            {f"{log}_{batch}": None for log in ("offsets", "commits") for batch in range(3)}, [], id="purged below 3"
        ),
    ],
)
def test_a_hole_in_old_history_is_no_alarm(changes, notes):
    """SPARK-38033, the other side: what lies further down is never read."""
    found = checked(files(**changes))

    assert (found.verdict, start(found)) == (Verdict.OK, ("safe", 5))
    assert told(found) == [(rule, "note") for rule in notes]


def async_logs():
    batches = (0, 1, 5, 8, 13)
    found = {"metadata": files()["metadata"]} | {f"sources/0/{log_id}": source_entry(log_id) for log_id in range(9)}
    found |= {"sources/0/9.compact": compacted(range(10))}
    found |= {f"sources/0/{log_id}": source_entry(log_id) for log_id in range(10, 14)}
    for batch in batches:
        found |= {f"offsets/{batch}": entry(batch), f"commits/{batch}": b'v1\n{"nextBatchWatermarkMs":0}'}
    return found


@pytest.mark.fault("B04")
@pytest.mark.parametrize(
    ("is_on", "verdict", "rules", "safety"),
    [
        pytest.param(True, Verdict.OK, [], ("safe-if-idempotent", 14), id="on"),
        pytest.param(False, Verdict.CRITICAL, [("missing-previous-offsets", "critical")], ("futile", None), id="off"),
        pytest.param(None, Verdict.UNKNOWN, [("async-progress-holes", "warning")], ("unknown", 14), id="unsaid"),
    ],
)
def test_gaps_of_async_progress_tracking_are_no_corruption(is_on, verdict, rules, safety):
    """SPARK-39591, SPARK-41596: right while the option stays on, fatal without it."""
    found = checked(async_logs(), tracks_progress_async=is_on)

    assert (found.verdict, told(found), start(found)) == (verdict, rules, safety)


def test_a_commit_without_its_offsets_is_a_lost_entry_with_async_progress_tracking_too():
    """Tried on 4.2.0: batch 13 began at the end of batch 5."""
    logs = {name: content for name, content in async_logs().items() if name not in ("offsets/8", "commits/13")}
    found = checked(logs, tracks_progress_async=True)

    assert told(found)[0] == ("missing-offsets-of-last-commit", "critical")
    assert start(found) == ("unsafe", 13)


@pytest.mark.fault("B05")
@pytest.mark.parametrize(
    ("is_idempotent", "verdict"), [(None, Verdict.OK), (True, Verdict.OK), (False, Verdict.WARNING)]
)
def test_a_crash_between_write_and_commit_is_the_ordinary_shape(is_idempotent, verdict):
    """apache/paimon#9666: batch N is replayed; only a sink that ignores batch ids has it twice."""
    found = checked(files(commits_4=None), is_sink_idempotent=is_idempotent)

    assert found.verdict is verdict
    assert start(found) == ("safe-if-idempotent", 4)
    assert [(one.start, one.end) for one in found.restart.ranges] == [('{"logOffset":3}', '{"logOffset":4}')]


@pytest.mark.fault("B08")
def test_commits_that_were_not_copied_are_told_for_nothing_else_tells():
    """apache/paimon#9666 by the same mechanism: the query starts happily and replays the newest batch."""
    found = checked(files(**without("commits")))

    assert told(found) == [("missing-commits", "warning"), ("pending-batch", "note")]
    assert start(found) == ("safe-if-idempotent", 4)


@pytest.mark.fault("B09")
@pytest.mark.parametrize(
    ("version", "safety"),
    [
        ("3.5", ("unsafe", 5)),
        ("4.0", ("unsafe", 5)),
        ("4.1", ("unsafe", 5)),
        ("4.2", ("futile", None)),
        ("4.3", ("futile", None)),
    ],
)
def test_a_lost_query_id_voids_what_sinks_know_or_keeps_the_query_from_starting(version, safety):
    """SPARK-55058: older versions invent an id in silence, newer ones refuse."""
    found = checked(files(metadata=None), version=version)

    assert (told(found), start(found)) == ([("missing-metadata", "critical")], safety)
    assert 'write `{"id":"<the query id>"}`' in found.findings[0].repair


@pytest.mark.fault("B09")
@pytest.mark.parametrize("content", [b"", half(b'{"id":"11111111-2222-3333-4444-555555555555"}')])
def test_an_unreadable_query_id_keeps_every_version_from_starting(content):
    """SPARK-55058: from `start()` itself, so that no streaming query exists."""
    for version in ALL:
        found = checked(files(metadata=content), version=version)

        assert (told(found), start(found)) == ([("unreadable-metadata", "critical")], ("futile", None))


@pytest.mark.fault("B10")
@pytest.mark.parametrize("changes", [{}, {"commits_4": None}])
def test_a_hole_in_a_source_s_own_log_is_told_from_one_in_the_offsets(changes):
    """qubole/kinesis-sql#57, SPARK-26629: `batch 4 doesn't exist` in both cases."""
    found = checked({name: content for name, content in files(**changes).items() if name != "sources/0/4"})

    assert told(found)[0] == ("missing-source-log", "critical")
    assert start(found) == ("futile", None)
    assert found.findings[0].evidence == "sources/0 ends at 3, offsets has 4"
    assert found.restart.expected_error == "batch 4 doesn't exist"


@pytest.mark.fault("B10")
def test_a_second_source_without_data_in_the_last_batch_is_no_hole():
    """SPARK-26629: two file streams, and one had nothing for a while."""
    lines = {batch: f'{{"logOffset":{batch}}}\n{{"logOffset":{min(batch, 1)}}}' for batch in range(5)}
    found = files(**{f"offsets_{batch}": entry(batch, source=text) for batch, text in lines.items()})

    result = checked(found | {f"sources/1/{log_id}": source_entry(log_id) for log_id in range(2)})

    assert (result.verdict, told(result), start(result)) == (Verdict.OK, [], ("safe", 5))


@pytest.mark.fault("B11")
def test_leftovers_of_a_crash_and_of_an_editor_are_no_damage():
    """allwefantasy/spark-binlog#10, SPARK-19779: only whole numbers are batches."""
    found = checked(files() | {f"offsets/.3.{UUID}.tmp": b"x", "offsets/2.bak": b"x", "offsets/2 (copy)": b"x"})

    assert (found.verdict, told(found), start(found)) == (Verdict.OK, [("leftovers", "note")], ("safe", 5))


@pytest.mark.fault("B12")
def test_a_rename_that_failed_on_an_uncommitted_entry_heals_with_a_restart():
    """delta-io/delta#1396: `rename from …/offsets/.N.<uuid>.tmp to …/offsets/N failed`."""
    found = checked(files(offsets_4=None, commits_4=None) | {f"offsets/.4.{UUID}.tmp": entry(4)})

    assert (found.verdict, told(found), start(found)) == (Verdict.OK, [("leftovers", "note")], ("safe", 4))


@pytest.mark.fault("B13")
def test_the_same_path_in_another_spelling_is_found_before_a_start_begins_anew():
    """SPARK-26824 (apache/spark#23733): Spark 2.x wrote an escaped folder, newer versions take the path as it is."""
    storage = MemoryStorage()
    for name, content in files().items():
        storage.write(join("file:///ck/chk%20%25@%23chk", name), content)

    found = checked(NEW, address="file:///ck/chk %@#chk", storage=storage)

    assert told(found) == [("twin-address", "critical")]
    assert start(found) == ("unsafe", 0)


@pytest.mark.fault("B14")
def test_spellings_of_one_place_are_one_and_a_local_place_beside_a_cluster_is_told():
    """SPARK-19407: a checkpoint on the default file system where another was meant."""
    assert canonical_address("/ck/orders/") == canonical_address("file:///ck/orders")
    assert canonical_address("s3a://bucket/ck") == canonical_address("s3://bucket/ck/")

    found = checked(files(), master="yarn")

    assert (found.verdict, told(found), start(found)) == (Verdict.OK, [("local-checkpoint", "note")], ("safe", 5))


@pytest.mark.fault("B15")
@pytest.mark.parametrize(
    ("changes", "version", "rule", "safety"),
    [
        ({"offsets_4": entry(4, version="v9")}, "3.5", "newer-format", "futile"),
        ({"offsets_4": entry(4, version="v9")}, "4.3", "newer-format", "futile"),
        ({"offsets_4": entry(4, version="v2")}, "3.5", "offsets-without-source-ids", "futile"),
        ({"offsets_4": entry(4, version="v2")}, "4.3", "offsets-without-source-ids", "unsafe"),
        ({"commits_4": b"v2\n{}"}, "3.5", "newer-format", "futile"),
    ],
)
def test_a_log_that_is_newer_than_the_engine_is_not_edited(changes, version, rule, safety):
    """SPARK-19721, SPARK-50652: rolling back is what on-call does at night; a faked v2 re-reads data on 4.3."""
    found = checked(files(**changes), version=version)

    assert told(found) == [(rule, "critical")]
    assert found.restart.safety == safety


@pytest.mark.fault("B16")
@pytest.mark.parametrize("asked", [2, 3])
def test_another_number_of_sources_is_futile_with_the_new_code_and_quiet_on_disk(asked):
    """SPARK-23565 (apache/spark#20946): the plan held one Kafka source three times; the checkpoint is sound."""
    text = (
        f"There are [1] sources in the checkpoint offsets and now there are [{asked}] sources requested by the query."
    )

    found = classify(DriverEvidence(outcome=Outcome.FAILED, text=f"java.lang.AssertionError: assertion failed: {text}"))

    assert (found.failure_class, found.remedy) == (FailureClass.STATE_INCOMPATIBLE, Remedy.NEVER)
    assert checked(files()).verdict is Verdict.OK


@pytest.mark.fault("B17")
@pytest.mark.parametrize("found", [{}, NEW], ids=["deleted", "emptied"])
def test_a_checkpoint_that_was_deleted_for_a_clean_start_is_not_taken_for_a_new_one(found):
    """kb.databricks.com 'restart a query from last written offset': people who only delete it lose the position."""
    result = checked(found, known=Position(query_id=BASE_ID, offset=4, commit=4))

    assert result.verdict is Verdict.CRITICAL
    assert start(result) == ("unsafe", 0)
    assert "the control log has seen batch 4" in result.restart.summary


@pytest.mark.fault("B18")
def test_an_application_id_in_the_path_means_a_new_beginning_each_run():
    """airbnb/chronon#1146: retries inside one application resume, a new application starts from nothing."""
    found = checked(files(), address="file:///ck/orders/application_1700000000000_0001")

    assert told(found) == [("run-dependent-address", "warning")]
    assert start(found) == ("safe", 5)


def twelve_batches():
    found = {"metadata": files()["metadata"], "sources/0/9.compact": compacted(range(10))}
    for batch in range(12):
        found |= {f"offsets/{batch}": entry(batch), f"commits/{batch}": b"v1\n{}"}
        found |= {f"sources/0/{batch}": source_entry(batch)} if batch != 9 else {}
    return found


@pytest.mark.fault("B21")
def test_a_compact_file_that_was_removed_is_made_anew_of_the_files_that_are_left():
    """SPARK-26949: `9.compact doesn't exist (latestId: 11, compactInterval: 10)`."""
    found = checked({name: content for name, content in twelve_batches().items() if not name.endswith(".compact")})

    assert told(found) == [("missing-source-log", "critical")]
    assert start(found) == ("futile", None)
    assert "9.compact" in found.findings[0].evidence


@pytest.mark.fault("B21")
def test_a_changed_compact_interval_is_no_damage():
    """SPARK-18187: Spark goes by the names of the files, not by the setting."""
    found = checked(twelve_batches() | {"sources/0/4.compact": compacted(range(5))})

    assert (found.verdict, told(found), start(found)) == (Verdict.OK, [], ("safe", 12))


@pytest.mark.fault("B22")
@pytest.mark.parametrize(("before", "severity"), [(64, "note"), (1, "warning")], ids=["it stands", "it grows"])
def test_a_compact_file_without_bound_is_told_with_a_forecast(before, severity):
    """SPARK-24295, SPARK-30462 (apache/spark#28904): each tenth batch takes minutes; a restart is slower, not faster."""
    earlier = HealthSample(
        at=NOW - timedelta(days=1), verdict=Verdict.OK, last_offset=11, last_commit=11, compact_bytes=before << 20
    )
    found = twelve_batches() | {"sources/0/9.compact": bytes(64 << 20)}

    result = checked(found, watch=Watch(now=NOW, before=(earlier,)))

    assert ("large-compact-files", severity) in told(result)
    assert start(result) == ("safe", 12)


class Input:
    """The input folder of the base checkpoint on a disk, with files of chosen ages."""

    FOLDER = "file:///in"
    READ_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __init__(self):
        self._at = self.READ_AT
        self.storage = MemoryStorage(now=lambda: self._at)
        for number in range(5):
            self.add(f"{number}.json")

    def add(self, name, *, folder=FOLDER, at=READ_AT):
        self._at = at
        self.storage.write(join(folder, name), b"{}")

    def checked(self, folder=FOLDER):
        """The base checkpoint, whose source log names these files."""
        self._at = self.READ_AT
        found = files()
        for number in range(5):
            stamp = int(self.READ_AT.timestamp() * 1000)
            line = json.dumps({"path": f"{self.FOLDER}/{number}.json", "timestamp": stamp, "batchId": number})
            found[f"sources/0/{number}"] = f"v1\n{line}".encode()
        return checked(found, storage=self.storage, source_inputs=[SourceInput(storage=self.storage, address=folder)])


@pytest.mark.fault("B23")
def test_files_that_are_too_old_ever_to_be_read_are_counted():
    """SPARK-19813 (apache/spark#17153): older than the newest that was read minus `maxFileAge`, and no error."""
    place = Input()
    place.add("late.json", at=Input.READ_AT - timedelta(days=8))

    found = place.checked()

    assert told(found) == [("aged-input", "warning")]
    assert start(found) == ("safe", 5)


@pytest.mark.fault("B24")
def test_an_overwritten_file_is_not_read_again():
    """SPARK-26875 (apache/spark#23782): the source keys on the path."""
    place = Input()
    place.add("0.json", at=Input.READ_AT + timedelta(minutes=30))

    found = place.checked()

    assert told(found) == [("overwritten-input", "warning")]
    assert start(found) == ("safe", 5)


@pytest.mark.fault("B26")
def test_an_input_folder_that_was_moved_is_found_before_the_start():
    """Path handling as discussed in apache/spark#23733: `Wrong basePath`, or everything is read anew."""
    place = Input()
    place.add("0.json", folder="file:///in_other")

    found = place.checked("file:///in_other")

    assert told(found)[0] == ("moved-input", "critical")
    assert start(found) == ("unsafe", 5)


@pytest.mark.fault("B81")
def test_the_folder_of_a_query_without_a_checkpoint_location_is_told():
    """kb.databricks.com checkpoint-no-cleanup-foreachbatch: each restart begins at batch 0."""
    found = checked(files(), address=f"file:///tmp/temporary-{UUID}")

    assert told(found) == [("temporary-address", "warning")]


@pytest.mark.fault("B83")
@pytest.mark.parametrize("has_driver", [True, None])
def test_an_idle_query_is_well_however_old_its_newest_entry(has_driver):
    """delta-io/delta#2590 shows the other side, a long-idle application: nothing is written while nothing comes."""
    earlier = tuple(
        HealthSample(at=NOW - timedelta(hours=hours), verdict=Verdict.OK, last_offset=4, last_commit=4)
        for hours in (72, 48, 24)
    )

    found = checked(files(), watch=Watch(now=NOW + timedelta(days=3), before=earlier, has_driver=has_driver))

    assert (found.verdict, told(found), start(found)) == (Verdict.OK, [], ("safe", 5))


@pytest.mark.fault("B83")
def test_an_available_now_run_without_input_is_well():
    """It leaves `metadata` and two empty logs; negative case of SPARK-55058, for nothing is lost."""
    found = checked(NEW)

    assert (found.verdict, told(found), start(found)) == (Verdict.OK, [], ("safe", 0))
