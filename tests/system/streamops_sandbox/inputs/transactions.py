"""Transactions of accounts, and the alerts that a table of rules and one of accounts raise on them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from streamops_sandbox.inputs.composing import Written, compose
from streamops_sandbox.inputs.draws import draw
from streamops_sandbox.inputs.record import InputRecord, Shares
from streamops_sandbox.inputs.shape import FieldType, Shape, amount_text, good_rows, malformed_records, time_text
from streamops_sandbox.inputs.timetable import WAVES, Kind, Slot

TOPIC = "transactions"
SHAPE: Shape = {
    "transaction_id": FieldType.TEXT,
    "account": FieldType.TEXT,
    "amount": FieldType.AMOUNT,
    "country": FieldType.TEXT,
    "event_time": FieldType.TIME,
}
COUNTRIES = ("AT", "DE", "FR", "PL")
BLOCKED = "KP"

_BURST = range(1, 13)
"""Ranks of a wave whose plain transactions are all of one account: it trips the velocity rule, and no other account does."""
_EACH = 4
"""Transactions of any other account: too few for the velocity rule however they are spread."""


class RuleKind(StrEnum):
    """What a rule looks at."""

    AMOUNT_OVER = "amount_over"
    """The amount is above `amount`, for accounts of the tier `tier`."""
    VELOCITY = "velocity"
    """The account has more than `most` transactions within `minutes`."""
    BLOCKED_COUNTRY = "blocked_country"
    """The country is `country`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One row of the table of rules; what its kind does not ask for is None."""

    rule_id: str
    kind: RuleKind
    tier: str | None = None
    amount: Decimal | None = None
    most: int | None = None
    minutes: int | None = None
    country: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One row of the table of accounts."""

    account: str
    owner: str
    tier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """What one rule says of one transaction."""

    alert_id: str
    """The rule's id, a colon, the transaction's id."""
    rule_id: str
    transaction_id: str
    account: str
    owner: str | None
    """None where the table of accounts does not have the account."""
    amount: Decimal
    event_time: datetime


def rules() -> tuple[Rule, ...]:
    """The scripted rules."""
    return (
        Rule(rule_id="large-standard", kind=RuleKind.AMOUNT_OVER, tier="standard", amount=Decimal("1500.00")),
        Rule(rule_id="large-business", kind=RuleKind.AMOUNT_OVER, tier="business", amount=Decimal("1900.00")),
        Rule(rule_id="many", kind=RuleKind.VELOCITY, most=5, minutes=10),
        Rule(rule_id="blocked", kind=RuleKind.BLOCKED_COUNTRY, country=BLOCKED),
    )


def accounts(*, count: int) -> tuple[Account, ...]:
    """The scripted accounts for `count` transactions: one in three is a business, one in ten is not in the table."""
    numbered = [f"a-{number:05d}" for number in range(_calm(count)) if number % 10 != 9]
    names = [*(_burst_account(wave) for wave in range(WAVES)), *numbered]
    return tuple(
        Account(account=name, owner=f"Owner of {name}", tier="business" if place % 3 == 2 else "standard")
        for place, name in enumerate(names)
    )


def records(*, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]:
    """`count` transactions. The transactions that trip the velocity rule are sent in the order of their event times."""
    calm = _calm(count)

    def write(slot: Slot) -> Written:
        in_burst = slot.kind is Kind.PLAIN and slot.rank in _BURST
        account = _burst_account(slot.wave) if in_burst else f"a-{slot.number % calm:05d}"
        is_blocked = draw(20, seed, "blocked", slot.number) == 0
        fields = {
            "transaction_id": slot.label("t"),
            "account": account,
            "amount": amount_text(100 + draw(200_000, seed, "amount", slot.number)),
            "country": BLOCKED if is_blocked else COUNTRIES[draw(len(COUNTRIES), seed, "country", slot.number)],
            "event_time": time_text(slot.at),
        }
        return Written(key=account, fields=fields)

    return compose(write, topic=TOPIC, shape=SHAPE, seed=seed, count=count, shares=shares)


def expected_alerts(
    records: Iterable[InputRecord], *, rules: Iterable[Rule], accounts: Iterable[Account]
) -> tuple[Alert, ...]:
    """By alert_id, each once, whatever repeats there are; late transactions are judged like others.

    Velocity counts the different transactions of an account whose event times are within the rule's minutes up to that of the
    one that is judged, itself among them. An amount is judged by the account's tier, so not that of an unknown account.
    """
    known = {account.account: account for account in accounts}
    transactions = {row.fields["transaction_id"]: row.fields for row in good_rows(records, SHAPE)}
    of_account: dict[str, list[datetime]] = defaultdict(list)
    for transaction in transactions.values():
        of_account[transaction["account"]].append(transaction["event_time"])
    wanted = tuple(rules)
    found = (
        _alert(rule, transaction, known.get(transaction["account"]))
        for transaction in transactions.values()
        for rule in _tripped(wanted, transaction, known.get(transaction["account"]), of_account[transaction["account"]])
    )
    return tuple(sorted(found, key=lambda alert: alert.alert_id))


def expected_dead_letters(records: Iterable[InputRecord]) -> tuple[InputRecord, ...]:
    """The malformed records."""
    return malformed_records(records, SHAPE)


def _calm(count: int) -> int:
    return max(1, -(-count // _EACH))


def _burst_account(wave: int) -> str:
    return f"a-burst-{wave}"


def _tripped(
    rules: tuple[Rule, ...], transaction: dict[str, Any], account: Account | None, moments: list[datetime]
) -> Iterator[Rule]:
    """`moments` are those of all transactions of the account."""
    at = transaction["event_time"]
    for rule in rules:
        if rule.amount is not None and account is not None:
            trips = account.tier == rule.tier and transaction["amount"] > rule.amount
        elif rule.minutes is not None and rule.most is not None:
            window = timedelta(minutes=rule.minutes)
            trips = sum(at - window < moment <= at for moment in moments) > rule.most
        else:
            trips = rule.country == transaction["country"]
        if trips:
            yield rule


def _alert(rule: Rule, transaction: dict[str, Any], account: Account | None) -> Alert:
    return Alert(
        alert_id=f"{rule.rule_id}:{transaction['transaction_id']}",
        rule_id=rule.rule_id,
        transaction_id=transaction["transaction_id"],
        account=transaction["account"],
        owner=account.owner if account else None,
        amount=transaction["amount"],
        event_time=transaction["event_time"],
    )
