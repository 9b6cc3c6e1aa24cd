"""Orders with the category of what was ordered, for running totals."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from streamops_sandbox.inputs.composing import Written, compose
from streamops_sandbox.inputs.draws import draw
from streamops_sandbox.inputs.record import InputRecord, Shares
from streamops_sandbox.inputs.shape import FieldType, Shape, amount_text, good_rows, malformed_records, time_text
from streamops_sandbox.inputs.timetable import Slot

TOPIC = "category_orders"
CATEGORIES = ("books", "garden", "music", "tools", "toys")
SHAPE: Shape = {
    "order_id": FieldType.TEXT,
    "category": FieldType.TEXT,
    "amount": FieldType.AMOUNT,
    "event_time": FieldType.TIME,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryTotal:
    """All orders of one category."""

    category: str
    orders: int
    revenue: Decimal


def records(*, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]:
    """`count` orders."""

    def write(slot: Slot) -> Written:
        category = CATEGORIES[draw(len(CATEGORIES), seed, "category", slot.number)]
        fields = {
            "order_id": slot.label("o"),
            "category": category,
            "amount": amount_text(100 + draw(100_000, seed, "amount", slot.number)),
            "event_time": time_text(slot.at),
        }
        return Written(key=category, fields=fields)

    return compose(write, topic=TOPIC, shape=SHAPE, seed=seed, count=count, shares=shares)


def expected_totals(records: Iterable[InputRecord]) -> tuple[CategoryTotal, ...]:
    """By category, over all orders. Repeats count, and late ones: where the groups have no event time nothing is dropped."""
    amounts: dict[str, list[Decimal]] = defaultdict(list)
    for row in good_rows(records, SHAPE):
        amounts[row.fields["category"]].append(row.fields["amount"])
    return tuple(
        CategoryTotal(category=category, orders=len(found), revenue=sum(found, Decimal(0)))
        for category, found in sorted(amounts.items())
    )


def expected_dead_letters(records: Iterable[InputRecord]) -> tuple[InputRecord, ...]:
    """The malformed records."""
    return malformed_records(records, SHAPE)
