"""What one blow led to, and what many of them say together. Pure."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from streamops_sandbox.chaos.victims import SLOW, SUDDEN, Fate, Instant, Victim, expected_fates


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One blow and its outcome; durations in seconds from the blow, those of a replacement only."""

    victim: Victim
    instant: Instant
    stream: str
    """The struck one, or the one whose peace was watched while something around all streams was struck."""
    epoch: int
    fate: Fate
    lasted: float = 0.0
    """Of a freeze or an outage."""
    noticed: float | None = None
    """Until the control log said that the driver had ended."""
    resubmitted: float | None = None
    """Until a driver was submitted again, without the wait that the restart policy asked for."""
    policy_wait: float | None = None
    disturbed_by: tuple[str, ...] = ()
    """What was down around the streams meanwhile: such figures say how two blows add up, not how fast the suite is."""

    @property
    def is_as_expected(self) -> bool:
        """Whether the driver was replaced where it must be, and left alone where it must not."""
        return self.fate in expected_fates(self.victim)

    def to_json(self) -> dict[str, Any]:
        """As `chaos.json` holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """A round of this or another version; names that are not known are skipped."""
        known = {field.name: content[field.name] for field in fields(cls) if field.name in content}
        known |= {"victim": Victim(known["victim"]), "instant": Instant(known["instant"]), "fate": Fate(known["fate"])}
        known["disturbed_by"] = tuple(known.get("disturbed_by", ()))
        return cls(**known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How figures are spread; seconds."""

    count: int
    p50: float | None
    p99: float | None
    worst: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VictimSummary:
    """All rounds of one kind, or of several."""

    rounds: int
    unexpected: int
    replaced: int
    untouched: int
    disturbed: int
    noticed: Spread
    """Undisturbed rounds only, like the next."""
    resubmitted: Spread


def summarize(rounds: Iterable[Round]) -> VictimSummary:
    """The figures of these rounds."""
    all_rounds = list(rounds)
    clean = [found for found in all_rounds if not found.disturbed_by]
    return VictimSummary(
        rounds=len(all_rounds),
        unexpected=sum(not found.is_as_expected for found in all_rounds),
        replaced=sum(found.fate is Fate.REPLACED for found in all_rounds),
        untouched=sum(found.fate is Fate.UNTOUCHED for found in all_rounds),
        disturbed=len(all_rounds) - len(clean),
        noticed=spread([found.noticed for found in clean if found.noticed is not None]),
        resubmitted=spread([found.resubmitted for found in clean if found.resubmitted is not None]),
    )


def by_victim(rounds: Sequence[Round]) -> dict[Victim, VictimSummary]:
    """A summary for each kind that was struck, in the order of their declaration."""
    struck = {found.victim for found in rounds}
    return {
        victim: summarize(found for found in rounds if found.victim is victim) for victim in Victim if victim in struck
    }


def deaths(rounds: Iterable[Round]) -> VictimSummary:
    """Drivers that ended at once: what the goals of noticing and resubmitting are about."""
    return summarize(found for found in rounds if found.victim in SUDDEN)


def patience(rounds: Iterable[Round]) -> VictimSummary:
    """Drivers that must not be given up before halt or takeover time."""
    return summarize(found for found in rounds if found.victim in SLOW)


def spread(values: Sequence[float]) -> Spread:
    """Median, 99th percentile and worst."""
    return Spread(
        count=len(values),
        p50=percentile(values, 50),
        p99=percentile(values, 99),
        worst=round(max(values), 2) if values else None,
    )


def percentile(values: Sequence[float], percent: int) -> float | None:
    """By interpolation between the values, so never above the worst; None where there is nothing to say."""
    if len(values) < 2:
        return round(values[0], 2) if values else None
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1], 2)
