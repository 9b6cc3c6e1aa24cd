"""The end of a log, for the error message of what wrote it."""

from pathlib import Path

LINES = 20
_BYTES = 16_384
"""Read at most: a log of days is not read whole for twenty lines."""


def log_tail(log: Path) -> str:
    """The path of a log and its last lines."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, log.stat().st_size - _BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return f"{log} was not written"
    return "\n".join([f"last lines of {log}:", *(f"  {line}" for line in lines[-LINES:])])
