"""A range of files, by what lies in the folder."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.backfill import PatternBound, RangeRefused, RequestedRange, StepsFound, TimeBound, VersionBound
from streamops.backfill.files import FolderFiles, steps_of_files
from streamops.control.backfill_places import PlannedFile
from streamops.control.backfill_plan import BackfillPlan, Counted, decode_plan, encode_plan
from support.backfills import a_plan

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_MS = 1_772_366_400_000
ALL = RequestedRange(begin=PatternBound(pattern="*"), end=PatternBound(pattern="*"))


def a_folder(*minutes: int, **changes: object) -> FolderFiles:
    """Files that were changed last so many minutes behind noon."""
    files = tuple(
        PlannedFile(address=f"file:///in/{number}.json", modified_ms=NOON_MS + 60_000 * at, size=1)
        for number, at in enumerate(minutes)
    )
    return FolderFiles(address="file:///in", files=files, **changes)


def between(first: int, last: int) -> RequestedRange:
    begin, end = (TimeBound(at=NOON + timedelta(minutes=minute)) for minute in (first, last))
    return RequestedRange(begin=begin, end=end)


def names(found: StepsFound) -> list[list[str]]:
    return [[file.address.removeprefix("file:///in/") for file in place.files] for place in found.chunks]


@pytest.mark.parametrize(
    ("asked", "steps"),
    [
        pytest.param(between(1, 4), [["2.json", "1.json"]], id="the end does not belong to it, the oldest first"),
        pytest.param(ALL, [["0.json", "2.json", "1.json"], ["3.json"]], id="a pattern takes all that it found"),
    ],
)
def test_the_files_of_a_range(asked, steps):
    found = steps_of_files(asked, a_folder(0, 3, 1, 4), files=3)

    assert isinstance(found, StepsFound)
    assert names(found) == steps
    assert found.counted_in is Counted.FILES


@pytest.mark.parametrize(
    ("asked", "folder", "reason"),
    [
        pytest.param(between(5, 9), a_folder(0, 1), "the range is empty: no file of file:///in", id="none then"),
        pytest.param(ALL, a_folder(0, is_whole=False), "more files or folders than are listed", id="too many"),
        pytest.param(
            RequestedRange(begin=VersionBound(version=1), end=VersionBound(version=2)),
            a_folder(0),
            "the range from v1 to v2 names no files",
            id="versions",
        ),
        pytest.param(ALL, a_folder(*range(2001)), "2001 files in steps of 2 are 1001 steps", id="too many steps"),
    ],
)
def test_a_range_that_is_none_is_refused(asked, folder, reason):
    refused = steps_of_files(asked, folder, files=2)

    assert isinstance(refused, RangeRefused)
    assert reason in refused.reasons[0]


@given(st.lists(st.integers(0, 100), min_size=1, max_size=60), st.integers(1, 20))
def test_each_file_is_in_one_step_and_steps_survive_the_plan(minutes, size):
    found = steps_of_files(ALL, a_folder(*minutes), files=size)

    assert isinstance(found, StepsFound)
    taken = [name for step in names(found) for name in step]
    assert sorted(taken) == sorted(f"{number}.json" for number in range(len(minutes)))
    plan: BackfillPlan = a_plan(start=found.start, chunks=found.chunks, counted_in=found.counted_in)
    assert plan.records == len(minutes)
    assert decode_plan(encode_plan(plan), address="file:///plan.json") == plan
