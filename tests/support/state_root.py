"""State roots as `streamops init` leaves them."""

from streamops.control.state_root import make_state_root
from streamops.storage import Storage
from support.clock import FakeClock
from support.specs import PERSON


def init(storage: Storage, state_root: str) -> None:
    """The folder is a state root from now on."""
    make_state_root(storage, state_root, clock=FakeClock(), author=PERSON)
