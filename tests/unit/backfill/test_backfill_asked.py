"""Ranges as people write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from streamops.backfill import OffsetBound, PatternBound, RequestedRange, TimeBound, VersionBound
from streamops.backfill.asked import range_of
from streamops.control.kafka_offsets import Offsets
from streamops.errors import SettingsError
from support.specs import seconds

NONE = timedelta(0)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param("2026-03-01T00:00Z", TimeBound(at=datetime(2026, 3, 1, tzinfo=UTC)), id="time in UTC"),
        pytest.param(
            " 2026-03-01T14:00:00.250+05:30 ",
            TimeBound(at=datetime(2026, 3, 1, 14, 0, 0, 250_000, tzinfo=timezone(timedelta(hours=5.5)))),
            id="time in another zone, blanks around it",
        ),
        pytest.param(
            ' {"orders":{"1":90,"0":100}}',
            OffsetBound(offsets=Offsets.of({("orders", 0): 100, ("orders", 1): 90})),
            id="offsets in any order",
        ),
        pytest.param(
            '{"orders":{"0":5},"returns":{"0":7}}',
            OffsetBound(offsets=Offsets.of({("orders", 0): 5, ("returns", 0): 7})),
            id="offsets of two topics",
        ),
        pytest.param("v0", VersionBound(version=0), id="the first version of a table"),
        pytest.param("v12", VersionBound(version=12), id="a later version"),
        pytest.param("files:2026/11/*.json", PatternBound(pattern="2026/11/*.json"), id="files"),
    ],
)
def test_an_end_of_a_range_is_understood(text, bound):
    assert range_of(text, text, slack=NONE) == RequestedRange(begin=bound, end=bound)


def test_files_need_no_second_end():
    asked = range_of("files:*.json", "", slack=NONE)

    assert asked.begin == asked.end == PatternBound(pattern="*.json")


def test_a_slack_goes_with_the_range():
    assert str(range_of("2026-03-01T00:00Z", "2026-03-02T00:00Z", slack=seconds(600))) == (
        "from 2026-03-01T00:00:00+00:00 to 2026-03-02T00:00:00+00:00, 0:10:00 late"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("yesterday", "Invalid isoformat string", id="a word"),
        pytest.param("", "Invalid isoformat string", id="nothing"),
        pytest.param("2026-03-01T00:00", "has no time zone", id="whose midnight it is nobody knows"),
        pytest.param("2026-02-30T00:00Z", "day is out of range", id="a day that never comes"),
        pytest.param('{"orders":{"0":', "", id="JSON that is cut off"),
        pytest.param('{"orders":{"0":-1}}', "", id="latest is no fixed place"),
        pytest.param('{"orders":{"0":1,"0":2}}', "", id="one partition twice"),
        pytest.param("v-1", "Invalid isoformat string", id="a version below 0"),
        pytest.param("v1.5", "Invalid isoformat string", id="half a version"),
        pytest.param("files:", "no path below a folder", id="files without a name"),
        pytest.param("files:../secret", "no path below a folder", id="files outside the folder"),
    ],
)
def test_what_is_no_end_of_a_range_is_told_with_what_was_found(text, why):
    with pytest.raises(SettingsError) as refused:
        range_of(text, "2026-03-02T00:00Z", slack=NONE)

    told = str(refused.value)
    assert told.startswith(f"from: found {text!r}, expected a time with its zone such as 2026-11-28T14:00+01:00")
    assert why in told


def test_it_is_told_which_end_is_wrong():
    with pytest.raises(SettingsError, match=r"^to: found 'soon'"):
        range_of("2026-03-01T00:00Z", "soon", slack=NONE)


def test_a_negative_slack_is_none():
    with pytest.raises(ValueError, match="must not be negative"):
        range_of("v1", "v2", slack=seconds(-1))
