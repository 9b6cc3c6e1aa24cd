"""The names of a log that compacts itself: CompactibleFileStreamLog's rules, and what real intervals leave behind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.compact_log import CompactLog, IdRange, compact_log, entry_lines, json_object
from streamops.errors import CheckpointError


def log(*names):
    return compact_log(str(name) for name in names)


def missing(found, log_id):
    return [(gap.first, gap.last) for gap in found.needed_for(log_id).missing]


def test_names_are_sorted_by_what_they_are():
    found = log("8", "9.compact", "00004", "-1", "+9.compact", ".10.crc", ".10.1-2.tmp", "5.tmp", "foo", ".compact")

    assert found == CompactLog(
        plain=frozenset({8}), compact=frozenset({9}), interval=10, odd=3, temporaries=1, checksums=1, foreign=3
    )


def test_needed_are_the_latest_compact_file_and_every_id_after_it():
    found = log(*range(9), "9.compact", *range(10, 19), "19.compact", 20, 21)

    needed = found.needed_for(21)

    assert (needed.first, needed.last, needed.is_complete) == (19, 21, True)
    assert found.latest == 21
    assert [found.file_name(log_id) for log_id in (8, 9, 20)] == ["8", "9.compact", "20"]


@pytest.mark.parametrize(
    ("names", "log_id", "expected"),
    [
        pytest.param(range(5), 4, [], id="no compact file yet"),
        pytest.param([0, 1, 3, 4], 4, [(2, 2)], id="P12e: one is gone"),
        pytest.param(range(4), 4, [(4, 4)], id="P12a: the last is gone"),
        pytest.param(range(5), 40, [(5, 40)], id="P18: an offset beyond the log"),
        pytest.param([*range(9), 10, 11], 11, [(9, 9)], id="the compact file is gone"),
        pytest.param(["9.compact", 11], 11, [(10, 10)], id="behind the compact file"),
        pytest.param(["9.compact", "19.compact"], 12, [(10, 12)], id="an id below the latest compact file"),
        pytest.param([], 3, [(0, 3)], id="nothing at all"),
        pytest.param([8, "9.compact", "9"], 9, [], id="a plain twin of a compact file"),
    ],
)
def test_what_is_missing_comes_in_ranges(names, log_id, expected):
    assert missing(log(*names), log_id) == expected


@pytest.mark.parametrize(
    ("names", "interval"),
    [
        pytest.param([], 10, id="the default"),
        pytest.param(range(9), 10, id="plain files only, none where a compact one belongs"),
        pytest.param(range(15), 16, id="plain files only, past the default: the conf is larger"),
        pytest.param(["19.compact", "39.compact"], 20, id="the distance of the two latest"),
        pytest.param(["4.compact"], 5, id="one, below the default"),
        pytest.param(["19.compact"], 20, id="one, Spark looks for no divisor of 20"),
        pytest.param(["29.compact"], 10, id="one, its smallest divisor from the default on"),
        pytest.param(["21.compact"], 11, id="one of an odd interval"),
        pytest.param(["29.compact", *range(30, 44)], 15, id="one, and a plain file refutes the smallest divisor"),
        pytest.param(["29.compact", *range(30, 60)], 30, id="one, and every divisor is refuted"),
        pytest.param(["22.compact"], 23, id="one, a prime"),
        pytest.param(["9223372036854775806.compact"], 10, id="no interval is so long"),
    ],
)
def test_the_interval_is_told_from_the_names(names, interval):
    assert log(*names).interval == interval


def test_a_log_of_a_longer_interval_is_no_damage():
    assert missing(log(*range(15)), 14) == []


def test_a_hole_as_wide_as_a_long_is_one_range():
    assert log(0).needed_for(2**63 - 1).missing == (IdRange(first=1, last=2**63 - 1),)


@pytest.mark.parametrize("interval", [1, 3, 10, 25])
def test_a_log_as_spark_writes_it_is_complete_at_each_id(interval):
    for newest in range(80):
        names = [f"{n}.compact" if (n + 1) % interval == 0 else str(n) for n in range(newest + 1)]
        found = log(*names)

        assert found.latest == newest
        assert found.needed_for(newest).is_complete


@given(st.lists(st.text() | st.integers().map(str) | st.integers(min_value=0).map("{}.compact".format)), st.integers(0))
def test_no_name_stops_the_reading(names, log_id):
    found = compact_log(names)

    assert found.interval > 0
    assert found.latest >= -1
    assert sum(gap.count for gap in found.needed_for(log_id).missing) <= log_id + 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"v2\n{}", "line 1: 'v2' needs a newer streamops"),
        (b"vX", "line 1: 'vX' is no version"),
        (b"\xff\x1b[2J", "byte 1 is no UTF-8"),
        (b"\x1b[2J", r"line 1: '\\x1b\[2J' is no version"),
    ],
)
def test_a_file_of_another_version_is_refused(content, reason):
    with pytest.raises(CheckpointError, match=f"sources/0/4.*{reason}"):
        entry_lines(content, address="sources/0/4")


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "[" * 100_000, '{"a":' * 100_000, "9" * 5000])
def test_only_an_object_is_an_object(text):
    with pytest.raises(CheckpointError, match="here"):
        json_object(text, place="here")
