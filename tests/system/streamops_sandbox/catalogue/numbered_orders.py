"""The orders of the demo's generator as an input in waves, for the variants of J1."""

import json
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from streamops_sandbox.catalogue.case import Case, Feed, Sent, in_its_table
from streamops_sandbox.catalogue.comparing import Row
from streamops_sandbox.inputs import InputRecord, Shares
from streamops_sandbox.order_content import malformed, order

_WAVES = 6


class NumberedOrders:
    """Orders by number, and malformed records between them. Nothing is late here: the job keeps no time."""

    TOPIC = "orders"

    def records(self, *, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]:
        """`count` records, of which the share of malformed ones is spread evenly and as many as are repeated come twice."""
        every = round(1 / shares.malformed) if shares.malformed else count + 1
        again = round(1 / shares.duplicate) if shares.duplicate else count + 1
        first, made = seed * 1_000_000, list[InputRecord]()
        for number in range(count):
            wave = number * _WAVES // count
            if number % every == every - 1:
                made.append(InputRecord(self.TOPIC, None, malformed(first + number).encode(), wave))
                continue
            said = first + number - (number % again == again - 1)
            made.append(InputRecord(self.TOPIC, b"%d" % said, json.dumps(order(said)).encode(), wave))
        return tuple(made)

    def expected_dead_letters(self, records: Iterable[InputRecord]) -> tuple[InputRecord, ...]:
        """The malformed records, which have no key."""
        return tuple(record for record in records if record.key is None)


def _orders(sent: Sent) -> Iterable[Row]:
    for record in sent[NumberedOrders.TOPIC]:
        if record.key is None:
            continue
        fields = order(int(record.key))
        at = datetime.fromisoformat(str(fields["event_time"]))
        yield fields["order_id"], fields["customer"], Decimal(fields["amount"]), fields["status"], at


CASES = (
    Case(
        job="J1",
        stream="orders_by_batch",
        feeds=(Feed(input=NumberedOrders()),),
        came=in_its_table("order_id", "customer", "amount", "status", "event_time"),
        expected=_orders,
    ),
)
