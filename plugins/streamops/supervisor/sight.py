"""What plans and `status` rest on beyond a supervisor's own look."""

from dataclasses import dataclass, replace
from datetime import datetime

from streamops.checkpoint import CheckpointFacts
from streamops.control.attendance import Attendance
from streamops.restart import RestartPlan
from streamops.supervisor.drift import Declaration
from streamops.supervisor.start_rules import worst_plan
from streamops.supervisor.supervisor import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Who looks after a stream, and what its next driver would be given."""

    attendance: Attendance | None
    """None when nobody has ever signed."""
    declaration: Declaration

    def is_unattended(self, now: datetime) -> bool:
        """Whether nobody is there who would start, restart or kill a driver."""
        return self.attendance is None or self.attendance.is_over(now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """All that a plan rests on, read in one go."""

    look: Look
    around: Surroundings
    checkpoint: CheckpointFacts
    """Read even while a driver lives: a stop that no start could follow must be known before."""
    companions: tuple[CheckpointFacts, ...] = ()

    @property
    def start_plan(self) -> RestartPlan:
        """What Spark would do if it were started on the checkpoint as it stands now."""
        seen = replace(self.look.observation, checkpoint=self.checkpoint, companions=self.companions)
        return worst_plan(seen)

    @property
    def is_unattended(self) -> bool:
        """Whether nobody is there who would start, restart or kill a driver."""
        return self.around.is_unattended(self.look.observation.now)
