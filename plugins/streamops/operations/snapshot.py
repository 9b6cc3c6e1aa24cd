"""What plans and `status` rest on: what the driver was given against what is declared now, and what a start would come to."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from streamops import __version__
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.control.attendance import Attendance
from streamops.control.records import Claimed
from streamops.diagnosis.restart_plan import CheckpointPlan, RestartPlan, accepts
from streamops.errors import SettingsError
from streamops.retention import Coverage
from streamops.spec import StreamSpec
from streamops.spec.wire import spec_text
from streamops.supervision.bundle import file_sha256
from streamops.supervision.decision import Action
from streamops.supervision.observation import Observation
from streamops.supervision.preflight import StartFacts
from streamops.supervision.supervisor import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a driver that starts now is given."""

    spec: str
    """The resolved spec as a claim holds it."""
    job_sha256: str
    """Empty where the job can't be read; then nothing can be started."""
    library_version: str
    trouble: str = ""
    """Why the job can't be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One setting that differs. A side that does not have it is empty."""

    setting: str
    """Its path in the spec: `launch.conf.spark.driver.memory`."""
    running: str
    declared: str
    needs_restart: bool = True
    """False for what the supervisor alone goes by: it is in force already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How the newest driver of a stream differs from one that would start now."""

    epoch: int
    settings: tuple[SettingChange, ...] = ()
    running_job: str = ""
    declared_job: str = ""
    """Hashes of the job's file; empty where it can't be read."""
    running_library: str = ""
    declared_library: str = ""
    trouble: str = ""
    """Why the declared job can't be read."""

    @property
    def has_other_settings(self) -> bool:
        """Whether a setting differs that only a restart brings into force."""
        return any(change.needs_restart for change in self.settings)

    @property
    def has_other_job(self) -> bool:
        """Whether the job's file is another; one that can't be read may be."""
        return self.running_job != self.declared_job

    @property
    def has_other_library(self) -> bool:
        """Whether the driver runs another version of streamops."""
        return self.running_library != self.declared_library

    @property
    def marks(self) -> tuple[str, ...]:
        """What a restart would change, a word each: `spec`, `job`, `library`."""
        found = {"spec": self.has_other_settings, "job": self.has_other_job, "library": self.has_other_library}
        return tuple(mark for mark, differs in found.items() if differs)


def declaration_of(spec: StreamSpec) -> Declaration:
    """The declaration as it is now; reads the job's file."""
    job, trouble = "", ""
    try:
        job = file_sha256(spec.job)
    except SettingsError as error:
        trouble = str(error)
    return Declaration(spec=spec_text(spec), job_sha256=job, library_version=__version__, trouble=trouble)


def drift_between(claim: Claimed, declaration: Declaration) -> Drift:
    """The differences between what a claim gave its driver and what is declared now. Pure."""
    return Drift(
        epoch=claim.epoch,
        settings=_changes(claim.spec, declaration.spec),
        running_job=claim.job_sha256,
        declared_job=declaration.job_sha256,
        running_library=claim.library_version,
        declared_library=declaration.library_version,
        trouble=declaration.trouble,
    )


_SUPERVISORS_OWN = (
    "description",
    "restart",
    "sink.guarantee",
    "source.connection",
    "source.tolerated_outage",
    "stall",
    "timings.claim",
    "timings.start",
    "timings.takeover",
)
"""What a driver is never told (`control.assignment`): the supervisor goes by the declaration of the moment."""

_GIVEN_BY_CONNECTION = frozenset({"launch.master", "launch.deploy_mode", "launch.queue"})


def _changes(running: str, declared: str) -> tuple[SettingChange, ...]:
    before, after = _settings(running), _settings(declared)
    return tuple(
        SettingChange(
            setting=setting,
            running=before.get(setting, ""),
            declared=after.get(setting, ""),
            needs_restart=not _is_supervisors_own(setting),
        )
        for setting in sorted((before.keys() | after.keys()) - _hidden(before, after))
        if before.get(setting, "") != after.get(setting, "")
    )


def _is_supervisors_own(setting: str) -> bool:
    return any(setting == own or setting.startswith(f"{own}.") for own in _SUPERVISORS_OWN)


def _hidden(before: dict[str, str], after: dict[str, str]) -> frozenset[str]:
    """Where an Airflow connection gives master, mode and queue, the declared ones were never meant to run."""
    connection = before.get("launch.connection", "")
    is_same = bool(connection) and connection == after.get("launch.connection")
    return _GIVEN_BY_CONNECTION if is_same else frozenset()


def _settings(text: str) -> dict[str, str]:
    """Every setting of a spec's text by its path; none when another version wrote it in another form."""
    try:
        spec = json.loads(text)
    except ValueError:
        return {}
    return dict(_flat(spec, "")) if isinstance(spec, dict) else {}


def _flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else name)
    elif _is_mapping(value):
        for name, inner in value:
            yield from _flat(inner, f"{path}.{name}")
    elif value != []:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_mapping(value: Any) -> bool:
    """Confs, options and remedies are pairs in a spec, since a dict has no place in a frozen dataclass."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, list) and len(item) == 2 for item in value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActContext:
    """Who looks after a stream, and what its next driver would be given."""

    attendance: Attendance | None
    """None when nobody has ever signed."""
    declaration: Declaration

    def is_unattended(self, now: datetime) -> bool:
        """Whether nobody is there who would start, restart or kill a driver."""
        return self.attendance is None or self.attendance.is_over(now)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSnapshot:
    """All that a plan rests on, read in one go."""

    look: Look
    around: ActContext
    seen: Observation
    """With the plan for a start, made even while a driver lives: a stop that no start could follow must be known before."""
    start: StartFacts

    @property
    def checkpoints(self) -> tuple[CheckpointSnapshot, ...]:
        """The stream's own and then its companions'."""
        return self.start.checkpoints

    @property
    def coverages(self) -> tuple[Coverage, ...]:
        """Of each of them, what its query needs and what Kafka has; none where nobody was asked."""
        return self.start.coverages

    @property
    def checkpoint(self) -> CheckpointFacts:
        """The logs of the stream's own checkpoint."""
        return self.checkpoints[0].facts

    @property
    def start_plan(self) -> RestartPlan:
        """What Spark would do if it were started on the checkpoint as it stands now."""
        return self.seen.plan

    @property
    def checkpoint_plans(self) -> tuple[CheckpointPlan, ...]:
        """The same for each checkpoint by itself."""
        return self.seen.plans

    @property
    def is_unattended(self) -> bool:
        """Whether nobody is there who would start, restart or kill a driver."""
        return self.around.is_unattended(self.look.observation.now)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartForecast:
    """The restart plan of one stream, and what its supervisor makes of it."""

    stream: str
    plan: RestartPlan
    """The worst of those below: it decides."""
    is_accepted: bool
    """Whether a supervisor may start it without a person's word; the sink's guarantee decides."""
    checkpoints: tuple[CheckpointPlan, ...]
    living_epoch: int
    """The newest epoch whose driver may live: the plan is for the moment after its end, if it ended now. 0 for none."""
    next_step: Action
    """What a supervisor would do now."""
    reason: str
    until: datetime | None

    @property
    def is_refused(self) -> bool:
        """Whether a supervisor would not start it: for what the plan says, or for what it knows besides, as a foreign writer."""
        return not self.is_accepted or self.next_step in _REFUSALS


_REFUSALS = frozenset({Action.PARK, Action.PARKED, Action.BLOCKED})


def outlook_of(sight: StreamSnapshot, spec: StreamSpec) -> StartForecast:
    """The plan for a start on the checkpoints as they stand, whether or not a driver lives."""
    decision, plan = sight.look.decision, sight.start_plan
    living = sight.look.observation.state.open_epochs
    return StartForecast(
        stream=spec.name,
        plan=plan,
        is_accepted=accepts(spec.sink.guarantee, plan.safety),
        checkpoints=sight.checkpoint_plans,
        living_epoch=living[-1].number if living else 0,
        next_step=decision.action,
        reason=decision.reason,
        until=decision.until,
    )
