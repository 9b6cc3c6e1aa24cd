"""What is known of a checkpoint beyond one look at it: the time, the checks before, and whether a driver is at it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from streamops.checkpoint.batch_times import BatchTimes
from streamops.checkpoint.facts import CheckpointFacts
from streamops.liveness.pace import StallPolicy, Window, window_of
from streamops.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSample:
    """One check in a line of JSON."""

    at: datetime
    verdict: Verdict
    rules: tuple[str, ...] = ()
    """Ids of the rules that count towards the verdict, worst first and each once; notes are left out."""
    safety: str = ""
    """Of a start at that moment, as the restart plan spells it."""
    last_offset: int = -1
    last_commit: int = -1
    offset_entries: int = 0
    commit_entries: int = 0
    compact_bytes: int | None = None
    """Of the largest compact file that sources keep; None where there is none."""
    state_files: int | None = None
    """Files of all state stores; None for a query without state."""
    state_rows: int | None = None
    state_memory: int | None = None
    """Bytes. Both as the newest progress of the query tells, over its operators; None where it has no state, or does not tell."""

    def fields(self) -> dict[str, object]:
        """The sample as JSON has it."""
        return {
            "at": self.at.isoformat(),
            "verdict": str(self.verdict),
            "rules": list(self.rules),
            "safety": self.safety,
            "last_offset": self.last_offset,
            "last_commit": self.last_commit,
            "offset_entries": self.offset_entries,
            "commit_entries": self.commit_entries,
            "compact_bytes": self.compact_bytes,
            "state_files": self.state_files,
            "state_rows": self.state_rows,
            "state_memory": self.state_memory,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> "HealthSample":
        """The sample behind `fields()`, keys of later releases passed over; ValueError where it is none."""
        at, verdict, rules = fields.get("at"), fields.get("verdict"), fields.get("rules")
        if not isinstance(at, str) or not isinstance(verdict, str) or not isinstance(rules, list):
            raise ValueError("a health sample has `at`, a verdict and a list of rules")
        moment = datetime.fromisoformat(at)
        return cls(
            at=moment if moment.tzinfo else moment.replace(tzinfo=UTC),
            verdict=Verdict(verdict),
            rules=tuple(str(rule) for rule in rules),
            safety=str(fields.get("safety") or ""),
            last_offset=_whole(fields, "last_offset", -1),
            last_commit=_whole(fields, "last_commit", -1),
            offset_entries=_whole(fields, "offset_entries", 0),
            commit_entries=_whole(fields, "commit_entries", 0),
            compact_bytes=_whole_or_none(fields, "compact_bytes"),
            state_files=_whole_or_none(fields, "state_files"),
            state_rows=_whole_or_none(fields, "state_rows"),
            state_memory=_whole_or_none(fields, "state_memory"),
        )


def _whole(fields: Mapping[str, object], name: str, default: int) -> int:
    number = _whole_or_none(fields, name)
    return default if number is None else number


def _whole_or_none(fields: Mapping[str, object], name: str) -> int | None:
    number = fields.get(name)
    if number is not None and type(number) is not int:
        raise ValueError(f"{name} is no whole number")
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The past of one checkpoint, as far as somebody kept it."""

    now: datetime
    before: tuple[HealthSample, ...] = ()
    """Earlier checks, oldest first."""
    times: BatchTimes = field(default_factory=BatchTimes)
    has_driver: bool | None = None
    """Whether a driver of ours may live; None where no control log tells."""
    driver_since: datetime | None = None
    """When that driver was claimed: what was pending before did not hang in it."""
    trigger_interval: timedelta = timedelta(0)
    """As declared; zero where nobody has said, or a batch follows the other at once."""
    policy: StallPolicy = field(default_factory=StallPolicy)
    state_rows: int | None = None
    state_memory: int | None = None
    """Of the query's state now, as `HealthSample` keeps them."""

    @property
    def window(self) -> Window:
        """After how long a batch is worth a report."""
        return window_of(self.times.durations, policy=self.policy, trigger_interval=self.trigger_interval)

    def same_since(self, facts: CheckpointFacts) -> tuple[HealthSample, ...]:
        """The checks in a row, up to the last one, that saw the two logs end where they end now; oldest first."""
        same: list[HealthSample] = []
        for sample in reversed(self.before):
            if (sample.last_offset, sample.last_commit) != (facts.last_offset, facts.last_commit):
                break
            if self.driver_since and sample.at < self.driver_since:
                break
            same.append(sample)
        return tuple(reversed(same))
