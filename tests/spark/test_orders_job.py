"""J1's functions on batch frames: which records are orders, and what becomes of the others."""

import importlib.util
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType, TimestampType

pytestmark = pytest.mark.spark

JOB = Path(__file__).parents[2] / "jobs" / "orders_to_delta.py"
KAFKA = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
    ]
)
ARRIVED = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def job():
    spec = importlib.util.spec_from_file_location("orders_to_delta", JOB)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def an_order(**changes: object) -> bytes:
    """An order as the producer writes it; None removes a field."""
    order = {
        "order_id": 7,
        "customer": "ana",
        "amount": 12.5,
        "status": "paid",
        "event_time": "2026-03-01T12:00:00Z",
        **changes,
    }
    return json.dumps({name: value for name, value in order.items() if value is not None}).encode()


@pytest.fixture(scope="module")
def records(spark):
    """Kafka records with these values, one after the other in partition 2."""

    def build(*values: bytes | None):
        rows = [(None, value, "orders", 2, offset, ARRIVED) for offset, value in enumerate(values)]
        return spark.createDataFrame(rows, KAFKA)

    return build


@pytest.fixture(scope="module")
def outcome(job, records):
    """The orders and the dead letters that come of these values."""

    def run(*values: bytes | None):
        parsed = job.parse(records(*values)).cache()
        try:
            return job.orders(parsed).collect(), job.dead_letters(parsed).collect()
        finally:
            parsed.unpersist()

    return run


def test_an_order_becomes_a_row_with_the_position_of_its_record(outcome):
    (row,), dead = outcome(an_order())

    assert dead == []
    assert (row.order_id, row.customer, row.amount, row.status) == (7, "ana", Decimal("12.50"), "paid")
    assert row.event_time.astimezone(UTC) == datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    assert (row.topic, row.partition, row.offset) == ("orders", 2, 0)


GOOD = {
    "whole amounts": (an_order(amount=12), Decimal("12.00")),
    "an amount with one place": (an_order(amount=0.1), Decimal("0.10")),
    "a negative amount": (an_order(amount=-3.05), Decimal("-3.05")),
    "the largest amount": (an_order(amount=9999999999.99), Decimal("9999999999.99")),
    "a field that nobody knows": (an_order(coupon="x"), Decimal("12.50")),
}


def test_amounts_keep_their_cents(outcome):
    rows, dead = outcome(*(value for value, _ in GOOD.values()))

    assert dead == []
    assert dict(zip(GOOD, [row.amount for row in sorted(rows, key=lambda row: row.offset)], strict=True)) == {
        name: amount for name, (_, amount) in GOOD.items()
    }


BAD = {
    "no value": (None, "the record is empty"),
    "empty": (b"", "the record is not one JSON object"),
    "no JSON": (b"order 7", "the record is not one JSON object"),
    "not UTF-8": (b"\xff\xfe\x00\xd8", "the record is not one JSON object"),
    "an array": (b"[" + an_order() + b"]", "the record is not one JSON object"),
    "a number": (b"7", "the record is not one JSON object"),
    "a null": (b"null", "the record is not one JSON object"),
    "what closes a list behind it": (an_order() + b"] and more", "the record is not one JSON object"),
    "a second list behind it": (an_order() + b"],[" + an_order(), "the record is not one JSON object"),
    "a second field behind it": (an_order() + b',"x":' + an_order(), "the record is not one JSON object"),
    "an empty object": (b"{}", "order_id is missing or not a bigint"),
    "an id that is text": (an_order(order_id="seven"), "order_id is missing or not a bigint"),
    "an id that is a fraction": (an_order(order_id=7.5), "order_id is missing or not a bigint"),
    "an id that is too large": (an_order(order_id=2**63), "order_id is missing or not a bigint"),
    "no customer": (an_order(customer=None), "customer is missing or not a string"),
    "an amount that is text": (an_order(amount="much"), "amount is missing or not a decimal(38,18)"),
    "an amount of parts of a cent": (an_order(amount=0.005), "the amount does not fit into cents"),
    "an amount that fits no decimal": (an_order(amount=10**30), "amount is missing or not a decimal(38,18)"),
    "an amount that is too large": (an_order(amount=10_000_000_000), "the amount does not fit into cents"),
    "no status": (an_order(status=None), "status is missing or not a string"),
    "a time that is none": (an_order(event_time="yesterday"), "event_time is missing or not a timestamp"),
    "two wrong fields: the first is named": (
        an_order(customer=None, event_time="yesterday"),
        "customer is missing or not a string",
    ),
}


def test_what_is_no_order_becomes_a_dead_letter_with_its_reason(outcome):
    rows, dead = outcome(*(value for value, _ in BAD.values()))

    assert rows == []
    reasons = {name: letter.reason for name, letter in zip(BAD, sorted(dead, key=lambda row: row.offset), strict=True)}
    assert reasons == {name: reason for name, (_, reason) in BAD.items()}


def test_a_truncated_record_is_a_dead_letter_wherever_it_ends(outcome):
    whole = an_order()
    cut = [whole[:end] for end in range(1, len(whole))]

    rows, dead = outcome(*cut)

    assert rows == []
    assert sorted(letter.offset for letter in dead) == list(range(len(cut)))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(an_order() + b" " + an_order(order_id=8), id="a second order behind it"),
        pytest.param(an_order() + b"}", id="a brace too many"),
    ],
)
def test_nothing_behind_an_order_is_dropped_in_silence(outcome, value):
    rows, dead = outcome(value)

    assert [letter.text for letter in dead] == [value.decode()]
    assert rows == []


def test_an_amount_with_parts_of_a_cent_is_not_rounded_in_silence(outcome):
    rows, dead = outcome(an_order(amount=12.345))

    assert rows == []
    assert [letter.reason for letter in dead] == ["the amount does not fit into cents"]


def test_a_dead_letter_tells_where_it_came_from_and_what_it_was(outcome):
    _, (letter,) = outcome(b"order 7")

    assert (letter.topic, letter.partition, letter.offset) == ("orders", 2, 0)
    assert letter.text == "order 7"
    assert letter.timestamp.astimezone(UTC) == ARRIVED


def test_a_dead_letter_of_an_empty_record_has_no_text(outcome):
    _, (letter,) = outcome(None)

    assert letter.text is None


def test_every_record_ends_on_exactly_one_side(outcome):
    values = [value for value, _ in (*GOOD.values(), *BAD.values())]

    rows, dead = outcome(*values)

    assert sorted([row.offset for row in rows] + [letter.offset for letter in dead]) == list(range(len(values)))


def test_the_tables_have_the_declared_columns(job, records):
    parsed = job.parse(records(an_order()))

    names = [field.name for field in job.ORDER.fields]
    assert job.orders(parsed).columns == [*names, "topic", "partition", "offset"]
    assert job.dead_letters(parsed).columns == [
        "topic",
        "partition",
        "offset",
        "timestamp",
        "key",
        "value",
        "text",
        "reason",
    ]
