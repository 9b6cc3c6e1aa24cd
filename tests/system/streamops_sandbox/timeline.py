"""How fast the suite reacts to a kill, read from the control log and the checkpoint."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from streamops.checkpoint.layout import COMMITS, batch_id
from streamops.control.fold import fold
from streamops.control.log import ControlLog
from streamops.control.records import DriverEnded, Record, Submitted
from streamops.control.state import LogState
from streamops.failures.policy import RestartPolicy, advise_restart
from streamops.storage.local import LocalStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """What followed a kill; durations from the kill, in seconds."""

    killed_epoch: int
    noticed: float
    resubmitted: float
    """Without the wait that the restart policy asked for."""
    policy_wait: float


class Timeline:
    """Looks at one stream's log and commits. Records never change, so each is read once."""

    def __init__(self, checkpoint: str, policy: RestartPolicy) -> None:
        self._storage = LocalStorage()
        self._checkpoint = checkpoint
        self._policy = policy
        self._log = ControlLog.of_checkpoint(self._storage, checkpoint)
        self._records: tuple[Record, ...] = ()
        self._state = LogState()

    @property
    def control(self) -> str:
        """The stream's control folder."""
        return self._log.control

    def state(self) -> LogState:
        """The fold of the log now."""
        new = self._log.read_behind(len(self._records) - 1)
        self._records += new
        self._state = fold(new, self._state)
        return self._state

    def newest_submitted(self) -> int:
        """The newest epoch that was submitted and has not ended; 0 when there is none."""
        newest = self.state().newest
        return newest.number if newest and newest.submission and newest.is_open else 0

    def committed(self) -> int:
        """The newest committed batch; -1 before the first."""
        names = self._storage.list(f"{self._checkpoint}/{COMMITS}")
        return max((batch for name in names if (batch := batch_id(name)) is not None), default=-1)

    def epochs(self) -> int:
        """How many epochs were ever claimed."""
        newest = self.state().newest
        return newest.number if newest else 0

    def epochs_with_batches(self) -> int:
        """How many ended epochs had committed a batch."""
        return sum(failure.has_progressed for failure in self.state().failures)

    def reaction(self, epoch: int, killed_at: datetime) -> Reaction | None:
        """What followed the kill of an epoch's driver; None while its successor is not submitted."""
        self.state()
        records = self._records
        end = next((record for record in records if _ends(record, epoch)), None)
        submit = next((record for record in records if end and _submits_after(record, end)), None)
        if end is None or submit is None:
            return None
        before_submit = fold(record for record in records if record.number <= end.number)
        due = advise_restart(before_submit.failures, policy=self._policy, now=end.at).at
        wait = max(due - end.at, timedelta(0))
        return Reaction(
            killed_epoch=epoch,
            noticed=(end.at - killed_at).total_seconds(),
            resubmitted=(submit.at - killed_at - wait).total_seconds(),
            policy_wait=wait.total_seconds(),
        )


def now() -> datetime:
    """The wall clock that the records of this host carry."""
    return datetime.now(UTC)


def _ends(record: Record, epoch: int) -> bool:
    return isinstance(record.body, DriverEnded) and record.body.epoch == epoch


def _submits_after(record: Record, end: Record) -> bool:
    return isinstance(record.body, Submitted) and record.number > end.number
