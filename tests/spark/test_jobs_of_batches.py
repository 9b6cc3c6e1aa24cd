"""The functions of the jobs that write by foreachBatch, on batch frames: which records are rows, and what the others lack."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pyspark.sql import Row

from streamops.spark.json_records import dead_letters, refused_letters
from support.job_frames import ARRIVED, COLUMNS, kafka_records, load_job

pytestmark = pytest.mark.spark

CUSTOMERS = load_job("customers_upsert")
POSTGRES = load_job("orders_to_postgres")
FANOUT = load_job("events_fanout")
FRAUD = load_job("fraud_alerts")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def as_json(example: dict[str, object], **changes: object) -> bytes:
    """The example with these changes; None removes a field."""
    return json.dumps({name: value for name, value in {**example, **changes}.items() if value is not None}).encode()


def reasons(parsed) -> list[str | None]:
    # Not all columns: Python has no time before the year 1.
    return [row.reason for row in parsed.orderBy("offset").select("reason").collect()]


ANA = {
    "customer_id": "c-1",
    "name": "Ana",
    "email": "ana@example.com",
    "country": "AT",
    "updated_at": "2026-03-01T12:00:00Z",
}


@pytest.fixture
def changelog(spark):
    """Records with these keys and values, one after the other in partition 1."""

    def build(*records: tuple[bytes | None, bytes | None]):
        rows = [(key, value, "customers", 1, offset, ARRIVED) for offset, (key, value) in enumerate(records)]
        return CUSTOMERS.parse(spark.createDataFrame(rows, COLUMNS))

    return build


def test_a_customer_and_a_tombstone_are_versions_with_their_position(changelog):
    parsed = changelog((b"c-1", as_json(ANA)), (b"c-1", None))

    found = CUSTOMERS.versions(parsed).orderBy("offset").collect()

    assert [tuple(row) for row in found] == [
        ("c-1", "Ana", "ana@example.com", "AT", AT.replace(tzinfo=None), False, 1, 0),
        ("c-1", None, None, None, None, True, 1, 1),
    ]


def test_a_record_that_is_neither_has_its_reason(changelog):
    parsed = changelog(
        (b"c-1", b""),
        (b"c-1", as_json(ANA, name=None)),
        (b"c-2", as_json(ANA)),
        (None, as_json(ANA)),
        (None, None),
        (b"\xff", None),
    )

    assert reasons(parsed) == [
        "the record is not one JSON object",
        "name is missing or not a string",
        "the record's key is not its customer_id",
        "the record's key is not its customer_id",
        "the tombstone has no key that is a text",
        "the tombstone has no key that is a text",
    ]
    assert CUSTOMERS.versions(parsed).collect() == []


ORDER = {"order_id": "o-1", "category": "toys", "amount": "12.50", "event_time": "2026-03-01T12:00:00Z"}


def test_an_order_is_a_row_in_cents_with_its_position(spark):
    parsed = POSTGRES.parse(kafka_records(spark, "category_orders", [as_json(ORDER)]))

    (row,) = POSTGRES.orders(parsed).collect()

    assert row.asDict() == {
        "order_id": "o-1",
        "category": "toys",
        "amount": Decimal("12.50"),
        "event_time": AT.replace(tzinfo=None),
        "partition": 0,
        "offset": 0,
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"amount": "12.505"}, "the amount does not fit into cents", id="parts of a cent"),
        pytest.param(
            {"order_id": "o\0"}, "order_id has a null character, which PostgreSQL can't hold", id="null in a key"
        ),
        pytest.param(
            {"category": "\0"}, "category has a null character, which PostgreSQL can't hold", id="null in a text"
        ),
        pytest.param(
            {"event_time": "-9999-01-01T00:00:00Z"}, "the event's time is before the year 1", id="a time too early"
        ),
    ],
)
def test_what_postgresql_can_not_hold_is_a_dead_letter(spark, changes, reason):
    parsed = POSTGRES.parse(kafka_records(spark, "category_orders", [as_json(ORDER, **changes)]))

    assert reasons(parsed) == [reason]


EVENT = {
    "event_id": "e-1",
    "type": "refund",
    "user": "u-1",
    "amount": "9.90",
    "event_time": "2026-03-01T12:00:00.123Z",
}


@pytest.fixture
def events(spark):
    """Events of these types, parsed."""

    def build(*types: str):
        values = [as_json(EVENT, event_id=f"e-{number}", type=kind) for number, kind in enumerate(types)]
        return FANOUT.parse(kafka_records(spark, "events", values))

    return build


def test_each_event_goes_to_the_table_of_its_type_or_to_that_of_all_others(events):
    found = FANOUT.events(events("refund", "signup", "../signup", "refund"))

    assert ids(FANOUT.of_type(found, "refund")) == ["e-0", "e-3"]
    assert ids(FANOUT.of_type(found, "signup")) == ["e-1"]
    assert ids(FANOUT.of_no_type(found, ["refund", "signup"])) == ["e-2"]


def ids(rows) -> list[str]:
    return [row.event_id for row in rows.orderBy("offset").collect()]


def test_an_event_is_told_under_its_id_with_its_amount_as_it_was_written(events):
    (told,) = FANOUT.messages(FANOUT.events(events("refund"))).collect()

    assert told.key == "e-0"
    assert json.loads(told.value) == {**EVENT, "event_id": "e-0"}
    assert (told.topic, told.partition, told.offset) == ("events", 0, 0)


def test_what_an_endpoint_refuses_is_a_dead_letter_with_the_record_as_it_came(events):
    parsed = events("refund", "signup", "refund")
    refused = [Row(key="e-2", value="{}", topic="events", partition=0, offset=2, reason="400 Bad Request")]

    (letter,) = refused_letters(parsed, refused).collect()

    assert (letter.topic, letter.partition, letter.offset, letter.reason) == ("events", 0, 2, "400 Bad Request")
    assert letter.value == as_json(EVENT, event_id="e-2")
    assert refused_letters(parsed, []).columns == dead_letters(parsed).columns
    assert refused_letters(parsed, []).collect() == []


RULES = "rule_id STRING, kind STRING, tier STRING, amount DECIMAL(12,2), most INT, minutes INT, country STRING"
PAID = {"transaction_id": "t-1", "account": "a-1", "amount": "10.00", "country": "AT"}


@pytest.fixture
def raised(spark):
    """The ids of the alerts that one rule raises on the last of these transactions; a-1 is a standard account of Ana's."""

    def run(rule: tuple[object, ...], *made: dict[str, object]) -> list[str]:
        values = [as_json(PAID, **{"event_time": "2026-03-01T12:00:00Z", **one}) for one in made]
        history = FRAUD.transactions(FRAUD.parse(kafka_records(spark, "transactions", values)))
        judged = history.where(f"offset = {len(made) - 1}")
        found = FRAUD.alerts(
            judged,
            rules=spark.createDataFrame([rule], RULES),
            accounts=spark.createDataFrame([("a-1", "Ana", "standard")], "account STRING, owner STRING, tier STRING"),
            history=history,
        )
        return sorted(row.key for row in FRAUD.messages(found).collect())

    return run


OVER_20 = ("large", "amount_over", "standard", Decimal("20.00"), None, None, None)
MORE_THAN_2 = ("many", "velocity", None, None, 2, 10, None)
BLOCKED = ("blocked", "blocked_country", None, None, None, None, "KP")
UNKNOWN = ("odd", "phase_of_the_moon", "standard", Decimal("0.00"), 0, 10, "AT")


@pytest.mark.parametrize(
    ("rule", "made", "alerts"),
    [
        pytest.param(OVER_20, [{"amount": "20.01"}], ["large:t-1"], id="above the limit"),
        pytest.param(OVER_20, [{"amount": "20.00"}], [], id="at the limit"),
        pytest.param(OVER_20, [{"amount": "99.00", "account": "a-2"}], [], id="an unknown account has no tier"),
        pytest.param(BLOCKED, [{"country": "KP"}], ["blocked:t-1"], id="a blocked country"),
        pytest.param(BLOCKED, [{"country": "AT"}], [], id="another country"),
        pytest.param(UNKNOWN, [{}], [], id="a rule of a kind that is not known"),
    ],
)
def test_a_rule_looks_at_one_transaction(raised, rule, made, alerts):
    assert raised(rule, *made) == alerts


def at(minute: str, number: int, **changes: object) -> dict[str, object]:
    return {"event_time": f"2026-03-01T12:{minute}Z", "transaction_id": f"t-{number}", **changes}


@pytest.mark.parametrize(
    ("made", "alerts"),
    [
        pytest.param([at("01:00", 1), at("05:00", 2), at("10:00", 3)], ["many:t-3"], id="the third within ten minutes"),
        pytest.param([at("00:00", 1), at("05:00", 2), at("10:00", 3)], [], id="the first is ten minutes ago, so out"),
        pytest.param([at("11:00", 1), at("05:00", 2), at("10:00", 3)], [], id="a later one does not count"),
        pytest.param([at("09:00", 1), at("09:00", 1), at("10:00", 3)], [], id="one that came twice counts once"),
        pytest.param(
            [at("09:00", 1, account="a-2"), at("09:00", 2), at("10:00", 3)], [], id="those of others do not count"
        ),
        pytest.param(
            [at(f"0{n}:00", n, account="a-2") for n in (1, 2, 3)], ["many:t-3"], id="an unknown account as well"
        ),
    ],
)
def test_velocity_counts_the_transactions_of_an_account_up_to_the_judged_one(raised, made, alerts):
    assert raised(MORE_THAN_2, *made) == alerts


def test_nothing_to_judge_raises_nothing(spark, raised):
    empty = FRAUD.transactions(FRAUD.parse(kafka_records(spark, "transactions", [])))

    found = FRAUD.alerts(
        empty,
        rules=spark.createDataFrame([MORE_THAN_2, BLOCKED], RULES),
        accounts=spark.createDataFrame([], "account STRING, owner STRING, tier STRING"),
        history=empty,
    )

    assert found.collect() == []


def test_an_alert_says_whose_account_and_what_was_paid(spark):
    judged = FRAUD.transactions(
        FRAUD.parse(
            kafka_records(spark, "transactions", [as_json(PAID, event_time="2026-03-01T12:00:00Z", country="KP")])
        )
    )
    rules = spark.createDataFrame([BLOCKED], RULES)
    nobody = spark.createDataFrame([], "account STRING, owner STRING, tier STRING")

    (told,) = FRAUD.messages(FRAUD.alerts(judged, rules=rules, accounts=nobody, history=judged)).collect()

    assert json.loads(told.value) == {
        "alert_id": "blocked:t-1",
        "rule_id": "blocked",
        "transaction_id": "t-1",
        "account": "a-1",
        "owner": None,
        "amount": "10.00",
        "event_time": "2026-03-01T12:00:00.000Z",
    }
