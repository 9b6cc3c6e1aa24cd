"""Counts, windows, sessions and repeats: one topic, one Delta table."""

from collections.abc import Iterable
from datetime import date

from streamops_sandbox.catalogue.case import Case, Sent, in_its_table
from streamops_sandbox.catalogue.comparing import Row
from streamops_sandbox.catalogue.feeds import CATEGORY_ORDERS, CLICKS, EVENTS, SENSOR_READINGS, WORDS
from streamops_sandbox.inputs import category_orders, clicks, events, sensor_readings, words

_DAY = date(2026, 1, 1)
"""All orders are of this one; late ones are hours behind, and count: the day is not over."""


def _counts(sent: Sent) -> Iterable[Row]:
    return words.expected_counts(sent[words.TOPIC]).items()


def _unique_events(sent: Sent) -> Iterable[Row]:
    for event in events.expected_unique(sent[events.TOPIC]):
        yield event.event_id, event.type, event.user, event.amount, event.event_time


def _windows(sent: Sent) -> Iterable[Row]:
    readings = sent[sensor_readings.TOPIC]
    kinds = {
        "tumbling": sensor_readings.expected_tumbling(readings),
        "sliding": sensor_readings.expected_sliding(readings),
    }
    for kind, windows in kinds.items():
        for one in windows:
            yield kind, one.device, one.start, one.end, one.count, one.sum, one.avg, one.min, one.max


def _sessions(sent: Sent) -> Iterable[Row]:
    for session in clicks.expected_sessions(sent[clicks.TOPIC]):
        last_click = session.end - clicks.GAP
        lasted = (last_click - session.start).total_seconds()
        yield (
            session.user,
            session.start,
            last_click,
            lasted,
            session.pages,
            session.entry_page,
            session.exit_page,
        )


def _totals(sent: Sent) -> Iterable[Row]:
    for total in category_orders.expected_totals(sent[category_orders.TOPIC]):
        yield _DAY, total.category, total.orders, total.revenue


CASES = (
    Case(
        job="J2",
        stream="word_count",
        feeds=(WORDS,),
        came=in_its_table("word", "count"),
        expected=_counts,
    ),
    Case(
        job="J7",
        stream="events_dedup",
        feeds=(EVENTS,),
        came=in_its_table("event_id", "type", "user", "amount", "event_time"),
        expected=_unique_events,
    ),
    Case(
        job="J8",
        stream="sensor_windows",
        feeds=(SENSOR_READINGS,),
        came=in_its_table("kind", "device", "start", "end", "readings", "sum", "avg", "min", "max"),
        expected=_windows,
    ),
    Case(
        job="J9",
        stream="clickstream_sessions",
        feeds=(CLICKS,),
        came=in_its_table("user", "first_click", "last_click", "duration_seconds", "pages", "entry_page", "exit_page"),
        expected=_sessions,
    ),
    Case(
        job="J14",
        stream="category_totals",
        feeds=(CATEGORY_ORDERS,),
        came=in_its_table("day", "category", "orders", "revenue"),
        expected=_totals,
    ),
)
