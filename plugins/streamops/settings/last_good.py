"""The last good version of a settings file: `<state_root>/settings/<name>.json`, kept stream by stream.

Its streams are written as they were declared, with the defaults merged in and the variables filled in, so that a broken
`defaults`, or an environment that lacks a variable, takes nothing from it. It is read by the loader of the file itself.

A file that can't be read does not tell its state root. Two things do: a line `state_root:` that is left of it, which works
in a fresh container too, and a note of this host, `<name>.json` in `$AIRFLOW_HOME/streamops` or else in
`${XDG_STATE_HOME:-~/.local/state}/streamops`, which works where nothing is left. `<name>` is made of the file's path.
"""

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from streamops.control.state_root import require_state_root
from streamops.errors import CorruptRecordError, ObjectNotFoundError, SettingsError, StorageError
from streamops.settings.folders import resolve_state_folder
from streamops.settings.yaml_file import parse_yaml
from streamops.storage import join
from streamops.storage.kinds import storage_for
from streamops.storage.local import LocalStorage

log = logging.getLogger(__name__)

MOST_BYTES = 32 * 1024 * 1024
"""Of a kept version: 5 000 streams take about 8 MiB. What is larger is not kept, and told."""
MOST_BYTES_OF_A_NOTE = 64 * 1024

_STATE_ROOT = re.compile(r"^state_root:[^\S\n]*\S[^\n]*$", re.MULTILINE)
"""`state_root: ${STREAMOPS_DATA:-data}/state`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastGood:
    """What was right in a settings file when it was right last."""

    path: str
    """The file, absolute."""
    sections: dict[str, Any] = field(default_factory=dict)
    """What it says beside the streams."""
    streams: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What each stream declares."""
    since: dict[str, datetime] = field(default_factory=dict)
    """By stream: when that was read first."""


def kept_address(state_root: str, path: str | Path) -> str:
    """Where the last good version of a settings file lies."""
    return join(state_root, "settings", f"{_name_of(path)}.json")


def read_last_good(state_root: str, path: str | Path) -> LastGood | None:
    """The last good version; None where there is none. StorageError, CorruptRecordError."""
    address = kept_address(state_root, path)
    try:
        content = storage_for(address).read(address, limit=MOST_BYTES)
    except ObjectNotFoundError:
        return None
    try:
        fields = json.loads(content)
        return LastGood(
            path=str(fields["path"]),
            sections=dict(fields["sections"]),
            streams={str(name): dict(declared) for name, declared in fields["streams"].items()},
            since={str(name): datetime.fromisoformat(moment) for name, moment in fields["since"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise CorruptRecordError(f"{address} is no version of a settings file: {error!r:.200}") from error


def write_last_good(state_root: str, version: LastGood) -> None:
    """Replace the kept version. StorageError, also for a folder without the marker of a state root, which is most likely not
    mounted; CorruptRecordError for a marker that can't be read. A version that is too large is told and not kept.
    """
    address = kept_address(state_root, version.path)
    require_state_root(storage_for(state_root), state_root)
    fields = {
        "path": version.path,
        "sections": version.sections,
        "streams": version.streams,
        "since": {name: moment.isoformat() for name, moment in version.since.items()},
    }
    content = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
    if len(content) > MOST_BYTES:
        log.warning("%s is not kept: %d bytes, %d are the most", version.path, len(content), MOST_BYTES)
        return
    storage_for(address).write(address, content)


def note_state_root(path: str | Path, state_root: str, environment: Mapping[str, str]) -> None:
    """Leave a note on this host where the state of a settings file lies; without a home there is none."""
    address = _note_address(path, environment)
    if not address or _noted(path, environment) == state_root:
        return
    note = json.dumps({"path": os.path.abspath(path), "state_root": state_root}, ensure_ascii=False)
    try:
        LocalStorage().write(address, note.encode())
    except StorageError as error:
        log.warning("no note of the state root is left on this host: %s", error)


def possible_state_roots(path: str | Path, text: str, environment: Mapping[str, str], *, root: str) -> Iterator[str]:
    """Where the state of a broken file may lie, the likeliest first: by what is left of its text, then by the note."""
    if line := _STATE_ROOT.search(text):
        try:
            content = parse_yaml(line[0], environment).content
            assert isinstance(content, dict)  # The pattern leaves nothing else.
            yield resolve_state_folder(str(content["state_root"]), root=root)
        except SettingsError:
            pass  # Cut off in the middle, or it asks for a variable that is not set: the note tells.
    if noted := _noted(path, environment):
        yield noted


def state_folder(environment: Mapping[str, str]) -> Path | None:
    """Where this host keeps notes about settings files; None where nobody has a home."""
    if home := environment.get("AIRFLOW_HOME"):
        return Path(home) / "streamops"
    if state := environment.get("XDG_STATE_HOME"):
        return Path(state) / "streamops"
    return Path(environment["HOME"]) / ".local" / "state" / "streamops" if environment.get("HOME") else None


def _noted(path: str | Path, environment: Mapping[str, str]) -> str:
    address = _note_address(path, environment)
    if not address:
        return ""
    try:
        return str(json.loads(LocalStorage().read(address, limit=MOST_BYTES_OF_A_NOTE))["state_root"])
    except (StorageError, ValueError, KeyError, TypeError):
        return ""


def _note_address(path: str | Path, environment: Mapping[str, str]) -> str:
    folder = state_folder(environment)
    return f"file://{os.path.abspath(folder)}/{_name_of(path)}.json" if folder else ""


def _name_of(path: str | Path) -> str:
    return hashlib.sha256(os.path.abspath(path).encode()).hexdigest()[:16]
