"""Whether the log of a checkpoint disowns a driver that lives. Pure."""

from collections.abc import Sequence
from enum import Enum

from streamops.control.records import Claimed, DriverEnded, Record
from streamops.control.state import LogState
from streamops.launch import FoundDriver


class DriverFault(Enum):
    """Why a living driver should not be there."""

    SUPERSEDED = "was superseded by a newer claim"
    ENDED = "has ended on record"
    FOREIGN_TOKEN = "carries a token that the log does not know"
    AHEAD = "is newer than every claim in the log"
    NO_LOG = "has no control log any more"

    @property
    def is_killable(self) -> bool:
        """Whether the log itself says that this driver may write no more. A log that does not know it says nothing:
        it may be the log that is wrong."""
        return self in (DriverFault.SUPERSEDED, DriverFault.ENDED)


def fault_of(driver: FoundDriver, state: LogState) -> DriverFault | None:
    """Why the log disowns the driver; None when it is the one that may write.

    The fold keeps no claims of older epochs that have ended, so there the number alone speaks; `may_be_killed` looks at
    the token before anything is done.
    """
    if state.is_empty:
        return DriverFault.NO_LOG
    newest = state.newest
    if newest is None or driver.epoch > newest.number:
        return DriverFault.AHEAD
    claims = {epoch.number: epoch.claim for epoch in (*state.open_epochs, newest)}
    claim = claims.get(driver.epoch)
    if claim and claim.token != driver.token:
        return DriverFault.FOREIGN_TOKEN
    if driver.epoch == newest.number:
        return None if newest.is_open else DriverFault.ENDED
    return DriverFault.SUPERSEDED if claim else DriverFault.ENDED


def may_be_killed(driver: FoundDriver, records: Sequence[Record]) -> bool:
    """Whether the whole log knows this very driver by its token, and that it may write no more."""
    tokens = [(record.number, record.body) for record in records if isinstance(record.body, Claimed)]
    own = [number for number, claim in tokens if (claim.token, claim.epoch) == (driver.token, driver.epoch)]
    if len(own) != 1:
        return False
    is_superseded = any(number > own[0] and claim.epoch > driver.epoch for number, claim in tokens)
    ends = (record.body for record in records if record.number > own[0] and isinstance(record.body, DriverEnded))
    return is_superseded or any(end.epoch == driver.epoch for end in ends)


def named(driver: FoundDriver) -> str:
    """A driver as a person can find it."""
    return f"epoch {driver.epoch}, process {driver.handle.process} on {driver.handle.host},"
