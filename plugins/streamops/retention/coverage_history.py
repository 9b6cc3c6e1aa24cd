"""What the rounds of retention coverage have seen of a stream: `<checkpoint>.streamops/coverage.json`, replaced as a whole.

The rounds write it, `streamops lag` reads it. Of two writers the last wins, and the file is whole either way. It is a
memory and no record: one that can't be read is begun anew with a warning, and what it was good for comes back by and by.

Offsets stand in columns, each the first figure and then the differences: 1 000 partitions with 100 records a second and
nine days of looks are 3.6 MiB. Where the figures are larger every second look goes, until it fits.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from streamops.control.kafka_offsets import Topics, accepts_what_is_there, topics_after
from streamops.control.layout import control_folder
from streamops.control.log import LogReader
from streamops.control.records import TopicSeen
from streamops.control.snapshot import load_state
from streamops.errors import ControlLogError, ObjectNotFoundError, ObjectUnreadableError
from streamops.retention import PartitionState
from streamops.retention.past import Column, CoveragePast, LogMark, SuspectedState, Track
from streamops.storage import FileKind, ReadableStorage, WritableStorage, join, read_file, write_file
from streamops.storage.bounds import BOUNDS

log = logging.getLogger(__name__)

FILE = "coverage.json"
MOST_BYTES = BOUNDS[FileKind.COVERAGE].written
FORM = 2
"""A file in another form is another release's, and is begun anew."""

_LONG_MAX = 2**63 - 1

_BROKEN = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, OSError)
"""What reading of arbitrary JSON may raise; OSError for a moment that no clock has."""


def read_past(storage: ReadableStorage, checkpoint: str, *, query_id: str = "") -> CoveragePast:
    """What is known from earlier looks at this query. Raises StorageError where the place can't be asked.

    The memory of which topic was read is reset by a person's word alone: after `streamops release --accept-unsafe` or
    `streamops adopt` the topics that are there now count as the query's own. Another query in the same folder begins anew.
    What the control log says of them comes with it, and goes first.
    """
    past = _read(storage, checkpoint)
    if query_id and past.query_id not in ("", query_id):
        past = CoveragePast()
    known, is_word_given = _log_since(storage, checkpoint, past)
    past = past.without_ids() if is_word_given else past
    return replace(past, query_id=query_id or past.query_id, log=known)


def write_past(storage: WritableStorage, checkpoint: str, past: CoveragePast) -> None:
    """Put it in the place of what was there. Raises StorageError."""
    content = encode(past)
    while len(content) > MOST_BYTES and len(past.at) > 1:
        past = past.halved()
        content = encode(past)
    # What is left out first comes back by and by; which topics were read, and what the log says of them, does not.
    for fewer in (replace(past, at=(), tracks={}, places={}), replace(past, at=(), tracks={}, places={}, odd={})):
        if len(content) > MOST_BYTES:
            content = encode(fewer)
    write_file(storage, FileKind.COVERAGE, _address(checkpoint), content)


def _address(checkpoint: str) -> str:
    return join(control_folder(checkpoint), FILE)


def _read(storage: ReadableStorage, checkpoint: str) -> CoveragePast:
    address = _address(checkpoint)
    try:
        return decode(read_file(storage, FileKind.COVERAGE, address))
    except ObjectNotFoundError:
        return CoveragePast()
    except ObjectUnreadableError as error:
        log.warning("earlier looks are begun anew: %s", error)
    except _BROKEN as error:
        log.warning("earlier looks are begun anew: %s can't be read: %.200r", address, error)
    return CoveragePast()


def _log_since(storage: ReadableStorage, checkpoint: str, past: CoveragePast) -> tuple[LogMark, bool]:
    """What the control log says now, and whether a person's word came since the last look."""
    reader = LogReader.of_checkpoint(storage, checkpoint)
    try:
        if not past.topic_ids:
            state = load_state(storage, reader.control)
            return _mark(state.next_number, state.last_nonce, state.topics), False
        new = reader.read_behind(max(-1, past.log.records - 2))
        # A log that was lost and begun anew is no longer than before, or has another record there.
        goes_on = bool(past.log.records and new and new[0].nonce == past.log.nonce)
        if past.log.records:
            new = new[1:] if goes_on else reader.read()
    except ControlLogError as error:
        # Whoever acts by the log says what is wrong with it; here it only tells of topics and of words that were given.
        log.warning("whether somebody has released the stream is not known: %s", error)
        return past.log, False
    if not new:
        return past.log, False
    topics = tuple(TopicSeen(topic=topic, id=known) for topic, known in past.log.topic_ids.items() if goes_on)
    for record in new:
        topics = topics_after(topics, record.body)
    mark = _mark(new[-1].number + 1, new[-1].nonce, topics)
    return mark, any(accepts_what_is_there(record.body) for record in new)


def _mark(records: int, nonce: str, topics: Topics) -> LogMark:
    return LogMark(records=records, nonce=nonce, topic_ids={one.topic: one.id for one in topics})


def encode(past: CoveragePast) -> bytes:
    """The text of the file."""
    return json.dumps(
        {
            "form": FORM,
            "query": past.query_id,
            "log": [past.log.records, past.log.nonce, dict(past.log.topic_ids)],
            "at": _differences(round(at.timestamp()) for at in past.at),
            "ends": [
                [topic, number, _differences(track.earliest), _differences(track.latest)]
                for (topic, number), track in sorted(past.tracks.items())
            ],
            "places": [[*position, _differences(column)] for position, column in sorted(past.places.items())],
            "topic_ids": dict(past.topic_ids),
            "odd": [[*place, str(odd.standing), odd.since.isoformat()] for place, odd in sorted(past.odd.items())],
            "odd_at": None if past.odd_at is None else past.odd_at.isoformat(),
        },
        separators=(",", ":"),
    ).encode()


def decode(content: bytes) -> CoveragePast:
    """What a file says; raises one of many errors for what is none."""
    fields: Mapping[str, Any] = json.loads(content)
    if fields["form"] != FORM:
        raise ValueError(f"form {fields['form']!r} is not known")
    seconds = _sums(fields["at"])
    at = tuple(datetime.fromtimestamp(second, UTC) for second in seconds if second is not None)
    if len(at) != len(seconds) or any(later <= sooner for sooner, later in pairwise(at)):
        raise ValueError("its moments are not in order")
    past = CoveragePast(
        at=at,
        tracks={
            (_text(topic), _whole(number)): Track(earliest=_column(earliest, at), latest=_column(latest, at))
            for topic, number, earliest, latest in fields["ends"]
        },
        places={
            (_text(checkpoint), _text(topic), _whole(number)): _column(column, at)
            for checkpoint, topic, number, column in fields["places"]
        },
        topic_ids=_ids(fields["topic_ids"]),
        odd={
            (_text(checkpoint), _text(topic), _whole(number)): SuspectedState(
                standing=PartitionState(standing), since=_moment(since)
            )
            for checkpoint, topic, number, standing, since in fields["odd"]
        },
        odd_at=None if fields["odd_at"] is None else _moment(fields["odd_at"]),
        query_id=_text(fields["query"]),
        log=LogMark(
            records=max(0, _whole(fields["log"][0])), nonce=_text(fields["log"][1]), topic_ids=_ids(fields["log"][2])
        ),
    )
    if any(len(track.earliest) != len(track.latest) for track in past.tracks.values()):
        raise ValueError("the ends of a partition are not of one length")
    return past


def _ids(fields: Any) -> dict[str, str]:
    return {_text(topic): _text(known) for topic, known in fields.items()}


def _column(differences: Any, at: tuple[datetime, ...]) -> Column:
    column = _sums(differences)
    if not 0 < len(column) <= len(at):
        raise ValueError(f"a column of {len(column)} for {len(at)} looks")
    return column


def _differences(column: Iterable[int | None]) -> list[int | None]:
    return list(_each_difference(column))


def _each_difference(column: Iterable[int | None]) -> Iterator[int | None]:
    last = 0
    for offset in column:
        yield None if offset is None else offset - last
        last = last if offset is None else offset


def _sums(differences: Any) -> Column:
    last, column = 0, []
    for difference in differences:
        last = last if difference is None else last + _whole(difference)
        if not 0 <= last <= _LONG_MAX:
            raise ValueError(f"{last!r:.200} is no offset and no moment")
        column.append(None if difference is None else last)
    return tuple(column)


def _moment(value: Any) -> datetime:
    return datetime.fromisoformat(value).astimezone(UTC)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r:.200} is no whole number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.200} is no text")
    return value
