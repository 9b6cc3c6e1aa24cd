"""Customers as a changelog: the last record of a key says what holds, a null value (tombstone) that there is none any more."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from streamops_sandbox.inputs.composing import Written, compose
from streamops_sandbox.inputs.draws import draw
from streamops_sandbox.inputs.record import InputRecord, Shares
from streamops_sandbox.inputs.shape import FieldType, Shape, read_value, time_text
from streamops_sandbox.inputs.timetable import Kind, Slot

TOPIC = "customers"
SHAPE: Shape = {
    "customer_id": FieldType.TEXT,
    "name": FieldType.TEXT,
    "email": FieldType.TEXT,
    "country": FieldType.TEXT,
    "updated_at": FieldType.TIME,
}

_NAMES = ("Ana", "Björn", "Chloé", "Dariusz", "Eva", "Françoise", "Goran", "Hülya")
_COUNTRIES = ("AT", "DE", "FR", "PL", "TR")
_TOMBSTONE_EVERY = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Customer:
    """One row of the table of customers."""

    customer_id: str
    name: str
    email: str
    country: str
    updated_at: datetime


def records(*, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]:
    """`count` records of about a fifth as many customers; a plain record may be a tombstone.

    Late and out-of-order ones have an older updated_at than what came before them for their key may have. That decides
    nothing: a tombstone has no time, so only the order within the key's partition can tell which record is the last.
    """
    customers = max(1, count // 5)

    def write(slot: Slot) -> Written:
        number = draw(customers, seed, "customer", slot.kind is Kind.MALFORMED, slot.number)
        customer_id, name = f"c-{number:05d}", _NAMES[draw(len(_NAMES), seed, "name", slot.number)]
        fields = {
            "customer_id": customer_id,
            "name": name,
            "email": f"{customer_id}.{slot.number}@example.com",
            "country": _COUNTRIES[draw(len(_COUNTRIES), seed, "country", slot.number)],
            "updated_at": time_text(slot.at),
        }
        deleted = slot.kind is Kind.PLAIN and draw(_TOMBSTONE_EVERY, seed, "tombstone", slot.number) == 0
        return Written(key=customer_id, fields=None if deleted else fields)

    return compose(write, topic=TOPIC, shape=SHAPE, seed=seed, count=count, shares=shares, null_is_content=True)


def expected_customers(records: Iterable[InputRecord]) -> tuple[Customer, ...]:
    """The table by customer_id: the last record of each key that is not malformed, unless it is a tombstone."""
    last: dict[bytes | None, Customer | None] = {}
    for record in records:
        fields = read_value(record.value, SHAPE)
        if fields is not None:
            last[record.key] = Customer(**fields)
        elif record.value is None:
            last[record.key] = None
    present = (customer for customer in last.values() if customer is not None)
    return tuple(sorted(present, key=lambda customer: customer.customer_id))


def expected_dead_letters(records: Iterable[InputRecord]) -> tuple[InputRecord, ...]:
    """The records that are neither a customer nor a tombstone."""
    return tuple(record for record in records if record.value is not None and read_value(record.value, SHAPE) is None)
