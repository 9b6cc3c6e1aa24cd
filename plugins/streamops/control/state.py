"""What is known of one checkpoint from its log: plain values, and what follows from them at once."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from streamops.control.records import Author, Claimed, ClaimMode, DriverEnded, Outcome, Position, Submitted, TopicSeen

MAX_FAILURES_KEPT = 1000
"""Enough for any budget an hour; the rest is in the log for whoever asks."""

UNSAFE_STARTS_KEPT = 20
"""Nobody reads more of them; all are in the log."""

CLASSES_IN_ACCOUNT = 5
"""Error classes kept of each of them; all are in the record of the end."""


class Desire(StrEnum):
    """What the stream is meant to do."""

    RUNNING = "running"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Who did something, when and why."""

    at: datetime
    by: Author
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """One claim and what became of it."""

    claim: Claimed
    claimed: Note
    record: int
    """Number of the claim's record: where the driver begins to read."""
    submission: Submitted | None = None
    submitted: Note | None = None
    kill: Note | None = None
    """Who began to kill the driver, and why."""
    foreign_batch: int | None = None
    """The batch of somebody else that it is killed for: neither that one nor any behind it is its own."""
    end: DriverEnded | None = None
    ended: Note | None = None

    @property
    def number(self) -> int:
        """The epoch's number, 1, 2, 3 …"""
        return self.claim.epoch

    @property
    def is_open(self) -> bool:
        """Whether a driver of this epoch may still live: nobody has proven its end."""
        return self.end is None

    @property
    def has_progressed(self) -> bool:
        """Whether batches were committed between the claim and the proven end."""
        return self.end is not None and self.end.position.commit > self.claim.position.commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An end that counts, against the restart budget or in a row."""

    epoch: int
    at: datetime
    outcome: Outcome
    has_progressed: bool
    error_classes: tuple[str, ...]
    failure_class: str = ""
    remedy: str = ""
    record: int = 0
    """Number of the record that says so."""
    ran_seconds: float = 0.0
    """From submit to the last thing that the driver wrote; never negative, 0 where it wrote nothing.

    The record of the end may be much younger: a supervisor that was away must not make a crash loop look healthy.
    """

    @property
    def ran(self) -> timedelta:
        """How long the driver lived."""
        return timedelta(seconds=self.ran_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsafeStart:
    """A start that was made although its plan was not safe, by a person's word."""

    epoch: int
    at: datetime
    foretold: str
    """What its plan said."""
    given_up: int
    """Offsets of Kafka that it passed over: at most so many records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """Until then the live query yields."""

    until: datetime
    note: Note
    record: int = 0
    """Number of the record that says so."""
    run: ClaimMode | None = None
    """What is run meanwhile; None for nothing."""
    estimated_seconds: float | None = None
    is_once: bool = False
    """Whether it is made with the trigger `once`, whatever the stream declares."""

    def is_time_of(self, epoch: Epoch | None) -> bool:
        """Whether the epoch was claimed for the run of this maintenance."""
        return epoch is not None and epoch.claim.mode is self.run and epoch.record > self.record


@dataclass(frozen=True, slots=True, kw_only=True)
class EndWish:
    """Somebody wants the newest driver to end: for good, for a while, or to make room for another."""

    note: Note
    force: bool = False
    is_stuck: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """What the log says about one checkpoint."""

    next_number: int = 0
    last_nonce: str = ""
    """Of the last record: a log that was deleted and begun anew has another there."""
    stream: str = ""
    newest: Epoch | None = None
    older_open: tuple[Epoch, ...] = ()
    """Epochs below the newest whose end nobody has proven."""
    desire: Desire = Desire.RUNNING
    desired: Note | None = None
    is_stop_forced: bool = False
    """Whether whoever asked for the standstill wants no grace for the driver."""
    replacement: EndWish | None = None
    """Asked for and not yet done: the next claim does it, and where no driver lives it does not wait."""
    epochs_seen: int = 0
    """The highest epoch that an adoption found traces of."""
    parked: Note | None = None
    maintenance: Maintenance | None = None
    failures: tuple[Failure, ...] = ()
    """Since the last release, oldest first, at most MAX_FAILURES_KEPT."""
    unasked_ends: tuple[Failure, ...] = ()
    """In a row: ends that are no failures, that nobody asked for, and that brought no batch."""
    position: Position | None = None
    """The checkpoint as it stood at the newest record that says."""
    accepts_unsafe: bool = False
    """Whether a person's release lets the next start pass although its plan is not safe."""
    accepts_expired: bool = False
    """Whether the newest release that accepted anything accepted that expired records are passed over."""
    carried_acceptance: bool = False
    """Whether the newest claim carries such a release on and no driver of it ever was.

    It was given for the checkpoint as that claim found it: whatever somebody has written since is not covered.
    """
    unsafe_starts: tuple[UnsafeStart, ...] = ()
    """Those that nobody has acknowledged yet, oldest first, at most UNSAFE_STARTS_KEPT."""
    verdict: str = ""
    """Of the last health check that found the checkpoint otherwise than the one before; empty where none is on record."""
    topics: tuple[TopicSeen, ...] = ()
    """Which topics the query reads, by name, as starts found them: see `topics_after`."""
    unknown_records: int = 0
    contradictions: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is no log."""
        return self.next_number == 0

    @property
    def passes_over_expired(self) -> bool:
        """Whether the next driver would pass over what Kafka has deleted, by a person's word."""
        return self.accepts_expired and (self.accepts_unsafe or self.carried_acceptance)

    @property
    def open_epochs(self) -> tuple[Epoch, ...]:
        """Epochs whose driver may still live, the newest last."""
        newest = (self.newest,) if self.newest and self.newest.is_open else ()
        return self.older_open + newest

    @property
    def end_wish(self) -> EndWish | None:
        """Who wants the newest driver to end, if anybody: for good, for another driver, or for a while."""
        if self.desire is Desire.STOPPED and self.desired:
            return EndWish(note=self.desired, force=self.is_stop_forced)
        if self.replacement:
            return self.replacement
        if self.maintenance is None or self.maintenance.is_time_of(self.newest):
            return None
        return EndWish(note=self.maintenance.note)

    @property
    def next_epoch(self) -> int:
        """The number of the next claim."""
        return max(self.newest.number if self.newest else 0, self.epochs_seen) + 1
