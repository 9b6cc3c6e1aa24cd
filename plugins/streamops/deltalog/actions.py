"""The actions of one commit of a Delta table's log: a JSON object a line."""

import json
from collections.abc import Iterator

from streamops.errors import DeltaLogError

ACTIONS = frozenset(
    {
        "add",
        "remove",
        "metaData",
        "protocol",
        "txn",
        "cdc",
        "commitInfo",
        "domainMetadata",
        "checkpointMetadata",
        "sidecar",
    }
)
"""Names of the Delta protocol, version 3 and 7."""


def actions_in(content: bytes, address: str) -> Iterator[dict[str, object]]:
    """Each action; what is no object is passed over. DeltaLogError naming the file for what is no JSON."""
    try:
        for line in content.splitlines():
            action = json.loads(line) if line.strip() else None
            if isinstance(action, dict):
                yield action
    except (ValueError, RecursionError) as error:
        raise DeltaLogError(f"{address} can't be read: it is no JSON") from error


def is_action(line: dict[str, object]) -> bool:
    """Whether an object is an action that is known here: it has one key, its name."""
    return len(line) == 1 and not ACTIONS.isdisjoint(line)
