"""What must come of words, customers, events and category orders: computed by hand."""

from decimal import Decimal

from streamops_sandbox.inputs import InputRecord, category_orders, customers, events, words
from streamops_sandbox.inputs.category_orders import CategoryTotal
from streamops_sandbox.inputs.customers import Customer
from streamops_sandbox.inputs.events import Event, TypeWindow
from support.input_records import at, bad, moment, sent


def customer(wave: int, customer_id: str, country: str, updated: str, key: str = "") -> InputRecord:
    return sent(
        wave,
        key or customer_id,
        customer_id=customer_id,
        name="Ana",
        email="a@example.com",
        country=country,
        updated_at=at(updated),
    )


def event(wave: int, event_id: str, type: str, amount: str, time: str) -> InputRecord:
    return sent(wave, "u", event_id=event_id, type=type, user="u", amount=amount, event_time=at(time))


def order(wave: int, order_id: str, category: str, amount: str, time: str) -> InputRecord:
    return sent(wave, category, order_id=order_id, category=category, amount=amount, event_time=at(time))


# --- words --------------------------------------------------------------------

LINES = [
    bad(0, b"Tea and  tea"),
    bad(0, b"\ttea\t"),
    bad(0, b""),
    bad(0, "Café".encode()),
    bad(1, "café AND".encode()),
    bad(1, None),
    bad(1, b"caf\xe9 tea"),
]


def test_words_are_counted_in_lower_case_between_blanks_of_any_kind() -> None:
    assert words.expected_counts(LINES) == {"tea": 3, "and": 2, "café": 2}


def test_a_line_without_words_is_no_dead_letter() -> None:
    assert [record.value for record in words.expected_dead_letters(LINES)] == [None, b"caf\xe9 tea"]


# --- customers ----------------------------------------------------------------

CUSTOMERS = [
    customer(0, "c-1", "AT", "08:00"),
    customer(0, "c-2", "DE", "08:01"),
    customer(0, "c-1", "FR", "08:02"),
    customer(0, "c-3", "PL", "08:03"),
    bad(0, None, key="c-2"),
    bad(1, None, key="c-3"),
    customer(1, "c-3", "TR", "08:04"),
    customer(1, "c-1", "DE", "06:00"),
    bad(1, b"", key="c-1"),
    bad(1, b'{"customer_id": "c-1"}', key="c-1"),
]


def test_the_last_record_of_each_key_holds_also_when_it_says_an_older_time() -> None:
    assert customers.expected_customers(CUSTOMERS) == (
        Customer(customer_id="c-1", name="Ana", email="a@example.com", country="DE", updated_at=moment("06:00")),
        Customer(customer_id="c-3", name="Ana", email="a@example.com", country="TR", updated_at=moment("08:04")),
    )


def test_a_tombstone_is_no_dead_letter() -> None:
    assert [record.value for record in customers.expected_dead_letters(CUSTOMERS)] == [b"", b'{"customer_id": "c-1"}']


# --- events -------------------------------------------------------------------

EVENTS = [
    event(0, "e-1", "purchase", "10.00", "12:01"),
    event(0, "e-2", "refund", "4.00", "12:04:59"),
    event(0, "e-1", "purchase", "10.00", "12:01"),
    bad(0, b"{"),
    event(0, "e-3", "purchase", "2.50", "12:05"),
    event(1, "e-4", "purchase", "1.00", "12:09"),
    event(1, "e-5", "purchase", "9.00", "11:40"),  # the watermark is 11:55
]


def test_all_events_are_passed_on_in_their_order() -> None:
    assert [found.event_id for found in events.expected_events(EVENTS)] == ["e-1", "e-2", "e-1", "e-3", "e-4", "e-5"]
    assert events.expected_events(EVENTS)[1] == Event(
        event_id="e-2", type="refund", user="u", amount=Decimal("4.00"), event_time=moment("12:04:59")
    )


def test_unique_events_are_the_first_of_each_id_without_late_ones() -> None:
    assert [found.event_id for found in events.expected_unique(EVENTS)] == ["e-1", "e-2", "e-3", "e-4"]


def test_windows_of_events_count_repeats_and_no_late_ones() -> None:
    start, end, later = moment("12:00"), moment("12:05"), moment("12:10")

    assert events.expected_windows(EVENTS) == (
        TypeWindow(type="purchase", start=start, end=end, count=2, amount=Decimal("20.00")),
        TypeWindow(type="purchase", start=end, end=later, count=2, amount=Decimal("3.50")),
        TypeWindow(type="refund", start=start, end=end, count=1, amount=Decimal("4.00")),
    )


def test_dead_letters_of_events() -> None:
    assert [record.value for record in events.expected_dead_letters(EVENTS)] == [b"{"]


# --- category orders ----------------------------------------------------------

ORDERS = [
    order(0, "o-1", "toys", "1.10", "12:00"),
    order(0, "o-2", "books", "2.20", "12:01"),
    order(0, "o-1", "toys", "1.10", "12:00"),
    order(1, "o-3", "toys", "0.05", "09:00"),
    bad(1, None),
]


def test_totals_count_repeats_and_late_orders() -> None:
    assert category_orders.expected_totals(ORDERS) == (
        CategoryTotal(category="books", orders=1, revenue=Decimal("2.20")),
        CategoryTotal(category="toys", orders=3, revenue=Decimal("2.25")),
    )


def test_dead_letters_of_category_orders() -> None:
    assert category_orders.expected_dead_letters(ORDERS) == (ORDERS[-1],)
