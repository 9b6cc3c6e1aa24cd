"""Clicks on ads, to be joined with the impressions before them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from streamops_sandbox.inputs import impressions as impressions_input
from streamops_sandbox.inputs.composing import Written, compose
from streamops_sandbox.inputs.record import InputRecord, Shares
from streamops_sandbox.inputs.shape import FieldType, Row, Shape, good_rows, malformed_records, time_text
from streamops_sandbox.inputs.timetable import Kind, Slot
from streamops_sandbox.inputs.visitors import returning
from streamops_sandbox.inputs.watermarks import on_time

TOPIC = "ad_clicks"
SHAPE: Shape = {
    "ad_click_id": FieldType.TEXT,
    "ad_id": FieldType.TEXT,
    "event_time": FieldType.TIME,
}
WITHIN = timedelta(minutes=10)
"""A click belongs to the impressions of its ad from so long before it on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickedImpression:
    """An impression and a click that came of it."""

    impression_id: str
    ad_id: str
    cost: Decimal
    shown_at: datetime
    ad_click_id: str
    clicked_at: datetime


def records(*, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]:
    """`count` clicks on about a third as many ads, in the waves of their impressions or one later; on some that nobody saw."""

    def write(slot: Slot) -> Written:
        ad = f"ad-{returning(slot, seed=seed, pool=count // 3, after=(0, 0, 1), what='ad click'):05d}"
        fields = {
            "ad_click_id": slot.label("ak"),
            "ad_id": "ad-nobody" if slot.kind is Kind.CLOSING else ad,
            "event_time": time_text(slot.at),
        }
        return Written(key=fields["ad_id"], fields=fields)

    return compose(write, topic=TOPIC, shape=SHAPE, seed=seed, count=count, shares=shares)


def expected_joined(
    impressions: Iterable[InputRecord], ad_clicks: Iterable[InputRecord]
) -> tuple[ClickedImpression, ...]:
    """The inner join by impression and click: same ad, not before the impression and at most WITHIN after it.

    Late records of either side are left out; repeats count.
    """
    shown = list(good_rows(impressions, impressions_input.SHAPE))
    clicked = list(good_rows(ad_clicks, SHAPE))
    of_ad: dict[str, list[Row]] = defaultdict(list)
    for click in on_time(clicked, shown):
        of_ad[click.fields["ad_id"]].append(click)
    joined = (
        _pair(impression, click)
        for impression in on_time(shown, clicked)
        for click in of_ad[impression.fields["ad_id"]]
        if impression.at <= click.at <= impression.at + WITHIN
    )
    return tuple(sorted(joined, key=lambda pair: (pair.impression_id, pair.ad_click_id)))


def expected_dead_letters(records: Iterable[InputRecord]) -> tuple[InputRecord, ...]:
    """The malformed records."""
    return malformed_records(records, SHAPE)


def _pair(impression: Row, click: Row) -> ClickedImpression:
    return ClickedImpression(
        impression_id=impression.fields["impression_id"],
        ad_id=impression.fields["ad_id"],
        cost=impression.fields["cost"],
        shown_at=impression.at,
        ad_click_id=click.fields["ad_click_id"],
        clicked_at=click.at,
    )
