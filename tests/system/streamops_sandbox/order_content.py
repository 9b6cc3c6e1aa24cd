"""What order number n says: a pure function, so that a check can recompute what must have arrived."""

import hashlib
import json
from datetime import UTC, datetime, timedelta

CUSTOMERS = 500
STATUSES = ("placed", "paid", "shipped", "cancelled")

FIRST_EVENT = datetime(2026, 1, 1, tzinfo=UTC)
EVENT_STEP = timedelta(milliseconds=5)
"""Event time between two orders: at the default rate of 200 a second it runs as fast as the clock."""


def order(number: int) -> dict[str, str | int]:
    """The order with this number; the amount is a decimal with two digits, as text."""
    # A digest rather than `random`: the same on every version of Python, and no state between two orders.
    digest = hashlib.blake2b(str(number).encode(), digest_size=16, person=b"streamops order").digest()
    cents = 100 + int.from_bytes(digest[0:4]) % 100_000
    return {
        "order_id": number,
        "customer": f"c-{int.from_bytes(digest[4:8]) % CUSTOMERS:04d}",
        "amount": f"{cents // 100}.{cents % 100:02d}",
        "status": STATUSES[digest[8] % len(STATUSES)],
        "event_time": (FIRST_EVENT + number * EVENT_STEP).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }


def malformed(number: int) -> str:
    """The malformed record with this number: JSON cut off in a string.

    Malformed records have numbers of their own from 0, under another name than those of the orders.
    """
    return json.dumps({"malformed_id": number, "customer": "c-", "amount": ""})[: -len('", "amount": ""}')]
