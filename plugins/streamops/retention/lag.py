"""How far a stream is behind, and until when that can be made good; the same in plain lines. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.diagnosis.checkup_text import printable
from streamops.formatting import brief, left, moment
from streamops.retention import Coverage, PartitionCoverage, PartitionState
from streamops.retention.forecast import Basis, Forecast
from streamops.retention.growth import CatchUp
from streamops.retention.past import CoveragePast
from streamops.verdict import Verdict

MARGIN = timedelta(minutes=30)
"""What a person needs to see the alarm and to restart a query: a deadline nearer than that is critical."""
NOTICE = timedelta(hours=12)
"""A deadline nearer than that is a warning: nobody is to lose data over a night."""
MOST_CATCH_UP = timedelta(days=1)
"""As much of the time to catch up counts into act-by: a query that needs weeks, or never gets there, is no alarm for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLag:
    """One partition of one checkpoint."""

    checkpoint: str
    """Address; a driver's further queries have checkpoints of their own."""
    coverage: PartitionCoverage
    forecast: Forecast
    record_time: datetime | None = None
    """Of the first record that waits."""
    catch_up: timedelta = timedelta(0)
    """What act-by leaves for it, see `catch_up_share`."""

    @property
    def act_by(self) -> datetime | None:
        """When somebody must have begun to act, so that nothing is lost; None where nothing is known to be lost."""
        if self.forecast.not_before is None or self.forecast.basis is Basis.KEEPS_PACE:
            return None
        return self.forecast.not_before - MARGIN - self.catch_up


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLag:
    """One stream."""

    stream: str
    at: datetime
    verdict: Verdict
    reason: str
    rule: str = ""
    """What makes the verdict, in a word or two; empty for `ok`."""
    partitions: tuple[PartitionLag, ...] = ()
    """The nearest deadline first, lost ones before all."""
    catch_up: CatchUp | None = None
    """From a start on; None where nothing has a deadline."""
    shortfalls: tuple[str, ...] = ()
    """Topics that keep their records too short for the outage that the stream is said to tolerate."""
    past: CoveragePast | None = None
    """All looks at it, this one included; None where there was nothing to look at."""

    @property
    def lag(self) -> int | None:
        """Offsets of all partitions that are not read yet; None where one is not known."""
        return lag_of([one.coverage for one in self.partitions])

    @property
    def behind(self) -> timedelta | None:
        """How old the oldest record is that waits; None where none waits or no time is known."""
        times = [one.record_time for one in self.partitions if one.record_time]
        return max(timedelta(0), self.at - min(times)) if times else None

    @property
    def act_by(self) -> datetime | None:
        """The nearest of all partitions."""
        return min((one.act_by for one in self.partitions if one.act_by), default=None)

    @property
    def deadline(self) -> datetime | None:
        """The moment before which nothing more is deleted that is needed."""
        return min((one.forecast.not_before for one in self.partitions if one.forecast.not_before), default=None)


def unknown_lag(stream: str, reason: str, *, at: datetime) -> StreamLag:
    """A stream of which nothing could be learned."""
    return StreamLag(stream=stream, at=at, verdict=Verdict.UNKNOWN, reason=reason, rule="not-known")


def lag_of(partitions: Sequence[PartitionCoverage]) -> int | None:
    """Offsets that are not read yet; None where one partition's are not known, or where there is none."""
    lags = [one.lag for one in partitions if one.standing is not PartitionState.NEW]
    known = [lag for lag in lags if lag is not None]
    return sum(known) if known and len(known) == len(lags) else None


def catch_up_share(catch_up: CatchUp, kept: timedelta | None) -> timedelta:
    """What act-by leaves for catching up: a day at most, and half of the time `kept` that the topic keeps its records.

    More would make an alarm of each lag on a topic that keeps an hour.
    """
    most = min(MOST_CATCH_UP, kept / 2) if kept else MOST_CATCH_UP
    return most if catch_up.is_never else min(most, catch_up.duration or timedelta(0))


def needs_catching_up(forecast: Forecast) -> bool:
    """Whether the query would have to catch up first: one that reads does so already, at the pace that it has."""
    return forecast.not_before is not None and forecast.basis not in (Basis.KEEPS_PACE, Basis.HEADROOM)


def by_urgency(partitions: Sequence[PartitionLag]) -> tuple[PartitionLag, ...]:
    """Lost ones first, then what is not known, then the nearest act-by."""
    return tuple(sorted(partitions, key=_urgency))


def _urgency(one: PartitionLag) -> tuple[bool, bool, float, int, str, str, int]:
    """Those that are alike by query and number, so that each look shows them at the same place."""
    standing = one.coverage.standing
    left = one.act_by.timestamp() if one.act_by else float("inf")
    lag = -(one.coverage.lag or 0)
    place = (one.checkpoint, one.coverage.topic, one.coverage.partition)
    return (not standing.is_lossy, standing is not PartitionState.UNKNOWN, left, lag, *place)


def judged(partitions: Sequence[PartitionLag], shortfalls: Sequence[str], *, now: datetime) -> tuple[Verdict, str, str]:
    """Verdict, rule and reason; the partitions by urgency, so that the first of a kind speaks for all.

    What is lost comes before what will be, and that before what is not known: waiting makes the first two worse. A deadline
    that is hours away says less than an answer that is missing.
    """
    first = partitions[0] if partitions else None
    if first and first.coverage.standing.is_lossy:
        return Verdict.CRITICAL, f"records-{first.coverage.standing}", _place(first) + first.coverage.reason
    nearest = min((one for one in partitions if one.act_by), key=lambda one: one.act_by or now, default=None)
    if nearest and nearest.act_by and nearest.act_by <= now:
        return Verdict.CRITICAL, "act-by-over", _place(nearest) + nearest.forecast.reason
    unknown = next((one for one in partitions if one.coverage.standing is PartitionState.UNKNOWN), None)
    if unknown:
        return Verdict.UNKNOWN, "not-known", _place(unknown) + unknown.coverage.reason
    if nearest and nearest.act_by and nearest.act_by - now <= NOTICE:
        return Verdict.WARNING, "deadline-near", _place(nearest) + nearest.forecast.reason
    if edge := next((one for one in partitions if one.forecast.not_before and one.act_by is None), None):
        reason = "what it reads now is deleted within the half hour, though it gains"
        return Verdict.WARNING, "near-the-edge", f"{_place(edge)}{reason}: {edge.forecast.reason}"
    if shortfalls:
        return Verdict.WARNING, "retention-too-short", shortfalls[0]
    return Verdict.OK, "", "everything that it needs is there"


def _place(one: PartitionLag) -> str:
    return f"{one.coverage.topic}-{one.coverage.partition}: "


def partitions_of(covered: Sequence[Coverage]) -> list[PartitionCoverage]:
    """All partitions of several checkpoints."""
    return [one for coverage in covered for one in coverage.partitions]


MOST_PARTITIONS = 50
"""Lines shown of one stream; the rest is counted. `streamops lag --json` has all."""

COLUMNS = (
    "query",
    "partition",
    "standing",
    "next",
    "earliest",
    "latest",
    "lag",
    "deleted from (UTC)",
    "expected (UTC)",
    "why",
)
FIGURES = frozenset({"next", "earliest", "latest", "lag"})
"""Columns of numbers."""


def lag_lines(lag: StreamLag) -> tuple[str, ...]:
    """The whole report, as `streamops lag STREAM` shows it. Every line is printable."""
    lines = [f"{lag.stream}: {lag.verdict}: {lag.reason}", *(f"  {text}" for text in summary(lag))]
    if lag.partitions:
        lines += _aligned([COLUMNS, *map(row, lag.partitions[:MOST_PARTITIONS])])
    return tuple(printable(line) for line in (*lines, *([rest(lag)] if rest(lag) else [])))


def summary(lag: StreamLag) -> Iterator[str]:
    """What is to be said of all partitions together, beside the verdict."""
    if lag.lag is not None:
        behind = f", the oldest is {brief(lag.behind)} old" if lag.behind is not None else ""
        yield f"{lag.lag} offsets are not read yet{behind}"
    if lag.deadline and lag.act_by:
        when = left(lag.deadline, lag.at)
        yield (
            f"the first record that waits may be deleted from {moment(lag.deadline)} UTC on"
            f" ({'in ' if lag.deadline > lag.at else ''}{when}): act by {moment(lag.act_by)} UTC"
        )
    if lag.catch_up and (told := _caught_up(lag.catch_up)):
        yield told
    yield from lag.shortfalls


def row(one: PartitionLag) -> tuple[str, ...]:
    """One partition, a text for each column; the query by the last part of its checkpoint's address."""
    coverage, foretold = one.coverage, one.forecast
    figures = (coverage.start, coverage.earliest, coverage.latest, coverage.lag)
    return (
        one.checkpoint.rstrip("/").rpartition("/")[2],
        f"{coverage.topic}-{coverage.partition}",
        str(coverage.standing),
        *("" if figure is None else str(figure) for figure in figures),
        "" if foretold.not_before is None else moment(foretold.not_before),
        "" if foretold.expected is None else moment(foretold.expected),
        _why(one),
    )


def rest(lag: StreamLag) -> str:
    """What the rows left out; empty where they are all."""
    hidden = len(lag.partitions) - MOST_PARTITIONS
    return f"  … and {hidden} partitions that are less urgent (--json shows all)" if hidden > 0 else ""


def _caught_up(caught: CatchUp) -> str:
    """Empty where it is not known."""
    if caught.duration:
        return f"once it is started it takes {brief(caught.duration)} to catch up: {caught.reason}"
    return caught.reason if caught.is_never else ""


def _why(one: PartitionLag) -> str:
    if one.coverage.standing is not PartitionState.COVERED:
        return one.coverage.reason
    return "" if one.forecast.basis in (Basis.TIME, Basis.NOTHING_TO_LOSE) else one.forecast.reason


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        padded = (
            cell.rjust(width) if name in FIGURES else cell.ljust(width)
            for name, cell, width in zip(COLUMNS, cells, widths, strict=True)
        )
        yield "  ".join(padded).rstrip()
