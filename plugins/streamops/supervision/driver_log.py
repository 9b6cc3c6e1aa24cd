"""The end of a driver's log: stdout and stderr of spark-submit, as the launcher's handle names the file."""

import os
from typing import BinaryIO

from streamops.errors import ObjectNotFoundError, StorageError
from streamops.storage.local import open_regular

TAIL_LIMIT = 1024 * 1024
"""Bytes. A longer end of the log is cut at its front, so that a stream's log of any size costs the same."""


def tail(path: str, lines: int) -> list[str]:
    """The last lines, taken from the last MiB at most. Raises ObjectNotFoundError, StorageError."""
    try:
        with open_log(path) as file:
            size = file.seek(0, os.SEEK_END)
            start = max(0, size - TAIL_LIMIT)
            file.seek(start)
            content = file.read(TAIL_LIMIT)
    except FileNotFoundError as error:
        raise ObjectNotFoundError(f"driver log {path} does not exist on this host") from error
    except OSError as error:
        raise StorageError(f"driver log {path} can't be read: {error.strerror}") from error
    except ValueError as error:  # A null character: no such path can be.
        raise StorageError(f"driver log {path!r} can't be read: {error}") from error
    found = text_lines(content)
    if start and len(found) > 1:
        del found[0]  # Cut in the middle.
    return found[-lines:] if lines > 0 else []


def open_log(path: str) -> BinaryIO:
    """A driver's log as its launcher made it. OSError for anything else at its place, a link to another file among it.

    The path comes from a record that others may have written, and who is on call may read more than they.
    """
    return open_regular(path, flags=os.O_NOFOLLOW)


def text_lines(content: bytes) -> list[str]:
    """The lines in a piece of a log; bytes that are not UTF-8 are shown as �."""
    lines = content.decode(errors="replace").split("\n")
    if lines[-1] == "":
        del lines[-1]
    return [line.rstrip("\r") for line in lines]
