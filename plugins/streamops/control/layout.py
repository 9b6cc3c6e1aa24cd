"""Names in the control folder, each with an example."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from streamops.storage import join, parent

RECORD_NAME = re.compile(r"^(\d{20})\.json$")
"""`00000000000000000017.json`"""

DRIVER_FOLDER = re.compile(r"^(\d+)-([0-9a-f]{8,32})$")
"""`3-5f0c1a2b9d3e4f60`: epoch 3, instance 5f0c…"""

_SIBLING = re.compile(r"^(.+)\.(streamops|backfills|companion-\d+)$")
"""`file:///data/orders.companion-0`: made by the suite beside the checkpoint `file:///data/orders`."""

HEARTBEAT = "heartbeat.json"
PROGRESS = "progress.jsonl"
EXIT = "exit.json"


def control_folder(checkpoint: str) -> str:
    """The control folder of a checkpoint: a sibling, because Spark checks that a new checkpoint is empty."""
    return checkpoint + ".streamops"


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """A folder that belongs to the stream with a checkpoint, should there be one."""

    address: str
    checkpoint: str
    what: str
    """`checkpoint`, or what the suite makes beside it: `control folder`, `folder of backfills`, `companion's checkpoint`."""


_SIBLINGS = {"streamops": "control folder", "backfills": "folder of backfills"}


def own_places_around(address: str) -> Iterator[OwnPlace]:
    """Every folder that an address is or lies in, as a stream's own; from the inside outwards.

    This alone says which addresses are a stream's: its checkpoint and all that the suite makes beside it. Two checkpoints
    get into each other's way where one of them is a `checkpoint` in the answer for the other: whatever lies beside a
    checkpoint lies in the same folder. As many steps as the address has parts, however many streams there are.
    """
    while True:
        yield OwnPlace(address, address, "checkpoint")
        if match := _SIBLING.match(address):
            yield OwnPlace(address, match[1], _SIBLINGS.get(match[2], "companion's checkpoint"))
        above = parent(address)
        if above == address:
            return
        address = above


def log_folder(control: str) -> str:
    """Where the records lie."""
    return join(control, "log")


def record_address(control: str, number: int) -> str:
    """The address of one record."""
    return join(control, "log", f"{number:020d}.json")


def drivers_folder(control: str) -> str:
    """Where every driver has its own folder."""
    return join(control, "drivers")


def driver_folder(control: str, epoch: int, instance: str) -> str:
    """The folder that one driver alone writes."""
    return join(control, "drivers", f"{epoch}-{instance}")


def replays_folder(checkpoint: str) -> str:
    """Where the replays of dead letters have a folder each, by number: `replays/000003`."""
    return join(control_folder(checkpoint), "replays")


def companion_checkpoint(checkpoint: str, number: int) -> str:
    """The checkpoint of a further query in the same driver; beside the stream's own and covered by its claim."""
    return f"{checkpoint}.companion-{number}"


def backfills_folder(checkpoint: str) -> str:
    """Where the backfills of a stream have a folder each: a sibling of the checkpoint as well."""
    return f"{checkpoint}.backfills"


def backfill_folder(checkpoint: str, backfill: str) -> str:
    """The folder of one backfill of the stream with that checkpoint."""
    return join(backfills_folder(checkpoint), backfill)


def backfill_checkpoint(checkpoint: str, backfill: str) -> str:
    """The checkpoint of one backfill; its control folder and its companions' checkpoints lie beside it, as always."""
    return join(backfill_folder(checkpoint, backfill), "checkpoint")


def backfill_id(own_checkpoint: str) -> str:
    """The id of the backfill that has this checkpoint of its own."""
    return parent(own_checkpoint).rpartition("/")[2]


def backfill_plan_address(own_checkpoint: str) -> str:
    """The plan of the backfill that has this checkpoint of its own."""
    return join(parent(own_checkpoint), "plan.json")


def declared_name(derived: str, backfill: str) -> str:
    """The name of the declared stream, from that of the stream that its backfill is."""
    return derived.removesuffix(f"__{backfill.replace('-', '_')}")
