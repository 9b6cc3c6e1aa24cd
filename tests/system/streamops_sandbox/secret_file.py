"""Passwords and tokens in files that only their owner reads."""

import os
import secrets
from pathlib import Path

from streamops_sandbox.json_file import OWNER_ONLY


def write_secret(path: Path, secret: str) -> None:
    """Write a file that only its owner reads, in the place of what was there."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(secret)


def kept_secret(path: Path) -> str:
    """The secret in a file; a new one is drawn and written where there is none, or an empty file."""
    kept = path.read_text(encoding="utf-8") if path.is_file() else ""
    if not kept:
        kept = secrets.token_urlsafe(24)
        write_secret(path, kept)
    return kept
