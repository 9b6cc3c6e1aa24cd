"""Amounts of money: read with all the digits that were written, kept in cents, never rounded in silence.

A field that is read as `decimal(12,2)` is rounded by `from_json`; so it is read as `DecimalType(38, 18)`, and a record whose
amount has parts of a cent is one for the dead letters.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

    from streamops.spark.json_records import Check

CENTS = "decimal(12,2)"


def in_cents(amount: "Column") -> "Column":
    """The amount as a table keeps it; null where it does not fit."""
    return amount.try_cast(CENTS)


def is_no_cents(amount: "Column") -> "Check":
    """An amount of which something would be lost in the table's column."""
    return ~in_cents(amount).eqNullSafe(amount), "the amount does not fit into cents"
