"""The functions of J15, J16, J18 and J19 on small frames."""

import hashlib
import json
from typing import Any

import pytest

from support.job_frames import kafka_records, load_job

pytestmark = pytest.mark.spark

EVENT = {
    "event_id": "e-1",
    "type": "purchase",
    "user": "u-1",
    "amount": "12.50",
    "event_time": "2026-03-01T12:00:00.123Z",
}


def records(spark: Any, *events: dict[str, object]) -> Any:
    return kafka_records(spark, "events", [json.dumps(event).encode() for event in events])


@pytest.mark.parametrize("name", ["low_latency_relay", "async_progress_relay", "row_by_row_sink"])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"amount": "1.005"}, "the amount does not fit into cents", id="half a cent"),
        pytest.param({"event_time": "soon"}, "event_time", id="no time"),
        pytest.param({"user": None}, "user is missing", id="no user"),
    ],
)
def test_what_is_no_event_has_a_reason(spark: Any, name: str, change: dict[str, object], reason: str) -> None:
    (good, bad) = load_job(name).parse(records(spark, EVENT, EVENT | change)).orderBy("offset").collect()

    assert good.reason is None
    assert reason in bad.reason


def test_the_relay_passes_on_purchases_alone_in_cents_and_keyed_by_their_user(spark: Any) -> None:
    job = load_job("low_latency_relay")
    sent = records(spark, EVENT, EVENT | {"type": "refund"}, EVENT | {"event_id": "e-2", "amount": "3"})

    found = job.messages(job.purchases(job.parse(sent))).orderBy("value").collect()

    assert [(row.key, json.loads(row.value)) for row in found] == [
        ("u-1", {"event_id": "e-1", "user": "u-1", "amount": "12.50"}),
        ("u-1", {"event_id": "e-2", "user": "u-1", "amount": "3.00"}),
    ]


def test_the_other_relay_passes_on_all_events_under_a_pseudonym_and_their_times_letter_by_letter(spark: Any) -> None:
    job = load_job("async_progress_relay")
    pseudonym = hashlib.sha256(b"u-1").hexdigest()

    (found,) = job.messages(job.pseudonymous(job.good(job.parse(records(spark, EVENT))))).collect()

    assert (found.key, json.loads(found.value)) == (pseudonym, EVENT | {"user": pseudonym})


def test_a_line_has_the_position_of_its_record_and_texts_alone(spark: Any) -> None:
    job = load_job("row_by_row_sink")

    first, again = job.lines(job.good(job.parse(records(spark, EVENT, EVENT)))).orderBy("position").collect()

    assert first.asDict() == {
        "position": "events-0-0",
        "event_id": "e-1",
        "type": "purchase",
        "user": "u-1",
        "amount": "12.50",
    }
    assert again.position == "events-0-1"


def test_the_demo_halves_numbers(spark: Any) -> None:
    rows = spark.createDataFrame([(3,), (4,)], "value BIGINT").selectExpr("current_timestamp() AS timestamp", "value")

    found = load_job("rate_demo").halves(rows).orderBy("number").collect()

    assert [(row.number, row.half, row.is_even) for row in found] == [(3, 1, False), (4, 2, True)]
