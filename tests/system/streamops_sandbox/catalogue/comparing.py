"""What came out of a job against what had to, row by row."""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from streamops.storage.address import local_path

Row = Hashable


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Rows that are on one side only, each as often as it is."""

    lost: Counter[Row]
    """They had to come out and did not, or not with these values."""
    surplus: Counter[Row]
    """They came out and had not to: once more than wanted, or with other values."""

    @classmethod
    def between(cls, *, found: Iterable[Row], expected: Iterable[Row]) -> "Difference":
        """Of two bags of rows."""
        came, wanted = Counter(found), Counter(expected)
        return cls(lost=wanted - came, surplus=came - wanted)

    def examples(self, of: str, *, most: int = 5) -> tuple[str, ...]:
        """Some of both sides, for a person; none where there is no difference."""
        sides = {"lost": self.lost, "surplus": self.surplus}
        return tuple(
            f"{of} {name}: {rows.total()}, for example {list(rows)[:most]}" for name, rows in sides.items() if rows
        )


def table_rows(table: str, *columns: str) -> list[tuple[object, ...]]:
    """These columns of all rows of a Delta table, by another library than Spark's; none where it was never written."""
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        found = DeltaTable(local_path(table) or table).to_pyarrow_table(columns=list(columns))
    except TableNotFoundError:
        return []
    return list(zip(*(found[column].to_pylist() for column in columns), strict=True))
