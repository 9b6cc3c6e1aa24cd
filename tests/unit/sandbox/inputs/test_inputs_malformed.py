"""What is malformed, to the byte, and that nothing of it is read as good."""

import json

import pytest

from streamops_sandbox.inputs import Shares, customers, sensor_readings, words
from streamops_sandbox.inputs.malformed import spoil
from streamops_sandbox.inputs.shape import FieldType, Shape, read_value

SHAPE: Shape = {"id": FieldType.TEXT, "amount": FieldType.AMOUNT, "event_time": FieldType.TIME}
FIELDS = {"id": "x-1", "amount": "1.50", "event_time": "2026-01-01T08:00:00.000Z"}
WHOLE = b'{"id": "x-1", "amount": "1.50", "event_time": "2026-01-01T08:00:00.000Z"}'


@pytest.mark.parametrize(
    ("number", "value"),
    [
        pytest.param(0, b'{"id": "x-1", "amount": "1.50", "event_time": "2', id="cut off in a string"),
        pytest.param(1, b'{"amount": "1.50", "event_time": "2026-01-01T08:00:00.000Z"}', id="the first field missing"),
        pytest.param(7, b'{"id": "x-1", "event_time": "2026-01-01T08:00:00.000Z"}', id="the second field missing"),
        pytest.param(
            2, b'{"id": "x-1", "amount": "much", "event_time": "2026-01-01T08:00:00.000Z"}', id="an amount that is none"
        ),
        pytest.param(8, b'{"id": "x-1", "amount": "1.50", "event_time": "yesterday"}', id="a time that is none"),
        pytest.param(3, None, id="null"),
        pytest.param(9, b"", id="empty"),
        pytest.param(4, WHOLE + WHOLE, id="two objects"),
        pytest.param(5, WHOLE.replace(b"x-1", b"\xff\xfex-1"), id="invalid UTF-8"),
    ],
)
def test_malformed_by_turns_and_never_good(number: int, value: bytes | None) -> None:
    assert spoil(FIELDS, SHAPE, number=number) == value
    assert read_value(value, SHAPE) is None


def test_where_null_deletes_a_record_without_a_value_is_empty() -> None:
    assert spoil(FIELDS, SHAPE, number=3, null_is_content=True) == b""


def test_what_is_not_spoiled_is_read() -> None:
    fields = read_value(WHOLE, SHAPE)

    assert fields is not None
    assert (fields["id"], str(fields["amount"])) == ("x-1", "1.50")
    assert fields["event_time"].isoformat() == "2026-01-01T08:00:00+00:00"


@pytest.mark.parametrize(
    "value", [b"[]", b"7", b"null", b'"text"', b'{"value": true}', b'{"value": "7"}', b'{"value": null}']
)
def test_is_no_number(value: bytes) -> None:
    assert read_value(value, {"value": FieldType.NUMBER}) is None


@pytest.mark.parametrize("value", [b'{"value": 7}', b'{"value": -7.25}'])
def test_is_a_number(value: bytes) -> None:
    assert read_value(value, {"value": FieldType.NUMBER}) == {"value": float(json.loads(value)["value"])}


def test_all_six_ways_come_among_the_records_of_an_input() -> None:
    records = sensor_readings.records(seed=1, count=120, shares=Shares(malformed=0.1))

    values = [record.value for record in sensor_readings.expected_dead_letters(records)]

    assert len(values) == 12
    assert None in values
    assert b"" in values
    assert [b'"warm"' in (value or b"") for value in values].count(True) == 1
    assert [b"\xff\xfe" in (value or b"") for value in values].count(True) == 2
    assert [b"}{" in (value or b"") for value in values].count(True) == 2


def test_a_customer_that_is_deleted_is_no_dead_letter_and_an_empty_value_is_one() -> None:
    records = customers.records(seed=1, count=300, shares=Shares(malformed=0.1))

    values = [record.value for record in records]
    dead = [record.value for record in customers.expected_dead_letters(records)]

    assert values.count(None) > 10
    assert dead.count(None) == 0
    assert dead.count(b"") == 5


def test_a_line_is_malformed_by_null_or_by_invalid_utf8() -> None:
    records = words.records(seed=1, count=100, shares=Shares(malformed=0.04))

    dead = [record.value for record in words.expected_dead_letters(records)]

    assert (len(dead), dead.count(None), dead.count(b"caf\xe9 and tea")) == (4, 2, 2)
