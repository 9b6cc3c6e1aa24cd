"""Names in the control folder, each with an example."""

import re

from streamops.storage import join, parent

RECORD_NAME = re.compile(r"^(\d{20})\.json$")
"""`00000000000000000017.json`"""

DRIVER_FOLDER = re.compile(r"^(\d+)-([0-9a-f]{8,32})$")
"""`3-5f0c1a2b9d3e4f60`: epoch 3, instance 5f0c…"""

HEARTBEAT = "heartbeat.json"
PROGRESS = "progress.jsonl"
EXIT = "exit.json"


def control_folder(checkpoint: str) -> str:
    """The control folder of a checkpoint: a sibling, because Spark checks that a new checkpoint is empty."""
    return checkpoint + ".streamops"


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
