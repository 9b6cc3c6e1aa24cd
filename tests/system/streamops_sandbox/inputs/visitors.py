"""Users and ads that come back in some waves and not in others, the same in the inputs that are joined with each other."""

from streamops_sandbox.inputs.draws import draw
from streamops_sandbox.inputs.timetable import WAVES, Slot


def returning(slot: Slot, *, seed: int, pool: int, after: tuple[int, ...], what: str) -> int:
    """One of about `pool` visitors whose home wave is as many waves before the slot's as one of `after` says.

    Visitor n is at home in wave n modulo WAVES. Several slots may get the same one.
    """
    waves = after[draw(len(after), seed, what, "after", slot.number)]
    each = max(1, pool // WAVES)
    return (slot.wave - waves) % WAVES + WAVES * draw(each, seed, what, slot.number)


def once(slot: Slot) -> int:
    """A visitor of its own for each slot with another wave or rank, at home in this wave or the one before, by turns."""
    return (slot.wave - slot.rank % 2) % WAVES + WAVES * slot.rank
