"""What a reconciler finds, in words for whoever is on call, and since when it has been known.

A reconciler that runs every minute finds the same thing every minute; the book tells news from what is known. It also
keeps what Airflow said about DAGs that keep nothing running, so that a report from outside Airflow tells it too.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum

from streamops.control import codec
from streamops.errors import CorruptRecordError, ObjectNotFoundError, StorageError
from streamops.launch import FoundDriver
from streamops.reconcile.facts import StreamFacts, StreamTask
from streamops.storage import FileKind, Storage, join, read_file, write_file


class ReconcileSeverity(IntEnum):
    """How bad a finding is; a higher one is worse."""

    OK = 0
    WARNING = 1
    UNKNOWN = 2
    CRITICAL = 3


class FindingKind(StrEnum):
    """What is not as it should be."""

    TWO_LIVE_EPOCHS = "two-live-epochs"
    ORPHAN_DRIVER = "orphan-driver"
    LOST_DRIVER = "lost-driver"
    """It ended, and nobody starts another."""
    OVERDUE = "overdue"
    """Somebody signs for it, but what is due is not done."""
    WAITING = "waiting"
    """It does not run, and its wait does not end by itself."""
    UNATTENDED = "unattended"
    PAUSED_DAG = "paused-dag"
    MISSING_DAG = "missing-dag"
    LEFT_SETTINGS = "left-settings"
    WRONG_SETTINGS = "wrong-settings"
    LEFT_BACKFILL = "left-backfill"
    """A backfill that is to run, and that nobody carries on."""
    PARKED = "parked"
    BLOCKED = "blocked"
    CHECKPOINT = "checkpoint"
    """The newest verdict on its checkpoint is not ok."""
    RETENTION = "retention"
    """The newest verdict on what Kafka keeps for it is not ok."""
    UNSAFE_START = "unsafe-start"
    """One was made by a person's word, and nobody has acknowledged it yet."""
    UNREADABLE = "unreadable"


_VERDICTS = frozenset({FindingKind.CHECKPOINT, FindingKind.RETENTION})


class ReconcileRemedy(StrEnum):
    """What the reconciler itself may do about a finding."""

    NONE = "none"
    KILL_ORPHANS = "kill-orphans"
    SETTLE = "settle"
    """Take the supervisor's place for one turn, as far as `repair.mandate` goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileFinding:
    """One difference between what is declared and what is."""

    kind: FindingKind
    severity: ReconcileSeverity
    stream: str
    """Empty where it is nobody's."""
    checkpoint: str = ""
    evidence: str
    meaning: str
    repair: str
    """What a person can do."""
    is_repaired: bool = False
    done: str = ""
    """What the reconciler did about it, or why it could not."""
    since: datetime | None = None
    """When a reconciler that keeps book saw it first; None for a new one."""
    remedy: ReconcileRemedy = ReconcileRemedy.NONE
    drivers: tuple[FoundDriver, ...] = ()
    """Whom KILL_ORPHANS is about."""

    @property
    def is_new(self) -> bool:
        """Whether no reconciler has told it before."""
        return self.since is None

    @property
    def key(self) -> str:
        """What makes it the same finding a minute later: which driver or sign is at fault may change, the matter not.

        A verdict that gets worse is news.
        """
        is_worse = self.kind in _VERDICTS and self.severity is ReconcileSeverity.CRITICAL
        return f"{self.kind} {self.stream}{' critical' if is_worse else ''}".strip()


def worst(findings: tuple[ReconcileFinding, ...]) -> ReconcileSeverity:
    """How bad it is altogether, what was repaired left out."""
    return max((finding.severity for finding in findings if not finding.is_repaired), default=ReconcileSeverity.OK)


def finding_of(
    facts: StreamFacts,
    kind: FindingKind,
    severity: ReconcileSeverity,
    *,
    evidence: str,
    meaning: str,
    repair: str,
    remedy: ReconcileRemedy = ReconcileRemedy.NONE,
    drivers: tuple[FoundDriver, ...] = (),
) -> ReconcileFinding:
    """A finding about one stream."""
    return ReconcileFinding(
        kind=kind,
        severity=severity,
        stream=facts.stream,
        checkpoint=facts.checkpoint,
        evidence=evidence,
        meaning=meaning,
        repair=repair,
        remedy=remedy,
        drivers=drivers,
    )


def told(finding: ReconcileFinding) -> str:
    """A finding as one line of text: what, why it matters, what was done, what is left to do."""
    whose = f"{finding.stream}: " if finding.stream else ""
    parts = [f"{whose}{finding.kind}: {finding.evidence}", finding.meaning]
    if finding.done:
        parts.append(f"done: {finding.done}")
    if not finding.is_repaired:
        parts.append(f"repair: {finding.repair}")
    return " · ".join(parts)


log = logging.getLogger(__name__)


TOLD_FOR = timedelta(minutes=3)
"""How long the word of an orchestrator counts: it is asked every minute, and one report may be missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFinding:
    """One finding and when it was seen first without a gap."""

    key: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldTask:
    """What an orchestrator said about a stream."""

    stream: str
    task: StreamTask


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldTasks:
    """The DAGs that were paused or missing when an orchestrator was asked last. Nothing may be started on this word."""

    at: datetime
    idle: tuple[ToldTask, ...] = ()

    @classmethod
    def of(cls, streams: Iterable[StreamFacts], at: datetime) -> "ToldTasks":
        """What is worth being told again."""
        tasks = ((facts.stream, facts.task) for facts in streams if facts.task)
        idle = (ToldTask(stream=stream, task=task) for stream, task in tasks if task.is_paused or not task.is_present)
        return cls(at=at, idle=tuple(idle))

    def task_of(self, stream: str, *, in_detail: bool) -> StreamTask | None:
        """See OrchestratorFacts."""
        return next((told.task for told in self.idle if told.stream == stream), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedStream:
    """A declared stream that nobody has begun yet, and when a reconciler saw it first."""

    stream: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingStore:
    """All that the last report found."""

    known: tuple[KnownFinding, ...] = ()
    told: ToldTasks | None = None
    awaited: tuple[AwaitedStream, ...] = ()
    """Declared streams that nobody has begun yet."""

    def recently_told(self, now: datetime) -> ToldTasks | None:
        """What an orchestrator said a moment ago, if it did."""
        return self.told if self.told and abs(now - self.told.at) <= TOLD_FOR else None

    def dated(self, findings: Iterable[ReconcileFinding]) -> tuple[ReconcileFinding, ...]:
        """The findings, those that are known with the moment of their first sight."""
        since = {known.key: known.since for known in self.known}
        return tuple(replace(finding, since=since.get(finding.key)) for finding in findings)

    def first_seen(self, streams: Iterable[StreamFacts], at: datetime | None) -> tuple[tuple[str, datetime], ...]:
        """Since when each stream that nobody has begun yet is awaited; one that is new to the book since `at`, if it is given."""
        since = {awaited.stream: awaited.since for awaited in self.awaited}
        begun = ((stream.stream, since.get(stream.stream, at)) for stream in streams if not stream.is_begun)
        return tuple((name, moment) for name, moment in begun if moment)

    @classmethod
    def of(
        cls,
        findings: Iterable[ReconcileFinding],
        now: datetime,
        *,
        told: ToldTasks | None = None,
        awaited: Iterable[tuple[str, datetime]] = (),
    ) -> "FindingStore":
        """The book after a report; what was repaired is news when it comes again."""
        kept = {finding.key: finding.since or now for finding in findings if not finding.is_repaired}
        return cls(
            known=tuple(KnownFinding(key=key, since=since) for key, since in kept.items()),
            told=told,
            awaited=tuple(AwaitedStream(stream=stream, since=since) for stream, since in awaited),
        )


def read_book(storage: Storage, state_root: str) -> FindingStore:
    """The book as it is; an empty one where there is none that can be read: then everything is news."""
    address = _address(state_root)
    try:
        return codec.decode(FindingStore, read_file(storage, FileKind.FINDINGS, address), address=address)
    except (ObjectNotFoundError, CorruptRecordError):
        return FindingStore()
    except StorageError as error:
        log.warning("the last report can't be read, everything is told as new: %s", error)
        return FindingStore()


def write_book(storage: Storage, state_root: str, book: FindingStore) -> None:
    """Replace the book; a report is not lost for the sake of it."""
    try:
        write_file(storage, FileKind.FINDINGS, _address(state_root), codec.encode(book))
    except StorageError as error:
        log.warning("this report can't be kept, the next one tells everything as new: %s", error)


def _address(state_root: str) -> str:
    return join(state_root, "reconcile.json")
