"""Whether somebody outside of streamops may still run the query of a checkpoint that a driver of ours is to take over.

Signs, from strong to weak: a process of this host that names the checkpoint; a batch that was planned, never committed, and
not by a driver of ours; a checkpoint that has moved since ours ended; a driver of ours that met another writer. The
restart of our own dead driver needs none of this: what it left is on record as its own.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from streamops.checkpoint.batch_times import read_batch_times
from streamops.checkpoint.facts import CheckpointFacts
from streamops.clock import Clock
from streamops.control.state import LogState
from streamops.errors import ControlLogError, StorageError
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.launch.outsiders import Outsider
from streamops.spec import StreamSpec
from streamops.storage import ReadableStorage
from streamops.storage.address import local_path

T = TypeVar("T")

FindOutsiders = Callable[[str], tuple[Outsider, ...]]
"""From the path of a checkpoint on this host to processes that seem to run a query on it."""

Watching = Callable[[str, timedelta], AbstractContextManager[Callable[[timedelta], None]]]
"""How a watch is shown: what is watched and for how long at most; it is told how much of the time has passed."""

MARGIN = 1.5
"""Batches vary: one may take so much longer than the slowest that is known."""

POLL = timedelta(seconds=2)

CONSEQUENCE = "if one does, both write: rows are doubled, and either may fail"


def unseen(text: str, total: timedelta) -> AbstractContextManager[Callable[[timedelta], None]]:
    """A watch that nobody is shown."""
    return nullcontext(lambda passed: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What tells of somebody else, in what a start would take over."""

    outsiders: tuple[Outsider, ...] = ()
    foreign_plan: int | None = None
    """A batch without a commit that no driver of ours planned; None for none."""
    has_moved: bool = False
    """Whether the checkpoint has moved since our last driver ended."""
    has_met_another: bool = False
    """Whether our last driver ended because it met another writer."""
    slowest: timedelta | None = None
    """The slowest of the last batches, by the times of their files; None where none is known."""

    @property
    def in_words(self) -> tuple[str, ...]:
        """The signs that a watch can answer."""
        told = (
            (self.foreign_plan is not None, f"batch {self.foreign_plan} is planned and not committed, not by us"),
            (self.has_moved, "the checkpoint has moved since our last driver ended"),
            (self.has_met_another, "our last driver met another writer"),
        )
        return tuple(words for is_so, words in told if is_so)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """What has to come before a driver of ours may be started on the checkpoint."""

    watch: timedelta = timedelta(0)
    """For so long nothing of the checkpoint may move."""
    because: str = ""
    """Why it is watched for so long; empty where there is no sign of anybody."""
    refusal: str = ""
    """Why no watch is enough; empty where one is, or none is needed."""


def read_signs(
    spec: StreamSpec,
    state: LogState,
    facts: CheckpointFacts,
    *,
    storage: ReadableStorage,
    find_outsiders: FindOutsiders,
) -> Signs:
    """The signs now, while no driver of ours lives. StorageError where the checkpoint can't be asked."""
    known, end = state.position, state.newest.end if state.newest else None
    is_ours = known is not None and facts.last_offset <= known.offset
    path = local_path(spec.checkpoint)
    return Signs(
        outsiders=find_outsiders(path) if path else (),
        foreign_plan=facts.last_offset if facts.has_pending_batch and not is_ours else None,
        has_moved=known is not None and (facts.last_offset > known.offset or facts.last_commit > known.commit),
        has_met_another=end is not None
        and end.failure_class == FailureClass.CONCURRENT_WRITER
        and end.remedy == Remedy.NEVER,  # What may be healed is a conflict about the table alone.
        slowest=max(read_batch_times(storage, facts).durations, default=None),
    )


def judge_hand_over(signs: Signs, *, at_least: timedelta, is_vouched: bool, vouch: str) -> HandOver:
    """How long to watch, or why that is not enough. Pure.

    `at_least`: what the act watches in any case. `is_vouched`: a person says that nobody else runs the query; `vouch` is how
    they say so.
    """
    if is_vouched:
        return HandOver(watch=at_least)
    way_out = (
        f"Stop it, and what starts it again (its unit, its cron entry). Where no program runs this query: `{vouch}`"
    )
    if signs.outsiders:
        told = "; ".join(outsider.in_words for outsider in signs.outsiders)
        return HandOver(refusal=f"somebody else seems to run this query: {told}. {way_out}: {CONSEQUENCE}")
    if not signs.in_words:
        return HandOver(watch=at_least)
    why = ", ".join(signs.in_words)
    if signs.slowest is None:
        return HandOver(
            refusal=f"somebody else may run this query: {why}, and no committed batch tells how long one takes."
            f" {way_out}: {CONSEQUENCE}"
        )
    watch = max(at_least, signs.slowest * MARGIN)
    return HandOver(watch=watch, because=f"{why}; the slowest batch known took {signs.slowest.total_seconds():.0f} s")


def watch_still(
    what: str,
    read: Callable[[], T],
    duration: timedelta,
    *,
    clock: Clock,
    watching: Watching,
    refuse: Callable[[T, T], ControlLogError],
) -> None:
    """Let that time pass; raises what `refuse` makes of before and after, as soon as what is read is no longer the same.

    A moment without an answer is passed over, but for the first and the last: StorageError.
    """
    if duration <= timedelta(0):
        return
    before, begun = read(), clock.monotonic()

    def look() -> None:
        after = read()
        if after != before:
            raise refuse(before, after)

    with watching(f"watching {what} for {duration.total_seconds():.0f} s", duration) as tell:
        while (passed := clock.monotonic() - begun) < duration:
            tell(passed)
            clock.sleep(min(POLL, duration - passed))
            with suppress(StorageError):
                look()
    look()
