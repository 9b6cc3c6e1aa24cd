"""Clicks of users on pages, for sessions, and for a join with purchases."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops_sandbox.inputs.composing import Written, compose
from streamops_sandbox.inputs.draws import draw
from streamops_sandbox.inputs.record import InputRecord, Shares
from streamops_sandbox.inputs.shape import FieldType, Row, Shape, good_rows, malformed_records, time_text
from streamops_sandbox.inputs.timetable import Kind, Slot
from streamops_sandbox.inputs.visitors import returning
from streamops_sandbox.inputs.watermarks import watermark

TOPIC = "clicks"
SHAPE: Shape = {
    "click_id": FieldType.TEXT,
    "user": FieldType.TEXT,
    "page": FieldType.TEXT,
    "event_time": FieldType.TIME,
}
GAP = timedelta(minutes=30)
CLOSING_USER = "u-closing"
"""Only the last record is of it."""

_PAGES = ("/", "/search", "/item", "/basket", "/help")


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Clicks of one user, each less than a gap after another."""

    user: str
    start: datetime
    """Of the first click."""
    end: datetime
    """A gap after the last click, as Spark's `session_window` has it."""
    pages: int
    """Clicks, repeated ones too."""
    entry_page: str
    exit_page: str


def records(*, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]:
    """`count` clicks of about a third as many users, who come back after one wave (15 minutes) or three, or not at all."""

    def write(slot: Slot) -> Written:
        user = f"u-{returning(slot, seed=seed, pool=count // 3, after=(0, 0, 1, 3), what='click'):05d}"
        fields = {
            "click_id": slot.label("k"),
            "user": CLOSING_USER if slot.kind is Kind.CLOSING else user,
            "page": _PAGES[draw(len(_PAGES), seed, "page", slot.number)],
            "event_time": time_text(slot.at),
        }
        return Written(key=fields["user"], fields=fields)

    return compose(write, topic=TOPIC, shape=SHAPE, seed=seed, count=count, shares=shares)


def expected_sessions(records: Iterable[InputRecord], *, open_too: bool = False) -> tuple[Session, ...]:
    """By user and start: the sessions that the watermark has passed in the end, with `open_too` all. Repeats count.

    A click that comes when the watermark is a gap ahead of it counts in none.
    """
    rows = list(good_rows(records, SHAPE))
    behind = {wave: watermark(rows, before=wave) for wave in {row.wave for row in rows}}
    last = watermark(rows)
    of_user: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.at + GAP > behind[row.wave]:
            of_user[row.fields["user"]].append(row)
    found = (session for clicks in of_user.values() for session in _sessions(clicks))
    wanted = (session for session in found if open_too or session.end <= last)
    return tuple(sorted(wanted, key=lambda session: (session.user, session.start)))


def expected_dead_letters(records: Iterable[InputRecord]) -> tuple[InputRecord, ...]:
    """The malformed records."""
    return malformed_records(records, SHAPE)


def _sessions(clicks: list[Row]) -> list[Session]:
    parts: list[list[Row]] = []
    for click in sorted(clicks, key=lambda row: (row.at, row.fields["click_id"])):
        if parts and click.at < parts[-1][-1].at + GAP:
            parts[-1].append(click)
        else:
            parts.append([click])
    return [
        Session(
            user=part[0].fields["user"],
            start=part[0].at,
            end=part[-1].at + GAP,
            pages=len(part),
            entry_page=part[0].fields["page"],
            exit_page=part[-1].fields["page"],
        )
        for part in parts
    ]
