"""A range as it is asked for, as people write it, and the two answers to it."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.control.backfill_plan import Counted, Place
from streamops.control.kafka_offsets import Offsets, offsets_between
from streamops.control.records import TopicSeen
from streamops.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBound:
    """A moment, the same for all partitions. Raises ValueError without a time zone."""

    at: datetime

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError(f"{self.at.isoformat()} has no time zone")

    def __str__(self) -> str:
        return self.at.isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetBound:
    """A place in each of some partitions; others take no part."""

    offsets: Offsets

    def __str__(self) -> str:
        return self.offsets.kafka_json()


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionBound:
    """A version of a Delta table, which belongs to the range at either end."""

    version: int

    def __post_init__(self) -> None:
        if self.version < 0:
            raise ValueError(f"{self.version} is no version of a table")

    def __str__(self) -> str:
        return f"v{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternBound:
    """Files by their paths below the source's folder: the whole range, so both ends are the same one."""

    pattern: str
    """With `*`, `?` and `[…]` within each part of the path."""

    def __post_init__(self) -> None:
        parts = self.pattern.split("/")
        if not all(parts) or ".." in parts or "." in parts:
            raise ValueError(f"{self.pattern!r} is no path below a folder")

    def __str__(self) -> str:
        return f"files:{self.pattern}"


Bound = TimeBound | OffsetBound | VersionBound | PatternBound


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedRange:
    """From a bound on, up to but without another. Raises ValueError for a negative slack."""

    begin: Bound
    end: Bound
    slack: timedelta = timedelta(0)
    """How much later than a younger record one may have come that still counts; for an end in time only."""

    def __post_init__(self) -> None:
        if self.slack < timedelta(0):
            raise ValueError("the slack must not be negative")

    def __str__(self) -> str:
        slack = f", {self.slack} late" if self.slack else ""
        return f"from {self.begin} to {self.end}{slack}"

    @property
    def begin_lookup(self) -> datetime | None:
        """The moment of which the cluster must be asked for the begin; None where offsets are given."""
        return self.begin.at if isinstance(self.begin, TimeBound) else None

    @property
    def end_lookup(self) -> datetime | None:
        """As `begin_lookup`, for the end."""
        return self.end.at + self.slack if isinstance(self.end, TimeBound) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """What of a partition was asked for and is deleted already."""

    topic: str
    partition: int
    first: int | None
    """None where a time was asked for: of what is deleted nobody can tell how old it was."""
    end: int

    @property
    def offsets(self) -> int | None:
        """How many; None where nobody can tell."""
        return None if self.first is None else self.end - self.first

    def __str__(self) -> str:
        """`orders-0 [500, 800): 300`"""
        if self.first is None:
            return f"{self.topic}-{self.partition}: what was before {self.end}, as far as it belonged to the range"
        return f"{self.topic}-{self.partition} [{self.first}, {self.end}): {self.offsets}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredVersions:
    """Versions of a Delta table that were asked for and can't be read any more."""

    table: str
    first: int
    last: int
    what: str
    """What of them is gone."""

    def __str__(self) -> str:
        which = f"version {self.first}" if self.first == self.last else f"versions {self.first} to {self.last}"
        return f"{self.table} {which}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredFile:
    """A file that belongs to the range and can't be read as it was any more."""

    address: str
    what: str
    """What has become of it."""

    def __str__(self) -> str:
        return f"{self.address}: {self.what}"


Missing = Expired | ExpiredVersions | ExpiredFile


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsFound:
    """The range in steps, of whatever source it is."""

    start: Place
    chunks: tuple[Place, ...]
    counted_in: Counted
    not_before: datetime | None = None
    before: datetime | None = None
    expired: tuple[Missing, ...] = ()
    """What is missing, by a person's leave."""
    notes: tuple[str, ...] = ()
    topics: tuple[TopicSeen, ...] = ()
    """Of a range in topics, as far as the cluster tells which they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeFound:
    """The range in offsets; partitions in which nothing belongs to it are left out."""

    start: Offsets
    end: Offsets
    not_before: datetime | None = None
    before: datetime | None = None
    expired: tuple[Expired, ...] = ()
    """What is missing, by a person's leave."""
    notes: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """Offsets in the range: at most so many records."""
        return offsets_between(self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeRefused:
    """Why the range can't be read as it was asked for."""

    reasons: tuple[str, ...]
    way_out: str
    expired: tuple[Missing, ...] = ()


EXPECTED = (
    """a time with its zone such as 2026-11-28T14:00+01:00, offsets such as '{"orders":{"0":100,"1":90}}', a version of a Delta"""
    """ table such as v12, or files of a folder such as 'files:2026/11/*.json'"""
)
FILES = "files:"
_VERSION = re.compile(r"v(\d{1,18})", re.ASCII)


def range_of(begin: str, end: str, *, slack: timedelta) -> RequestedRange:
    """From two texts, the second of which may be left out for files. SettingsError for what is no end of a range.

    ValueError for a negative slack.
    """
    if begin.startswith(FILES) and not end:
        end = begin
    return RequestedRange(begin=_bound(begin, "from"), end=_bound(end, "to"), slack=slack)


def _bound(text: str, name: str) -> Bound:
    """A time with zone, offsets as Spark's Kafka source writes them, a version, or files by a pattern."""
    try:
        if text.lstrip().startswith("{"):
            return OffsetBound(offsets=Offsets.from_kafka(text))
        if version := _VERSION.fullmatch(text.strip()):
            return VersionBound(version=int(version[1]))
        if text.startswith(FILES):
            return PatternBound(pattern=text.removeprefix(FILES))
        return TimeBound(at=datetime.fromisoformat(text.strip()))
    except ValueError as error:
        raise SettingsError(f"{name}: found {text!r}, expected {EXPECTED} ({error})") from error
