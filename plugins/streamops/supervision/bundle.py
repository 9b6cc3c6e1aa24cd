"""What travels to the driver, and the one spark-submit that a claim stands for.

Named by its content, so that drivers of an older version keep their own while a newer one is rolled out. Python reads the
zip whenever it imports, and a driver lives for months: so each bundle notes whose drivers were ever given it, and the record
of a submit says which one it was (`bundle_name`). By these two `unused_bundles` knows what may go.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import streamops
from streamops.control.state import Epoch, LogState
from streamops.errors import SettingsError
from streamops.launch import SubmitRequest
from streamops.spec import StreamSpec
from streamops.storage import FileAccess, Storage, join
from streamops.storage.address import local_path, parent
from streamops.storage.local import LocalStorage

_TRAVELS = (
    "__init__.py",
    "errors.py",
    "clock.py",
    "storage/__init__.py",
    "storage/port.py",
    "storage/address.py",
    "storage/bounds.py",
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


_USERS = "users"
_BUNDLE = re.compile(r"^[0-9a-f]{16}$")

BUNDLE_KEPT = timedelta(days=7)
"""A bundle stays so long after it was first given to anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverBundle:
    """Paths that spark-submit takes."""

    application: str
    library: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBundle:
    """A bundle that lies below the state root."""

    name: str
    written_at: datetime | None
    """The newest of its files; None where it has none."""
    users: tuple[str, ...]
    """Control folders whose drivers were ever given it; none where a version made it that noted none."""


def driver_bundle(state_root: str, *, user: str = "", access: FileAccess = FileAccess.OWNER) -> DriverBundle:
    """The bundle of this version below the state root; written once. `user` is the control folder of who is given it.

    The note comes first: a pruner that has looked before it finds an old bundle young again.
    """
    content = _zip()
    folder = join(bundles_folder(state_root), _name_of(content))
    storage = LocalStorage(access)
    if user:
        note = hashlib.sha256(user.encode()).hexdigest()[:16]
        if note not in storage.list(join(folder, _USERS)):
            storage.write(join(folder, _USERS, note), user.encode())
    present = storage.list(folder)
    for name, file_content in (("streamops.zip", content), ("streamops_driver.py", _ENTRY)):
        if name not in present:
            storage.write(join(folder, name), file_content)
    return DriverBundle(
        application=local_path(join(folder, "streamops_driver.py")) or "",
        library=local_path(join(folder, "streamops.zip")) or "",
    )


def bundle_name(library: str) -> str:
    """The name of the bundle that holds this library."""
    return parent(library).rpartition("/")[2]


def bundles_folder(state_root: str) -> str:
    """Where the bundles of all versions lie."""
    return join(state_root, "lib")


def kept_bundles(storage: Storage, state_root: str) -> tuple[KeptBundle, ...]:
    """All bundles but that of this version. StorageError."""
    own, folder = _name_of(_zip()), bundles_folder(state_root)
    names = [name for name in storage.list(folder) if _BUNDLE.match(name) and name != own]
    return tuple(_kept(storage, join(folder, name), name) for name in names)


def old_bundles(bundles: Iterable[KeptBundle], *, now: datetime) -> tuple[KeptBundle, ...]:
    """Those that may go if nobody uses them. Of one without notes nobody can tell. Pure."""
    young = now - BUNDLE_KEPT
    return tuple(
        bundle for bundle in bundles if bundle.users and (bundle.written_at is None or bundle.written_at < young)
    )


def unused_bundles(bundles: Iterable[KeptBundle], states: Mapping[str, LogState | None]) -> tuple[KeptBundle, ...]:
    """Those that no driver can be reading any more, by the control logs of all that were ever given one. Pure.

    A log that is missing or can't be read may have a driver, and so may a claim whose submit is not on record.
    """
    return tuple(
        bundle for bundle in bundles if not any(_may_use(states.get(user), bundle.name) for user in bundle.users)
    )


def delete_bundle(storage: Storage, state_root: str, bundle: KeptBundle) -> None:
    """Its files and then the notes of its users: what is left by a crash is found again. StorageError."""
    folder = join(bundles_folder(state_root), bundle.name)
    for place in (folder, join(folder, _USERS)):
        for detail in storage.details(place):
            storage.delete(join(place, detail.name))
    storage.delete_folder(join(folder, _USERS))
    storage.delete_folder(folder)


def _may_use(state: LogState | None, name: str) -> bool:
    if state is None or state.is_empty:
        return True
    return any(epoch.submission is None or epoch.submission.bundle in ("", name) for epoch in state.open_epochs)


def _kept(storage: Storage, folder: str, name: str) -> KeptBundle:
    notes = join(folder, _USERS)
    files = (*storage.details(folder), *storage.details(notes))
    return KeptBundle(
        name=name,
        written_at=max((file.modified_at for file in files), default=None),
        users=tuple(storage.read(join(notes, note)).decode(errors="replace") for note in storage.list(notes)),
    )


def _name_of(content: bytes) -> str:
    return hashlib.sha256(content + _ENTRY).hexdigest()[:16]


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


FORCED_CONF = (
    # A manager's own restart would be a second driver behind our back.
    ("spark.yarn.maxAppAttempts", "1"),
    ("spark.driver.supervise", "false"),
)


def submit_request(spec: StreamSpec, epoch: Epoch, control: str, state_root: str) -> SubmitRequest:
    """What the launcher is asked for; the claim's own number, epoch and token are the driver's only arguments."""
    bundle = driver_bundle(state_root, user=control, access=spec.file_access)
    log = local_path(join(log_folder(state_root, spec.name), f"{epoch.number:06d}.log")) or ""
    return SubmitRequest(
        token=epoch.claim.token,
        name=f"streamops-{spec.name}-{epoch.number}",
        spark_submit=spec.launch.spark_submit,
        master=spec.launch.master,
        deploy_mode=spec.launch.deploy_mode,
        queue=spec.launch.queue,
        application=bundle.application,
        arguments=(
            *("--control", control),
            *("--record", str(epoch.record)),
            *("--epoch", str(epoch.number)),
            *("--token", epoch.claim.token),
            *("--log", log),
        ),
        conf=(*spec.conf, *FORCED_CONF),
        jars=spec.launch.jars,
        py_files=(bundle.library,),
        environment=_python_beside(spec.launch.spark_submit),
        variables=spec.launch.environment,
        log=log,
        access=spec.file_access,
        folder=spec.launch.folder or "/",
    )


def log_folder(state_root: str, stream: str) -> str:
    """Where the logs of a stream's drivers lie, one an epoch; each driver caps its own (`spark.logfile`)."""
    return join(state_root, "logs", stream)


def _python_beside(spark_submit: str) -> tuple[tuple[str, str], ...]:
    """spark-submit of a virtual environment needs its own interpreter, whatever `python3` the PATH names."""
    python = Path(spark_submit).parent / "python"
    return (("PYSPARK_PYTHON", str(python)), ("PYSPARK_DRIVER_PYTHON", str(python))) if python.is_file() else ()
