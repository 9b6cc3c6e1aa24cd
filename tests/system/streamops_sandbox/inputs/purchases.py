"""Purchases, to be joined with the clicks before them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from streamops_sandbox.inputs import clicks as clicks_input
from streamops_sandbox.inputs.composing import Written, compose
from streamops_sandbox.inputs.draws import draw
from streamops_sandbox.inputs.record import InputRecord, Shares
from streamops_sandbox.inputs.shape import FieldType, Row, Shape, amount_text, good_rows, malformed_records, time_text
from streamops_sandbox.inputs.timetable import Kind, Slot
from streamops_sandbox.inputs.visitors import once, returning
from streamops_sandbox.inputs.watermarks import on_time, watermark

TOPIC = "purchases"
SHAPE: Shape = {
    "purchase_id": FieldType.TEXT,
    "user": FieldType.TEXT,
    "amount": FieldType.AMOUNT,
    "event_time": FieldType.TIME,
}
WITHIN = timedelta(minutes=30)
"""A purchase belongs to the clicks of its user from so long before it on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickedPurchase:
    """A click, with the purchase that came of it if one did."""

    click_id: str
    user: str
    page: str
    clicked_at: datetime
    purchase_id: str | None
    amount: Decimal | None
    purchased_at: datetime | None


def records(*, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]:
    """`count` purchases. Each plain or out-of-order one is of another user: no click has two purchases, but for repeats."""

    def write(slot: Slot) -> Written:
        is_on_time = slot.kind in (Kind.PLAIN, Kind.OUT_OF_ORDER)
        number = once(slot) if is_on_time else returning(slot, seed=seed, pool=count, after=(0,), what="late purchase")
        fields = {
            "purchase_id": slot.label("p"),
            "user": clicks_input.CLOSING_USER if slot.kind is Kind.CLOSING else f"u-{number:05d}",
            "amount": amount_text(500 + draw(20_000, seed, "amount", slot.number)),
            "event_time": time_text(slot.at),
        }
        return Written(key=fields["user"], fields=fields)

    return compose(write, topic=TOPIC, shape=SHAPE, seed=seed, count=count, shares=shares)


def expected_joined(clicks: Iterable[InputRecord], purchases: Iterable[InputRecord]) -> tuple[ClickedPurchase, ...]:
    """The left outer join, by click: a purchase of the same user not before the click and at most WITHIN after it.

    Late records of either side are left out, and repeats count. A click without a purchase is in it once the watermark has
    passed the time in which one could come; those with one, at once.
    """
    clicked = list(good_rows(clicks, clicks_input.SHAPE))
    purchased = list(good_rows(purchases, SHAPE))
    last = watermark(clicked, purchased)
    of_user: dict[str, list[Row]] = defaultdict(list)
    for purchase in on_time(purchased, clicked):
        of_user[purchase.fields["user"]].append(purchase)
    joined = []
    for click in on_time(clicked, purchased):
        fitting = [row for row in of_user[click.fields["user"]] if click.at <= row.at <= click.at + WITHIN]
        joined += [_pair(click, purchase) for purchase in fitting]
        if not fitting and click.at + WITHIN < last:
            joined.append(_pair(click, None))
    return tuple(sorted(joined, key=lambda pair: (pair.click_id, pair.purchase_id or "")))


def expected_dead_letters(records: Iterable[InputRecord]) -> tuple[InputRecord, ...]:
    """The malformed records."""
    return malformed_records(records, SHAPE)


def _pair(click: Row, purchase: Row | None) -> ClickedPurchase:
    bought = purchase.fields if purchase else {}
    return ClickedPurchase(
        click_id=click.fields["click_id"],
        user=click.fields["user"],
        page=click.fields["page"],
        clicked_at=click.at,
        purchase_id=bought.get("purchase_id"),
        amount=bought.get("amount"),
        purchased_at=bought.get("event_time"),
    )
