"""What state folders say about themselves, hostile files included."""

import json
import zipfile
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.state_metadata import (
    MANIFEST_LIMIT,
    MAX_MEMBERS,
    ManifestFile,
    SparkChecksum,
    StoreInfo,
    parse_operator_metadata,
    parse_snapshot_zip,
    parse_spark_checksum,
)
from streamops.errors import CheckpointError

ADDRESS = "state/0/3/5.zip"
SAVE = (
    '{"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"},'
    '"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":2}]}'
)
SST = {"localFileName": "000008.sst", "dfsSstFileName": "000008-0a1b.sst", "sizeBytes": 1042}


def snapshot(manifest, *, name="metadata", compression=zipfile.ZIP_DEFLATED, members=("CURRENT",)):
    content = BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for member in members:
            archive.writestr(member, "x")
        archive.writestr(name, manifest)
    return content.getvalue()


def manifest(*ssts, **fields):
    return "v1\n" + json.dumps({"sstFiles": ssts, "numKeys": 7} | fields)


def test_an_operator_tells_its_name_stores_and_partitions():
    metadata = parse_operator_metadata(f"v1\n{SAVE}".encode(), address="m")

    assert (metadata.name, metadata.partitions) == ("stateStoreSave", 2)
    assert metadata.stores == (StoreInfo(name="default", partitions=2),)


def test_the_second_version_of_operator_metadata_has_more_keys():
    more = SAVE.replace('"numPartitions":2', '"numPartitions":2,"stateSchemaFilePaths":["x"]')

    assert parse_operator_metadata(f"v2\n{more}".encode(), address="m").partitions == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "line 1: version ''"),
        (b"v3\n{}", "line 1: version 'v3', supported: v1, v2"),
        (f"v1\n{SAVE[:60]}".encode(), "line 2: cut or not JSON"),
        (b"v1\n{}", "line 2: an operator has a name and 1 to 100 stores"),
        (f"v1\n{SAVE.replace('default', '../../etc')}".encode(), "line 2: a store has a plain name"),
        (f"v1\n{SAVE.replace(':2', ':true')}".encode(), "line 2: a store has a plain name and a number"),
        (f"v1\n{SAVE.replace(':2', ':-2')}".encode(), "line 2: a store has a plain name and a number"),
        (b"v1\n" + b"[" * 100_000, "line 2: cut or not JSON"),
        (b"v1\n" + b"9" * 10_000, "line 2: not a JSON object"),
    ],
)
def test_broken_operator_metadata_is_refused(content, reason):
    with pytest.raises(CheckpointError, match=f"^m {reason}"):
        parse_operator_metadata(content, address="m")


def test_a_snapshot_lists_its_files():
    log = {"localFileName": "000009.log", "dfsLogFileName": "000009-0a1b.log", "sizeBytes": 7}

    found = parse_snapshot_zip(snapshot(manifest(SST, logFiles=[log])), address=ADDRESS)

    assert found.members == ("CURRENT", "metadata")
    assert found.ssts == (ManifestFile(name="000008-0a1b.sst", size=1042),)
    assert found.logs == (ManifestFile(name="000009-0a1b.log", size=7),)
    assert (found.odd_names, found.keys) == ((), 7)


def test_a_snapshot_of_an_empty_store_lists_none():
    assert parse_snapshot_zip(snapshot('v1\n{"sstFiles":[],"numKeys":0}'), address=ADDRESS).ssts == ()


def test_files_beside_a_snapshot_that_are_gone():
    other = SST | {"dfsSstFileName": "000010-0a1b.sst"}
    found = parse_snapshot_zip(snapshot(manifest(SST, other)), address=ADDRESS)

    assert found.missing_ssts(["000008-0a1b.sst", "unreferenced.sst"]) == ("000010-0a1b.sst",)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b.sst", "..", "a\n.sst", "\x1b[2J", "", "C:\\x"])
def test_a_file_with_a_path_in_its_name_is_odd_and_never_looked_up(name):
    found = parse_snapshot_zip(snapshot(manifest(SST | {"dfsSstFileName": name})), address=ADDRESS)

    assert (found.ssts, found.odd_names, found.missing_ssts([])) == ((), (name,), ())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "is empty", id="0 bytes"),
        pytest.param(snapshot(manifest(SST))[:-30], "is cut or no zip file", id="cut"),
        pytest.param(b"PK\x05\x06" + b"\xff" * 18, "is cut or no zip file", id="a directory that lies"),
        pytest.param(snapshot("v1\n{}", name="other"), "has no member metadata", id="no manifest"),
        pytest.param(snapshot(" " * (MANIFEST_LIMIT + 1)), "unpacks to 4194305 bytes", id="a bomb"),
        pytest.param(snapshot("v1\n{}", compression=zipfile.ZIP_LZMA), "unpacks to 5 bytes, no manifest", id="lzma"),
        pytest.param(snapshot("v1\n{}", members=map(str, range(MAX_MEMBERS))), "has 10001 members", id="a crowd"),
        pytest.param(snapshot("v9\n{}"), "metadata line 1: 'v9'", id="a later version"),
        pytest.param(snapshot("v1\n" + "[" * 100_000), "metadata line 2: cut or not JSON", id="deep"),
        pytest.param(snapshot(manifest(7)), "metadata line 2: a file has a dfsSstFileName", id="not a file"),
    ],
)
def test_a_broken_snapshot_is_refused(content, reason):
    with pytest.raises(CheckpointError, match=f"^{ADDRESS}.*{reason}"):
        parse_snapshot_zip(content, address=ADDRESS)


def test_a_checksum_tells_the_size_of_its_file():
    content = b'{"algorithm":"CRC32C","value":-17,"mainFileSize":46,"timestampMs":1,"creator":{"executorId":"0"}}'

    found = parse_spark_checksum(content, address="5.delta.crc")

    assert (found.value, found.main_file_size) == (-17, 46)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"whole", ""), (b"whol", "it has 4 bytes"), (b"whoLe", "not what its checksum file was written for")],
)
def test_what_a_checksum_refuses(content, reason):
    """Java's integer has a sign: 0xA9ADCFAC is CRC-32C of `whole`."""
    found = SparkChecksum(value=0xA9ADCFAC - 0x100000000, main_file_size=5)

    assert (reason in found.trouble(content)) if reason else not found.trouble(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"crc\0\0\0\x02\0",
        b"{}",
        b'{"algorithm":"CRC32C","value":1,"mainFileSize":"46","timestampMs":1}',
        b'{"algorithm":"CRC32C","value":1,"mainFileSize":46,"timestampMs":"x"}',
        b'{"algorithm":"C\xd2C32C","value":1,"mainFileSize":46,"timestampMs":1}',
    ],
)
def test_a_broken_checksum_is_refused(content):
    with pytest.raises(CheckpointError, match=r"^5\.delta\.crc"):
        parse_spark_checksum(content, address="5.delta.crc")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
WHOLE = snapshot(manifest(SST))
DAMAGED = st.tuples(st.integers(0, len(WHOLE) - 1), st.binary(max_size=8)).map(
    lambda hit: WHOLE[: hit[0]] + hit[1] + WHOLE[hit[0] + len(hit[1]) :]
)
CONTENTS = st.one_of(
    st.binary(),
    DAMAGED,
    st.integers(0, len(WHOLE)).map(lambda end: WHOLE[:end]),
    JSON.map(lambda value: snapshot("v1\n" + json.dumps({"sstFiles": value}))),
    JSON.map(lambda value: b"v1\n" + json.dumps({"operatorInfo": value, "stateStoreInfo": [value]}).encode()),
)


def refusal(parse, content):
    try:
        parse(content, address=ADDRESS)
    except CheckpointError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("parse", [parse_operator_metadata, parse_snapshot_zip, parse_spark_checksum])
@given(content=CONTENTS)
def test_a_parser_gives_a_value_or_names_the_file(parse, content):
    reason = refusal(parse, content)

    assert reason.isprintable()
    assert not reason or reason.startswith(ADDRESS)
