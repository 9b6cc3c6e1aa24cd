"""What recordings must not be: large, or telling of the machine that they were made on."""

import getpass
import io
import re
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path

MAX_FILE = 64 * 1024
MAX_TOTAL = 3 * 1024 * 1024

_ANY_MACHINE = re.compile(
    rb"/(?:root|home|work|Users|opt)/|\b(?!127\.|0\.)(?:\d{1,3}\.){3}\d{1,3}:\d|\b[\w-]+\.(?:local|internal|lan)\b"
)
"""Folders of people, addresses with a port, names of hosts in a private network."""


def machine_names() -> tuple[str, ...]:
    """Names of this machine and of who uses it, where they are no everyday words."""
    names = {socket.gethostname(), socket.getfqdn(), getpass.getuser()} - {"localhost", "", "root"}
    return tuple(sorted(name for name in names if len(name) > 3))


def problems(folder: Path, *, names: tuple[str, ...] = ()) -> Iterator[str]:
    """What is wrong with the files below a folder, one line each; `names` must not come in them."""
    total = 0
    for file in sorted(folder.rglob("*")):
        if not file.is_file():
            continue
        content = file.read_bytes()
        total += len(content)
        shown = file.relative_to(folder)
        if len(content) > MAX_FILE:
            yield f"{shown} has {len(content)} bytes"
        for text in _texts(content):
            found = _ANY_MACHINE.search(text)
            if found:
                yield f"{shown} tells of a machine: {found[0]!r}"
            yield from (f"{shown} holds the name {name!r}" for name in names if name.encode() in text)
    if total > MAX_TOTAL:
        yield f"all files together have {total} bytes"


def _texts(content: bytes) -> Iterator[bytes]:
    """The file itself, and the members of a zip unpacked."""
    yield content
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield from (archive.read(member) for member in archive.namelist())
