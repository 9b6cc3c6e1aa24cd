"""Dead letters for people and as values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rich import box
from rich.table import Table

from streamops.dead_letters import DeadLetter, RecordPosition
from streamops.dead_letters.reading import MAX_REASONS, ReasonCount
from streamops.formatting import moment
from streamops.terminal.console import printable

_TEXT = 80
_REASON = 120
_FIELD = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterList:
    """The answer to: which dead letters are there?"""

    stream: str
    table: str
    letters: tuple[DeadLetter, ...] = ()
    first: Mapping[RecordPosition, RecordPosition] = field(default_factory=dict)
    """By the position of a record that a replay sent where it lay at the very first."""
    replayed: Mapping[RecordPosition, int] = field(default_factory=dict)
    """By position the replay that holds it."""
    total: int | None = 0
    """Of the whole table; None where its log does not tell."""
    reasons: tuple[ReasonCount, ...] = ()
    covers_all: bool = False
    """Whether the reasons are counted over all dead letters that match, and not over those that are shown."""
    is_filtered: bool = False
    is_cut: bool = False
    """Whether the search for them ended before the whole table was looked at."""
    missing: tuple[str, ...] = ()
    """Columns that a replay needs and the table does not have."""
    is_timed: bool = True
    """Whether the table tells of times: without them its order means nothing."""


def reasons_among(letters: Sequence[DeadLetter]) -> tuple[ReasonCount, ...]:
    """The same count over dead letters at hand, the most frequent first."""
    groups: dict[str, list[DeadLetter]] = {}
    for letter in letters:
        groups.setdefault(letter.reason, []).append(letter)
    found = [
        ReasonCount(
            reason=reason,
            letters=len(group),
            first=min((one.at for one in group if one.at), default=None),
            last=max((one.at for one in group if one.at), default=None),
        )
        for reason, group in groups.items()
    ]
    return tuple(sorted(found, key=lambda count: (-count.letters, count.reason)))


def heading(found: LetterList) -> str:
    """How many there are, and which are shown."""
    kind = "dead letters that match" if found.is_filtered else "dead letters"
    if not found.letters:
        return f"{found.stream}: no {kind}"
    of = f" of {found.total}" if found.total is not None and not found.is_filtered else ""
    order = "the newest first" if found.is_timed else "in no order: the table has no times"
    return f"{found.stream}: {len(found.letters)}{of} {kind}, {order} ({found.table})"


def letter_table(found: LetterList) -> Table:
    """One a line; a column of replays where there are any."""
    letters = found.letters
    notes = [_note(found, letter) for letter in letters]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    has_fields = any(letter.fields for letter in letters)
    for column in ("from" if has_fields else "position", "time (UTC)", "reason", "text"):
        table.add_column(column, overflow="fold")
    if any(notes):
        table.add_column("replay", overflow="fold")
    for letter, note in zip(letters, notes, strict=True):
        table.add_row(
            _where(letter),
            moment(letter.at.astimezone(UTC)) if letter.at else "",
            _cut(letter.reason, _REASON),
            _cut(letter.text, _TEXT),
            *([note] if any(notes) else []),
        )
    return table


def summary_lines(found: LetterList) -> Iterator[str]:
    """Each reason with its number and times, then what is to be known of the table."""
    of = "all that match" if found.is_filtered else "all"
    yield f"by reason, of {of}:" if found.covers_all else "by reason, of those shown (--all counts all of them):"
    width = max((len(str(count.letters)) for count in found.reasons), default=0)
    for count in found.reasons:
        yield f"  {count.letters:>{width}}  {_cut(count.reason, _REASON) or 'no reason'}{_times(count)}"
    if len(found.reasons) >= MAX_REASONS:
        yield f"  these are the {MAX_REASONS} most frequent reasons"
    if found.is_cut:
        yield "older ones were not looked at: --since TIME, or another reason"
    if found.missing:
        yield f"they can't be sent again: the table has no columns {' and no '.join(found.missing)}"


def list_fields(found: LetterList) -> dict[str, object]:
    """The same as values; texts are cut to 300 characters."""
    return {
        "stream": found.stream,
        "table": found.table,
        "total": found.total,
        "letters": [_letter_fields(found, letter) for letter in found.letters],
        "reasons": [
            {
                "reason": count.reason,
                "letters": count.letters,
                "first": _iso(count.first),
                "last": _iso(count.last),
            }
            for count in found.reasons
        ],
        "covers_all": found.covers_all,
        "is_cut": found.is_cut,
        "missing": list(found.missing),
    }


def _note(found: LetterList, letter: DeadLetter) -> str:
    """What replays have to do with it."""
    if letter.position is None:
        return ""
    first, replay = found.first.get(letter.position), found.replayed.get(letter.position)
    notes = [f"died again, first {printable(str(first))}"] if first else []
    return ", ".join(notes + ([f"in replay {replay}"] if replay else []))


def _letter_fields(found: LetterList, letter: DeadLetter) -> dict[str, object]:
    position = letter.position
    first = found.first.get(position) if position else None
    return {
        "topic": position.topic if position else None,
        "partition": position.partition if position else None,
        "offset": position.offset if position else None,
        "at": _iso(letter.at),
        "reason": letter.reason,
        "text": letter.text,
        "fields": dict(letter.fields),
        "replay": found.replayed.get(position) if position else None,
        "first_position": str(first) if first else None,
    }


def _where(letter: DeadLetter) -> str:
    if letter.position:
        return printable(str(letter.position))
    return ", ".join(f"{_cut(name, _FIELD)}={_cut(text, _FIELD)}" for name, text in letter.fields)


def _times(count: ReasonCount) -> str:
    if count.first is None or count.last is None:
        return ""
    if count.first == count.last:
        return f", {moment(count.first)} UTC"
    return f", {moment(count.first)} to {moment(count.last)} UTC"


def _cut(text: str, limit: int) -> str:
    """Its begin in one printable line."""
    shown = printable(text[:limit]).replace("\n", "\\n")
    return f"{shown}…" if len(text) > limit else shown


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
