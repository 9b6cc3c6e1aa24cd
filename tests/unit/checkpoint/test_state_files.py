"""The names in a state store's folder, and which versions can be loaded from them: the rows of the damage matrix."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.state_files import SHOWN_MISSING, Missing, Provider, StoreFiles, store_files

U = "0a1b2c3d-0000-4000-8000-00000000000a"
V = "0a1b2c3d-0000-4000-8000-00000000000b"


def deltas(*versions):
    return [f"{version}.delta" for version in versions]


def changelogs(*versions, unique_id=""):
    return [f"{version}{unique_id and '_'}{unique_id}.changelog" for version in versions]


def test_names_are_sorted_by_what_they_are():
    names = [
        "1.delta",
        "1.delta.crc",
        ".1.delta.crc",
        "3.snapshot",
        f".4.delta.{U}.TID12.tmp",
        f"..4.delta.{U}.TID12.tmp.crc",
        "_metadata",
        "SSTs",
        "01.delta",
        f"5_{U}.delta",
        "foo",
        "x\n1.delta",
    ]

    assert store_files(names) == StoreFiles(
        deltas=frozenset({(1, "")}),
        snapshots=frozenset({(3, "")}),
        temporary_of=frozenset({"4.delta"}),
        spark_checked=frozenset({"1.delta"}),
        hadoop_checked=frozenset({"1.delta", f".4.delta.{U}.TID12.tmp"}),
        foreign=4,
    )


def test_files_of_rocksdb_with_and_without_ids():
    files = store_files(["2.zip", "3.changelog", f"4_{U}.zip", f"5_{U}.changelog", f"5_{U}.changelog.crc", "logs"])

    assert files.zips == {(2, ""), (4, U)}
    assert files.changelogs == {(3, ""), (5, U)}
    assert (files.provider, files.has_unique_ids, files.spark_checked, files.foreign) == (
        Provider.ROCKSDB,
        True,
        {f"5_{U}.changelog"},
        0,
    )


@pytest.mark.parametrize(
    ("names", "version", "missing"),
    [
        pytest.param([], 0, (), id="version 0 is empty"),
        pytest.param(deltas(1, 2, 3, 4, 5), 5, (), id="all deltas, no snapshot"),
        pytest.param(deltas(1, 2, 3, 4), 5, ("5.delta",), id="the last delta"),
        pytest.param([*deltas(1, 2, 3, 4), "5.snapshot"], 5, (), id="a snapshot in place of the last delta"),
        pytest.param([*deltas(2, 3, 4, 5), "4.snapshot"], 5, (), id="the first delta, with a later snapshot"),
        pytest.param([*deltas(5, 7), "4.snapshot", "9.snapshot"], 7, ("6.delta",), id="a hole after the snapshot"),
        pytest.param(deltas(2, 4), 5, ("1.delta", "3.delta", "5.delta"), id="holes without a snapshot"),
        pytest.param([], 2, ("1.delta", "2.delta"), id="an empty folder"),
        pytest.param(deltas(1, 2, 3), 2, (), id="later versions do not matter"),
        pytest.param([*deltas("02"), "1.delta"], 2, ("2.delta",), id="a spelling that Spark never looks for"),
        pytest.param([*changelogs(1, 2, 3), "2.zip"], 3, (), id="changelogs and a zip"),
        pytest.param(changelogs(1, 2, 3), 3, (), id="zips missing, all changelogs"),
        pytest.param([*changelogs(1, 2), "2.zip"], 3, ("3.changelog",), id="the last changelog"),
        pytest.param(
            ["1.zip", "2.zip"], 3, ("3.changelog",), id="changelog off, the last zip: Spark names the changelog"
        ),
        pytest.param(["1.zip", "2.zip", "3.zip"], 3, (), id="changelog off"),
        pytest.param([*deltas(1, 2, 3), "1.zip"], 3, (), id="a left-over of the other provider"),
        pytest.param([*deltas(1), *changelogs(1, 2, 3)], 3, (), id="a left-over the other way round"),
        pytest.param([f"3_{U}.zip"], 3, tuple(changelogs(1, 2, 3)), id="files with ids, and a commit without"),
    ],
)
def test_what_a_load_misses(names, version, missing):
    assert store_files(names).loadable(version).names == missing


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        pytest.param([f"3_{U}.zip"], (), id="the snapshot itself"),
        pytest.param(changelogs(1, 2, 3, unique_id=U), (), id="all changelogs"),
        pytest.param([f"1_{V}.zip", *changelogs(2, unique_id=V), *changelogs(3, unique_id=U)], (), id="a chain of ids"),
        pytest.param(["1.zip", "2.changelog", *changelogs(3, unique_id=U)], (), id="a chain that began without ids"),
        pytest.param([f"2_{U}.zip", *changelogs(3, unique_id=V)], (f"3_{U}.changelog",), id="another attempt's file"),
        pytest.param([f"3_{V}.zip"], ("1_*.changelog", "2_*.changelog", f"3_{U}.changelog"), id="another's snapshot"),
        pytest.param(changelogs(1, 3, unique_id=U), ("2_*.changelog",), id="a hole in the chain"),
    ],
)
def test_what_a_load_by_id_misses(names, missing):
    assert store_files(names).loadable(3, U).names == missing


def test_an_empty_folder_misses_the_files_of_its_provider():
    assert StoreFiles().loadable(1, provider=Provider.ROCKSDB).names == ("1.changelog",)


def test_a_version_of_any_size_is_counted_not_walked():
    missing = store_files(deltas(1, 3)).loadable(10**17)

    assert (missing.total, len(missing.names), missing.names[:2]) == (10**17 - 2, SHOWN_MISSING, ("2.delta", "4.delta"))


VERSIONS = st.integers(0, 12)
NAMES = st.lists(
    st.one_of(
        st.text(),
        VERSIONS.map("{}.delta".format),
        VERSIONS.map("{}.snapshot".format),
        VERSIONS.map("{}.changelog".format),
        VERSIONS.map("{}.zip".format),
        st.tuples(VERSIONS, st.text()).map(lambda pair: f"{pair[0]}_{pair[1]}.changelog"),
        st.text().map(".{}.crc".format),
        st.text().map("{}.tmp".format),
    )
)


@given(NAMES, st.integers(-1, 2**63), st.text())
def test_any_names_give_an_answer_of_bounded_size(names, version, unique_id):
    missing = store_files(names).loadable(version, unique_id)

    assert len(missing.names) <= SHOWN_MISSING
    assert len(missing.names) <= missing.total <= max(version, 0)
    assert bool(missing) is bool(missing.names)


@given(st.sets(VERSIONS), st.sets(VERSIONS), VERSIONS)
def test_loadable_is_what_spark_finds_walking_down(delta_versions, snapshots, version):
    files = store_files([*deltas(*delta_versions), *(f"{found}.snapshot" for found in snapshots)])
    missing = files.loadable(version)

    walked = version
    while walked > 0 and walked not in snapshots and walked in delta_versions:
        walked -= 1
    is_found = walked == 0 or walked in snapshots
    assert (missing == Missing()) is is_found
