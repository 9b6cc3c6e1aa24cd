"""What became of an act that was asked for at the terminal."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from streamops.operations.act_plan import ActPlan
from streamops.operations.act_progress import ActProgress, Stage


class ActOutcome(StrEnum):
    """What became of a plan."""

    PLANNED = "planned"
    """A dry run: nothing was done."""
    NOTHING_TO_DO = "nothing-to-do"
    RECORDED = "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActResult:
    """A request after it was made, or not."""

    plan: ActPlan
    outcome: ActOutcome
    numbers: tuple[int, ...] = ()
    """Of the records in the control log."""
    has_ended: bool | None = None
    """Of a stop: whether the driver is gone; None when nobody waited for it."""
    progress: ActProgress | None = None
    """How far it came while this command waited; None when it did not."""
    waited: timedelta | None = None
    """From the request until that was seen."""

    @property
    def exit_code(self) -> int:
        """1 when what was waited for did not come."""
        return 0 if self.progress is None or self.progress.stage is Stage.DONE else 1
