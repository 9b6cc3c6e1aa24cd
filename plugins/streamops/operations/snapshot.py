"""What plans and `status` rest on beyond a supervisor's own look."""

from dataclasses import dataclass
from datetime import datetime

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.control.attendance import Attendance
from streamops.diagnosis.plan import RestartPlan
from streamops.operations.drift import Declaration
from streamops.retention import Coverage
from streamops.supervision.observation import Observation
from streamops.supervision.preflight import CheckpointPlan, plans_of, worst_plan
from streamops.supervision.supervisor import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class ActContext:
    """Who looks after a stream, and what its next driver would be given."""

    attendance: Attendance | None
    """None when nobody has ever signed."""
    declaration: Declaration

    def is_unattended(self, now: datetime) -> bool:
        """Whether nobody is there who would start, restart or kill a driver."""
        return self.attendance is None or self.attendance.is_over(now)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSnapshot:
    """All that a plan rests on, read in one go."""

    look: Look
    around: ActContext
    seen: Observation
    """With all that a start would come across, read even while a driver lives: a stop that no start could follow must be known
    before."""

    @property
    def checkpoints(self) -> tuple[CheckpointSnapshot, ...]:
        """The stream's own and then its companions'."""
        return self.seen.in_depth

    @property
    def coverages(self) -> tuple[Coverage, ...]:
        """Of each of them, what its query needs and what Kafka has; none where nobody was asked."""
        return self.seen.coverages

    @property
    def checkpoint(self) -> CheckpointFacts:
        """The logs of the stream's own checkpoint."""
        return self.checkpoints[0].facts

    @property
    def start_plan(self) -> RestartPlan:
        """What Spark would do if it were started on the checkpoint as it stands now."""
        return worst_plan(self.seen)

    @property
    def checkpoint_plans(self) -> tuple[CheckpointPlan, ...]:
        """The same for each checkpoint by itself."""
        return plans_of(self.seen)

    @property
    def is_unattended(self) -> bool:
        """Whether nobody is there who would start, restart or kill a driver."""
        return self.around.is_unattended(self.look.observation.now)
