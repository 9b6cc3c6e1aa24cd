"""Several sinks for each batch: what all of them have got.

A topic and the endpoint may have a row again. In the other sinks each row is numbered among those that equal it, so that one too
many there is a row that nobody expects.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

from streamops.storage.address import local_path
from streamops_sandbox.catalogue.case import Came, Case, Place, Sent
from streamops_sandbox.catalogue.comparing import Row, table_rows
from streamops_sandbox.catalogue.endpoint import Accepted, accepted
from streamops_sandbox.catalogue.feeds import EVENTS, TRANSACTIONS
from streamops_sandbox.catalogue.topics import Published, counting, published
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.inputs import events, transactions
from streamops_sandbox.inputs.shape import good_rows

_EVENT = ("event_id", "type", "user", "amount")
_TRANSACTION = ("transaction_id", "account", "amount", "country", "event_time")


def _fanned_events(place: Place) -> Came:
    types, tables = place.parameter("types").split(), place.parameter("tables_by_type")
    of_types = [(row[1] == kind, *row) for kind in types for row in table_rows(f"{tables}/{kind}", *_EVENT)]
    of_others = [(row[1] not in types, *row) for row in place.rows(*_EVENT)]
    endpoint = _accepted(place)
    return Came(
        rows=[
            *_numbered("delta", [*of_types, *of_others]),
            *_numbered("files", _rows_of_files(place)),
            *(("kafka", _text(record.key), *_event(_object(record))) for record in _published(place)),
            *(("rest", key, *_event(body)) for key, body in endpoint.bodies.items()),
        ],
        repeated=endpoint.repeats,
    )


def _events_everywhere(sent: Sent) -> Iterator[Row]:
    """True says that a row is in the table of its type."""
    rows = [_event(row.fields) for row in good_rows(sent[events.TOPIC], events.SHAPE)]
    yield from _numbered("delta", [(True, *row) for row in rows])
    yield from _numbered("files", rows)
    yield from (("kafka", row[0], *row) for row in rows if row[1] == "purchase")
    yield from {("rest", row[0], *row) for row in rows if row[1] == "refund"}


def _event(fields: dict[str, Any]) -> tuple[str, str, str, Decimal]:
    return fields["event_id"], fields["type"], fields["user"], Decimal(fields["amount"])


def _rows_of_files(place: Place) -> list[tuple[str, str, str, Decimal]]:
    """Of JSON lines, below a folder for each query and batch."""
    if place.spec.sink.files is None or (folder := local_path(place.spec.sink.files.path)) is None:
        raise SandboxError(f"{place.spec.name} is declared without a folder of this machine to write to")
    files = sorted(Path(folder).glob("query=*/batch=*/*.json"))
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    return [_event(json.loads(line, parse_float=Decimal)) for line in lines]


def _raised_alerts(place: Place) -> Came:
    endpoint = _accepted(place)
    return Came(
        rows=[
            *_numbered("delta", place.rows(*_TRANSACTION)),
            *(("kafka", _text(record.key), *_alert(_object(record))) for record in _published(place)),
            *(("rest", key, *_alert(body)) for key, body in endpoint.bodies.items()),
        ],
        repeated=endpoint.repeats,
    )


def _alerts_everywhere(sent: Sent) -> Iterator[Row]:
    records = sent[transactions.TOPIC]
    kept = [tuple(row.fields[name] for name in _TRANSACTION) for row in good_rows(records, transactions.SHAPE)]
    yield from _numbered("delta", kept)
    accounts = transactions.accounts(count=len(records))
    for alert in transactions.expected_alerts(records, rules=transactions.rules(), accounts=accounts):
        fields = (alert.alert_id, alert.rule_id, alert.transaction_id, alert.account, alert.owner)
        for sink in ("kafka", "rest"):
            yield sink, alert.alert_id, *fields, alert.amount, alert.event_time


def _alert(fields: dict[str, Any]) -> tuple[object, ...]:
    names = ("alert_id", "rule_id", "transaction_id", "account", "owner")
    at = datetime.fromisoformat(fields["event_time"])
    return (*(fields[name] for name in names), Decimal(fields["amount"]), at)


def _write_rules_and_accounts(place: Place, sent: Sent) -> None:
    """The tables that the job joins with, as far as they are known before it starts."""
    import pyarrow as pa
    from deltalake import write_deltalake

    limit, text, number = pa.decimal128(12, 2), pa.string(), pa.int32()
    rule = {
        "rule_id": text,
        "kind": text,
        "tier": text,
        "amount": limit,
        "most": number,
        "minutes": number,
        "country": text,
    }
    account = {"account": text, "owner": text, "tier": text}
    for name, columns, rows in (
        ("rules", rule, transactions.rules()),
        ("accounts", account, transactions.accounts(count=len(sent[transactions.TOPIC]))),
    ):
        content = [{column: getattr(row, column) for column in columns} for row in rows]
        write_deltalake(
            place.parameter(name).removeprefix("file://"), pa.Table.from_pylist(content, pa.schema(columns))
        )


def _numbered(sink: str, rows: Iterable[tuple[object, ...]]) -> Iterator[Row]:
    numbers: dict[Row, Iterator[int]] = defaultdict(count)
    return ((sink, next(numbers[row]), *row) for row in rows)


def _object(record: Published) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(record.value or b"{}")
    return content


def _text(key: bytes | None) -> str:
    return (key or b"").decode()


def _accepted(place: Place) -> Accepted:
    if place.spec.sink.rest is None:
        raise SandboxError(f"{place.spec.name} is declared without an endpoint to write to")
    return accepted(place.spec.sink.rest)


def _published(place: Place) -> tuple[Published, ...]:
    return published(place.bootstrap, place.topic)


def _count(place: Place) -> AbstractContextManager[Callable[[], int]]:
    """Records in the topic, the first of the sinks that may have a row again."""
    return counting(place.bootstrap, place.topic)


CASES = (
    Case(
        job="J5",
        stream="events_fanout",
        feeds=(EVENTS,),
        came=_fanned_events,
        expected=_events_everywhere,
        watch=_count,
    ),
    Case(
        job="J6",
        stream="fraud_alerts",
        feeds=(TRANSACTIONS,),
        prepare=_write_rules_and_accounts,
        came=_raised_alerts,
        expected=_alerts_everywhere,
        watch=_count,
    ),
)
