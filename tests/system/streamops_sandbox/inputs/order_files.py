"""Orders in files: JSON lines, CSV with a header, Parquet, each kind in a folder of its own, bad lines among them."""

import csv
import io
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from streamops_sandbox.order_content import order

FORMATS = ("json", "csv", "parquet")
COLUMNS = ("order_id", "customer", "amount", "status", "event_time")
DDL = "order_id BIGINT, customer STRING, amount DECIMAL(12,2), status STRING, event_time TIMESTAMP"
"""The columns of all three kinds as Spark reads them."""

_BAD_JSON = ('{"order_id": 7, "customer": "c-', '{"order_id": "seven", "customer": "c-1"}', "no order at all")
_BAD_CSV = (
    "seven,c-0001,1.00,paid,2026-01-01T00:00:00.000Z",
    "7,c-0001",
    "8,c-0001,much,paid,2026-01-01T00:00:00.000Z",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOrder:
    """One good row of any of the files."""

    order_id: int
    customer: str
    amount: Decimal
    status: str
    event_time: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFile:
    """One file, as it is to be put into the folder."""

    name: str
    """Path below the folder: `json/orders-0003.json`."""
    content: bytes
    wave: int
    """From 0: to be put there when all files of the waves before were processed."""

    @property
    def format(self) -> str:
        """One of FORMATS."""
        return self.name.partition("/")[0]


def files(
    *, formats: Sequence[str] = FORMATS, count: int, rows: int, bad: float = 0.0, waves: int = 2
) -> tuple[OrderFile, ...]:
    """`count` files of each format with `rows` lines each, the fraction `bad` of them bad; no two lines have one number.

    A bad line of Parquet, where each column has its type, is one whose order_id is null. ValueError for a format that is none
    of FORMATS.
    """
    if unknown := set(formats) - set(FORMATS):
        raise ValueError(f"unknown formats {sorted(unknown)}, known are {', '.join(FORMATS)}")
    made = []
    for number in range(count):
        for place, kind in enumerate(formats):
            first = (number * len(formats) + place) * rows
            numbers = range(first, first + rows)
            # The last lines are bad: a reader that gives up at one has read the others.
            good = rows - round(rows * bad)
            content = _WRITERS[kind](numbers[:good], numbers[good:])
            name = f"{kind}/orders-{number:04d}.{kind}"
            made.append(OrderFile(name=name, content=content, wave=number * waves // count))
    return tuple(made)


def put(files: Iterable[OrderFile], folder: Path) -> None:
    """Put files into the folder, each by a rename: whoever lists it sees a whole file or none."""
    for file in files:
        target = folder / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        # Spark's file source passes over names that begin with a dot.
        unfinished = target.with_name(f".{target.name}.unfinished")
        unfinished.write_bytes(file.content)
        os.replace(unfinished, target)


def expected_orders(files: Iterable[OrderFile]) -> tuple[FileOrder, ...]:
    """The good rows of all files by order_id."""
    found = (row for file in files for row in _rows(file) if row is not None)
    return tuple(sorted(found, key=lambda row: row.order_id))


def expected_bad_lines(files: Iterable[OrderFile]) -> dict[str, int]:
    """How many bad lines each file has, by its name; only files with any."""
    bad = {file.name: sum(row is None for row in _rows(file)) for file in files}
    return {name: lines for name, lines in bad.items() if lines}


def _json_file(good: range, bad: range) -> bytes:
    lines = [json.dumps(order(number)) for number in good]
    lines += [_BAD_JSON[number % len(_BAD_JSON)] for number in bad]
    return "".join(f"{line}\n" for line in lines).encode()


def _csv_file(good: range, bad: range) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(order(number).values() for number in good)
    return (text.getvalue() + "".join(f"{_BAD_CSV[number % len(_BAD_CSV)]}\n" for number in bad)).encode()


def _parquet_file(good: range, bad: range) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [
            ("order_id", pa.int64()),
            ("customer", pa.string()),
            ("amount", pa.decimal128(12, 2)),
            ("status", pa.string()),
            ("event_time", pa.timestamp("us", tz="UTC")),
        ]
    )
    rows = [_typed(order(number)) for number in good] + [_typed(order(number)) | {"order_id": None} for number in bad]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink)
    return sink.getvalue()


_WRITERS = {"json": _json_file, "csv": _csv_file, "parquet": _parquet_file}


def _rows(file: OrderFile) -> list[FileOrder | None]:
    """The rows of a file in their order; None is a bad line."""
    if file.format == "parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(io.BytesIO(file.content))
        return [_order(row) for row in table.to_pylist()]
    lines = file.content.decode().splitlines()
    if file.format == "csv":
        return [_order(dict(zip(COLUMNS, cells, strict=False))) for cells in csv.reader(lines[1:])]
    return [_order(_object(line)) for line in lines]


def _object(line: str) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _order(cells: dict[str, Any]) -> FileOrder | None:
    try:
        row = _typed(cells)
    except (KeyError, ValueError, InvalidOperation):
        return None
    return None if row["order_id"] is None else FileOrder(**row)


def _typed(cells: dict[str, Any]) -> dict[str, Any]:
    number, at = cells["order_id"], cells["event_time"]
    return {
        "order_id": None if number is None else int(number),
        "customer": cells["customer"],
        "amount": Decimal(cells["amount"]),
        "status": cells["status"],
        "event_time": datetime.fromisoformat(at) if isinstance(at, str) else at,
    }
