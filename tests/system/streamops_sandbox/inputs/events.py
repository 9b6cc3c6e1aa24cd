"""Events of a shop: four types, in a common form."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from streamops_sandbox.inputs.composing import Written, compose
from streamops_sandbox.inputs.draws import draw
from streamops_sandbox.inputs.record import InputRecord, Shares
from streamops_sandbox.inputs.shape import FieldType, Shape, amount_text, good_rows, malformed_records, time_text
from streamops_sandbox.inputs.timetable import Slot
from streamops_sandbox.inputs.watermarks import on_time
from streamops_sandbox.inputs.windows import windows_of

TOPIC = "events"
TYPES = ("page_view", "purchase", "signup", "refund")
SHAPE: Shape = {
    "event_id": FieldType.TEXT,
    "type": FieldType.TEXT,
    "user": FieldType.TEXT,
    "amount": FieldType.AMOUNT,
    "event_time": FieldType.TIME,
}
WINDOW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event."""

    event_id: str
    type: str
    user: str
    amount: Decimal
    event_time: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeWindow:
    """The events of one type in one window."""

    type: str
    start: datetime
    end: datetime
    count: int
    amount: Decimal


def records(*, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]:
    """`count` records; a page view or a signup has the amount 0.00, a refund a positive one."""
    users = max(1, count // 10)

    def write(slot: Slot) -> Written:
        kind = TYPES[draw(len(TYPES), seed, "type", slot.number)]
        cents = 0 if kind in ("page_view", "signup") else 100 + draw(50_000, seed, "amount", slot.number)
        user = f"u-{draw(users, seed, 'user', slot.number):05d}"
        fields = {"event_id": slot.label("e"), "type": kind, "user": user}
        return Written(key=user, fields=fields | {"amount": amount_text(cents), "event_time": time_text(slot.at)})

    return compose(write, topic=TOPIC, shape=SHAPE, seed=seed, count=count, shares=shares)


def expected_events(records: Iterable[InputRecord]) -> tuple[Event, ...]:
    """All events in the order of sending, repeated and late ones too: what a job without state passes on."""
    return tuple(Event(**row.fields) for row in good_rows(records, SHAPE))


def expected_unique(records: Iterable[InputRecord]) -> tuple[Event, ...]:
    """One event of each id, without late ones: what a job leaves that drops repeats within the watermark."""
    rows = on_time(list(good_rows(records, SHAPE)))
    first = {row.fields["event_id"]: row for row in reversed(rows)}
    return tuple(Event(**row.fields) for row in rows if first[row.fields["event_id"]] is row)


def expected_windows(records: Iterable[InputRecord]) -> tuple[TypeWindow, ...]:
    """Five minutes each, by type and start: the last state of all windows, also of those still open. Repeats count.

    Late records are left out: they are behind the watermark by more than a window.
    """
    found: dict[tuple[str, datetime], list[Decimal]] = defaultdict(list)
    for row in on_time(list(good_rows(records, SHAPE))):
        for start in windows_of(row.at, size=WINDOW, slide=WINDOW):
            found[row.fields["type"], start].append(row.fields["amount"])
    return tuple(
        TypeWindow(type=kind, start=start, end=start + WINDOW, count=len(amounts), amount=sum(amounts, Decimal(0)))
        for (kind, start), amounts in sorted(found.items())
    )


def expected_dead_letters(records: Iterable[InputRecord]) -> tuple[InputRecord, ...]:
    """The malformed records."""
    return malformed_records(records, SHAPE)
