"""Alerts on transactions: computed by hand."""

from collections import Counter
from decimal import Decimal

from streamops_sandbox.inputs import USUAL, InputRecord, transactions
from streamops_sandbox.inputs.transactions import Account, Alert, Rule, RuleKind
from support.input_records import at, bad, moment, sent

RULES = (
    Rule(rule_id="large", kind=RuleKind.AMOUNT_OVER, tier="standard", amount=Decimal("100.00")),
    Rule(rule_id="many", kind=RuleKind.VELOCITY, most=2, minutes=10),
    Rule(rule_id="blocked", kind=RuleKind.BLOCKED_COUNTRY, country="KP"),
)
ACCOUNTS = (
    Account(account="a-1", owner="Ana", tier="standard"),
    Account(account="a-2", owner="Ben", tier="business"),
)


def transaction(
    transaction_id: str, account: str, amount: str, country: str, time: str, *, wave: int = 0
) -> InputRecord:
    return sent(
        wave,
        account,
        transaction_id=transaction_id,
        account=account,
        amount=amount,
        country=country,
        event_time=at(time),
    )


def alert_ids(*records: InputRecord) -> list[str]:
    return [alert.alert_id for alert in transactions.expected_alerts(records, rules=RULES, accounts=ACCOUNTS)]


def test_an_amount_above_that_of_the_tier_raises_one_and_an_equal_one_does_not() -> None:
    found = transactions.expected_alerts(
        [
            transaction("t-1", "a-1", "100.00", "AT", "12:00"),
            transaction("t-2", "a-1", "100.01", "AT", "12:01"),
            transaction("t-3", "a-2", "5000.00", "AT", "12:02"),
            transaction("t-4", "a-3", "5000.00", "AT", "12:02"),
            bad(0, b"{"),
        ],
        rules=RULES,
        accounts=ACCOUNTS,
    )

    assert found == (
        Alert(
            alert_id="large:t-2",
            rule_id="large",
            transaction_id="t-2",
            account="a-1",
            owner="Ana",
            amount=Decimal("100.01"),
            event_time=moment("12:01"),
        ),
    )


def test_the_third_within_ten_minutes_raises_one_and_one_ten_minutes_after_the_first_does_not() -> None:
    assert alert_ids(
        transaction("t-1", "a-2", "1.00", "AT", "12:00"),
        transaction("t-2", "a-2", "1.00", "AT", "12:05"),
        transaction("t-3", "a-2", "1.00", "AT", "12:10"),
        transaction("t-4", "a-2", "1.00", "AT", "12:14:59"),
        transaction("t-5", "a-1", "1.00", "AT", "12:14:59"),
    ) == ["many:t-4"]


def test_a_blocked_country_raises_one_also_for_an_account_that_nobody_knows() -> None:
    (found,) = transactions.expected_alerts(
        [transaction("t-1", "a-9", "1.00", "KP", "12:00")], rules=RULES, accounts=ACCOUNTS
    )

    assert (found.alert_id, found.owner) == ("blocked:t-1", None)


def test_a_transaction_may_trip_several_rules_and_repeats_raise_nothing_new() -> None:
    one = transaction("t-1", "a-1", "900.00", "KP", "12:00")

    assert alert_ids(one, one, one) == ["blocked:t-1", "large:t-1"]


def test_late_transactions_are_judged_like_others() -> None:
    assert alert_ids(
        transaction("t-1", "a-2", "1.00", "AT", "12:00"), transaction("t-2", "a-2", "1.00", "KP", "09:00", wave=1)
    ) == ["blocked:t-2"]


def test_no_rules_no_alerts() -> None:
    records = [transaction("t-1", "a-1", "900.00", "KP", "12:00")]

    assert transactions.expected_alerts(records, rules=(), accounts=ACCOUNTS) == ()


def test_the_scripted_input_trips_every_scripted_rule_and_the_velocity_rule_by_bursts_in_order_alone() -> None:
    records = transactions.records(seed=4, count=1000, shares=USUAL)

    found = transactions.expected_alerts(
        records, rules=transactions.rules(), accounts=transactions.accounts(count=1000)
    )

    tripped = Counter(alert.rule_id for alert in found)
    assert tripped.keys() == {"large-standard", "large-business", "many", "blocked"}
    bursts = [alert for alert in found if alert.rule_id == "many"]
    assert {alert.account for alert in bursts} <= {f"a-burst-{wave}" for wave in range(5)}
    assert len(bursts) >= 15
    assert any(alert.owner is None for alert in found)


def test_dead_letters_of_transactions() -> None:
    records = (transaction("t-1", "a-1", "1.00", "AT", "12:00"), bad(0, b"\xff"))

    assert transactions.expected_dead_letters(records) == records[1:]
