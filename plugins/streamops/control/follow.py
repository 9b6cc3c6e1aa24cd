"""What a driver asks of the log at every beat: is my claim still the newest, and am I asked to stop?

Both depend on the records behind the claim alone, so a driver never folds history and never lists a folder: one look
reads its own claim again and tries the next number.
"""

from dataclasses import dataclass, replace

from streamops.control.layout import record_address
from streamops.control.log import read_record
from streamops.control.records import (
    Claimed,
    ClaimMode,
    DriverEnded,
    MaintenanceBegun,
    MaintenanceEnded,
    Record,
    RestartRequested,
    StartRequested,
    StopRequested,
)
from streamops.errors import ControlLogError, ObjectNotFoundError
from streamops.storage import ReadableStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseState:
    """What the log says to the driver of a claim."""

    lost: str = ""
    """Why the driver must halt at once; empty while its claim holds."""
    asked: str = ""
    """Who wants the stream to stand still, and why."""
    maintenance: str = ""
    """Who needs the checkpoint for a while, and why."""
    replaced: str = ""
    """Who wants another driver in this one's place, and why: for this driver there is no way back."""

    @property
    def stop(self) -> str:
        """Why the driver must stop between two batches; empty when it need not."""
        return self.asked or self.replaced or self.maintenance

    @property
    def holds_claim(self) -> bool:
        """Whether this driver, and nobody else, may start batches."""
        return not self.lost


class ClaimWatch:
    """Follows the log behind one claim."""

    def __init__(self, storage: ReadableStorage, control: str, *, number: int, token: str) -> None:
        self._storage = storage
        self._control = control
        self._number = number
        self._token = token
        self._next = number + 1
        self._standing = LeaseState()

    def claim(self) -> Claimed:
        """The claim itself; ControlLogError when the record is not this driver's claim, StorageError."""
        record = read_record(self._storage, self._control, self._number)
        if not isinstance(record.body, Claimed) or record.body.token != self._token:
            raise ControlLogError(f"{record_address(self._control, self._number)} is not the claim of this driver")
        return record.body

    def look(self) -> LeaseState:
        """Where the driver stands now; StorageError when the log can't be asked, which is no answer at all."""
        try:
            claim = self.claim()
        except ObjectNotFoundError as error:
            return LeaseState(lost=f"the control log is gone: {error}")
        except ControlLogError as error:
            return LeaseState(lost=str(error))
        while self._standing.holds_claim:
            try:
                record = read_record(self._storage, self._control, self._next)
                self._standing = _after(self._standing, record, claim=claim)
            except ObjectNotFoundError:
                break
            except ControlLogError as error:
                # A record that this version can't read may be a newer claim: to go on would be a guess.
                self._standing = replace(self._standing, lost=str(error))
            self._next += 1
        return self._standing


def _after(standing: LeaseState, record: Record, *, claim: Claimed) -> LeaseState:
    epoch = claim.epoch
    match record.body:
        case Claimed():
            return replace(
                standing, lost=f"epoch {record.body.epoch} was claimed by {record.by.actor}: {record.reason}"
            )
        case DriverEnded() if record.body.epoch == epoch:
            return replace(
                standing, lost=f"the end of epoch {epoch} is on record, by {record.by.actor}: {record.reason}"
            )
        case StopRequested():
            return replace(standing, asked=f"{record.by.actor}: {record.reason}")
        case StartRequested():
            return replace(standing, asked="")
        case RestartRequested() if record.body.epoch >= epoch:
            return replace(standing, replaced=f"{record.by.actor}: {record.reason}")
        case MaintenanceBegun():
            return replace(standing, maintenance=f"{record.by.actor}: {record.reason}")
        case MaintenanceEnded() if claim.mode is not ClaimMode.LIVE:
            # The run was claimed for that maintenance alone.
            return replace(standing, replaced=f"{record.by.actor}: {record.reason}")
        case MaintenanceEnded():
            return replace(standing, maintenance="")
        case _:
            return standing
