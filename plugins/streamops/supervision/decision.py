"""What a decision is: one action, its reason, and what the act needs."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from streamops.control.drivers import ExitRecord
from streamops.control.records import ClaimMode, DriverHandle, Outcome
from streamops.diagnosis.restart_plan import RestartPlan
from streamops.liveness import Liveness


class Action(StrEnum):
    """What to do next."""

    KEEP = "keep"
    """A driver runs: look again later."""
    WAIT = "wait"
    """Nothing may be done yet."""
    STOPPED = "stopped"
    """It stands still because somebody asked for it."""
    IDLE = "idle"
    """Nothing is to run: a scheduled stream between two runs, a backfill that is done or waits for a person."""
    PARKED = "parked"
    """It stands still until a person releases it."""
    BLOCKED = "blocked"
    """It may not even be parked here: the checkpoint is another's."""
    PARK = "park"
    REPLACE = "replace"
    """Ask a driver that gets nowhere to make room for another."""
    KILL = "kill"
    RECORD_END = "record-end"
    CLAIM = "claim"
    SUBMIT = "submit"
    END_MAINTENANCE = "end-maintenance"


RESTING = frozenset({Action.KEEP, Action.WAIT, Action.STOPPED, Action.IDLE, Action.PARKED, Action.BLOCKED})
"""Actions that change nothing: whoever drives the supervisor may go to sleep."""

NEEDS_A_PERSON = frozenset({Action.STOPPED, Action.PARKED, Action.BLOCKED})
"""Of these the ones in which nothing more happens until a person acts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The next step and why."""

    action: Action
    reason: str
    epoch: int = 0
    run: ClaimMode = ClaimMode.LIVE
    """What a claim is for."""
    handles: tuple[DriverHandle, ...] = ()
    """Whom to kill."""
    outcome: Outcome | None = None
    exit: ExitRecord | None = None
    exit_code: int | None = None
    last_sign_at: datetime | None = None
    """The last thing that an ended driver wrote, by its own clock."""
    last_batch: int = -1
    """The newest batch in what an ended driver wrote."""
    query_id: str = ""
    """Of an ended driver's own query, as its beats say."""
    foreign_batch: int | None = None
    """A batch that somebody else planned while the driver that is to be killed was running."""
    until: datetime | None = None
    """When a wait ends by itself."""
    needs_attention: bool = False
    """Whether a person should be told: the supervisor can't settle it alone."""
    waits_for: str = ""
    """What does not answer, and how that shows; empty where nothing outside is waited for."""
    plan: RestartPlan | None = None
    accepts_unsafe: bool = False
    """Whether the claim passes a person's acceptance of an unsafe start on."""
    liveness: Liveness | None = None
    """How a living driver gets on."""
