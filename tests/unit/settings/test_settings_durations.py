from datetime import timedelta

import pytest

from streamops.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("500ms", timedelta(milliseconds=500)),
        ("10s", timedelta(seconds=10)),
        ("5m", timedelta(minutes=5)),
        ("2h", timedelta(hours=2)),
        ("1d", timedelta(days=1)),
    ],
)
def test_a_duration_is_a_whole_number_with_a_unit_and_is_written_back_the_same(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration
    assert format_duration(duration) == text


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(10, id="no unit"),
        pytest.param("10", id="no unit, as text"),
        pytest.param("1.5m", id="not a whole number"),
        pytest.param("-5s", id="negative"),
        pytest.param("10 parsecs", id="not a unit of time"),
        pytest.param("10s\n", id="something behind"),
        pytest.param("9999999999999d", id="more than a timedelta holds"),
        pytest.param(True, id="not a text"),
        pytest.param(None, id="nothing"),
    ],
)
def test_anything_else_is_no_duration(value: object) -> None:
    with pytest.raises(ValueError, match="a duration such as"):
        parse_duration(value)


def test_a_duration_is_written_in_the_largest_unit_that_divides_it() -> None:
    assert format_duration(timedelta(seconds=90)) == "90s"
    assert format_duration(timedelta(minutes=120)) == "2h"
    assert format_duration(timedelta(0)) == "0s"
