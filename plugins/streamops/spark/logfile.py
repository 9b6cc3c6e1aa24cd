"""A bound on the driver's own log: a stream runs for months, and its host must not fill up."""

import os
import shutil
from contextlib import suppress

DEFAULT_CAP = 20 * 1024 * 1024
"""Bytes before the log is moved to `<log>.1`; so at most twice that is kept."""


class CappedLog:
    """Copies the log aside and empties it when it has grown past the cap.

    JVM and Python both append to the same open file (O_APPEND, opened by the launcher), so emptying it in place works
    for both where renaming would not; lines written between copy and truncation are lost.
    """

    def __init__(self, path: str, *, cap: int = DEFAULT_CAP) -> None:
        self._path = path
        self._cap = cap

    def cap(self) -> None:
        """Do it now if it is due. Trouble with the log never troubles the stream."""
        if not self._path:
            return
        with suppress(OSError):
            if os.path.getsize(self._path) > self._cap:
                shutil.copyfile(self._path, self._path + ".1")
                shutil.copymode(self._path, self._path + ".1")
                os.truncate(self._path, 0)
