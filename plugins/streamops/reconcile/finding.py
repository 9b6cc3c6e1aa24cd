"""What a reconciler finds, in words for whoever is on call."""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum

from streamops.launch import FoundDriver
from streamops.reconcile.facts import StreamFacts


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
    UNREADABLE = "unreadable"


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
        """What makes it the same finding a minute later: which driver or sign is at fault may change, the matter not."""
        return f"{self.kind} {self.stream}".strip()


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
