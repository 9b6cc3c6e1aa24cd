"""Which files must be read for the newest rows."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.dead_letters.columns import FileTimes, bound_for

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_file(records: int, minute: int | None) -> FileTimes:
    return FileTimes(records=records, first=None if minute is None else NOON + timedelta(minutes=minute))


@pytest.mark.parametrize(
    ("files", "wanted", "minute"),
    [
        pytest.param([a_file(5, 0), a_file(5, 10)], 5, 10, id="the youngest file is enough"),
        pytest.param([a_file(5, 10), a_file(5, 0)], 6, 0, id="two are needed, whatever their order"),
        pytest.param([a_file(5, 0), a_file(5, 10)], 11, None, id="there are too few: the whole table"),
        pytest.param([a_file(5, None), a_file(5, 10)], 6, None, id="a file that tells no time counts for nothing"),
        pytest.param([], 1, None, id="an empty table"),
    ],
)
def test_bound(files: list[FileTimes], wanted: int, minute: int | None) -> None:
    assert bound_for(files, wanted=wanted) == (None if minute is None else NOON + timedelta(minutes=minute))


@given(st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=5), max_size=6), st.integers(1, 10))
def test_the_newest_rows_lie_behind_the_bound(files: list[list[int]], wanted: int) -> None:
    bound = bound_for([a_file(len(minutes), min(minutes)) for minutes in files], wanted=wanted)

    minutes = sorted((minute for file in files for minute in file), reverse=True)
    read = [minute for minute in minutes if bound is None or NOON + timedelta(minutes=minute) >= bound]
    assert read[:wanted] == minutes[:wanted]
