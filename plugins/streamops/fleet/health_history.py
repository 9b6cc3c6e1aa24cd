"""What rounds of checks found, stream by stream, below `<state_root>/health/<stream>/` or another folder beside it.

`2026-03-01.jsonl` holds one line a check, a file a day, eight days back. `changes/` holds one numbered file a change of
verdict, created exclusively as the records of a control log are: of two rounds at once one only makes a change, and
only that one tells it. Beside it `.told` says that it was told, and `.again` that a later round took the telling over.

It lies at the state root, not beside the checkpoint: where the checkpoint's storage is away, that is the very thing to
be written down, and a stream that never ran has no control folder yet.
"""

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from streamops.catalogue.watch import HealthSample
from streamops.control import codec
from streamops.control.texts import COMPOSED_LIMIT, shortened
from streamops.errors import CorruptRecordError, ObjectExistsError, ObjectNotFoundError, ObjectUnreadableError
from streamops.storage import FileKind, Storage, create_file, join, read_file, write_file
from streamops.storage.bounds import BOUNDS

log = logging.getLogger(__name__)

CHECKPOINTS = "health"
"""The folder for verdicts on checkpoints."""
DAYS_KEPT = 8
"""A week, and the day that is not over."""
LINES_A_DAY = 2000
"""Far above the 288 of a check every five minutes; the oldest go first."""
CHANGES_KEPT = 20
"""A round that is so many changes behind would believe that it makes a new one; no round lasts that long."""

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})\.jsonl")
_CHANGE = re.compile(r"(\d{20})\.(json|told|again)")
_BROKEN = (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthEntry:
    """One check as it is kept."""

    sample: HealthSample
    trouble: str = ""
    """Why nothing could be read; then the sample holds the verdict `unknown` and no figures."""
    is_recorded: bool = False
    """Whether the control log has this verdict too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthPast:
    """The checks of the last days, oldest first."""

    entries: tuple[HealthEntry, ...] = ()
    unreadable: int = 0
    """Lines that were passed over."""

    @property
    def samples(self) -> tuple[HealthSample, ...]:
        """Those that hold figures."""
        return tuple(entry.sample for entry in self.entries if not entry.trouble)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedChange:
    """One change of verdict as it is kept."""

    number: int
    at: datetime
    after: str
    """As `health.Verdict` spells it; empty for a file that can't be read, which is like no verdict."""
    before: str = ""
    """Empty where no verdict was on record."""
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptChange:
    """The newest change of verdict, and how far it was told."""

    noted: NotedChange
    is_told: bool = False
    is_taken_over: bool = False
    """Whether a later round has tried to tell it because the one that noted it did not come to it."""


class HealthHistory:
    """The files of one stream. Every method raises StorageError where the state root can't be asked."""

    def __init__(self, storage: Storage, state_root: str, stream: str, *, folder: str = CHECKPOINTS) -> None:
        self._storage = storage
        self._folder = join(state_root, folder, stream)
        self._changes = join(self._folder, "changes")

    def past(self, now: datetime) -> HealthPast:
        """The checks of today and yesterday."""
        today = now.date()
        lines = [line for day in (today - timedelta(days=1), today) for line in self._lines(day)]
        read = [_entry(line) for line in lines]
        entries = tuple(entry for entry in read if entry)
        return HealthPast(entries=entries, unreadable=len(read) - len(entries))

    def newest(self, now: datetime) -> HealthEntry | None:
        """The last check of today or yesterday, if there was one."""
        for day in (now.date(), now.date() - timedelta(days=1)):
            entries = (_entry(line) for line in reversed(self._lines(day)))
            if found := next((entry for entry in entries if entry), None):
                return found
        return None

    def append(self, entry: HealthEntry) -> None:
        """One more line. Of two writers at once one may lose its line; the file stays whole."""
        day = entry.sample.at.date()
        lines = self._lines(day)
        kept = _newest((*lines, _line(entry))[-LINES_A_DAY:], BOUNDS[FileKind.VERDICTS].written)
        write_file(self._storage, FileKind.VERDICTS, self._address(day), b"".join(line + b"\n" for line in kept))
        if not lines:
            self._forget_before(day - timedelta(days=DAYS_KEPT - 1))

    def newest_change(self) -> KeptChange | None:
        """The last change of verdict; None where there was none yet."""
        marks = set(self._change_files())
        number = max((number for number, kind in marks if kind == "json"), default=None)
        if number is None:
            return None
        return KeptChange(
            noted=self._noted(number), is_told=(number, "told") in marks, is_taken_over=(number, "again") in marks
        )

    def note_change(self, change: NotedChange) -> bool:
        """Put a change down under its number; False where another round has done so."""
        if not self._create(change.number, "json", codec.encode(change)):
            return False
        for number, kind in self._change_files():
            if number <= change.number - CHANGES_KEPT:
                self._storage.delete(self._change_address(number, kind))
        return True

    def mark_told(self, number: int) -> None:
        """Whoever was to be told of this change has been told."""
        write_file(self._storage, FileKind.VERDICT_CHANGE, self._change_address(number, "told"), b"")

    def take_telling_over(self, number: int) -> bool:
        """Whether it is for the caller to tell this change once more; False where another round has taken it over."""
        return self._create(number, "again", b"")

    def _create(self, number: int, kind: str, content: bytes) -> bool:
        try:
            create_file(self._storage, FileKind.VERDICT_CHANGE, self._change_address(number, kind), content)
        except ObjectExistsError:
            return False
        return True

    def _noted(self, number: int) -> NotedChange:
        address = self._change_address(number, "json")
        try:
            return codec.decode(
                NotedChange, read_file(self._storage, FileKind.VERDICT_CHANGE, address), address=address
            )
        except (CorruptRecordError, ObjectUnreadableError) as error:
            log.warning("passed over: %s", error)
            return NotedChange(number=number, at=datetime.min.replace(tzinfo=UTC), after="")

    def _lines(self, day: date) -> tuple[bytes, ...]:
        try:
            content = read_file(self._storage, FileKind.VERDICTS, self._address(day))
        except ObjectNotFoundError:
            return ()
        except ObjectUnreadableError as error:
            # Written by something else: the next line begins the file anew.
            log.warning("passed over: %s", error)
            return ()
        return tuple(line for line in content.split(b"\n") if line)

    def _forget_before(self, oldest: date) -> None:
        for name in self._storage.list(self._folder):
            if (match := _DAY.fullmatch(name)) and match[1] < oldest.isoformat():
                self._storage.delete(join(self._folder, name))

    def _change_files(self) -> Iterator[tuple[int, str]]:
        names = self._storage.list(self._changes)
        return ((int(match[1]), match[2]) for name in names if (match := _CHANGE.fullmatch(name)))

    def _address(self, day: date) -> str:
        return join(self._folder, f"{day.isoformat()}.jsonl")

    def _change_address(self, number: int, kind: str) -> str:
        return join(self._changes, f"{number:020d}.{kind}")


def _newest(lines: tuple[bytes, ...], most: int) -> tuple[bytes, ...]:
    """The newest of the lines that fit into so many bytes together."""
    size = sum(len(line) + 1 for line in lines)
    first = 0
    while size > most:
        size -= len(lines[first]) + 1
        first += 1
    return lines[first:]


def _line(entry: HealthEntry) -> bytes:
    more = {"trouble": shortened(entry.trouble, COMPOSED_LIMIT), "is_recorded": entry.is_recorded}
    return json.dumps({**entry.sample.fields(), **more}, separators=(",", ":")).encode()


def _entry(line: bytes) -> HealthEntry | None:
    try:
        fields = json.loads(line)
        return HealthEntry(
            sample=HealthSample.from_fields(fields),
            trouble=str(fields.get("trouble") or ""),
            is_recorded=fields.get("is_recorded") is True,
        )
    except _BROKEN:
        return None
