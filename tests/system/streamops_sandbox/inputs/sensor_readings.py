"""Readings of devices, for windows of event time."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops_sandbox.inputs.composing import Written, compose
from streamops_sandbox.inputs.draws import draw
from streamops_sandbox.inputs.record import InputRecord, Shares
from streamops_sandbox.inputs.shape import FieldType, Row, Shape, good_rows, malformed_records, time_text
from streamops_sandbox.inputs.timetable import Kind, Slot
from streamops_sandbox.inputs.watermarks import watermark
from streamops_sandbox.inputs.windows import windows_of

TOPIC = "sensor_readings"
SHAPE: Shape = {
    "device": FieldType.TEXT,
    "value": FieldType.NUMBER,
    "user": FieldType.TEXT,
    "event_time": FieldType.TIME,
}
CLOSING_DEVICE = "d-closing"
"""Only the last record is of it."""

_USERS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceWindow:
    """The readings of one device in one window."""

    device: str
    start: datetime
    end: datetime
    count: int
    sum: float
    """Exact, as values are multiples of 0.25."""
    avg: float
    min: float
    max: float
    users: int
    """Different ones, counted exactly."""


def records(*, seed: int, count: int, shares: Shares) -> tuple[InputRecord, ...]:
    """`count` readings of up to ten devices. A duplicate counts: a reading has no id."""
    devices = max(1, min(10, count // 20))

    def write(slot: Slot) -> Written:
        number = draw(devices, seed, "device", slot.number)
        device = CLOSING_DEVICE if slot.kind is Kind.CLOSING else f"d-{number:02d}"
        fields = {
            "device": device,
            "value": draw(400, seed, "value", slot.number) / 4 - 20,
            "user": f"u-{draw(_USERS, seed, 'user', slot.number):03d}",
            "event_time": time_text(slot.at),
        }
        return Written(key=device, fields=fields)

    return compose(write, topic=TOPIC, shape=SHAPE, seed=seed, count=count, shares=shares)


def expected_tumbling(records: Iterable[InputRecord], *, open_too: bool = False) -> tuple[DeviceWindow, ...]:
    """Windows of 5 minutes by device and start, see `expected_windows`."""
    size = timedelta(minutes=5)
    return expected_windows(records, size=size, slide=size, open_too=open_too)


def expected_sliding(records: Iterable[InputRecord], *, open_too: bool = False) -> tuple[DeviceWindow, ...]:
    """Windows of 10 minutes, one every 5, by device and start, see `expected_windows`."""
    return expected_windows(records, size=timedelta(minutes=10), slide=timedelta(minutes=5), open_too=open_too)


def expected_windows(
    records: Iterable[InputRecord], *, size: timedelta, slide: timedelta, open_too: bool = False
) -> tuple[DeviceWindow, ...]:
    """The windows that the watermark has passed in the end, as append mode gives them; with `open_too` all, as update mode.

    A reading that comes when the watermark has reached the end of a window does not count in it.
    """
    rows = list(good_rows(records, SHAPE))
    behind = {wave: watermark(rows, before=wave) for wave in {row.wave for row in rows}}
    last = watermark(rows)
    found: dict[tuple[str, datetime], list[Row]] = defaultdict(list)
    for row in rows:
        for start in windows_of(row.at, size=size, slide=slide):
            if start + size > behind[row.wave]:
                found[row.fields["device"], start].append(row)
    return tuple(
        _window(device, start, size, readings)
        for (device, start), readings in sorted(found.items(), key=lambda window: window[0])
        if open_too or start + size <= last
    )


def expected_dead_letters(records: Iterable[InputRecord]) -> tuple[InputRecord, ...]:
    """The malformed records."""
    return malformed_records(records, SHAPE)


def _window(device: str, start: datetime, size: timedelta, readings: list[Row]) -> DeviceWindow:
    values = [row.fields["value"] for row in readings]
    return DeviceWindow(
        device=device,
        start=start,
        end=start + size,
        count=len(values),
        sum=sum(values),
        avg=sum(values) / len(values),
        min=min(values),
        max=max(values),
        users=len({row.fields["user"] for row in readings}),
    )
