"""Orders are a pure function of their number: a check recomputes what must have arrived."""

import json
from datetime import datetime
from decimal import Decimal

import pytest

from streamops_sandbox.order_content import STATUSES, malformed, order


def test_an_order_says_the_same_on_every_machine_and_python() -> None:
    assert order(7) == {
        "order_id": 7,
        "customer": "c-0228",
        "amount": "909.90",
        "status": "cancelled",
        "event_time": "2026-01-01T00:00:00.035Z",
    }


@pytest.mark.parametrize("number", [0, 1, 999, 10**9])
def test_an_order_is_complete(number: int) -> None:
    content = order(number)

    assert content["order_id"] == number
    assert Decimal(content["amount"]).as_tuple().exponent == -2
    assert Decimal(content["amount"]) >= 1
    assert content["status"] in STATUSES
    assert datetime.fromisoformat(str(content["event_time"])).utcoffset() is not None


def test_event_time_follows_the_numbers() -> None:
    moments = [order(number)["event_time"] for number in range(1000)]

    assert moments == sorted(set(moments))


def test_a_malformed_record_is_no_json_and_holds_its_number_under_another_name() -> None:
    text = malformed(42)

    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    assert '"malformed_id": 42' in text
    assert "order_id" not in text
