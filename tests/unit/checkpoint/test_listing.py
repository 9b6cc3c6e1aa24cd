"""The names in a log's folder: what counts, what a crash leaves, what does not belong there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.layout import SHOWN_NAMES, LogListing, Names, batch_id, read_listing
from streamops.storage.memory import MemoryStorage

UUID = "0f0f0f0f-8f4e-4a6c-9d3e-1a2b3c4d5e6f"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param(f".7.{UUID}.tmp", "temporaries", id="a driver's crash"),
        pytest.param(f".7.{UUID}.TID12.tmp", "temporaries", id="a task's crash"),
        pytest.param(".7.crc", "checksums", id="the side file of a batch"),
        pytest.param(f"..7.{UUID}.tmp.crc", "checksums", id="the side file of a temporary"),
        pytest.param("7.tmp", "foreign", id="Spark's temporaries are hidden"),
        pytest.param(".5.0f0f.tmp", "foreign", id="Spark's have a whole uuid"),
        pytest.param(".foo.crc", "foreign", id="the side file of a stranger"),
        pytest.param("4.bak", "foreign", id="a person's copy"),
        pytest.param("7.crc", "foreign", id="Spark's own checksums are for state only"),
        pytest.param("_junk", "foreign", id="junk"),
        pytest.param("", "foreign", id="nothing"),
        pytest.param("7\n", "foreign", id="a line end"),
        pytest.param("../../etc/passwd", "foreign", id="a way out"),
    ],
)
def test_names_that_do_not_count_are_told_apart(name, kind):
    listing = LogListing.of([name])

    assert getattr(listing, kind) == Names(count=1, first=(name,))
    assert listing.ids == ()


@pytest.mark.parametrize("name", ["00004", "+3", "-1", "-0", "٣"])
def test_odd_names_count_as_batches_and_are_named(name):
    listing = LogListing.of([name])

    assert listing.odd == (name,)
    assert listing.ids == (batch_id(name),)


def test_one_batch_under_two_names_is_one_batch():
    listing = LogListing.of(["4", "00004", "3"])

    assert listing.ids == (3, 4)
    assert listing.odd == ("00004",)


@pytest.mark.parametrize(
    ("ids", "holes"),
    [
        pytest.param([], (), id="no entries"),
        pytest.param([7, 8, 9], (), id="a purged beginning is no hole"),
        pytest.param([0, 2, 3], (range(1, 2),), id="one"),
        pytest.param([0, 4, 8], (range(1, 4), range(5, 8)), id="async progress tracking"),
        pytest.param([0, 2**62], (range(1, 2**62),), id="so wide that nobody counts it"),
        pytest.param([-(2**63), 2**63 - 1], (range(-(2**63) + 1, 2**63 - 1),), id="the whole of a long"),
        pytest.param([11, 9, 10], (), id="in any order"),
    ],
)
def test_holes_are_ranges(ids, holes):
    assert LogListing.of(map(str, ids)).holes() == holes


@given(st.sets(st.integers(0, 60)))
def test_ids_and_holes_cover_everything_between_lowest_and_highest(ids):
    listing = LogListing.of(map(str, ids))

    missing = [batch for hole in listing.holes() for batch in hole]

    assert sorted([*listing.ids, *missing]) == (list(range(min(ids), max(ids) + 1)) if ids else [])


@given(st.lists(st.text(max_size=30) | st.from_regex(r"\.?\.?[+-]?\d{1,3}(\.crc|\.tmp|\n)?"), unique=True))
def test_every_name_is_counted_once(names):
    listing = LogListing.of(names)

    others = listing.temporaries.count + listing.checksums.count + listing.foreign.count
    assert others + sum(batch_id(name) is not None for name in names) == len(names)


def test_strangers_are_all_counted_and_a_few_are_kept():
    listing = LogListing.of(f"x{number}" for number in range(1000))

    assert listing.foreign.count == 1000
    assert len(listing.foreign.first) == SHOWN_NAMES


def test_a_folder_that_is_not_there_has_no_entries():
    listing = read_listing(MemoryStorage(), "memory:/nothing/offsets")

    assert listing == LogListing()
    assert listing.highest == -1
