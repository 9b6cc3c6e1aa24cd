"""The last hours of a stream in five sentences: where it stands, its drivers, its batches, what people did, its data. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.control.records import Claimed, DriverEnded, Record, Submitted
from streamops.failures.classify import cause_of
from streamops.formatting import brief, counted, moment
from streamops.operations.act_effects import unsafe_start_text
from streamops.operations.history import Entries, HistoryEntry, tell
from streamops.status import AS_WANTED, GETTING_ON, Phase, StreamStatus
from streamops.verdict import DatedVerdict, Verdict

SHOWN_ACTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A time without a driver."""

    since: datetime
    until: datetime

    @property
    def length(self) -> timedelta:
        """Nothing where the clocks of two hosts say less."""
        return max(timedelta(0), self.until - self.since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What whoever is called at night asks first."""

    stream: str
    since: datetime
    until: datetime
    sentences: tuple[str, ...]
    drivers_started: int
    ends: tuple[tuple[str, int], ...]
    """How drivers ended, and how often, the most frequent first."""
    first_batch: int | None
    """The first batch committed in that time; None where none was, or the records do not tell."""
    last_batch: int | None
    gaps: tuple[Gap, ...]
    """Times without a driver, also those that somebody asked for."""
    unreadable_records: int


def explain(status: StreamStatus, records: Entries, *, now: datetime, window: timedelta) -> Explanation:
    """`records`: of the control log, oldest first, those of the window and as many before it as tell of the driver then."""
    since = now - window
    known = [record for record in records if isinstance(record, Record)]
    inside = [record for record in known if record.at >= since]
    ends = _ends(inside)
    first, last = _batches(status, known, since)
    gaps = tuple(_gaps(status, known, since=since, now=now))
    started = sum(isinstance(record.body, Submitted) for record in inside)
    acts = [entry for entry in tell(records) if entry.is_act and entry.at and entry.at >= since]
    hours = brief(window)
    told = (
        (_drivers(started, ends, inside, hours), _progress(status, first, last, gaps), _acts(acts, hours))
        if status.is_read
        else ("What happened to it is not known: its control log or checkpoint can't be read.",)
    )
    return Explanation(
        stream=status.stream,
        since=since,
        until=now,
        sentences=(_standing(status, now), *told, _data(status, now)),
        drivers_started=started,
        ends=ends,
        first_batch=first,
        last_batch=last,
        gaps=gaps,
        unreadable_records=len(records) - len(known),
    )


def _standing(status: StreamStatus, now: datetime) -> str:
    if status.phase is Phase.RUNNING and not status.needs_attention:
        since = f" since {_time(status.claimed_at, now)}" if status.claimed_at else ""
        batch = f", its newest batch is {status.batch}" if status.batch is not None and status.batch >= 0 else ""
        return f"{status.stream} runs: epoch {status.epoch}{since}{batch}."
    why = "; ".join(dict.fromkeys(text for text in (status.reason, status.unattended, status.dag_trouble) if text))
    needs = "" if status.phase in AS_WANTED and not status.needs_attention else _needs(status)
    return f"{status.stream} is {status.phase}: {why}{needs}."


def _needs(status: StreamStatus) -> str:
    return "; it needs a person" if status.needs_attention else "; it needs nobody yet"


def _ends(inside: Sequence[Record]) -> tuple[tuple[str, int], ...]:
    counted = Counter(
        record.body.failure_class or str(record.body.outcome)
        for record in inside
        if isinstance(record.body, DriverEnded)
    )
    return tuple(counted.most_common())


def _drivers(started: int, ends: tuple[tuple[str, int], ...], inside: Sequence[Record], hours: str) -> str:
    if not started and not ends:
        return f"No driver was started or ended in the last {hours}."
    told = f"In the last {hours} {counted(started, 'driver')} {'was' if started == 1 else 'were'} started"
    if not ends:
        return f"{told} and none ended."
    how = ", ".join(f"{number} {kind}" for kind, number in ends)
    failed = [record.body for record in inside if isinstance(record.body, DriverEnded) and record.body.failure_class]
    causes = [cause_of(body.outcome, body.text, body.error_classes) for body in failed]
    cause = next((text for text in reversed(causes) if text), "")
    return f"{told} and {sum(number for _, number in ends)} ended: {how}{f'; the newest failure: {cause}' if cause else ''}."


def _batches(status: StreamStatus, known: Sequence[Record], since: datetime) -> tuple[int | None, int | None]:
    """The first and the last batch committed behind the newest place on record before the window, or else the first in it."""
    places = [
        (record.at, record.body.position.commit)
        for record in known
        if isinstance(record.body, Claimed | DriverEnded) and record.body.position is not None
    ]
    if not places or status.batch is None:
        return None, None
    begin = next((commit for at, commit in reversed(places) if at < since), places[0][1])
    return (begin + 1, status.batch) if status.batch > begin else (None, None)


def _gaps(status: StreamStatus, known: Sequence[Record], *, since: datetime, now: datetime) -> Iterator[Gap]:
    """From each end to the next submit; the last one lasts where no driver lives. Rests of a scheduled stream are none."""
    if status.phase in (Phase.IDLE, Phase.NEW):
        return
    is_seen = any(isinstance(record.body, DriverEnded | Submitted) for record in known)
    ended = None if is_seen or status.phase in GETTING_ON else since
    for record in known:
        if isinstance(record.body, DriverEnded):
            ended = ended or record.at
        elif isinstance(record.body, Submitted) and ended:
            if record.at > since:
                yield Gap(since=max(ended, since), until=record.at)
            ended = None
    if ended and status.phase not in GETTING_ON:
        yield Gap(since=max(ended, since), until=now)


def _progress(status: StreamStatus, first: int | None, last: int | None, gaps: tuple[Gap, ...]) -> str:
    if first is not None and last is not None:
        told = f"It got from batch {first} to {last}"
    elif status.batch is not None and status.batch >= 0:
        told = f"Its newest batch is {status.batch}"
    else:
        told = "It has committed no batch that is known"
    if not gaps:
        return f"{told}, and a driver was there all the time." if status.phase in GETTING_ON else f"{told}."
    longest = max(gaps, key=lambda gap: gap.length)
    whole = sum((gap.length for gap in gaps), timedelta(0))
    again = f", the longest time {brief(longest.length)}" if len(gaps) > 1 else ""
    return f"{told}, and had no driver for {brief(whole)}{again} from {longest.since:%H:%M:%S} UTC."


def _acts(acts: Sequence[HistoryEntry], hours: str) -> str:
    if not acts:
        return f"Nobody asked for anything in the last {hours}."
    shown = "; ".join(f"{one.what} by {one.actor} at {one.at:%H:%M:%S} UTC ({one.why})" for one in acts[-SHOWN_ACTS:])
    more = f" and {len(acts) - SHOWN_ACTS} more before" if len(acts) > SHOWN_ACTS else ""
    return f"Asked for: {shown}{more}."


def _data(status: StreamStatus, now: datetime) -> str:
    parts = [f"an unsafe start is not acknowledged, {unsafe_start_text(one)}" for one in status.unsafe_starts]
    parts += [
        _verdict(what, verdict, now, command=f"streamops {command} {status.stream}")
        for what, verdict, command in (
            ("its checkpoint", status.checkpoint, "check"),
            ("what Kafka keeps for it", status.retention, "lag"),
        )
        if verdict
    ]
    if not parts:
        return "Its checkpoint and what Kafka keeps for it were not judged."
    told = "; ".join(parts)
    return f"{told[0].upper()}{told[1:]}."


def _verdict(what: str, verdict: DatedVerdict, now: datetime, *, command: str) -> str:
    """With the command that tells the rest, and the repair, where not all is well."""
    age = f"{brief(max(timedelta(0), now - verdict.at))} ago"
    if verdict.verdict is Verdict.OK:
        return f"{what} is ok ({age})"
    return f"{what} is {verdict.verdict} ({age}): {verdict.reason or 'no reason is known'}, see `{command}`"


def _time(at: datetime, now: datetime) -> str:
    return f"{moment(at)} UTC ({brief(max(timedelta(0), now - at))})"
