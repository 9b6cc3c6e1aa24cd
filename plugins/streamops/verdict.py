"""Findings and what they come to."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum, StrEnum

MOST_OF_A_RULE = 20
"""Findings that a report holds of one rule."""


class Severity(IntEnum):
    """How bad a finding is; a higher one is worse."""

    NOTE = 0
    """Worth knowing, nothing to do: it does not count."""
    WARNING = 1
    UNKNOWN = 2
    """What decides could not be read."""
    CRITICAL = 3

    def __str__(self) -> str:
        """As reports and JSON spell it."""
        return self.name.lower()


class Verdict(StrEnum):
    """What a check comes to."""

    OK = "ok"
    WARNING = "warning"
    UNKNOWN = "unknown"
    CRITICAL = "critical"

    @classmethod
    def of(cls, severity: Severity) -> "Verdict":
        """The verdict where that is the worst; a note is nothing to worry about."""
        return cls.OK if severity is Severity.NOTE else cls(str(severity))


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedVerdict:
    """What a check came to, and when it was made."""

    verdict: Verdict
    at: datetime
    reason: str = ""
    """In a few words; empty where all is well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamVerdicts:
    """The newest verdicts on one stream; None for what was not judged."""

    checkpoint: DatedVerdict | None = None
    retention: DatedVerdict | None = None
    """Whether what it has yet to read is still kept; of a stream that reads Kafka."""

    @property
    def worst(self) -> Verdict | None:
        """Of both; None where neither was judged."""
        order = tuple(Verdict)
        found = (one.verdict for one in (self.checkpoint, self.retention) if one)
        return max(found, key=order.index, default=None)


class AtStart(StrEnum):
    """What a start makes of a finding."""

    FAILS = "fails"
    """No batch comes through, the same way each time."""
    LOSES = "loses"
    """Input is passed over, or rows are dropped, without an error."""
    REPEATS = "repeats"
    """Input is read again in a batch that no sink recognises."""
    UNDECIDED = "undecided"
    """It may do any of that."""
    UNREAD = "unread"
    """What decides could not be read, or nobody has said it: another look may tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEffect:
    """What the next start does because of a finding."""

    kind: AtStart
    summary: str
    """For the restart plan: what is there, and what comes of it."""
    error: str = ""
    """A piece of the error's text, where one comes and the text is known. One that comes after a batch goes with another kind
    than FAILS: the batch is written each time."""
    in_flight_only: bool = False
    """Whether it is about what the batch in flight reads alone: nothing comes of it where the sink drops that batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing about a checkpoint that is not as it should be, or that a person may wonder about."""

    rule: str
    """Id of the rule: `unreadable-last-commit`."""
    severity: Severity
    file: str
    """Relative to the checkpoint; empty where it is about the whole."""
    evidence: str
    """What was seen, in numbers and names. May quote hostile text, shortened and printable."""
    meaning: str
    repair: str = ""
    """The exact steps, for a stopped query and a checkpoint that was copied first; empty where nothing is to do."""
    not_when: str = ""
    """When that repair would do harm."""
    start: StartEffect | None = None
    """None where a start goes as it would without."""


def worst_of(findings: Iterable[Finding]) -> Severity:
    """The worst severity; NOTE where all is well."""
    return max((finding.severity for finding in findings), default=Severity.NOTE)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """In order of severity; findings of one severity stay in their order.

    An offset entry of many thousand lines makes a rule speak as often. Of each rule the worst MOST_OF_A_RULE stay, and the
    last of them tells how many more there were.
    """
    ordered = sorted(findings, key=lambda finding: -finding.severity)
    totals = Counter(finding.rule for finding in ordered)
    seen: Counter[str] = Counter()
    kept = []
    for finding in ordered:
        seen[finding.rule] += 1
        more = totals[finding.rule] - MOST_OF_A_RULE
        if seen[finding.rule] < MOST_OF_A_RULE or more <= 0:
            kept.append(finding)
        elif seen[finding.rule] == MOST_OF_A_RULE:
            kept.append(replace(finding, evidence=f"{finding.evidence}; {more} more like it"))
    return tuple(kept)
