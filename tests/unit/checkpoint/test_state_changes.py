"""The files of changes that a start loads: whole, or empty, cut or changed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.checkpoint.state_changes import MAX_FILES, MAX_READ, read_changes, unpacked
from streamops.diagnosis.restart_plan import Safety
from streamops.engines import engine_of
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from streamops.verdict import Severity
from support.base_checkpoint import ADDRESS, files, stored
from support.checked import checked
from support.counting_storage import CountingStorage
from support.plans import plan_of
from support.state_files import CHANGES, EMPTY_BLOCK, END, block, change

FILE = "state/0/0/5.delta"
TWO_BLOCKS = block(change(b"a" * 50_000, b"b")) + block(change(b"c", b"d") + END) + EMPTY_BLOCK


def trouble(content, *, codec="lz4"):
    storage = MemoryStorage()
    storage.write(join(ADDRESS, FILE), content)
    return [broken.reason for broken in read_changes(storage, ADDRESS, [FILE], codec=codec).broken]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(CHANGES, id="as it was written"),
        pytest.param(TWO_BLOCKS, id="in several blocks"),
        pytest.param(CHANGES + b"xyz", id="with something behind"),
        pytest.param(CHANGES[: -len(EMPTY_BLOCK)], id="without the mark behind the last block"),
        pytest.param(CHANGES[:-1], id="that mark cut"),
    ],
)
def test_what_spark_loads_is_whole(content):
    assert trouble(content) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (bytes(70), "it does not begin with a block"),
        (CHANGES[:40], "is cut"),
        (TWO_BLOCKS[: len(block(change(b"a" * 50_000, b"b")))], "no whole block"),
        (CHANGES[:30] + bytes([CHANGES[30] ^ 0xFF]) + CHANGES[31:], "not as it was written"),
    ],
)
def test_what_spark_fails_on_is_told(content, reason):
    (told,) = trouble(content)

    assert reason in told


@pytest.mark.parametrize(
    ("name", "behind", "is_told"),
    [
        ("5.changelog", EMPTY_BLOCK, False),
        ("5.changelog", EMPTY_BLOCK[:-1], False),
        ("5.changelog", b"", False),
        ("5.changelog", b"LZ4Bloc_" + EMPTY_BLOCK[8:], True),
        ("5.changelog", EMPTY_BLOCK[:-1] + b"x", True),
        ("5.delta", b"LZ4Bloc_" + EMPTY_BLOCK[8:], False),
    ],
    ids=["whole", "the mark cut", "no mark", "the mark changed", "its hash changed", "of the other provider"],
)
def test_behind_the_end_a_changelog_without_changes_is_read_on(name, behind, is_told):
    storage = MemoryStorage()
    storage.write(join(ADDRESS, f"state/0/0/{name}"), block(END) + behind)

    assert bool(read_changes(storage, ADDRESS, [f"state/0/0/{name}"]).broken) is is_told


def test_of_another_codec_only_nothing_is_known_to_be_wrong():
    assert trouble(b"(\xb5/\xfd", codec="zstd") == []
    assert trouble(b"", codec="zstd") == ["it is empty"]


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda tail: CHANGES[:21] + tail))
def test_hostile_content_gives_an_answer(content):
    unpacked(content)
    trouble(content)


def test_the_newest_versions_are_read_and_no_more_than_so_many():
    storage = CountingStorage(MemoryStorage())
    names = [f"state/0/{partition}/{version}.delta" for partition in range(100) for version in range(1, 11)]
    for name in names:
        storage.write(join(ADDRESS, name), b"" if name.endswith(("/10.delta", "/1.delta")) else CHANGES)

    found = read_changes(storage, ADDRESS, names)

    assert {broken.file.rpartition("/")[2] for broken in found.broken} == {"10.delta"}
    assert (found.checked, found.total) == (MAX_FILES, 1000)
    assert storage.calls["read"] == MAX_READ


def test_a_broken_snapshot_counts_where_spark_can_not_go_round_it():
    """SPARK-54121: 4.2 takes the changes below it, older ones fail."""
    deltas = {f"state/0/0/{version}.delta": CHANGES for version in range(1, 6)}
    found = files() | deltas | {"state/0/0/4.snapshot": CHANGES[:30]}
    alone = files() | {"state/0/0/5.delta": CHANGES, "state/0/0/4.snapshot": CHANGES[:30]}

    def fails(content, version):
        return plan_of(inspect_checkpoint(stored(content), ADDRESS), engine=engine_of(version)).safety is Safety.FUTILE

    assert [fails(found, version) for version in ("4.1", "4.2")] == [True, False]
    assert [fails(alone, version) for version in ("4.1", "4.2")] == [True, True]
    (told,) = checked(found).findings
    assert (told.rule, told.severity) == ("broken-state-file", Severity.WARNING)


def changelog(version, before):
    """As V3 writes it: the format and the changelogs since the last snapshot, then the changes."""
    lineage = json.dumps([{"version": number, "checkpointUniqueId": name} for number, name in before])
    texts = b"".join(len(text).to_bytes(2, "big") + text for text in (b"v3", lineage.encode()))
    return {f"state/0/0/{version}.changelog": block(texts + END) + EMPTY_BLOCK}


def troubled(found):
    storage = MemoryStorage()
    for file, content in found.items():
        storage.write(join(ADDRESS, file), content)
    return [broken.file for broken in read_changes(storage, ADDRESS, list(found)).broken]


def test_of_a_version_that_ran_twice_the_newest_changelog_tells_which_file_counts():
    newest = changelog("3_c", [(1, "a"), (2, "b")])
    before = changelog("1_a", []) | changelog("2_b", [(1, "a")])

    assert troubled({**before, "state/0/0/2_killed.changelog": b"", **newest}) == []
    assert troubled({**before, "state/0/0/2_b.changelog": b"", **changelog("2_again", []), **newest}) == [
        "state/0/0/2_b.changelog"
    ]


def test_where_the_newest_changelog_tells_nothing_the_only_file_of_a_version_counts():
    newest = {"state/0/0/3_c.changelog": b""}
    twice = {"state/0/0/2_b.changelog": b"", "state/0/0/2_killed.changelog": b""}

    assert troubled({"state/0/0/1_a.changelog": b"", **twice, **newest}) == [
        "state/0/0/1_a.changelog",
        "state/0/0/3_c.changelog",
    ]
