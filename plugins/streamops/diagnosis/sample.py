"""What is kept of each check of a checkpoint: enough to see a change of verdict, and to see what grows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

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
