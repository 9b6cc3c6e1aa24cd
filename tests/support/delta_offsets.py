"""The logs of a query that reads a Delta table."""

import json

from streamops.checkpoint.inspect import inspect_checkpoint
from support.base_checkpoint import ADDRESS, entry, files, stored
from support.delta_table import TABLE_ID


def offset(version, *, index=-1, is_starting=False, table_id=TABLE_ID):
    """The offset before a version, or behind a file of it."""
    fields = {
        "sourceVersion": 1,
        "reservoirId": table_id,
        "reservoirVersion": version,
        "index": index,
        "isStartingVersion": is_starting,
    }
    return json.dumps(fields, separators=(",", ":"))


def reading(newest, previous=None, *, is_pending=False):
    """The logs of a query whose last two batches end at these offsets."""
    found = {name: content for name, content in files().items() if not name.startswith("sources/")}
    found |= {"offsets/3": entry(3, source=previous or newest), "offsets/4": entry(4, source=newest)}
    return {name: content for name, content in found.items() if not (is_pending and name == "commits/4")}


def the_first_batch(end):
    """The logs of a query that has committed batch 0, and no more."""
    found = files()
    return {"metadata": found["metadata"], "offsets/0": entry(0, source=end), "commits/0": found["commits/4"]}


def inspected(found):
    """What a checkup knows of them."""
    return inspect_checkpoint(stored(found), ADDRESS)
