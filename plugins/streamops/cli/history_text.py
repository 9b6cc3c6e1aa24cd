"""The history of a stream, for people: an entry a line, and a second one for why and for an error."""

from collections.abc import Iterator

from streamops.formatting import brief, moment
from streamops.operations.history import History, HistoryEntry


def history_lines(history: History) -> Iterator[str]:
    """All entries, oldest first, as the log has them."""
    if not history.entries:
        yield f"{history.stream}: nothing is on record"
        return
    if not history.is_whole:
        yield f"{history.stream}: the newest entries; older ones are in the log (--limit)"
    for entry in history.entries:
        yield from _entry_lines(entry)


def _entry_lines(entry: HistoryEntry) -> Iterator[str]:
    at = moment(entry.at) if entry.at else "?"
    who = f"{entry.actor} on {entry.host}" if entry.actor else "?"
    yield f"{at}  #{entry.number}  {entry.what}  by {who}{_outcome(entry)}"
    if entry.why:
        yield f"    why: {entry.why}"
    if entry.error:
        yield f"    error: {entry.error}"


def _outcome(entry: HistoryEntry) -> str:
    if not entry.outcome:
        return ""
    return f"  → {entry.outcome}{f' after {brief(entry.took)}' if entry.took is not None else ''}"
