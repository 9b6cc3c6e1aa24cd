"""What a DAG file is made of: the settings in force, the streams that this file makes DAGs of, and what their forms ask."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow.sdk import Param, get_parsing_context

from streamops.airflow.namespaces import own_namespace
from streamops.control.texts import REASON_LIMIT
from streamops.errors import SettingsError
from streamops.settings import Settings, settings_in_force
from streamops.spec import Mode, StreamSpec
from streamops.spec.wire import dag_id_of, namespaced

MARK_ROOM = 500
"""Characters that a task adds to a reason: `[dag run]`, by which a further try knows that it has asked already. Ids of runs have
250 at most."""
KEEPER = "streams"
"""The kind of DAG file that keeps the last good version of the settings; the others read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFleet:
    """The streams of one settings file, as one DAG file sees them."""

    settings: Settings
    wanted: str | None
    """The id of the one DAG that a worker asks for; None where the file is parsed for all."""

    @property
    def config(self) -> str:
        """The path of the settings file: what every task takes."""
        return str(self.settings.path)

    @property
    def has_streams(self) -> bool:
        """Whether anything is declared: without that, nothing is to be looked after, and no form to be filled in."""
        return bool(self.settings.state_root and (self.settings.streams or self.settings.errors))

    @property
    def has_problems(self) -> bool:
        """Whether something is wrong in settings that can be used all the same."""
        return bool(self.settings.state_root and self.settings.problems)

    @property
    def live(self) -> tuple[StreamSpec, ...]:
        """Streams that always run, of which a DAG is wanted now."""
        return self._of(Mode.LIVE)

    @property
    def scheduled(self) -> tuple[StreamSpec, ...]:
        """Streams that run at set times, of which a DAG is wanted now."""
        return self._of(Mode.SCHEDULED)

    def dag_id(self, of: str | StreamSpec) -> str:
        """The id of a stream's DAG, or of one of the fleet by its own name, in the namespace of the settings file."""
        return namespaced(self.settings.namespace, of) if isinstance(of, str) else dag_id_of(of)

    def stream_param(self) -> Param:
        """One of the declared streams. JSON schema knows no empty enum: without streams any name is taken, and refused later."""
        streams = [spec.name for spec in self.settings.streams]
        choice: dict[str, Any] = {"enum": streams} if streams else {"minLength": 1}
        return Param(type="string", title="Stream", **choice)

    def _of(self, mode: Mode) -> tuple[StreamSpec, ...]:
        return tuple(
            spec for spec in self.settings.streams if spec.mode is mode and self.wanted in (None, dag_id_of(spec))
        )


def declared_fleet(dag_file: str, kind: str) -> DeclaredFleet:
    """The settings that a DAG file makes its DAGs of: `streams.yaml` beside it, what STREAMOPS_CONFIG names, or else
    `config/streams.yaml` beside its folder.

    A stream whose declaration is wrong keeps the DAG of its last good one, and so does every stream while the file can't be
    read: Airflow 3.3 takes a DAG for gone that its file does not give, and then wakes no task of it. SettingsError, which
    Airflow shows as an import error, only where other files make DAGs of this kind in the same namespace, and where no good
    version is kept either: that one DAG file tells, that of the live streams. `kind` is the same in every copy of a DAG file.
    """
    wanted = get_parsing_context().dag_id
    settings = settings_in_force(_settings_file(dag_file), keep=wanted is None and kind == KEEPER)
    if not settings.state_root and kind == KEEPER:
        raise SettingsError("\n".join(str(problem) for problem in settings.whole))
    if wanted is None and settings.state_root:
        own_namespace(settings.namespace, str(settings.path), kind=kind, dag_file=dag_file)
    return DeclaredFleet(settings=settings, wanted=wanted)


def _settings_file(dag_file: str) -> str:
    folder = Path(dag_file).parent
    beside = folder / "streams.yaml"
    # A link whose file is away for a moment still names it.
    if beside.exists() or beside.is_symlink():
        return str(beside.resolve())
    return os.environ.get("STREAMOPS_CONFIG") or str(folder.parent / "config" / "streams.yaml")


def reason_param() -> Param:
    """Why."""
    most = REASON_LIMIT - MARK_ROOM
    return Param(
        type="string",
        title="Reason",
        minLength=1,
        maxLength=most,
        description=f"Why, for the record: others will read it. At most {most} characters.",
    )


def approved_param(title: str, description: str) -> Param:
    """A tick that makes the run wait for a person's approval."""
    return Param(False, type="boolean", title=title, description=f"{description} Asks for approval.")
