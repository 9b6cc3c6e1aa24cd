"""Waiting for real processes: as short as possible, never longer than a deadline."""

import threading
import time
from collections.abc import Callable

_PAUSE = threading.Event()


def eventually(condition: Callable[[], bool], *, within: float = 10.0) -> bool:
    """Whether the condition comes true within so many seconds; looked at every few milliseconds."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        _PAUSE.wait(0.005)
    return True
