"""Progress in a driver's folder, as drivers leave it."""

import json
from pathlib import Path
from typing import Any

from streamops.control.layout import PROGRESS, control_folder, driver_folder
from streamops.storage import join
from support.terminal import Terminal

RECORDED = Path(__file__).parents[1] / "data" / "progress"
"""Ten batches each of a count in state, by Spark 4.2.0: 200 new keys a batch, four partitions, two cores."""


def ran(terminal: Terminal, *events: dict[str, Any], stream: str = "orders") -> None:
    """The newest driver of a stream has kept these events."""
    leave(terminal, "\n".join(map(json.dumps, events)).encode(), stream=stream)


def leave(terminal: Terminal, content: bytes, *, stream: str = "orders") -> None:
    """The newest driver of a stream has a progress file with this content."""
    control, epoch = control_folder(terminal.spec(stream).checkpoint), terminal.newest(stream).number
    terminal.storage.write(join(driver_folder(control, epoch, "0a0a0a0a"), PROGRESS), content)
