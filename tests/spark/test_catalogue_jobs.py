"""The functions of the catalogue's jobs on small frames: what is a dead letter, and what a transformation makes of a few rows."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from support.job_frames import ARRIVED, kafka_records, load_job

pytestmark = pytest.mark.spark

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CLICKS = "click_id STRING, user STRING, page STRING, event_time TIMESTAMP"
PURCHASES = "purchase_id STRING, user STRING, amount DECIMAL(38,18), event_time TIMESTAMP"
EVENTS = "event_id STRING, type STRING, user STRING, amount DECIMAL(38,18), event_time TIMESTAMP"


def after(**duration: float) -> datetime:
    return NOON + timedelta(**duration)


def text_of(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


EVENT = {"event_id": "e", "type": "purchase", "user": "u", "amount": "1.50", "event_time": text_of(NOON)}
CLICK = {"click_id": "k", "user": "u", "page": "/", "event_time": text_of(NOON)}
RECORDS = {
    ("events_dedup", "parse"): EVENT,
    ("event_aggregates", "parse"): EVENT,
    ("sensor_windows", "parse"): {"device": "d", "value": 1.5, "user": "u", "event_time": text_of(NOON)},
    ("clickstream_sessions", "parse"): CLICK,
    ("clicks_purchases", "parse_clicks"): CLICK,
    ("clicks_purchases", "parse_purchases"): {
        "purchase_id": "p",
        "user": "u",
        "amount": "1.50",
        "event_time": text_of(NOON),
    },
    ("ad_impressions", "parse_impressions"): {
        "impression_id": "i",
        "ad_id": "a",
        "cost": "1.50",
        "event_time": text_of(NOON),
    },
    ("ad_impressions", "parse_clicks"): {"ad_click_id": "c", "ad_id": "a", "event_time": text_of(NOON)},
    ("category_totals", "parse"): {"order_id": "o", "category": "toys", "amount": "1.50", "event_time": text_of(NOON)},
}
"""Of each function that parses, a record that is right."""


def reasons(spark, job: str, parse: str, *values: dict) -> list[str | None]:
    records = kafka_records(spark, "any", [json.dumps(value).encode() for value in values])
    return [row.reason for row in getattr(load_job(job), parse)(records).orderBy("offset").collect()]


@pytest.mark.parametrize(("job", "parse"), RECORDS, ids=".".join)
def test_an_event_a_day_ahead_of_its_record_would_move_the_watermark_and_is_a_dead_letter(spark, job, parse):
    record = RECORDS[job, parse]
    at_the_limit = {**record, "event_time": text_of(ARRIVED + timedelta(days=1))}
    ahead = {**record, "event_time": text_of(ARRIVED + timedelta(days=1, milliseconds=1))}

    assert reasons(spark, job, parse, record, at_the_limit, ahead) == [
        None,
        None,
        "the event's time is more than a day ahead of the record's",
    ]


PRICED = [place for place, record in RECORDS.items() if record.keys() & {"amount", "cost"}]


@pytest.mark.parametrize(("job", "parse"), PRICED, ids=".".join)
def test_an_amount_is_never_rounded_in_silence(spark, job, parse):
    record = RECORDS[job, parse]
    field = "cost" if "cost" in record else "amount"

    assert reasons(spark, job, parse, {**record, field: "1.5"}, {**record, field: "1.505"}) == [
        None,
        "the amount does not fit into cents",
    ]


def test_readings_lie_in_one_tumbling_window_and_in_two_sliding_ones(spark):
    readings = spark.createDataFrame(
        [("a", 1.0, "u", after(minutes=2)), ("a", 4.0, "v", after(minutes=4)), ("a", 7.0, "u", after(minutes=5))],
        "device STRING, value DOUBLE, user STRING, event_time TIMESTAMP",
    )

    rows = load_job("sensor_windows").figures(readings).orderBy("kind", "start").collect()

    assert [
        (row.kind, row.start.minute, row.end.minute, row.readings, row.sum, row.avg, row.min, row.max, row.users)
        for row in rows
    ] == [
        ("sliding", 55, 5, 2, 5.0, 2.5, 1.0, 4.0, 2),
        ("sliding", 0, 10, 3, 12.0, 4.0, 1.0, 7.0, 2),
        ("sliding", 5, 15, 1, 7.0, 7.0, 7.0, 7.0, 1),
        ("tumbling", 0, 5, 2, 5.0, 2.5, 1.0, 4.0, 2),
        ("tumbling", 5, 10, 1, 7.0, 7.0, 7.0, 7.0, 1),
    ]


def test_a_click_more_than_half_an_hour_after_another_begins_a_session(spark):
    """One at just half an hour does not: MergingSessionsIterator (4.2) joins sessions that touch."""
    clicks = spark.createDataFrame(
        [
            ("1", "u", "/", NOON),
            ("2", "u", "/item", after(minutes=30)),
            ("3", "u", "/help", after(minutes=60, milliseconds=1)),
        ],
        CLICKS,
    )

    rows = load_job("clickstream_sessions").sessions(clicks).orderBy("first_click").collect()

    assert [(row.pages, row.entry_page, row.exit_page, row.duration_seconds) for row in rows] == [
        (2, "/", "/item", 1800.0),
        (1, "/help", "/help", 0.0),
    ]


def test_of_clicks_at_one_moment_the_id_tells_which_page_was_first(spark):
    clicks = spark.createDataFrame([("2", "u", "/item", NOON), ("1", "u", "/", NOON)], CLICKS)

    (row,) = load_job("clickstream_sessions").sessions(clicks).collect()

    assert (row.entry_page, row.exit_page) == ("/", "/item")


def test_a_click_goes_with_each_purchase_of_its_user_within_half_an_hour(spark):
    clicks = spark.createDataFrame([("k", "u", "/", NOON), ("lone", "v", "/", NOON)], CLICKS)
    amount = Decimal("2.50")
    purchases = spark.createDataFrame(
        [
            ("before", "u", amount, after(milliseconds=-1)),
            ("at once", "u", amount, NOON),
            ("just so", "u", amount, after(minutes=30)),
            ("too late", "u", amount, after(minutes=30, milliseconds=1)),
            ("of another", "w", amount, after(minutes=1)),
        ],
        PURCHASES,
    )

    rows = load_job("clicks_purchases").with_purchases(clicks, purchases).collect()

    assert sorted((row.click_id, row.purchase_id or "", row.amount) for row in rows) == [
        ("k", "at once", Decimal("2.50")),
        ("k", "just so", Decimal("2.50")),
        ("lone", "", None),
    ]


def test_an_impression_goes_with_each_click_on_its_ad_within_ten_minutes(spark):
    shown = spark.createDataFrame(
        [("i", "a", Decimal("0.03"), NOON)],
        "impression_id STRING, ad_id STRING, cost DECIMAL(38,18), event_time TIMESTAMP",
    )
    clicks = spark.createDataFrame(
        [
            ("before", "a", after(milliseconds=-1)),
            ("just so", "a", after(minutes=10)),
            ("too late", "a", after(minutes=10, milliseconds=1)),
            ("of another", "b", NOON),
        ],
        "ad_click_id STRING, ad_id STRING, event_time TIMESTAMP",
    )

    (row,) = load_job("ad_impressions").clicked(shown, clicks).collect()

    assert (row.impression_id, row.ad_click_id, row.cost) == ("i", "just so", Decimal("0.03"))


def test_totals_are_kept_by_day_in_cents(spark):
    orders = spark.createDataFrame(
        [
            ("1", "toys", Decimal("0.10"), NOON),
            ("2", "toys", Decimal("0.20"), NOON.replace(hour=23, minute=59)),
            ("3", "toys", Decimal("5.00"), after(hours=12)),
        ],
        "order_id STRING, category STRING, amount DECIMAL(38,18), event_time TIMESTAMP",
    )

    rows = load_job("category_totals").totals(orders).orderBy("day").collect()

    assert [tuple(row) for row in rows] == [
        (date(2026, 3, 1), "toys", 2, Decimal("0.30")),
        (date(2026, 3, 2), "toys", 1, Decimal("5.00")),
    ]


def test_the_key_of_an_update_is_its_window_and_type(spark):
    job = load_job("event_aggregates")
    events = spark.createDataFrame(
        [
            ("1", "refund", "u", Decimal("0.10"), after(minutes=1)),
            ("2", "refund", "u", Decimal("0.20"), after(minutes=4)),
        ],
        EVENTS,
    )

    (row,) = job.messages(job.figures(events)).collect()

    assert row.key == "2026-03-01T12:00:00Z refund"
    assert json.loads(row.value) == {
        "start": "2026-03-01T12:00:00Z",
        "end": "2026-03-01T12:05:00Z",
        "type": "refund",
        "events": 2,
        "amount": "0.30",
    }


STEPS = (
    # Both repeats are inside the watermark, one of them in the same batch. It stands at 11:50 afterwards.
    [("1", NOON), ("1", NOON), ("2", after(minutes=-5))],
    # Afterwards it stands at 12:15, and neither 1 nor 2 is known any more.
    [("2", after(minutes=-5)), ("3", after(minutes=25))],
    # A repeat with its old time is late; one with a new time comes out once more.
    [("1", NOON), ("2", after(minutes=30))],
)


def test_a_repeat_beyond_the_watermark_is_late_or_another_event(spark, tmp_path: Path):
    inputs, came = tmp_path / "in", []
    inputs.mkdir()
    job = load_job("events_dedup")
    rows = job.first_of_each(spark.readStream.schema("event_id STRING, event_time TIMESTAMP").json(str(inputs)))
    writer = rows.writeStream.foreachBatch(
        lambda batch, _: came.append(sorted(row.event_id for row in batch.collect()))
    )
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        for number, step in enumerate(STEPS):
            lines = [json.dumps({"event_id": event, "event_time": text_of(at)}) for event, at in step]
            (tmp_path / "next").write_text("\n".join(lines))
            (tmp_path / "next").rename(inputs / f"{number}.json")
            query.processAllAvailable()
        state = query.lastProgress["stateOperators"][0]["numRowsTotal"]
    finally:
        query.stop()

    assert [events for events in came if events] == [["1", "2"], ["3"], ["2"]]
    assert state == 2
