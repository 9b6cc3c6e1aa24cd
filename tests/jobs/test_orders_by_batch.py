"""J1's second variant on trial: each order once, and each malformed record once among the dead letters of the same query."""

import json
from datetime import datetime
from decimal import Decimal

import pytest

from streamops_sandbox.inputs import InputRecord
from streamops_sandbox.order_content import malformed, order
from support.job_account import TRIAL_MARKS

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]

ORDERS = 2_000
WAVES = 5


def wave_of(number: int) -> int:
    return number * WAVES // ORDERS


def test_each_order_and_each_dead_letter_is_there_once(trial):
    good = [InputRecord("orders", b"%d" % n, json.dumps(order(n)).encode(), wave_of(n)) for n in range(ORDERS)]
    bad = [InputRecord("orders", None, malformed(n).encode(), wave_of(n)) for n in range(0, ORDERS, 40)]
    run = trial("orders_by_batch")

    run.play([*good, *bad], kill_in=(1, 3))
    run.stop()

    account = run.account(
        found=run.rows("order_id", "customer", "amount", "status", "event_time"),
        expected=[row(order(number)) for number in range(ORDERS)],
        dead_letters=bad,
    )
    assert (account.kills, account.lost, account.duplicated) == (2, 0, 0)


def row(fields: dict[str, str | int]) -> tuple[object, ...]:
    at = datetime.fromisoformat(str(fields["event_time"]))
    return fields["order_id"], fields["customer"], Decimal(fields["amount"]), fields["status"], at
