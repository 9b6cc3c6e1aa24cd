"""Checkpoints that real Spark wrote, read without Spark, against what that Spark itself told of them.

`tests/data/checkpoints/README.md` says what they are. Nothing in an `expected.json` comes from streamops.
"""

import io
import json
import lzma
import zipfile
from functools import cache

import pytest

from recorder.catalogue import VERSIONS, recipes_of
from recorder.hygiene import MAX_FILE, problems
from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.checkpoint.layout import COMMITS, OFFSETS
from streamops.checkpoint.source_entries import SourceKind
from streamops.checkpoint.source_offsets import (
    DeltaOffset,
    FileOffset,
    KafkaOffset,
    RateMicroBatchOffset,
    RateOffset,
)
from streamops.checkpoint.state_files import Provider
from streamops.checkpoint.state_metadata import parse_snapshot_zip, parse_spark_checksum
from streamops.places.sink_log import read_sink_log
from streamops.storage.local import LocalStorage
from support.recording_archives import archive_of, pack
from support.recordings import RECORDINGS, recordings

ALL = recordings()
STATEFUL = [recording for recording in ALL if (recording.checkpoint / "state").exists()]

OFFSET_FORMS = {
    "file": [FileOffset],
    "rate": [RateOffset],
    "rate-micro-batch": [RateMicroBatchOffset],
    "file-and-rate": [FileOffset, RateOffset],
    "kafka": [KafkaOffset],
    "delta": [DeltaOffset],
}
KEPT_BY_SOURCES = {
    "file": [SourceKind.FILE],
    "rate": [SourceKind.RATE],
    "rate-micro-batch": [SourceKind.RATE],
    "file-and-rate": [SourceKind.FILE, SourceKind.RATE],
    "kafka": [SourceKind.KAFKA],
    "delta": [],
}
ROOT_NAMES = {"metadata", ".metadata.crc", "offsets", "commits", "sources", "state"}
HEADER_KEYS = {"batchWatermarkMs", "batchTimestampMs", "conf", "sourceMetadataInfo"}
COMMIT_KEYS = {"nextBatchWatermarkMs", "stateUniqueIds"}
FINGERPRINTS = {"3.5": "3.5", "4.0": "4.0", "4.1": "4.0", "4.2": "4.2"}
"""4.0 and 4.1 pin the same confs."""


def each(chosen):
    return pytest.mark.parametrize("recording", [pytest.param(recording, id=str(recording)) for recording in chosen])


@cache
def seen(recording):
    return inspect_checkpoint(LocalStorage(), recording.address)


def of_kind(part):
    return [recording for recording in ALL if part in recording.name]


def second_line(file):
    return json.loads(file.read_text().split("\n")[1])


def test_everything_in_the_catalogue_is_recorded():
    wanted = {f"{version}/{recipe.name}" for version in VERSIONS for recipe in recipes_of(version)}

    assert {str(recording) for recording in ALL} == wanted


def test_recordings_are_small_and_tell_of_no_machine():
    assert list(problems(RECORDINGS)) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_that_did_not_change_is_packed_as_it_was(version, tmp_path):
    pack(RECORDINGS, version, into=tmp_path)

    again, kept = archive_of(version, tmp_path), archive_of(version)
    assert lzma.decompress(again.read_bytes()) == lzma.decompress(kept.read_bytes())


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"v1\n{}\nfile:///home/jane/in", id="somebody's folder"),
        pytest.param(b"bootstrap 10.1.2.3:9092", id="an address"),
        pytest.param(b"on build-17.internal", id="a host in a private network"),
        pytest.param(b"by jane", id="a name of this machine"),
        pytest.param(b"x" * (MAX_FILE + 1), id="a large file"),
    ],
)
def test_what_tells_of_a_machine_is_found_in_files_and_in_zips(content, tmp_path):
    (tmp_path / "plain").write_bytes(content)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("member", content[:1000])
    (tmp_path / "1.zip").write_bytes(packed.getvalue())

    found = list(problems(tmp_path, names=("jane",)))

    assert any(line.startswith("plain ") for line in found)
    assert any(line.startswith("1.zip ") for line in found) == (len(content) <= MAX_FILE)


@each(ALL)
def test_the_logs_hold_what_spark_told(recording):
    facts, expected = seen(recording).facts, recording.expected

    assert facts.query_id == expected["id"]
    assert list(facts.offsets_log.ids) == expected["offsets"]
    assert list(facts.commits_log.ids) == expected["commits"]
    assert facts.broken == ()
    assert facts.newest is not None or not expected["offsets"]
    assert facts.commit is not None or not expected["commits"]


@each(ALL)
def test_no_file_is_unknown(recording):
    snapshot = seen(recording)
    facts = snapshot.facts

    assert {file.name for file in recording.checkpoint.iterdir()} <= ROOT_NAMES
    assert (facts.offsets_log.foreign.first, facts.commits_log.foreign.first) == ((), ())
    assert (facts.offsets_log.odd, facts.commits_log.odd) == ((), ())
    assert snapshot.sources.foreign == 0
    assert [source.log.foreign for source in snapshot.sources.sources if source.kind is SourceKind.FILE] == [0] * len(
        snapshot.file_sources
    )
    assert snapshot.state.foreign == 0
    assert [operator.foreign for operator in snapshot.state.operators] == [0] * len(snapshot.state.operators)


@each(ALL)
def test_no_key_is_unknown(recording):
    headers = {key for file in recording.files(f"{OFFSETS}/[0-9]*") for key in second_line(file)}
    commits = {key for file in recording.files(f"{COMMITS}/[0-9]*") for key in second_line(file)}

    assert headers <= HEADER_KEYS
    assert commits <= COMMIT_KEYS


@each([recording for recording in ALL if recording.expected["offsets"]])
def test_each_offset_has_the_form_of_its_source(recording):
    forms = OFFSET_FORMS[recording.expected["recipe"]["source"]]

    found = [type(offset) for offset in seen(recording).facts.newest.offsets]

    # A join of two streams reads two sources.
    assert found == forms * (len(found) // len(forms))


@each([recording for recording in ALL if recording.last_batch in recording.expected["offsets"]])
def test_offsets_are_those_of_the_last_batch_that_spark_told_of(recording):
    """Async tracking may end with a batch that is not in the log."""
    facts, last = seen(recording).facts, recording.expected["last"]
    entry = facts.newest if facts.newest.batch == last["batch"] else facts.previous

    assert [json.loads(text) for text in entry.sources] == [source["end"] for source in last["sources"]]


@each([recording for recording in ALL if recording.expected["offsets"]])
def test_the_pinned_confs_tell_the_version(recording):
    assert seen(recording).facts.spark_fingerprint == FINGERPRINTS[recording.engine.version]


@each([recording for recording in ALL if recording.expected["offsets"]])
def test_each_source_keeps_what_its_kind_keeps(recording):
    kinds = KEPT_BY_SOURCES[recording.expected["recipe"]["source"]]

    sources = seen(recording).sources.sources

    assert [source.kind for source in sources] == kinds * (len(sources) // max(len(kinds), 1))
    assert all(not (source.broken or source.absent or source.unread or source.unreachable) for source in sources)


@each(of_kind("killed"))
def test_the_input_of_a_batch_in_flight_is_named(recording):
    """One file a batch, the portion that made it; with async tracking all since the entry before."""
    snapshot = seen(recording)
    before, last = ([-1, *recording.expected["offsets"]])[-2:]
    names = [file.path.rpartition("/")[2] for source in snapshot.sources.sources for file in source.files]

    if recording.expected["recipe"]["source"] != "file":
        assert names == []
    else:
        assert set(names) == {f"{portion:03}.json" for portion in range(before + 1, last + 1)}


@each(of_kind("to-json"))
def test_the_log_of_the_file_sink_ends_with_the_last_batch(recording):
    log = read_sink_log(LocalStorage(), f"file://{recording.folder}/out")

    assert log.highest == recording.expected["ran"][-1]
    assert (log.missing, log.odd, log.foreign) == ((), 0, 0)
    assert log.compact_ids == ((9,) if log.highest >= 9 else ())


@each([recording for recording in STATEFUL if recording.expected["state"] and "total" not in recording.name])
def test_state_is_what_sparks_own_reader_of_state_sees(recording):
    told = recording.expected["state"]

    operators = seen(recording).state.operators

    assert [
        {"operatorId": found.operator, "operatorName": found.name, "stateStoreName": store, "numPartitions": partitions}
        for found in operators
        for store, partitions in [(store, found.partitions_expected) for store in found.stores]
    ] == told


@each([recording for recording in STATEFUL if recording.expected["last"]])
def test_state_has_as_many_stores_as_spark_told_and_all_can_be_loaded(recording):
    told = recording.expected["last"]["operators"]

    state = seen(recording).state

    assert len(state.operators) == len(told)
    assert state.stores_checked == sum(operator["stores"] for operator in told)
    assert (state.unloadable_total, state.unloadable) == (0, ())


@each([recording for recording in of_kind("total") if recording.expected["state"]])
def test_an_operator_without_keys_has_one_partition_whatever_its_metadata_say(recording):
    operator = seen(recording).state.operators[0]

    assert recording.expected["state"][0]["numPartitions"] == 2
    assert recording.expected["last"]["operators"][0]["stores"] == 1
    assert (operator.is_keyless, operator.partitions_expected) == (True, 1)


@each(STATEFUL)
def test_the_provider_is_told_from_the_files(recording):
    is_hdfs = recording.name.split("-")[1:2] == ["hdfs"]

    found = {operator.provider for operator in seen(recording).state.operators}

    assert found == {Provider.HDFS if is_hdfs else Provider.ROCKSDB}
    has_ids = {operator.has_unique_ids for operator in seen(recording).state.operators}
    assert has_ids == {"unique-ids" in recording.name}


@each([recording for recording in STATEFUL if recording.files("state/**/*.zip")])
def test_snapshots_of_rocksdb_name_files_that_are_there_in_their_size(recording):
    for file in recording.files("state/**/*.zip"):
        manifest = parse_snapshot_zip(file.read_bytes(), address=file.name)

        assert manifest.odd_names == ()
        for sst in manifest.ssts:
            assert (file.parent / "SSTs" / sst.name).stat().st_size == sst.size


@each([recording for recording in STATEFUL if recording.files("state/**/[!.]*.crc")])
def test_sparks_checksums_fit_their_files(recording):
    for file in recording.files("state/**/[!.]*.crc"):
        checksum = parse_spark_checksum(file.read_bytes(), address=file.name)

        assert checksum.trouble(file.with_suffix("").read_bytes()) == ""
