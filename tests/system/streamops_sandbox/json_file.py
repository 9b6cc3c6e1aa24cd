"""Small JSON files that hold the old text or the new one, never half of it, readable by their owner only."""

import json
import os
import uuid
from pathlib import Path
from typing import Any

from streamops_sandbox.errors import SandboxError

OWNER_ONLY = 0o600


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Replace the file; a reader or a crash at any moment sees one of the two texts."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def read_json(path: Path) -> dict[str, Any] | None:
    """The content, or None when there is no file; SandboxError when the text is not a JSON object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise SandboxError(f"{path} is not JSON ({error}): remove the file, or reset the sandbox") from error
    if not isinstance(content, dict):
        raise SandboxError(f"{path} holds no JSON object: remove the file, or reset the sandbox")
    return content
