"""Which processes of the host belong to a sandbox."""

import os
from pathlib import Path

from streamops.launch.processes import PROC


def processes_of(sandbox_root: Path) -> dict[int, str]:
    """Living processes whose command line or environment names the sandbox's folder."""
    found = {}
    for entry in PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:
            continue
        if str(sandbox_root).encode() in command + environment:
            found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace")[:200]
    return found
