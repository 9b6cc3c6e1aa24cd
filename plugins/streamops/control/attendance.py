"""Who looks after a stream, and since when nobody does.

A paused or missing DAG, a dead triggerer, a task that stays deferred, a supervisor that was ended: whatever the cause,
it shows as a stream that nobody has attended to for a while. The sign is apart from the control log, since it is
replaced all the time and decides nothing about who may write.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.clock import Clock
from streamops.control import codec
from streamops.control.records import Author
from streamops.errors import CorruptRecordError, ObjectNotFoundError, ObjectUnreadableError, StorageError
from streamops.storage import FileKind, Storage, join, read_file, write_file
from streamops.storage.port import ReadableStorage

log = logging.getLogger(__name__)

SIGN_INTERVAL = timedelta(seconds=20)
"""Between two signs of one supervisor."""

UNATTENDED_AFTER = timedelta(seconds=90)
"""A stream without a sign for this long is attended by nobody: four signs were missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attendance:
    """The newest sign of a supervisor."""

    stream: str
    at: datetime
    by: Author

    def age(self, now: datetime) -> timedelta:
        """How old the sign is; a stamp from the future counts as now."""
        return now - min(self.at, now)

    def is_over(self, now: datetime) -> bool:
        """Whether nobody attends to the stream any more."""
        return self.age(now) > UNATTENDED_AFTER


class AttendanceStore:
    """Signs for one supervisor, seldom enough to cost nothing."""

    def __init__(self, storage: Storage, state_root: str, *, stream: str, author: Author, clock: Clock) -> None:
        self._storage = storage
        self._address = attendance_address(state_root, stream)
        self._stream = stream
        self._author = author
        self._clock = clock
        self._signed: timedelta | None = None

    def sign(self) -> None:
        """Leave a sign unless the last one is young; a sign that can't be left is told, and the supervision goes on."""
        now = self._clock.monotonic()
        if self._signed is not None and now - self._signed < SIGN_INTERVAL:
            return
        self._signed = now
        attendance = Attendance(stream=self._stream, at=self._clock.now(), by=self._author)
        try:
            write_file(self._storage, FileKind.ATTENDANCE, self._address, codec.encode(attendance))
        except StorageError as error:
            log.warning("stream=%s attendance not signed: %s", self._stream, error)


def read_attendance(storage: ReadableStorage, state_root: str, stream: str) -> Attendance | None:
    """The newest sign; None when nobody ever signed, or what is there can't be read. StorageError."""
    address = attendance_address(state_root, stream)
    try:
        return codec.decode(Attendance, read_file(storage, FileKind.ATTENDANCE, address), address=address)
    except (ObjectNotFoundError, CorruptRecordError, ObjectUnreadableError):
        return None


def attendance_address(state_root: str, stream: str) -> str:
    """`<state_root>/attendance/<stream>.json`"""
    return join(state_root, "attendance", f"{stream}.json")
