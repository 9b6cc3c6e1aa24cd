"""Where a backfill stands, and who carries it on. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from streamops.backfill.facts import BackfillFacts
from streamops.launch import DriverState
from streamops.operations.act_effects import nobody_since
from streamops.supervision.cli_hints import resume_command


class BackfillPhase(StrEnum):
    """Where a backfill stands."""

    PLANNED = "planned"
    """Its plan is kept, and nobody has begun it."""
    RUNNING = "running"
    STOPPING = "stopping"
    """Somebody has ended it, and its driver lives still."""
    WAITING = "waiting"
    """No driver lives, and a supervisor is there to start one."""
    LEFT = "left"
    """It is to run, no driver lives, and nobody is there to start one."""
    PARKED = "parked"
    STOPPED = "stopped"
    """Somebody has ended it, or its time is over; it can be gone on with."""
    FINISHED = "finished"
    UNKNOWN = "unknown"
    """What decides could not be read, or its driver can't be seen from here."""


NEEDS_A_HAND = frozenset({BackfillPhase.LEFT, BackfillPhase.PARKED, BackfillPhase.UNKNOWN})
"""Phases that do not pass without a person."""

_ALIVE = frozenset({DriverState.RUNNING, DriverState.BROKEN})
_OUT_OF_SIGHT = frozenset({DriverState.UNKNOWN, DriverState.GONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillStatus:
    """One backfill at one moment, for people."""

    stream: str
    id: str
    phase: BackfillPhase
    reason: str
    """Why it stands there."""
    percent: int | None = None
    """None where it can't be told."""
    epoch: int | None = None
    driver: DriverState | None = None
    """The launcher's word on its newest driver; None where none lives by the record."""
    attended_by: str = ""
    """Who supervises it; empty for nobody."""
    moved_at: datetime | None = None
    """The last sign of its driver or its log."""

    @property
    def is_unfinished(self) -> bool:
        """Whether anything of its range is left to read, or nobody can tell."""
        return self.phase is not BackfillPhase.FINISHED

    @property
    def needs_a_person(self) -> bool:
        """Whether it gets no further by itself, and nobody has wanted that."""
        return self.phase in NEEDS_A_HAND

    @property
    def line(self) -> str:
        """Where it stands in a sentence."""
        done = "" if self.percent is None else f", {self.percent} % done"
        return f"backfill {self.id} is {self.phase}{done}: {self.reason}"


def standing_of(facts: BackfillFacts, *, now: datetime) -> BackfillStatus:
    """The standing behind the facts."""
    phase, reason = _phase(facts, now)
    sign = facts.attendance
    return BackfillStatus(
        stream=facts.stream,
        id=facts.id,
        phase=phase,
        reason=reason,
        percent=facts.progress.percent if facts.progress else None,
        epoch=facts.state.newest.number if facts.state.newest else None,
        driver=facts.driver.state if facts.driver else None,
        attended_by=sign.by.actor if sign and not sign.is_over(now) else "",
        moved_at=facts.moved_at,
    )


def is_left_alone(facts: BackfillFacts, *, now: datetime, patience: timedelta) -> bool:
    """Whether a backfill that is to run has been without a living driver, and without a sign of anybody, for so long.

    A stamp from the future counts as now: it is of another clock.
    """
    standing = standing_of(facts, now=now)
    if facts.state.maintenance is None or not standing.needs_a_person or facts.trouble:
        return False
    signs = [facts.moved_at, facts.attendance.at if facts.attendance else None]
    newest = max((sign for sign in signs if sign), default=None)
    return newest is None or now - min(newest, now) > patience


def _phase(facts: BackfillFacts, now: datetime) -> tuple[BackfillPhase, str]:
    """What lives comes first, then what is done, then what can't be known, then what a person must settle."""
    state, driver = facts.state, facts.driver
    if facts.trouble:
        return BackfillPhase.UNKNOWN, facts.trouble
    if driver and driver.state in _ALIVE:
        wanted = state.maintenance is not None
        return BackfillPhase.RUNNING if wanted else BackfillPhase.STOPPING, _at_work(facts)
    if facts.progress and facts.progress.is_done:
        return BackfillPhase.FINISHED, "its whole range is read"
    if driver and driver.state in _OUT_OF_SIGHT:
        return BackfillPhase.UNKNOWN, f"its driver can't be seen from here: {driver.evidence}"
    if state.is_empty:
        return BackfillPhase.PLANNED, f"nobody has begun it: `{resume_command(facts.stream, facts.id)}`"
    return _phase_without_driver(facts, now)


def _phase_without_driver(facts: BackfillFacts, now: datetime) -> tuple[BackfillPhase, str]:
    state, sign = facts.state, facts.attendance
    resume = f"`{resume_command(facts.stream, facts.id)}` goes on with it"
    if state.maintenance is None:
        return BackfillPhase.STOPPED, resume
    if state.parked:
        return BackfillPhase.PARKED, f"{state.parked.reason}; when that is mended, {resume}"
    if sign is None or sign.is_over(now):
        return BackfillPhase.LEFT, f"no driver lives, and {nobody_since(sign)}: {resume}"
    return BackfillPhase.WAITING, f"no driver lives, and {sign.by.actor} is there to start one"


def _at_work(facts: BackfillFacts) -> str:
    done = facts.progress
    steps = f"{done.steps_done} of {done.steps} steps are done" if done else "its driver lives"
    return steps if facts.state.maintenance else f"{steps}, and its driver ends between two of them"
