"""One round of health checks over some streams: look at each, keep what was found, tell what has changed.

Three steps, each over all streams and each with limits, because a place that hangs costs its own answer and no more. A
crash is harmless wherever it happens, because of the order in which each stream's affairs are put down:

1. A change of verdict is noted first, under a number that one round only can create: of two at once one tells it.
2. Then the control log gets it. Every later round looks whether that was done, and does it.
3. Then the look itself is kept.
4. Last, somebody is told, and that this was done is marked. A change without the mark is told once more, by a later
   round. So a round that dies between telling and marking makes an alert come twice; an alert is lost only where two
   rounds die over it. The other order, telling before noting, would make every crash and every second round tell twice.
"""

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from streamops.clock import Clock
from streamops.control.records import Author
from streamops.errors import StreamOpsError
from streamops.health.verdict import Verdict
from streamops.spec import StreamSpec
from streamops.storage import Storage, join
from streamops.supervisor.checkup_text import printable
from streamops.supervisor.health_history import HealthEntry, HealthHistory, NotedChange
from streamops.supervisor.health_look import HealthLook, blind_look, look_at
from streamops.supervisor.timed_work import Fate, Pace, Worked, work_on
from streamops.supervisor.verdict_change import OnChange, VerdictChange, log_change
from streamops.supervisor.verdict_record import record_verdict
from streamops.supervisor.verdict_rules import upkeep_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPace:
    """How long each step may take; together less than the time to the next round."""

    looking: Pace
    keeping: Pace
    telling: Pace
    """One at a time: whoever is told need not be safe for threads."""
    patience: timedelta
    """After which an untold change is another round's to tell."""

    @classmethod
    def within(cls, every: timedelta) -> "RoundPace":
        """The paces for a round that comes each so often; at worst they sum up to 0.9 of it."""
        return cls(
            looking=Pace(limit=min(timedelta(seconds=30), every / 10), budget=every * 0.4),
            keeping=Pace(limit=every / 20, budget=every / 5),
            telling=Pace(seats=1, seat=every / 20, limit=every / 20, budget=every / 10),
            patience=every * 0.9,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundDoors:
    """What a round works with."""

    storage_for: Callable[[str], Storage]
    clock: Clock
    author: Author
    on_change: OnChange | None = None


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


def run_round(specs: Sequence[StreamSpec], *, state_root: str, doors: RoundDoors, pace: RoundPace) -> RoundReport:
    """Look at these streams, keep and tell. Raises nothing that a stream or a place gives rise to."""
    away = _trouble_of_history(state_root, doors, pace)
    order = order_of_round(specs, doors.clock.now())
    look = partial(_look, state_root=state_root, doors=doors, has_history=not away)
    worked = work_on(order, look, pace=pace.looking)
    looks = tuple(_look_of(one, doors, pace) for one in worked)
    if away:
        return RoundReport(looks=looks, troubles=(away,))
    begun = [found for one, found in zip(worked, looks, strict=True) if one.fate is not Fate.NOT_BEGUN]
    keep = partial(_keep, state_root=state_root, doors=doors, pace=pace)
    kept = work_on(begun, keep, pace=pace.keeping)
    due = [due for one in kept for due in one.answer or ()]
    told = work_on(due, partial(_tell, on_change=doors.on_change), pace=pace.telling)
    troubles = (
        *(_trouble(one.job.spec.name, "is not kept", one) for one in kept if one.fate is not Fate.DONE),
        *(_trouble(one.job.look.spec.name, "is not told", one) for one in told if one.fate is not Fate.DONE),
    )
    return RoundReport(looks=looks, troubles=troubles)


def look_once(spec: StreamSpec, *, state_root: str, doors: RoundDoors, pace: RoundPace) -> HealthLook:
    """One look at one stream, for whoever reads a round's report later: nothing is kept and nobody is told."""
    look = partial(_look, state_root=state_root, doors=doors, has_history=True)
    (worked,) = work_on((spec,), look, pace=pace.looking)
    return _look_of(worked, doors, pace)


def order_of_round(specs: Sequence[StreamSpec], now: datetime) -> list[StreamSpec]:
    """Another order each minute: where the time does not suffice for all, it is not always the same who go short."""
    order = list(specs)
    random.Random(int(now.timestamp()) // 60).shuffle(order)
    return order


def _trouble_of_history(state_root: str, doors: RoundDoors, pace: RoundPace) -> str:
    """Why nothing can be kept; asked once, so that a state root that hangs does not make every stream's look hang."""

    def ask(address: str) -> None:
        doors.storage_for(address).list(join(address, "health"))

    (asked,) = work_on((state_root,), ask, pace=pace.looking)
    if asked.fate is Fate.DONE:
        return ""
    reason = _reason(asked)
    return f"{state_root} can't be asked, so no verdict is kept and no change is told: {reason}"


def _look(spec: StreamSpec, *, state_root: str, doors: RoundDoors, has_history: bool) -> HealthLook:
    history = HealthHistory(doors.storage_for(state_root), state_root, spec.name) if has_history else None
    return look_at(spec, storage_for=doors.storage_for, history=history, now=doors.clock.now())


def _look_of(worked: Worked[StreamSpec, HealthLook], doors: RoundDoors, pace: RoundPace) -> HealthLook:
    if worked.answer:
        return worked.answer
    trouble = _reason(worked)
    if worked.fate is Fate.HUNG:
        trouble = f"no answer within {pace.looking.limit.total_seconds():g} s"
    if worked.fate is Fate.NOT_BEGUN:
        trouble = f"not looked at: {trouble}"
    return blind_look(worked.job, trouble, now=doors.clock.now())


def _keep(look: HealthLook, *, state_root: str, doors: RoundDoors, pace: RoundPace) -> tuple[_Due, ...]:
    """Keep what one look found; the change that is to be told, if there is one. Raises StorageError, OSError."""
    history = HealthHistory(doors.storage_for(state_root), state_root, look.spec.name)
    previous, kept = history.newest(look.sample.at), history.newest_change()
    upkeep = upkeep_of(look, previous=previous, kept=kept, patience=pace.patience)
    is_ours = upkeep.change is not None and history.note_change(upkeep.change)
    is_recorded = upkeep.is_recorded
    if upkeep.is_record_due:
        is_recorded = _record(look, upkeep.settled, doors)
    history.append(HealthEntry(sample=look.sample, trouble=look.trouble, is_recorded=is_recorded))
    if upkeep.change and is_ours:
        return (_Due(history=history, look=look, noted=upkeep.change),)
    if upkeep.untold:
        return (_Due(history=history, look=look, noted=upkeep.untold, is_taken_over=True),)
    return ()


def _record(look: HealthLook, verdict: Verdict, doors: RoundDoors) -> bool:
    """A log that can't be used takes no verdict: the look is kept all the same, and the next round tries again."""
    storage = doors.storage_for(look.spec.checkpoint)
    try:
        return record_verdict(
            look.spec, verdict, look.sample.rules, storage=storage, clock=doors.clock, author=doors.author
        )
    except StreamOpsError as error:
        log.warning("stream=%s its control log has no record of the verdict: %s", look.spec.name, error)
        return False


def _tell(due: _Due, *, on_change: OnChange | None) -> None:
    if due.is_taken_over and not due.history.take_telling_over(due.noted.number):
        return
    change = VerdictChange(
        stream=due.look.spec.name,
        before=Verdict(due.noted.before) if due.noted.before else None,
        after=Verdict(due.noted.after),
        at=due.noted.at,
        rules=due.noted.rules,
        report="\n".join(due.look.report),
    )
    log_change(change)
    if on_change:
        on_change(change)
    due.history.mark_told(due.noted.number)


def _trouble(stream: str, what: str, worked: Worked[Any, Any]) -> str:
    return f"{stream}: its verdict {what}: {_reason(worked)}"


def _reason(worked: Worked[Any, Any]) -> str:
    match worked.fate:
        case Fate.HUNG:
            return "no answer in time"
        case Fate.NOT_BEGUN:
            return "the time of the round was over"
        case _:
            error = worked.error
            return printable(str(error) if isinstance(error, StreamOpsError) else f"{type(error).__name__}: {error}")
