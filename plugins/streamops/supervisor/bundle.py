"""The part of streamops that travels to the driver, as a zip and an entry file beside the registry.

Named by its content, so that drivers of an older version keep their own while a newer one is rolled out.
"""

import hashlib
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

import streamops
from streamops.errors import SettingsError
from streamops.storage import join
from streamops.storage.address import local_path
from streamops.storage.local import LocalStorage

_TRAVELS = (
    "__init__.py",
    "errors.py",
    "clock.py",
    "storage/__init__.py",
    "storage/port.py",
    "storage/address.py",
    "control/*.py",
    "progress/*.py",
    "spark/*.py",
    "spark/sinks/*.py",
)

_ENTRY = b"""import os
import sys

from streamops.spark.runner import main

code = main()
sys.stdout.flush()
sys.stderr.flush()
# Not sys.exit: threads of a broken session must not keep an ended driver alive.
os._exit(code)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverBundle:
    """Paths that spark-submit takes."""

    application: str
    library: str


def driver_bundle(state_root: str) -> DriverBundle:
    """The bundle of this version below the state root; written once."""
    content = _zip()
    folder = join(state_root, "lib", hashlib.sha256(content + _ENTRY).hexdigest()[:16])
    storage = LocalStorage()
    present = storage.list(folder)
    for name, file_content in (("streamops.zip", content), ("streamops_driver.py", _ENTRY)):
        if name not in present:
            storage.write(join(folder, name), file_content)
    return DriverBundle(
        application=local_path(join(folder, "streamops_driver.py")) or "",
        library=local_path(join(folder, "streamops.zip")) or "",
    )


def file_sha256(path: str) -> str:
    """The hash of a job's file, as claims hold it; SettingsError when it can't be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise SettingsError(f"the job {path} can't be read: {error.strerror}") from error


def _zip() -> bytes:
    """The same bytes for the same sources: order and time stamps are fixed."""
    package = Path(streamops.__file__).parent
    files = sorted(file for pattern in _TRAVELS for file in package.glob(pattern))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.writestr(zipfile.ZipInfo(f"streamops/{file.relative_to(package)}"), file.read_bytes())
    return buffer.getvalue()
