"""Two topics in one query: each pair once, as a batch join has it."""

from collections.abc import Iterable

from streamops_sandbox.catalogue.case import Case, Sent, in_its_table
from streamops_sandbox.catalogue.comparing import Row
from streamops_sandbox.catalogue.feeds import AD_CLICKS, CLICKS, IMPRESSIONS, PURCHASES
from streamops_sandbox.inputs import ad_clicks, clicks, impressions, purchases


def _clicks_purchases(sent: Sent) -> Iterable[Row]:
    for pair in purchases.expected_joined(sent[clicks.TOPIC], sent[purchases.TOPIC]):
        yield (
            pair.click_id,
            pair.user,
            pair.page,
            pair.clicked_at,
            pair.purchase_id,
            pair.amount,
            pair.purchased_at,
        )


def _clicked_impressions(sent: Sent) -> Iterable[Row]:
    for pair in ad_clicks.expected_joined(sent[impressions.TOPIC], sent[ad_clicks.TOPIC]):
        yield pair.impression_id, pair.ad_id, pair.cost, pair.shown_at, pair.ad_click_id, pair.clicked_at


CASES = (
    Case(
        job="J11",
        stream="clicks_purchases",
        feeds=(CLICKS, PURCHASES),
        came=in_its_table("click_id", "user", "page", "clicked_at", "purchase_id", "amount", "purchased_at"),
        expected=_clicks_purchases,
    ),
    Case(
        job="J12",
        stream="ad_impressions",
        feeds=(IMPRESSIONS, AD_CLICKS),
        came=in_its_table("impression_id", "ad_id", "cost", "shown_at", "ad_click_id", "clicked_at"),
        expected=_clicked_impressions,
    ),
)
