"""What plans and `status` rest on beyond a supervisor's own look."""

from dataclasses import dataclass, replace
from datetime import datetime

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.control.attendance import Attendance
from streamops.coverage import Coverage
from streamops.restart import RestartPlan
from streamops.sink import SinkView
from streamops.supervisor.drift import Declaration
from streamops.supervisor.observe import Observation
from streamops.supervisor.preflight import CheckpointPlan, plans_of, worst_plan
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
    checkpoints: tuple[CheckpointSnapshot, ...]
    """The stream's own and then its companions'. Read even while a driver lives: a stop that no start could follow must
    be known before."""
    coverages: tuple[Coverage, ...] = ()
    """Of each of them, what its query needs and what Kafka has; none where nobody was asked."""
    sink: SinkView | None = None
    """What the declared table has of the stream's own query; None where no table is found."""

    @property
    def checkpoint(self) -> CheckpointFacts:
        """The logs of the stream's own checkpoint."""
        return self.checkpoints[0].facts

    @property
    def start_plan(self) -> RestartPlan:
        """What Spark would do if it were started on the checkpoint as it stands now."""
        return worst_plan(self._at_a_start)

    @property
    def checkpoint_plans(self) -> tuple[CheckpointPlan, ...]:
        """The same for each checkpoint by itself."""
        return plans_of(self._at_a_start)

    @property
    def is_unattended(self) -> bool:
        """Whether nobody is there who would start, restart or kill a driver."""
        return self.around.is_unattended(self.look.observation.now)

    @property
    def _at_a_start(self) -> Observation:
        own, *companions = (snapshot.facts for snapshot in self.checkpoints)
        seen = self.look.observation
        return replace(
            seen,
            checkpoint=own,
            companions=tuple(companions),
            in_depth=self.checkpoints,
            coverages=self.coverages,
            sink=self.sink,
        )
