"""The actions of one commit of a Delta table's log: a JSON object a line."""

import json
from collections.abc import Iterator

from streamops.errors import DeltaLogError


def actions_in(content: bytes, address: str) -> Iterator[dict[str, object]]:
    """Each action; what is no object is passed over. DeltaLogError naming the file for what is no JSON."""
    try:
        for line in content.splitlines():
            action = json.loads(line) if line.strip() else None
            if isinstance(action, dict):
                yield action
    except (ValueError, RecursionError) as error:
        raise DeltaLogError(f"{address} can't be read: it is no JSON") from error
