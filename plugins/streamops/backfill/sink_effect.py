"""What the sink makes of rows that it has already: the live query wrote them, and a backfill writes them again. Pure.

A backfill has a query id of its own, so a sink that knows batches (Delta's own) takes its rows for new ones. Only a sink that
knows rows by their key may get them twice. Dead letters are only ever added, so those of a backfill have a table of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from streamops.control.layout import own_places_around
from streamops.spec.sinks import SinkGuarantee
from streamops.storage import is_inside


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSink:
    """Where the stream itself writes. Addresses are canonical."""

    stream: str
    table: str
    dead_letters: str
    """Empty where none are declared."""
    guarantee: SinkGuarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkChosen:
    """Where the backfill writes."""

    table: str
    dead_letters: str
    is_redirected: bool
    """Whether the table is not the stream's own."""
    notes: tuple[str, ...]
    """What becomes of the rows, a sentence each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkRefused:
    """Why it must not write there."""

    reason: str
    way_out: str


def choose_sink(
    own: OwnSink, *, backfill: str, table: str = "", dead_letters: str = "", others: Mapping[str, str] | None = None
) -> SinkChosen | SinkRefused:
    """The sink of a backfill with that id; `table` and `dead_letters` are canonical addresses, empty where nothing was asked.

    `others` are the addresses that declared streams write, each with who writes it, this stream's own among them or not.
    """
    is_redirected = bool(table) and table != own.table
    if not is_redirected and own.guarantee is not SinkGuarantee.IDEMPOTENT_BY_KEY:
        return SinkRefused(
            reason=f"the sink of {own.stream} is {own.guarantee}: what {own.table} has of the range would be there twice",
            way_out="write to another table (--table OTHER), or declare the sink idempotent-by-key if it knows rows by key",
        )
    target = table if is_redirected else own.table
    own_letters = own.dead_letters or f"{own.table}_dead_letters"
    letters = dead_letters or (f"{table}_dead_letters" if is_redirected else f"{own_letters}_{backfill}")
    taken = {**(others or {}), own_letters: f"the dead letters of {own.stream}"}
    if is_redirected and own.table:
        taken[own.table] = f"the table of {own.stream}"
    elif not is_redirected:
        taken.pop(own.table, None)
    for what, address in (("table", target), ("dead letters", letters)):
        for other, whose in taken.items():
            is_beside = any(place.checkpoint == other for place in own_places_around(address))
            if is_beside or is_inside(other, address):
                return SinkRefused(
                    reason=f"{what} {address} and {whose}, {other}, would get into each other's way",
                    way_out="name a folder that no declared stream writes",
                )
    if is_inside(letters, target) or is_inside(target, letters):
        return SinkRefused(
            reason=f"table {target} and dead letters {letters} lie in each other", way_out="name two folders apart"
        )
    return SinkChosen(
        table=target, dead_letters=letters, is_redirected=is_redirected, notes=_notes(target, letters, is_redirected)
    )


def _notes(table: str, letters: str, is_redirected: bool) -> tuple[str, ...]:
    rows = (
        f"Rows are added to {table}; if it has some of the range already, they are there twice afterwards."
        if is_redirected
        else f"Rows that {table} has are written over by their key; those that it lacks are added."
    )
    return rows, f"Records that can't be parsed are added to {letters}."
