"""Orders in files, good and bad lines."""

from decimal import Decimal
from pathlib import Path

import pytest

from streamops_sandbox.inputs import order_files
from streamops_sandbox.inputs.order_files import FileOrder, OrderFile
from support.input_records import moment

CSV = b"""order_id,customer,amount,status,event_time
3,c-1,1.50,paid,2026-01-01T08:00:00.000Z
4,c-1
five,c-1,1.50,paid,2026-01-01T08:00:00.000Z
6,c-1,much,paid,2026-01-01T08:00:00.000Z
"""
JSON = b"""{"order_id": 1, "customer": "c-2", "amount": "2.00", "status": "placed", "event_time": "2026-01-01T08:01:00.000Z"}
{"order_id": 2, "customer": "c-
[1]
{"order_id": 2}
"""


def files() -> tuple[OrderFile, ...]:
    return (
        OrderFile(name="csv/a.csv", content=CSV, wave=0),
        OrderFile(name="json/b.json", content=JSON, wave=0),
        OrderFile(name="json/c.json", content=JSON.splitlines()[0], wave=1),
    )


def test_good_rows_of_all_files_by_their_number() -> None:
    one = FileOrder(order_id=1, customer="c-2", amount=Decimal("2.00"), status="placed", event_time=moment("08:01"))
    three = FileOrder(order_id=3, customer="c-1", amount=Decimal("1.50"), status="paid", event_time=moment("08:00"))

    assert order_files.expected_orders(files()) == (one, one, three)


def test_bad_lines_are_counted_by_file() -> None:
    assert order_files.expected_bad_lines(files()) == {"csv/a.csv": 3, "json/b.json": 3}


def test_generated_files_hold_each_order_once_in_any_format() -> None:
    made = order_files.files(count=4, rows=10, bad=0.2)

    found = order_files.expected_orders(made)
    good = {number for file in range(12) for number in range(file * 10, file * 10 + 8)}
    assert [row.order_id for row in found] == sorted(good)
    assert len(made) == 12
    assert set(order_files.expected_bad_lines(made).values()) == {2}
    assert [file.wave for file in made] == [0] * 6 + [1] * 6


@pytest.mark.parametrize("kind", order_files.FORMATS)
def test_an_order_says_the_same_in_each_format(kind: str) -> None:
    (file,) = order_files.files(formats=[kind], count=1, rows=8)

    assert order_files.expected_orders([file])[7] == FileOrder(
        order_id=7,
        customer="c-0228",
        amount=Decimal("909.90"),
        status="cancelled",
        event_time=moment("00:00:00.035"),
    )
    assert order_files.expected_bad_lines([file]) == {}


def test_a_bad_line_of_parquet_has_no_number() -> None:
    made = order_files.files(formats=["parquet"], count=1, rows=10, bad=0.3)

    assert order_files.expected_bad_lines(made) == {"parquet/orders-0000.parquet": 3}


def test_the_same_arguments_give_the_same_files() -> None:
    assert order_files.files(count=2, rows=5) == order_files.files(count=2, rows=5)


def test_files_are_put_into_folders_of_their_format_whole(tmp_path: Path) -> None:
    made = order_files.files(count=1, rows=3)

    order_files.put(made, tmp_path)

    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == {
        "csv/orders-0000.csv",
        "json/orders-0000.json",
        "parquet/orders-0000.parquet",
    }
    assert (tmp_path / "csv/orders-0000.csv").read_bytes() == made[1].content


def test_a_format_that_is_not_known_is_named() -> None:
    with pytest.raises(ValueError, match="unknown formats \\['avro'\\], known are json, csv, parquet"):
        order_files.files(formats=["avro"], count=1, rows=1)
