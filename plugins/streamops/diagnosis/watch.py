"""What is known of a checkpoint beyond one look at it: the time, the checks before, and whether a driver is at it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.batch_times import BatchTimes
from streamops.diagnosis.sample import HealthSample
from streamops.liveness.pace import Window, window_of
from streamops.liveness.stall_policy import StallPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The past of one checkpoint, as far as somebody kept it."""

    now: datetime
    before: tuple[HealthSample, ...] = ()
    """Earlier checks, oldest first."""
    times: BatchTimes = field(default_factory=BatchTimes)
    has_driver: bool | None = None
    """Whether a driver of ours may live; None where no control log tells."""
    driver_since: datetime | None = None
    """When that driver was claimed: what was pending before did not hang in it."""
    trigger_interval: timedelta = timedelta(0)
    """As declared; zero where nobody has said, or a batch follows the other at once."""
    policy: StallPolicy = field(default_factory=StallPolicy)
    state_rows: int | None = None
    state_memory: int | None = None
    """Of the query's state now, as `HealthSample` keeps them."""

    @property
    def window(self) -> Window:
        """After how long a batch is worth a report."""
        return window_of(self.times.durations, policy=self.policy, trigger_interval=self.trigger_interval)

    def same_since(self, facts: CheckpointFacts) -> tuple[HealthSample, ...]:
        """The checks in a row, up to the last one, that saw the two logs end where they end now; oldest first."""
        same: list[HealthSample] = []
        for sample in reversed(self.before):
            if (sample.last_offset, sample.last_commit) != (facts.last_offset, facts.last_commit):
                break
            if self.driver_since and sample.at < self.driver_since:
                break
            same.append(sample)
        return tuple(reversed(same))
