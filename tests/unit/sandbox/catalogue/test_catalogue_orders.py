"""The numbered orders of J1: in waves, some twice, some malformed, the same for the same arguments."""

from collections import Counter

from streamops_sandbox.catalogue.cases import case_of
from streamops_sandbox.catalogue.numbered_orders import NumberedOrders
from streamops_sandbox.inputs import Shares

CASE = case_of("orders_by_batch")


def made(count: int = 200, **shares: float):
    return NumberedOrders().records(seed=3, count=count, shares=Shares(**shares))


def test_as_many_as_are_asked_for_in_six_waves():
    assert Counter(record.wave for record in made(60)) == {wave: 10 for wave in range(6)}


def test_the_shares_are_malformed_and_repeated_and_the_rest_is_each_once():
    records = made(200, malformed=0.05, duplicate=0.1)
    keys = Counter(record.key for record in records)

    assert keys.pop(None) == len(NumberedOrders().expected_dead_letters(records)) == 10
    assert Counter(keys.values()) == {1: 170, 2: 10}


def test_without_shares_all_are_plain():
    records = made(50)

    assert len({record.key for record in records}) == 50
    assert NumberedOrders().expected_dead_letters(records) == ()


def test_a_repeated_order_is_expected_twice_and_a_malformed_one_not_at_all():
    sent = CASE.sent(seed=3, count=200)

    rows = Counter(CASE.expected(sent))

    assert rows.total() == 190
    assert Counter(rows.values()) == {1: 170, 2: 10}
