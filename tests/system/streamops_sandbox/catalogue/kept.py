"""One row a key or a record: by MERGE, in a database, in files of the job's own."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from streamops.storage.address import local_path
from streamops_sandbox.catalogue.case import Came, Case, Place, Sent
from streamops_sandbox.catalogue.comparing import Row
from streamops_sandbox.catalogue.feeds import CATEGORY_ORDERS, CUSTOMERS, EVENTS
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.inputs import category_orders, customers, events
from streamops_sandbox.inputs.shape import good_rows

if TYPE_CHECKING:
    import psycopg

STAGING = "streamops_staging_%"
"""What the tables are called that a batch goes through (`streamops.spark.sinks.postgres`)."""


def _present_customers(place: Place) -> Came:
    rows = place.rows("is_deleted", "customer_id", "name", "email", "country", "updated_at")
    return Came(rows=[tuple(values) for is_deleted, *values in rows if not is_deleted])


def _customers(sent: Sent) -> Iterable[Row]:
    for one in customers.expected_customers(sent[customers.TOPIC]):
        yield one.customer_id, one.name, one.email, one.country, one.updated_at


def _orders_in_postgres(place: Place) -> Came:
    with _connection(place) as connection:
        return Came(rows=connection.execute("SELECT order_id, category, amount, event_time FROM orders").fetchall())


def _orders(sent: Sent) -> Iterable[Row]:
    """Each once, the late ones too."""
    found = {
        row.fields["order_id"]: row.fields for row in good_rows(sent[category_orders.TOPIC], category_orders.SHAPE)
    }
    for fields in found.values():
        yield fields["order_id"], fields["category"], fields["amount"], fields["event_time"]


@contextmanager
def _staging_tables(place: Place) -> Iterator[Callable[[], int]]:
    with _connection(place) as connection:

        def count() -> int:
            found = connection.execute("SELECT count(*) FROM pg_tables WHERE tablename LIKE %s", (STAGING,)).fetchone()
            return int(found[0]) if found else 0

        yield count


@contextmanager
def _connection(place: Place) -> "Iterator[psycopg.Connection]":
    """As the stream connects, each statement a transaction."""
    import psycopg

    if (sink := place.spec.sink.jdbc) is None:
        raise SandboxError(f"{place.spec.name} is declared without a database to write to")
    password = Path(sink.password_file).read_text(encoding="utf-8").strip()
    address = sink.url.removeprefix("jdbc:")
    with psycopg.connect(address, user=sink.user, password=password, autocommit=True) as connection:
        yield connection


def _lines(place: Place) -> Came:
    lines = [json.loads(line) for file in _files(place) for line in file.read_text(encoding="utf-8").splitlines()]
    return Came(rows=[(line["event_id"], line["type"], line["user"], Decimal(line["amount"])) for line in lines])


def _events(sent: Sent) -> Iterable[Row]:
    """Each record, late and repeated ones too."""
    for row in good_rows(sent[events.TOPIC], events.SHAPE):
        yield row.fields["event_id"], row.fields["type"], row.fields["user"], row.fields["amount"]


@contextmanager
def _whole_files(place: Place) -> Iterator[Callable[[], int]]:
    yield lambda: len(_files(place))


def _files(place: Place) -> list[Path]:
    folder = local_path(place.spec.sink.files.path) if place.spec.sink.files else None
    if folder is None:
        raise SandboxError(f"{place.spec.name} is declared without a folder of this machine to write to")
    return sorted(Path(folder).glob("*.jsonl"))


CASES = (
    Case(
        job="J3",
        stream="customers_upsert",
        feeds=(CUSTOMERS,),
        came=_present_customers,
        expected=_customers,
    ),
    Case(
        job="J4",
        stream="orders_to_postgres",
        feeds=(CATEGORY_ORDERS,),
        came=_orders_in_postgres,
        expected=_orders,
        watch=_staging_tables,
    ),
    Case(
        job="J19",
        stream="row_by_row_sink",
        feeds=(EVENTS,),
        came=_lines,
        expected=_events,
        watch=_whole_files,
    ),
)
