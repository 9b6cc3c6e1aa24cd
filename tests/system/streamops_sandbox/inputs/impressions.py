"""Ads that were shown, to be joined with the clicks on them (`ad_clicks`)."""

from collections.abc import Iterable

from streamops_sandbox.inputs.composing import Written, compose
from streamops_sandbox.inputs.draws import draw
from streamops_sandbox.inputs.record import InputRecord, Shares
from streamops_sandbox.inputs.shape import FieldType, Shape, amount_text, malformed_records, time_text
from streamops_sandbox.inputs.timetable import Kind, Slot
from streamops_sandbox.inputs.visitors import returning

TOPIC = "impressions"
SHAPE: Shape = {
    "impression_id": FieldType.TEXT,
    "ad_id": FieldType.TEXT,
    "cost": FieldType.AMOUNT,
    "event_time": FieldType.TIME,
}
CLOSING_AD = "ad-closing"
"""Of the last impression only; no click is on it."""


def records(*, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]:
    """`count` impressions of about a third as many ads."""

    def write(slot: Slot) -> Written:
        ad = f"ad-{returning(slot, seed=seed, pool=count // 3, after=(0,), what='impression'):05d}"
        fields = {
            "impression_id": slot.label("i"),
            "ad_id": CLOSING_AD if slot.kind is Kind.CLOSING else ad,
            "cost": amount_text(1 + draw(300, seed, "cost", slot.number)),
            "event_time": time_text(slot.at),
        }
        return Written(key=fields["ad_id"], fields=fields)

    return compose(write, topic=TOPIC, shape=SHAPE, seed=seed, count=count, shares=shares)


def expected_dead_letters(records: Iterable[InputRecord]) -> tuple[InputRecord, ...]:
    """The malformed records."""
    return malformed_records(records, SHAPE)
