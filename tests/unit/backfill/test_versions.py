"""A range of a Delta table, by what its log has."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.backfill import RangeRefused, RequestedRange, StepsFound, TimeBound, VersionBound
from streamops.backfill.asked import PatternBound
from streamops.backfill.versions import RequestedTable, VersionRange, find_versions, steps_of_versions
from streamops.control.backfill_plan import BackfillPlan, Counted, decode_plan, encode_plan
from streamops.deltalog import RemovedFile
from streamops.deltalog.versions import VersionContent, WrittenVersion
from support.backfills import a_plan

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TABLE = "file:///data/raw"


def minute(number: float) -> datetime:
    return NOON + timedelta(minutes=number)


def a_table(*versions: int, **options: str) -> RequestedTable:
    """These commits are there, each written so many minutes behind noon as its version says."""
    written = tuple(WrittenVersion(version=version, written_at=minute(version)) for version in versions)
    return RequestedTable(table_id="t-1", address=TABLE, written=written, options=options)


def between(first: int, last: int) -> RequestedRange:
    return RequestedRange(begin=VersionBound(version=first), end=VersionBound(version=last))


def at(first: float, last: float) -> RequestedRange:
    return RequestedRange(begin=TimeBound(at=minute(first)), end=TimeBound(at=minute(last)))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        pytest.param(between(2, 5), (2, 5), id="both ends belong to it"),
        pytest.param(between(3, 3), (3, 3), id="one version"),
        pytest.param(at(2, 5), (2, 4), id="a time's end does not belong to it"),
        pytest.param(at(1.5, 4.5), (2, 4), id="times between versions"),
        pytest.param(at(-60, 600), (0, 7), id="times around all"),
        pytest.param(
            RequestedRange(begin=VersionBound(version=6), end=TimeBound(at=minute(600))),
            (6, 7),
            id="a version and a time",
        ),
    ],
)
def test_the_versions_that_a_range_stands_for(asked, found):
    assert find_versions(asked, a_table(*range(8)), accepts_expired=False) == VersionRange(
        first=found[0], last=found[1]
    )


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        pytest.param(between(5, 4), "the range is empty", id="goes back"),
        pytest.param(at(2.1, 2.9), "the range is empty", id="no version then"),
        pytest.param(between(5, 8), "version 8 is not there yet: the table is at version 7", id="not there yet"),
        pytest.param(
            RequestedRange(begin=PatternBound(pattern="*.json"), end=PatternBound(pattern="*.json")),
            "names no versions",
            id="files",
        ),
    ],
)
def test_a_range_that_is_none_is_refused(asked, reason):
    refused = find_versions(asked, a_table(*range(8)), accepts_expired=True)

    assert isinstance(refused, RangeRefused)
    assert reason in refused.reasons[0]


def test_removed_commits_are_named_exactly():
    refused = find_versions(between(2, 7), a_table(5, 6, 7), accepts_expired=False)

    assert isinstance(refused, RangeRefused)
    assert [str(one) for one in refused.expired] == [f"{TABLE} versions 2 to 4: commits"]
    assert refused.way_out == "begin at version 5 or later, or accept that they are missing"


def test_removed_commits_are_left_out_by_leave():
    found = find_versions(between(2, 7), a_table(5, 6, 7), accepts_expired=True)

    assert isinstance(found, VersionRange)
    assert (found.first, found.last, str(found.missing)) == (5, 7, f"{TABLE} versions 2 to 4: commits")


@pytest.mark.parametrize(
    ("versions", "last"),
    [pytest.param((0, 1, 2, 5, 6, 7), 7, id="a hole"), pytest.param((6, 7), 5, id="nothing is left of it")],
)
def test_a_hole_is_no_matter_of_leave(versions, last):
    assert isinstance(find_versions(between(2, last), a_table(*versions), accepts_expired=True), RangeRefused)


# In steps


def holding(*records: int | None, first: int = 2) -> tuple[VersionContent, ...]:
    return tuple(VersionContent(version=first + number, files=1, records=rows) for number, rows in enumerate(records))


def steps(*contents: VersionContent, records: int = 10, removed=(), is_by_time=False, **options: str):
    found = VersionRange(first=contents[0].version, last=contents[-1].version)
    table = a_table(*range(100), **options)
    return steps_of_versions(found, table, contents, removed, is_by_time=is_by_time, records=records)


@pytest.mark.parametrize(
    ("contents", "records", "ends", "counted"),
    [
        pytest.param(holding(4, 4, 4), 8, [(4, 8), (5, 12)], Counted.RECORDS, id="two fit into a step"),
        pytest.param(
            holding(40, 1, 40), 8, [(3, 40), (4, 41), (5, 81)], Counted.RECORDS, id="large ones by themselves"
        ),
        pytest.param(holding(4, 0, 0), 100, [(5, 4)], Counted.RECORDS, id="versions without rows"),
        pytest.param(holding(4, None, 4), 2, [(4, 2), (5, 3)], Counted.VERSIONS, id="one does not tell"),
        pytest.param(holding(0, 0), 1, [(3, 1), (4, 2)], Counted.VERSIONS, id="no rows at all"),
    ],
)
def test_steps_hold_whole_versions(contents, records, ends, counted):
    found = steps(*contents, records=records)

    assert isinstance(found, StepsFound)
    assert [(place.version, place.taken) for place in found.chunks] == ends
    assert (found.start.version, found.counted_in) == (2, counted)


@given(st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=1, max_size=40), st.integers(1, 50))
def test_steps_cover_the_range_without_overlap_and_survive_the_plan(records, chunk):
    found = steps(*holding(*records), records=chunk)

    assert isinstance(found, StepsFound)
    plan: BackfillPlan = a_plan(start=found.start, chunks=found.chunks, counted_in=found.counted_in)
    assert plan.end.version == 2 + len(records)
    assert plan.records == found.chunks[-1].taken > 0
    assert decode_plan(encode_plan(plan), address="file:///plan.json") == plan


def removed(version: int, *, is_there: bool | None) -> RemovedFile:
    return RemovedFile(path="a.parquet", version=version, index=0, removed_at=None, is_there=is_there)


@pytest.mark.parametrize("is_there", [True, None])
def test_files_that_are_out_of_the_table_are_read_as_long_as_they_are_there(is_there):
    assert isinstance(steps(*holding(1, 1), removed=[removed(2, is_there=is_there)]), StepsFound)


def test_versions_whose_files_are_deleted_are_named():
    refused = steps(*holding(1, 1, 1), removed=[removed(3, is_there=False), removed(9, is_there=False)])

    assert isinstance(refused, RangeRefused)
    assert [str(one) for one in refused.expired] == [f"{TABLE} version 3: data files"]
    assert "begin behind version 3" in refused.way_out


def test_a_version_that_takes_rows_away_is_refused_unless_the_source_says_what_becomes_of_it():
    contents = (*holding(1), VersionContent(version=3, records=1, removes_rows=True))

    refused = steps(*contents)
    assert isinstance(refused, RangeRefused)
    assert "version 3 takes rows away" in refused.reasons[0]
    tolerated = steps(*contents, skipChangeCommits="true")
    assert isinstance(tolerated, StepsFound)
    assert any("1 versions of the range take rows away" in note for note in tolerated.notes)


def test_times_are_refused_where_commits_have_times_of_their_own():
    contents = (VersionContent(version=2, records=1, has_own_time=True),)

    assert isinstance(steps(*contents, is_by_time=True), RangeRefused)
    assert isinstance(steps(*contents, is_by_time=False), StepsFound)
