"""The account at the end: what was sent against what lies in the Delta tables, record by record."""

from dataclasses import dataclass

from streamops_sandbox.orders import OrdersState


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Orders by number, malformed records by count."""

    sent: int
    delivered: int
    """Different order numbers in the table."""
    lost: int
    duplicated: int
    """Rows beyond the first of their number."""
    malformed: int
    dead_letters: int
    """Rows of the dead-letter table, each position once."""


def take_ledger(state: OrdersState, *, table: str, dead_letters: str) -> Ledger:
    """Read both tables with delta-rs, which shares no code with the writer, and compare."""
    numbers = [number for (number,) in _rows(table, "order_id")]
    different = set(numbers)
    positions = _rows(dead_letters, "partition", "offset")
    repeated_letters = len(positions) - len(set(positions))
    return Ledger(
        sent=state.sent,
        delivered=len(different),
        lost=len(set(range(state.sent)) - different),
        duplicated=len(numbers) - len(different) + repeated_letters,
        malformed=state.malformed,
        dead_letters=len(set(positions)),
    )


def count_rows(table: str) -> int:
    """The rows of a table by its log alone, far cheaper than an account of a table with many files."""
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        return DeltaTable(table.removeprefix("file://")).count()
    except TableNotFoundError:
        return 0


def authors(table: str) -> tuple[str, ...]:
    """Who wrote each version of a table, oldest first, as the writers have put their names into its log."""
    from deltalake import DeltaTable

    history = DeltaTable(table.removeprefix("file://")).history()
    return tuple(str(found.get("userMetadata", "")) for found in reversed(history) if found.get("userMetadata"))


def _rows(table: str, *columns: str) -> list[tuple[int, ...]]:
    """The columns of all rows in one version of a table; none before its first commit."""
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        found = DeltaTable(table.removeprefix("file://")).to_pyarrow_table(columns=list(columns))
    except TableNotFoundError:
        return []
    return list(zip(*(found[column].to_pylist() for column in columns), strict=True))
