"""A topic as sink. Spark's Kafka sink is at least once: a batch that runs again is written again, and a blow shows it."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any

from streamops_sandbox.catalogue.case import Came, Case, Place, Sent
from streamops_sandbox.catalogue.comparing import Row
from streamops_sandbox.catalogue.feeds import EVENTS
from streamops_sandbox.catalogue.topics import Published, counting, published
from streamops_sandbox.inputs import events
from streamops_sandbox.inputs.shape import good_rows


def _updates(place: Place) -> Came:
    """The last record of each key is what counts: a window as it is in the end."""
    found = published(place.bootstrap, place.topic)
    last = {update.key: _content(update) for update in found}
    times = Counter((update.key, update.value) for update in found)
    return Came(rows=[_window(value) for value in last.values()], repeated=sum(count - 1 for count in times.values()))


def _windows(sent: Sent) -> Iterable[Row]:
    for window in events.expected_windows(sent[events.TOPIC]):
        yield f"{window.start:%H:%M}", f"{window.end:%H:%M}", window.type, window.count, window.amount


def _window(found: dict[str, Any]) -> Row:
    return found["start"][11:16], found["end"][11:16], found["type"], found["events"], Decimal(found["amount"])


def _bought(place: Place) -> Came:
    rows = []
    for record in published(place.bootstrap, place.topic):
        found = _content(record)
        rows.append((record.key, found["event_id"], found["user"], Decimal(found["amount"])))
    return Came(rows=rows)


def _purchases(sent: Sent) -> Iterable[Row]:
    """Late ones and repeats too: nothing here has a watermark."""
    for fields in _fields(sent):
        if fields["type"] == "purchase":
            yield fields["user"].encode(), fields["event_id"], fields["user"], fields["amount"]


def _pseudonymous(place: Place) -> Came:
    rows = []
    for record in published(place.bootstrap, place.topic):
        found = _content(record)
        rows.append((record.key, found["event_id"], found["type"], found["user"], Decimal(found["amount"])))
    return Came(rows=rows)


def _events_under_pseudonyms(sent: Sent) -> Iterable[Row]:
    for fields in _fields(sent):
        pseudonym = hashlib.sha256(fields["user"].encode()).hexdigest()
        yield pseudonym.encode(), fields["event_id"], fields["type"], pseudonym, fields["amount"]


def _fields(sent: Sent) -> Iterator[dict[str, Any]]:
    return (row.fields for row in good_rows(sent[events.TOPIC], events.SHAPE))


def _content(record: Published) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(record.value or b"{}")
    return content


def _count(place: Place) -> AbstractContextManager[Callable[[], int]]:
    """Records in the topic."""
    return counting(place.bootstrap, place.topic)


CASES = (
    Case(
        job="J10",
        stream="event_aggregates",
        feeds=(EVENTS,),
        came=_updates,
        expected=_windows,
        watch=_count,
    ),
    *(
        Case(
            job="J15",
            stream=stream,
            feeds=(EVENTS,),
            came=_bought,
            expected=_purchases,
            shows_batches=shows_batches,
            watch=_count,
        )
        for stream, shows_batches in (
            ("low_latency_relay", True),
            ("low_latency_relay_continuous", False),
            ("low_latency_relay_real_time", False),
        )
    ),
    Case(
        job="J16",
        stream="async_progress_relay",
        feeds=(EVENTS,),
        came=_pseudonymous,
        expected=_events_under_pseudonyms,
        shows_batches=False,
        watch=_count,
    ),
)
