"""What came out of a job against what had to, row by row."""

import json
import os
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from streamops.storage.address import local_path

TRIAL_MARKS = (pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900))
"""Of a test that puts a job on trial; `catalogue` as well where `make test` is to leave it out."""

TARGET = os.environ.get("STREAMOPS_TRIALS", "")
"""A file that gets a line of JSON for each account; empty for none."""

Row = Hashable


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a trial has found."""

    job: str
    guarantee: str
    records: int
    kills: int
    lost: int
    """Rows that had to come out and did not, or not with these values."""
    duplicated: int
    """Rows that came out and had not to: once more than wanted, or with other values."""
    seconds: float

    @property
    def line(self) -> str:
        """One object of JSON."""
        return json.dumps(asdict(self))

    def keep(self) -> None:
        """Append it to the file that STREAMOPS_TRIALS names, if it names one."""
        if TARGET:
            with Path(TARGET).open("a") as file:
                file.write(self.line + "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Rows that are on one side only, each as often as it is."""

    lost: Counter[Row]
    surplus: Counter[Row]

    @classmethod
    def between(cls, *, found: Iterable[Row], expected: Iterable[Row]) -> "Difference":
        """Nothing to expect is an error: a trial of nothing proves nothing."""
        came, wanted = Counter(found), Counter(expected)
        if not wanted:
            raise ValueError("no row is expected: a trial of nothing proves nothing")
        return cls(lost=wanted - came, surplus=came - wanted)

    def tell(self) -> None:
        """Print some rows of both, which pytest shows when the test fails."""
        for name, rows in (("lost", self.lost), ("surplus", self.surplus)):
            if rows:
                print(f"{name}: {rows.total()}, for example {list(rows.items())[:5]}")


def table_rows(table: str, *columns: str) -> list[tuple[object, ...]]:
    """These columns of all rows of a Delta table, by another library than Spark's; none where it was never written."""
    try:
        found = DeltaTable(local_path(table)).to_pyarrow_table(columns=list(columns))
    except TableNotFoundError:
        return []
    return list(zip(*(found[column].to_pylist() for column in columns), strict=True))
