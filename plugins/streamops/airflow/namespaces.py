"""Who makes the DAGs of a kind in a namespace of this Airflow: `namespaces/<namespace>/<kind>.json`, in the folder that
`settings.last_good` keeps notes in.

Two DAG files are parsed in processes of their own and do not see each other. Where both make a DAG of one id, Airflow 3.3
keeps that of whichever was parsed last, and says nothing. So the first to come owns its namespace, and the other is refused.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from streamops.errors import ObjectExistsError, SettingsError, StorageError
from streamops.settings.last_good import state_folder
from streamops.storage.local import LocalStorage

_MOST_BYTES = 64 * 1024
_NONE = "default"
"""Stands for the empty namespace; the underscore in front keeps it apart from one that is called so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Which files make the DAGs of a namespace. Absolute paths."""

    settings: str
    dag_file: str

    def clash_with(self, other: "Owner") -> str:
        """Who makes the same, in words; empty where this one is gone, or is the other in another place.

        A settings file that is away for a moment says nothing: its DAG file goes by what was declared last.
        """
        if not os.path.exists(self.dag_file):
            return ""
        if self.dag_file == other.dag_file:
            return ""  # Another settings file than before is a move.
        if self.settings == other.settings:
            return f"{self.dag_file} and {other.dag_file}, both of {self.settings}"
        return f"{self.settings} in {self.dag_file} and {other.settings} in {other.dag_file}"


def own_namespace(
    namespace: str, settings: str, *, kind: str, dag_file: str, environment: Mapping[str, str] = os.environ
) -> None:
    """Take the DAGs of a kind in a namespace for a settings file and a DAG file. SettingsError names both sides of a clash."""
    folder = state_folder(environment)
    if folder is None:
        return
    address = f"file://{os.path.abspath(folder)}/namespaces/{namespace or f'_{_NONE}'}/{kind}.json"
    owner = Owner(settings=os.path.abspath(settings), dag_file=os.path.abspath(dag_file))
    try:
        LocalStorage().create(address, json.dumps(asdict(owner)).encode())
        return
    except ObjectExistsError:
        before = _owner_at(address)
    except StorageError:
        return  # A home that can't be written to takes no DAG away.
    if before and (clash := before.clash_with(owner)):
        named = f"namespace {namespace!r}" if namespace else "no namespace"
        raise SettingsError(
            f"two files make DAGs of the same ids, with {named}: {clash}. Give one settings file a `namespace:` of its own;"
            f" where {before.dag_file} makes none any more, remove {address}"
        )
    if before != owner:
        LocalStorage().write(address, json.dumps(asdict(owner)).encode())


def _owner_at(address: str) -> Owner | None:
    try:
        return Owner(**json.loads(LocalStorage().read(address, limit=_MOST_BYTES)))
    except (StorageError, ValueError, TypeError):
        return None
