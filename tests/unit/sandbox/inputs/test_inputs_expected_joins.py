"""Joins of two inputs: computed by hand, with the watermark of 10 minutes on both sides."""

from decimal import Decimal

from streamops_sandbox.inputs import USUAL, InputRecord, Shares, ad_clicks, clicks, impressions, purchases
from streamops_sandbox.inputs.ad_clicks import ClickedImpression
from streamops_sandbox.inputs.purchases import ClickedPurchase
from support.input_records import at, bad, moment, sent


def click(wave: int, click_id: str, user: str, time: str) -> InputRecord:
    return sent(wave, user, click_id=click_id, user=user, page="/", event_time=at(time))


def purchase(wave: int, purchase_id: str, user: str, time: str) -> InputRecord:
    return sent(wave, user, purchase_id=purchase_id, user=user, amount="5.00", event_time=at(time))


def impression(wave: int, impression_id: str, ad_id: str, time: str) -> InputRecord:
    return sent(wave, ad_id, impression_id=impression_id, ad_id=ad_id, cost="0.10", event_time=at(time))


def ad_click(wave: int, ad_click_id: str, ad_id: str, time: str) -> InputRecord:
    return sent(wave, ad_id, ad_click_id=ad_click_id, ad_id=ad_id, event_time=at(time))


def with_purchase(click_id: str, user: str, clicked: str, purchase_id: str, purchased: str) -> ClickedPurchase:
    return ClickedPurchase(
        click_id=click_id,
        user=user,
        page="/",
        clicked_at=moment(clicked),
        purchase_id=purchase_id,
        amount=Decimal("5.00"),
        purchased_at=moment(purchased),
    )


def without_purchase(click_id: str, user: str, clicked: str) -> ClickedPurchase:
    return ClickedPurchase(
        click_id=click_id,
        user=user,
        page="/",
        clicked_at=moment(clicked),
        purchase_id=None,
        amount=None,
        purchased_at=None,
    )


CLICKS = [
    click(0, "k-1", "ana", "12:00"),
    click(0, "k-2", "ben", "12:00"),
    click(0, "k-3", "eva", "12:01"),
    click(1, "k-4", "ana", "12:15"),
    bad(1, b"{}"),
    click(2, "k-5", "ben", "11:00"),  # late: the watermark is 12:05
    click(3, "k-6", "end", "15:00"),
]
PURCHASES = [
    purchase(0, "p-1", "eva", "12:00"),  # before the click
    purchase(1, "p-2", "ana", "12:30"),  # 30 minutes after the first click, 15 after the second
    purchase(1, "p-3", "ben", "12:30:01"),  # a second too late
    purchase(2, "p-4", "ben", "11:01"),  # late
    purchase(3, "p-5", "end", "15:00"),
]


def test_each_click_with_its_purchase_within_thirty_minutes_or_without_one() -> None:
    assert purchases.expected_joined(CLICKS, PURCHASES) == (
        with_purchase("k-1", "ana", "12:00", "p-2", "12:30"),
        without_purchase("k-2", "ben", "12:00"),
        without_purchase("k-3", "eva", "12:01"),
        with_purchase("k-4", "ana", "12:15", "p-2", "12:30"),
        with_purchase("k-6", "end", "15:00", "p-5", "15:00"),
    )


def test_a_click_whose_time_has_not_passed_on_both_sides_is_not_yet_without_a_purchase() -> None:
    assert purchases.expected_joined(CLICKS[:3], PURCHASES[:1]) == ()
    # The clicks are ahead, the purchases are not: the watermark is theirs.
    assert purchases.expected_joined(CLICKS, PURCHASES[:3]) == (
        with_purchase("k-1", "ana", "12:00", "p-2", "12:30"),
        with_purchase("k-4", "ana", "12:15", "p-2", "12:30"),
    )


def test_no_generated_click_has_two_purchases() -> None:
    size = {"seed": 11, "count": 2000}
    without_repeats = Shares(late=0.05, malformed=0.05, out_of_order=0.1)

    joined = purchases.expected_joined(
        clicks.records(**size, shares=without_repeats), purchases.records(**size, shares=without_repeats)
    )

    assert len({pair.click_id for pair in joined}) == len(joined) == 1800
    assert sum(pair.purchase_id is not None for pair in joined) > 500


SHOWN = [
    impression(0, "i-1", "a", "12:00"),
    impression(0, "i-2", "a", "12:04"),
    impression(0, "i-3", "b", "12:00"),
    impression(1, "i-4", "b", "10:00"),  # late: the watermark is 11:52
    bad(1, None),
]
CLICKED = [
    ad_click(0, "ak-1", "a", "12:02"),
    ad_click(0, "ak-2", "a", "12:10"),
    ad_click(1, "ak-3", "a", "12:10:01"),
    ad_click(1, "ak-4", "b", "10:05"),  # late
    ad_click(1, "ak-5", "c", "12:11"),
]


def test_each_click_with_each_impression_of_its_ad_in_the_ten_minutes_before() -> None:
    def pair(impression_id: str, shown: str, ad_click_id: str, clicked: str) -> ClickedImpression:
        return ClickedImpression(
            impression_id=impression_id,
            ad_id="a",
            cost=Decimal("0.10"),
            shown_at=moment(shown),
            ad_click_id=ad_click_id,
            clicked_at=moment(clicked),
        )

    assert ad_clicks.expected_joined(SHOWN, CLICKED) == (
        pair("i-1", "12:00", "ak-1", "12:02"),
        pair("i-1", "12:00", "ak-2", "12:10"),
        pair("i-2", "12:04", "ak-2", "12:10"),
        pair("i-2", "12:04", "ak-3", "12:10:01"),
    )


def test_generated_impressions_and_clicks_find_each_other() -> None:
    joined = ad_clicks.expected_joined(
        impressions.records(seed=1, count=600, shares=USUAL), ad_clicks.records(seed=1, count=600, shares=USUAL)
    )

    assert len(joined) > 100


def test_dead_letters_of_both_sides() -> None:
    assert impressions.expected_dead_letters(SHOWN) == (SHOWN[-1],)
    assert purchases.expected_dead_letters([*PURCHASES, bad(0, b"1")]) == (bad(0, b"1"),)
    assert ad_clicks.expected_dead_letters([*CLICKED, bad(0, b"1")]) == (bad(0, b"1"),)
