"""What came of a bounded run or a backfill, from the control log and from what its drivers left. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from streamops.backfill import BackfillProgress
from streamops.control.records import (
    Claimed,
    DriverEnded,
    MaintenanceBegun,
    MaintenanceEnded,
    Outcome,
    Parked,
    Record,
    StopRequested,
    Submitted,
)


class RunOutcome(StrEnum):
    """How a bounded run came out."""

    UNDER_WAY = "under-way"
    FINISHED = "finished"
    """Its query ended by itself: it has read all that its source held when it began."""
    BUDGET_SPENT = "budget-spent"
    """Its time was over, and it was stopped between two batches; the next run goes on."""
    ENDED = "ended"
    """Somebody ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """One run so far."""

    stream: str
    record: int
    """Number of the record that asked for it: its name."""
    outcome: RunOutcome
    reason: str
    asked_by: str
    asked_at: datetime
    until: datetime
    epochs: tuple[int, ...] = ()
    first_batch: int | None = None
    last_batch: int | None = None
    """Committed ones; None where it has committed none, or nobody has looked yet."""
    rows: int | None = None
    """Read by all batches of its drivers, those included that were cut off and ran again; None where no driver told."""
    seconds: float | None = None
    """From the first submit to the last sign of the last driver, waits in between included."""
    estimated_seconds: float | None = None
    offsets: tuple[str, ...] = ()
    """Where each source stands behind the last batch, as JSON; empty where that can't be told any more."""

    @property
    def is_over(self) -> bool:
        """Whether nothing of it will run any more."""
        return self.outcome is not RunOutcome.UNDER_WAY

    @property
    def batches(self) -> int:
        """How many batches it has committed."""
        if self.first_batch is None or self.last_batch is None:
            return 0
        return self.last_batch - self.first_batch + 1

    @property
    def estimate_error(self) -> float | None:
        """By which share the run took longer than was expected, negative for shorter; None where either is not known."""
        if not self.estimated_seconds or self.seconds is None or self.outcome is not RunOutcome.FINISHED:
            return None
        return self.seconds / self.estimated_seconds - 1

    def values(self) -> dict[str, Any]:
        """The report as plain values, for whoever keeps it."""
        return {
            "outcome": str(self.outcome),
            "run": self.record,
            "epochs": list(self.epochs),
            "batches": self.batches,
            "first_batch": self.first_batch,
            "last_batch": self.last_batch,
            "rows": self.rows,
            "seconds": self.seconds,
            "estimated_seconds": self.estimated_seconds,
            "estimate_error": self.estimate_error,
            "offsets": [json.loads(text) for text in self.offsets],
        }

    @property
    def line(self) -> str:
        """The run in a sentence."""
        parts = [_batches(self)]
        if self.rows is not None:
            parts.append(f"{self.rows} rows")
        if self.seconds is not None:
            parts.append(f"{self.seconds:.0f} s")
        if self.estimate_error is not None:
            parts.append(f"expected were {self.estimated_seconds:.0f} s, {self.estimate_error:+.0%}")
        return f"{self.outcome}: {', '.join(parts)}"


def _batches(report: RunReport) -> str:
    """`3 batches (12–14)`"""
    if not report.batches:
        return "no batch"
    if report.batches == 1:
        return f"1 batch ({report.first_batch})"
    return f"{report.batches} batches ({report.first_batch}–{report.last_batch})"


def report_run(records: Sequence[Record], *, rows_of: Mapping[int, int]) -> RunReport:
    """The report on the run that the first record asks for, by the records behind it.

    `rows_of`: what the drivers of epochs say to have read.
    """
    asked, *later = records
    begun = asked.body
    if not isinstance(begun, MaintenanceBegun) or begun.run is None:
        raise ValueError(f"record {asked.number} does not ask for a run")
    end = next((record for record in later if isinstance(record.body, MaintenanceBegun | MaintenanceEnded)), None)
    within = [record for record in later if end is None or record.number < end.number]
    claims = [record.body for record in within if isinstance(record.body, Claimed) and record.body.mode is begun.run]
    epochs = tuple(claim.epoch for claim in claims)
    # The driver of a run that was ended stops a little later.
    ends = [record for record in later if isinstance(record.body, DriverEnded) and record.body.epoch in epochs]
    outcome = _outcome(ends, end, begun)
    told = [rows_of[epoch] for epoch in epochs if epoch in rows_of]
    commits = [record.body.position.commit for record in ends if isinstance(record.body, DriverEnded)]
    first = claims[0].position.commit + 1 if claims else None
    last = max(commits, default=None)
    has_batches = first is not None and last is not None and last >= first
    return RunReport(
        stream=claims[0].stream if claims else "",
        record=asked.number,
        outcome=outcome if _has_stopped(epochs, ends, outcome) else RunOutcome.UNDER_WAY,
        reason=end.reason if end else _standing(later),
        asked_by=asked.by.actor,
        asked_at=asked.at,
        until=begun.until,
        epochs=epochs,
        first_batch=first if has_batches else None,
        last_batch=last if has_batches else None,
        rows=sum(told) if told else None,
        seconds=_seconds(within, epochs, ends),
        estimated_seconds=begun.estimated_seconds,
    )


def _outcome(ends: Sequence[Record], end: Record | None, begun: MaintenanceBegun) -> RunOutcome:
    last = ends[-1].body if ends else None
    if isinstance(last, DriverEnded) and last.outcome is Outcome.FINISHED:
        return RunOutcome.FINISHED
    if end is None:
        return RunOutcome.UNDER_WAY
    return RunOutcome.BUDGET_SPENT if end.at >= begun.until else RunOutcome.ENDED


def _has_stopped(epochs: Sequence[int], ends: Sequence[Record], outcome: RunOutcome) -> bool:
    """A run is over when its last driver is gone as well."""
    if outcome is RunOutcome.UNDER_WAY:
        return False
    ended = {record.body.epoch for record in ends if isinstance(record.body, DriverEnded)}
    return not epochs or epochs[-1] in ended


def _standing(later: Sequence[Record]) -> str:
    """What the newest record says that decides over a run under way; empty where none does."""
    telling = [record for record in later if isinstance(record.body, Parked | StopRequested | DriverEnded | Claimed)]
    return telling[-1].reason if telling else ""


def _seconds(within: Sequence[Record], epochs: Sequence[int], ends: Sequence[Record]) -> float | None:
    submits = [record.at for record in within if isinstance(record.body, Submitted) and record.body.epoch in epochs]
    if not submits or not ends:
        return None
    last = ends[-1]
    sign = last.body.last_sign_at if isinstance(last.body, DriverEnded) else None
    # Two clocks may have written these: never less than nothing.
    return max(timedelta(0), min(last.at, sign or last.at) - submits[0]).total_seconds()


def outcome_of(report: RunReport, progress: BackfillProgress) -> RunReport:
    """The report on a run of a backfill: finished when the whole range is committed, whatever has ended its last driver.

    One that is killed or stopped right behind its last commit leaves no word of it, and nothing is left for another.
    """
    is_finished = report.is_over and progress.is_done
    return replace(report, outcome=RunOutcome.FINISHED) if is_finished else report
