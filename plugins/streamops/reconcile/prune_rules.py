"""Which logs and traces of ended drivers may go, and why the others stay. Pure.

Nothing of it is needed to decide who may write: that is the control log's, which nobody prunes. Two things lean on the
folders of drivers all the same: the highest epoch that left one tells a log that was lost or put back (`epochs_ahead`),
and a driver that may live writes into its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from streamops.control.state import LogState
from streamops.spec import Keep

YOUNGEST = timedelta(hours=1)
"""What was written since stays whatever a stream keeps: somebody may be reading it, or a clock may be off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """What the drivers of one epoch have left, by name: the log and its older piece, a folder for each instance."""

    epoch: int
    logs: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    is_dated: bool = False
    """Whether anybody has looked at its files."""
    written_at: datetime | None = None
    """The newest of them; None where there is none."""
    size: int = 0
    """Bytes of all of them."""
    trouble: str = ""
    """Why they can't be looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLeftovers:
    """One stream: what lies there, and what the control log says of it."""

    stream: str
    state: LogState = field(default_factory=LogState)
    found: tuple[Leftover, ...] = ()
    """By epoch, oldest first."""
    living: frozenset[int] = frozenset()
    """Epochs of drivers that live on this host, or that write one of these logs, whatever the control log says."""

    @property
    def newest(self) -> int:
        """The newest claim; 0 for none."""
        return self.state.newest.number if self.state.newest else 0

    @property
    def highest_folder(self) -> int:
        """The highest epoch of which a driver ever left a folder; 0 for none."""
        return max((leftover.epoch for leftover in self.found if leftover.folders), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneDecision:
    """What becomes of one epoch's leftovers."""

    leftover: Leftover
    stays: str = ""
    """Why it stays; empty for what may go."""


def may_go(facts: StreamLeftovers, keep: Keep, *, now: datetime) -> tuple[Leftover, ...]:
    """What may be deleted, the oldest epoch first."""
    return tuple(fate.leftover for fate in fates(facts, keep, now=now) if not fate.stays)


def to_date(facts: StreamLeftovers, keep: Keep) -> tuple[Leftover, ...]:
    """What only its age can keep, the oldest epoch first: the files worth a look."""
    return tuple(fate.leftover for fate in _by_number(facts, keep) if not fate.stays)


def fates(facts: StreamLeftovers, keep: Keep, *, now: datetime) -> tuple[PruneDecision, ...]:
    """Each epoch that left something, with the reason why it stays, if it does; its number comes before its age."""
    written = dict(_written(facts, now))
    return tuple(
        fate
        if fate.stays
        else PruneDecision(leftover=fate.leftover, stays=_is_young(fate.leftover, written, keep, now))
        for fate in _by_number(facts, keep)
    )


def _by_number(facts: StreamLeftovers, keep: Keep) -> Iterator[PruneDecision]:
    """First what speaks for the whole stream: without a log that can be trusted nobody knows who lives. Then who may live,
    then what the log leans on, and last what people want to read.

    Logs of a stream that had another checkpoint before may bear numbers above the newest claim: they are none of the last.
    """
    whole, highest, open_epochs = _why_all_stay(facts), facts.highest_folder, _open(facts)
    last = {leftover.epoch for leftover in [one for one in facts.found if one.epoch <= facts.newest][-keep.epochs :]}
    for leftover in facts.found:
        stays = whole or _may_live(leftover.epoch, facts, open_epochs)
        if not stays and leftover.epoch == highest:
            stays = "the highest epoch with a folder: it tells a control log that was lost"
        if not stays and leftover.epoch in last:
            stays = f"one of the last {keep.epochs} epochs"
        yield PruneDecision(leftover=leftover, stays=stays)


def _open(facts: StreamLeftovers) -> frozenset[int]:
    return frozenset(epoch.number for epoch in facts.state.open_epochs)


def _why_all_stay(facts: StreamLeftovers) -> str:
    state = facts.state
    if state.newest is None:
        return "no claim is on record"
    if state.stream != facts.stream:
        return f"the control log belongs to stream {state.stream}"
    if facts.highest_folder >= state.next_epoch:
        return f"drivers up to epoch {facts.highest_folder} left traces that the control log knows nothing of"
    return ""


def _may_live(epoch: int, facts: StreamLeftovers, open_epochs: frozenset[int]) -> str:
    """An end is proven on record or not at all; of epochs below an adoption this log has no record."""
    if epoch > facts.newest:
        return "newer than every claim on record"
    if epoch == facts.newest:
        return "the newest epoch"
    if epoch in open_epochs:
        return "its end is not on record"
    if epoch <= facts.state.epochs_seen:
        return "from before the log was adopted: its end is not on record"
    return "a driver of it lives" if epoch in facts.living else ""


def _is_young(leftover: Leftover, written: dict[int, datetime | None], keep: Keep, now: datetime) -> str:
    if leftover.trouble:
        return f"can't be looked at: {leftover.trouble}"
    if not leftover.is_dated:
        return "nobody has looked how old it is"
    written_at = written[leftover.epoch]
    if written_at and now - written_at <= max(timedelta(days=keep.days), YOUNGEST):
        return f"written at {written_at:%Y-%m-%d %H:%M} UTC, and {keep.days} days are kept"
    return ""


def _written(facts: StreamLeftovers, now: datetime) -> Iterator[tuple[int, datetime | None]]:
    """When each was written last. A stamp from the future says nothing: the next later epoch's is an upper bound then, and
    now where there is none. An epoch that left no file was written at no time."""
    bound = now
    for leftover in reversed(facts.found):
        written_at = leftover.written_at
        if written_at and written_at > now:
            written_at = bound
        elif written_at:
            bound = written_at
        yield leftover.epoch, written_at
