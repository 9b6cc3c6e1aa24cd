"""Logs that write all their entries anew into one file from time to time: the file source's and the file sink's.

Spark class: CompactibleFileStreamLog, 3.5 to 4.3. With the usual interval of 10 the ids 9, 19, 29 … are written as
`9.compact`, which repeats every entry before it; the single files below are deleted later. A file is `v1` and one JSON
object a line.
"""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from math import isqrt

from streamops.checkpoint.layout import batch_id, json_value, lines_of
from streamops.errors import CheckpointError
from streamops.storage import ReadableStorage

COMPACT_SUFFIX = ".compact"
DEFAULT_INTERVAL = 10
_LONGEST_INTERVAL = 2**31 - 1
_VERSION = "v1"
_VERSION_FORM = re.compile(r"v[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class IdRange:
    """Ids that follow each other, both ends included."""

    first: int
    last: int

    @property
    def count(self) -> int:
        """How many there are; never a loop, for a name may claim any number."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededLogs:
    """What a reader needs to know every entry up to one id."""

    first: int
    """The id of the compact file it begins with, or 0."""
    last: int
    missing: tuple[IdRange, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everything that is needed is there."""
        return not self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactLog:
    """The names of one such log."""

    plain: frozenset[int] = frozenset()
    compact: frozenset[int] = frozenset()
    interval: int = DEFAULT_INTERVAL
    """Every how many ids Spark compacts this log, told from its names."""
    odd: int = 0
    """Names that count as an id but that Spark never looks for: `00004`, `-1`, `+9.compact`."""
    temporaries: int = 0
    """`.5.<uuid>.tmp`: left by a crash, never read."""
    checksums: int = 0
    """`.5.crc`: Hadoop's side files."""
    foreign: int = 0

    @property
    def latest(self) -> int:
        """The newest id under the name that Spark looks for; -1 for a log without entries."""
        return max(filter(self.holds, self.plain | self.compact), default=-1)

    @property
    def newest_compact(self) -> int:
        """The newest compact file that Spark reads; -1 for none."""
        return max(filter(self.holds, self.compact), default=-1)

    def holds(self, log_id: int) -> bool:
        """Whether an id is there under the name that Spark looks for."""
        return log_id in (self.compact if self._is_compaction(log_id) else self.plain)

    def file_name(self, log_id: int) -> str:
        """The one name under which Spark looks for an id: `8`, `9.compact`."""
        return f"{log_id}{COMPACT_SUFFIX}" if self._is_compaction(log_id) else str(log_id)

    def needed_for(self, log_id: int) -> NeededLogs:
        """The latest compact file at or below an id, and every id after it; what is missing of them, in ranges."""
        # Beyond the newest id nothing tells where the next compaction would have been: all of that is missing.
        first = max(0, (min(log_id, self.latest) + 1) // self.interval * self.interval - 1)
        present = (known for known in self.plain | self.compact if first <= known <= log_id and self.holds(known))
        return NeededLogs(first=first, last=log_id, missing=gaps(present, first=first, last=log_id))

    def _is_compaction(self, log_id: int) -> bool:
        return (log_id + 1) % self.interval == 0


def compact_log(names: Iterable[str]) -> CompactLog:
    """The log behind the names in a folder."""
    plain: set[int] = set()
    compact: set[int] = set()
    odd = temporaries = checksums = foreign = 0
    for name in names:
        stem = name.removesuffix(COMPACT_SUFFIX)
        log_id = batch_id(stem)
        if log_id is not None and log_id >= 0 and stem == str(log_id):
            (plain if stem == name else compact).add(log_id)
        elif log_id is not None:
            odd += 1
        elif name.startswith(".") and name.endswith(".tmp"):
            temporaries += 1
        elif name.startswith(".") and name.endswith(".crc"):
            checksums += 1
        else:
            foreign += 1
    return CompactLog(
        plain=frozenset(plain),
        compact=frozenset(compact),
        interval=_interval(plain, compact),
        odd=odd,
        temporaries=temporaries,
        checksums=checksums,
        foreign=foreign,
    )


def compact_bytes(storage: ReadableStorage, folder: str, log: CompactLog) -> int | None:
    """The size of a log's newest compact file, which repeats everything before it; None where there is none."""
    if log.newest_compact < 0:
        return None
    details = storage.details(folder, only=[log.file_name(log.newest_compact)])
    return details[0].size if details else None


def gaps(present: Iterable[int], *, first: int, last: int) -> tuple[IdRange, ...]:
    """The ids from first to last that are not present, as ranges."""
    missing = []
    expected = first
    for known in sorted(present):
        if known > expected:
            missing.append(IdRange(first=expected, last=known - 1))
        expected = known + 1
    if expected <= last:
        missing.append(IdRange(first=expected, last=last))
    return tuple(missing)


def entry_lines(content: bytes, *, address: str) -> Sequence[str]:
    """The lines behind the version of a log of version 1; CheckpointError naming the file where Spark can't read it."""
    if not content:
        raise CheckpointError(f"{address} is empty")
    try:
        version, *lines = lines_of(content)
    except ValueError as error:
        raise CheckpointError(f"{address}: {error}") from error
    if version != _VERSION:
        reason = "needs a newer streamops" if _VERSION_FORM.fullmatch(version) else "is no version"
        raise CheckpointError(f"{address} line 1: {version[:20]!r} {reason}, supported: {_VERSION}")
    return lines


def json_object(text: str, *, place: str) -> dict[str, object]:
    """A JSON object, however hostile its text; CheckpointError naming the place."""
    try:
        value = json_value(text, is_spark_own=False)
    except ValueError as error:
        raise CheckpointError(f"{place}: cut or not JSON") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{place}: not a JSON object")
    return value


def _interval(plain: Set[int], compact: Set[int]) -> int:
    """The interval that Spark uses from its next start on.

    Spark takes the distance of the two latest compact files; with one, a divisor of its id plus one; with none, the
    conf. Names do not tell the conf, but a plain file never stands where a compact one belongs: that refutes a guess.
    """
    latest, *older = sorted(compact, reverse=True)[:2] or [-1]
    if latest >= _LONGEST_INTERVAL:
        return DEFAULT_INTERVAL
    if older:
        return latest - older[0]
    guesses = _divisors(latest + 1) if compact else [DEFAULT_INTERVAL]
    newer = [log_id for log_id in plain if log_id > latest]
    for guess in guesses:
        if not any((log_id + 1) % guess == 0 for log_id in newer):
            return guess
    return latest + 1 if compact else max(newer) + 2


def _divisors(size: int) -> list[int]:
    """What deriveCompactInterval may choose for a log whose only compact file has the id `size - 1`, smallest first."""
    # The second condition is Spark's own: it looks for a divisor only while the default is below half of the size.
    if size <= DEFAULT_INTERVAL or size // 2 <= DEFAULT_INTERVAL:
        return [size]
    small = [number for number in range(1, isqrt(size) + 1) if size % number == 0]
    return sorted(number for number in {*small, *(size // number for number in small)} if number >= DEFAULT_INTERVAL)
