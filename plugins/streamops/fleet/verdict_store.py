"""Verdicts of a round: when one counts as changed, what is kept stream by stream, and who is told.

Whatever the round looked at. A crash is harmless wherever it happens, because of the order in which each stream's affairs
are put down:

1. A change of verdict is noted first, under a number that one round only can create: of two at once one tells it.
2. Then the control log gets it, where it is for that. Every later round looks whether that was done, and does it.
3. Then the look itself is kept.
4. Last, somebody is told, and that this was done is marked. A change without the mark is told once more, by a later
   round. So a round that dies between telling and marking makes an alert come twice; an alert is lost only where two
   rounds die over it. The other order, telling before noting, would make every crash and every second round tell twice.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from streamops.bounded_pool import Worked, WorkLimits, WorkResult, work_on
from streamops.control.state_root import require_state_root
from streamops.diagnosis.checkup_text import printable
from streamops.errors import StreamOpsError
from streamops.fleet.health_history import CHECKPOINTS, HealthEntry, HealthHistory, KeptChange, NotedChange
from streamops.fleet.observe_health import HealthLook, blind_look
from streamops.fleet.verdict_change import OnChange, Subject, VerdictChange, log_change
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.verdict import Verdict

_ORDER = tuple(Verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What a look gives cause to."""

    settled: Verdict
    """The verdict that counts from now on."""
    change: NotedChange | None = None
    """The change that it is, if it is one."""
    untold: NotedChange | None = None
    """An earlier change that nobody has been told of: the round that noted it came to an end before."""
    is_recorded: bool = False
    """Whether the control log is known to have the settled verdict."""
    is_record_due: bool = False
    """Whether the control log is to be given it now, unless it has it."""


def upkeep_of(
    look: HealthLook, *, previous: HealthEntry | None, kept: KeptChange | None, patience: timedelta
) -> Upkeep:
    """What is to be kept and told after a look.

    `previous`: the look before. `kept`: the newest change. `patience`: what a round may need between noting and telling.
    """
    at, before = look.sample.at, _verdict(kept)
    settled = settled_verdict(before, previous=previous.sample.verdict if previous else None, seen=look.verdict)
    change = None
    if settled is not (before or Verdict.OK):
        number = kept.noted.number + 1 if kept else 0
        change = NotedChange(
            number=number, at=at, after=str(settled), before=str(before or ""), rules=look.sample.rules
        )
    is_recorded = change is None and has_record(previous, kept)
    return Upkeep(
        settled=settled,
        change=change,
        untold=kept.noted if kept and not change and is_untold(kept, at, patience=patience) else None,
        is_recorded=is_recorded,
        # Where the checkpoint can't be read, the log beside it can't be either.
        is_record_due=look.verdict is settled and not look.trouble and not is_recorded,
    )


def settled_verdict(before: Verdict | None, *, previous: Verdict | None, seen: Verdict) -> Verdict:
    """The verdict that counts: a worse one at once, a better one and `unknown` when two looks in a row have seen it.

    Damage does not go away by waiting. But a place that does not answer for a moment is the ordinary cause of `unknown`,
    and a verdict that comes and goes must not wake anybody each time. Where nothing is on record, all was well.
    """
    counts = before or Verdict.OK
    is_worse = _ORDER.index(seen) > _ORDER.index(counts)
    if seen is previous or (is_worse and seen is not Verdict.UNKNOWN):
        return seen
    return counts


def is_untold(kept: KeptChange, now: datetime, *, patience: timedelta) -> bool:
    """Whether the newest change waits for a round to take its telling over, which one may do once.

    A change from the future was noted by a clock that is wrong, and counts as old.
    """
    return (
        not (kept.is_told or kept.is_taken_over) and abs(now - kept.noted.at) >= patience and _verdict(kept) is not None
    )


def has_record(previous: HealthEntry | None, kept: KeptChange | None) -> bool:
    """Whether the look before says that the control log has the verdict that counts.

    It does not where it is older than the newest change: that round noted the change and came to an end before the rest.
    """
    if previous is None or not previous.is_recorded:
        return False
    return kept is None or previous.sample.at >= kept.noted.at


def _verdict(kept: KeptChange | None) -> Verdict | None:
    """None where none was kept, or one that this version does not know."""
    try:
        return Verdict(kept.noted.after) if kept else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPace:
    """How long each step may take; together less than the time to the next round."""

    looking: WorkLimits
    keeping: WorkLimits
    telling: WorkLimits
    """One at a time: whoever is told need not be safe for threads."""
    patience: timedelta
    """After which an untold change is another round's to tell."""

    @classmethod
    def within(cls, every: timedelta) -> "RoundPace":
        """The paces for a round that comes each so often; at worst they sum up to 0.9 of it."""
        return cls(
            looking=WorkLimits(limit=min(timedelta(seconds=30), every / 10), budget=every * 0.4),
            keeping=WorkLimits(limit=every / 20, budget=every / 5),
            telling=WorkLimits(seats=1, seat=every / 20, limit=every / 20, budget=every / 10),
            patience=every * 0.9,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport:
    """What a round found."""

    looks: tuple[HealthLook, ...]
    troubles: tuple[str, ...] = ()
    """What kept the round from keeping or telling something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    """A change that this round has to tell."""

    history: HealthHistory
    look: HealthLook
    noted: NotedChange
    is_taken_over: bool = False


def record_nowhere(look: HealthLook, verdict: Verdict) -> bool:
    """For verdicts that no control log is for: they are as good as recorded."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictKeeping:
    """Where the verdicts of a round go."""

    state_root: str
    storage_for: Callable[[str], Storage]
    pace: RoundPace
    on_change: OnChange | None = None
    subject: Subject = Subject.CHECKPOINT
    folder: str = CHECKPOINTS
    """Below the state root."""
    record: Callable[[HealthLook, Verdict], bool] = record_nowhere
    """Puts a verdict into the control log of its stream, and says whether it is there."""

    def trouble(self) -> str:
        """Why nothing can be kept; asked once, so that a state root that hangs does not make every stream's look hang."""
        (asked,) = work_on((self.state_root,), self._ask, pace=self.pace.looking)
        if asked.fate is WorkResult.DONE:
            return ""
        return f"{self.state_root} can't be asked, so no verdict is kept and no change is told: {reason_of(asked)}"

    def history(self, stream: str) -> HealthHistory:
        """What earlier rounds found of a stream."""
        return HealthHistory(self.storage_for(self.state_root), self.state_root, stream, folder=self.folder)

    def keep_and_tell(self, looks: Sequence[HealthLook]) -> tuple[str, ...]:
        """Keep these looks, tell what has changed; what could not be kept or told."""
        kept = work_on(looks, self._keep, pace=self.pace.keeping)
        due = [due for one in kept for due in one.answer or ()]
        told = work_on(due, self._tell, pace=self.pace.telling)
        return (
            *(_trouble(one.job.spec.name, "is not kept", one) for one in kept if one.fate is not WorkResult.DONE),
            *(_trouble(one.job.look.spec.name, "is not told", one) for one in told if one.fate is not WorkResult.DONE),
        )

    def _ask(self, address: str) -> None:
        require_state_root(self.storage_for(address), address)

    def _keep(self, look: HealthLook) -> tuple[_Due, ...]:
        """Keep what one look found; the change that is to be told, if there is one. Raises StorageError, OSError."""
        history = self.history(look.spec.name)
        previous, kept = history.newest(look.sample.at), history.newest_change()
        upkeep = upkeep_of(look, previous=previous, kept=kept, patience=self.pace.patience)
        is_ours = upkeep.change is not None and history.note_change(upkeep.change)
        is_recorded = upkeep.is_recorded
        if upkeep.is_record_due:
            is_recorded = self.record(look, upkeep.settled)
        history.append(HealthEntry(sample=look.sample, trouble=look.trouble, is_recorded=is_recorded))
        if upkeep.change and is_ours:
            return (_Due(history=history, look=look, noted=upkeep.change),)
        if upkeep.untold:
            return (_Due(history=history, look=look, noted=upkeep.untold, is_taken_over=True),)
        return ()

    def _tell(self, due: _Due) -> None:
        if due.is_taken_over and not due.history.take_telling_over(due.noted.number):
            return
        change = VerdictChange(
            stream=due.look.spec.name,
            subject=self.subject,
            before=Verdict(due.noted.before) if due.noted.before else None,
            after=Verdict(due.noted.after),
            at=due.noted.at,
            rules=due.noted.rules,
            report="\n".join(due.look.report),
        )
        log_change(change)
        if self.on_change:
            self.on_change(change)
        due.history.mark_told(due.noted.number)


def order_of_round(specs: Sequence[StreamSpec], now: datetime) -> list[StreamSpec]:
    """Another order each minute: where the time does not suffice for all, it is not always the same who go short."""
    order = list(specs)
    random.Random(int(now.timestamp()) // 60).shuffle(order)
    return order


def look_of(worked: Worked[StreamSpec, HealthLook], *, pace: WorkLimits, now: datetime) -> HealthLook:
    """The look that came of the work on a stream; a blind one where none came."""
    return worked.answer or blind_look(worked.job, why_blind(worked, pace), now=now)


def why_blind(worked: Worked[Any, Any], pace: WorkLimits) -> str:
    """Why work that should have seen something saw nothing."""
    match worked.fate:
        case WorkResult.HUNG:
            return f"no answer within {pace.limit.total_seconds():g} s"
        case WorkResult.NOT_BEGUN:
            return f"not looked at: {reason_of(worked)}"
        case _:
            return reason_of(worked)


def reason_of(worked: Worked[Any, Any]) -> str:
    """Why work was not done."""
    match worked.fate:
        case WorkResult.HUNG:
            return "no answer in time"
        case WorkResult.NOT_BEGUN:
            return "the time of the round was over"
        case _:
            error = worked.error
            return printable(str(error) if isinstance(error, StreamOpsError) else f"{type(error).__name__}: {error}")


def _trouble(stream: str, what: str, worked: Worked[Any, Any]) -> str:
    return f"{stream}: its verdict {what}: {reason_of(worked)}"
