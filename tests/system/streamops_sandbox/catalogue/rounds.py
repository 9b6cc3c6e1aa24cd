"""How many jobs run at once: as many as the memory holds, and no more than the cores can serve."""

from collections.abc import Sequence
from dataclasses import dataclass

from streamops_sandbox.errors import SandboxError

MEBIBYTE = 2**20
GIBIBYTE = 2**30

OVERHEAD = 700 * MEBIBYTE
"""What a driver takes beside its heap: the JVM's own memory, the job's Python and the Python workers."""

SPARE_CORES = 1
"""One job more than there are cores: while one waits for its next batch, another works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one job takes."""

    stream: str
    memory: int
    """Bytes, with the overhead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What the machine has for them."""

    memory: int
    """Bytes that can be had without taking them from anybody."""
    cores: int


def rounds_of(demands: Sequence[Demand], room: Room) -> tuple[tuple[str, ...], ...]:
    """The jobs in their order, round by round: each round has as many as fit.

    SandboxError where one alone does not fit: it would be killed for its memory, or somebody else would.
    """
    rounds: list[list[Demand]] = []
    for demand in demands:
        if demand.memory > room.memory:
            raise SandboxError(
                f"{demand.stream} takes about {gibibytes(demand.memory)}, and {gibibytes(room.memory)} are free: end something"
                " that takes memory, and try again"
            )
        if not rounds or not _fits(rounds[-1], demand, room):
            rounds.append([])
        rounds[-1].append(demand)
    return tuple(tuple(demand.stream for demand in found) for found in rounds)


def plan_text(demands: Sequence[Demand], rounds: Sequence[Sequence[str]], room: Room) -> str:
    """For a person: `3 of 5 at once: 6.2 GiB free, about 1.7 GiB each, 2 cores; the rest in a further round`."""
    most = max(len(found) for found in rounds)
    each = gibibytes(max(demand.memory for demand in demands))
    further = {1: "", 2: "; the rest in a further round"}.get(
        len(rounds), f"; the rest in {len(rounds) - 1} further rounds"
    )
    return f"{most} of {len(demands)} at once: {gibibytes(room.memory)} free, about {each} each, {room.cores} cores{further}"


def gibibytes(amount: int) -> str:
    """As `1.7 GiB`."""
    return f"{amount / GIBIBYTE:.1f} GiB"


def _fits(found: Sequence[Demand], demand: Demand, room: Room) -> bool:
    taken = sum(other.memory for other in found) + demand.memory
    return len(found) < room.cores + SPARE_CORES and taken <= room.memory
