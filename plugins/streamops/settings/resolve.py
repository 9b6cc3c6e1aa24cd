"""From a declared stream to a StreamSpec: paths become absolute, addresses canonical, globs files.

All that is wrong is collected, so that one look at the problems is enough.
"""

import glob
import os.path
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from streamops.durations import format_duration
from streamops.failures import RestartPolicy
from streamops.launch.environment import is_declarable
from streamops.liveness import StallPolicy
from streamops.settings.collector import Collector
from streamops.settings.folders import resolve_state_folder
from streamops.settings.job_file import look_at_job
from streamops.settings.model import (
    DeclaredCatchup,
    DeclaredLaunch,
    DeclaredRestart,
    DeclaredSchedule,
    DeclaredStream,
)
from streamops.settings.problems import Refusal, shown
from streamops.settings.refusals import (
    pinned_elsewhere,
    refused_deploy_mode,
    refused_master,
    refused_parameter,
    refused_spark_conf,
    refused_text,
)
from streamops.settings.resolve_places import refused_option, resolve_sink, resolve_source
from streamops.settings.triggers import AVAILABLE_NOW, refused_trigger, trigger_of
from streamops.settings.yaml_file import Place
from streamops.spec import (
    CatchupSpec,
    Keep,
    LaunchSpec,
    Mode,
    Schedule,
    StateSpec,
    StreamSpec,
    Timings,
    Trigger,
)
from streamops.spec.stream import ENDING

T = TypeVar("T", RestartPolicy, StallPolicy, Timings)


def resolve_stream(
    name: str, declared: DeclaredStream, *, root: str, checks_files: bool = True
) -> tuple[StreamSpec | None, tuple[Refusal, ...]]:
    """The spec, or why there is none. Relative paths count from `root`.

    Without `checks_files` the job, the jars and the folder need not be there: a start tells what is missing.
    """
    resolver = _Resolver(root, checks_files=checks_files)
    spec = resolver.stream(name, declared)
    return (None if resolver.refusals else spec), tuple(resolver.refusals)


class _Resolver(Collector):
    """Resolves one stream."""

    def __init__(self, root: str, *, checks_files: bool) -> None:
        super().__init__(root)
        self._checks_files = checks_files

    def stream(self, name: str, declared: DeclaredStream) -> StreamSpec:
        mode = Mode(declared.mode)
        return StreamSpec(
            name=name,
            description=self._text(declared.description, ("description",)),
            job=self._job(declared.job),
            mode=mode,
            trigger=self._trigger(mode, declared),
            schedule=self._schedule(mode, declared.schedule),
            catchup=self._catchup(declared.catchup, refused_option(declared.source)),
            source=resolve_source(self, declared.source),
            sink=resolve_sink(self, declared.sink),
            checkpoint=self.folder(declared.checkpoint, ("checkpoint",), resolve_state_folder),
            launch=self._launch(declared.launch),
            restart=self._consistent(RestartPolicy, ("restart",), _restart_figures(declared.restart)),
            stall=self._consistent(StallPolicy, ("stall",), dict(declared.stall)),
            timings=self._consistent(Timings, ("timings",), dict(declared.timings)),
            state=self._state(declared),
            keep=Keep(**dict(declared.keep)),
            metrics=declared.metrics,
            parameters=self.accepted(declared.parameters, ("parameters",), refused_parameter),
        )

    def _text(self, text: str, place: Place) -> str:
        if expected := refused_text(text):
            self.refuse(place, text, expected)
        return text

    def _job(self, text: str) -> str:
        job = self.absolute(text)
        if not self._checks_files:
            return job
        if not os.path.isfile(job):
            self.refuse(("job",), text, f"a file that exists; {job} does not")
        elif (look := look_at_job(job)).found:
            self.refusals.append(Refusal(("job",), f"{shown(text)} with {look.found}", look.expected))
        return job

    def _trigger(self, mode: Mode, declared: DeclaredStream) -> Trigger:
        """A scheduled stream needs a query that ends; without a word it is availableNow, whatever live streams begin with."""
        if mode is not Mode.SCHEDULED:
            return self._live_trigger(declared)
        trigger = trigger_of(declared.trigger) if "trigger" in declared.model_fields_set else AVAILABLE_NOW
        self.refusals += refused_trigger(declared, trigger)
        if trigger.kind in ENDING:
            return trigger
        self.refuse(
            ("trigger",), str(trigger.kind), "available_now for a scheduled stream: its query must end by itself"
        )
        return AVAILABLE_NOW

    def _live_trigger(self, declared: DeclaredStream) -> Trigger:
        trigger = trigger_of(declared.trigger)
        self.refusals += refused_trigger(declared, trigger)
        return trigger

    def _state(self, declared: DeclaredStream) -> StateSpec:
        """Each of its settings is a conf of Spark, which must not be said twice."""
        state = StateSpec(**dict(declared.state))
        for name, _ in state.conf:
            for section, conf in (("launch", declared.launch.conf), ("catchup", declared.catchup.conf)):
                if name in conf:
                    expected = f"{pinned_elsewhere(name)} alone, or this conf alone: both are declared"
                    self.refuse((section, "conf", name), conf[name], expected)
        return state

    def _schedule(self, mode: Mode, declared: DeclaredSchedule | None) -> Schedule | None:
        if mode is not Mode.SCHEDULED:
            if declared:
                self.refuse(("schedule",), declared.cron, f"mode: {Mode.SCHEDULED} beside it, or no schedule")
            return None
        if declared is None:
            self.refuse(("schedule",), None, "a mapping with cron, as the stream is scheduled")
            return Schedule(cron="@daily")
        return Schedule(cron=declared.cron, timezone=declared.timezone)

    def _catchup(self, declared: DeclaredCatchup, refused_option: Callable[[str, str], str]) -> CatchupSpec:
        if declared.master and (expected := refused_master(declared.master)):
            self.refuse(("catchup", "master"), declared.master, expected)
        return CatchupSpec(
            budget=declared.budget,
            master=declared.master,
            options=self.accepted(declared.options, ("catchup", "options"), refused_option),
            conf=self.accepted(declared.conf, ("catchup", "conf"), refused_spark_conf),
        )

    def _launch(self, declared: DeclaredLaunch) -> LaunchSpec:
        for setting, expected in (
            ("master", refused_master(declared.master)),
            ("deploy_mode", refused_deploy_mode(declared.deploy_mode)),
        ):
            if expected:
                self.refuse(("launch", setting), getattr(declared, setting), expected)
        folder = self.absolute(declared.folder)
        if self._checks_files and not os.path.isdir(folder):
            self.refuse(("launch", "folder"), declared.folder, f"a folder that exists; {folder} does not")
        spark_submit = declared.spark_submit
        return LaunchSpec(
            spark_submit=self.absolute(spark_submit) if "/" in spark_submit else spark_submit,
            master=declared.master,
            deploy_mode=declared.deploy_mode,
            queue=self._text(declared.queue, ("launch", "queue")),
            connection=declared.connection,
            jars=self._jars(declared.jars),
            conf=self.accepted(declared.conf, ("launch", "conf"), refused_spark_conf),
            folder=folder,
            environment=self._environment(declared.environment),
        )

    def _environment(self, names: list[str]) -> tuple[str, ...]:
        for index, name in enumerate(names):
            if not is_declarable(name):
                expected = "the name of an environment variable or how several begin (AWS_*), and none of Airflow's"
                self.refuse(("launch", "environment", index), name.partition("=")[0], expected)
        return tuple(sorted(set(names)))

    def _jars(self, patterns: list[str]) -> tuple[str, ...]:
        """Every jar once; addresses of other places are left to spark-submit."""
        jars: list[str] = []
        for index, pattern in enumerate(patterns):
            if "://" in pattern or not self._checks_files:
                jars.append(self._text(pattern, ("launch", "jars", index)))
                continue
            found = sorted(glob.glob(pattern, root_dir=self.root, recursive=True))
            if not found:
                self.refuse(("launch", "jars", index), pattern, "a path of jars that exist: run `make setup`")
            jars += [self.absolute(jar) for jar in found]
        return tuple(dict.fromkeys(jars))

    def _consistent(self, kind: type[T], place: Place, figures: dict[str, Any]) -> T:
        """The policy, or its defaults where its own check says that the figures don't fit each other."""
        try:
            return kind(**figures)
        except ValueError as error:
            self.refusals.append(Refusal(place, _written(figures), f"figures that fit: {error}"))
            return kind()


def _restart_figures(declared: DeclaredRestart) -> dict[str, Any]:
    """As RestartPolicy takes them; remedies sorted, so that another order in the file is not another spec."""
    return {**dict(declared), "remedies": tuple(sorted(declared.remedies.items()))}


def _written(figures: Mapping[str, object]) -> str:
    """`beat 5s, halt 10s, takeover 75s`"""
    return ", ".join(
        f"{name} {format_duration(value) if isinstance(value, timedelta) else value}" for name, value in figures.items()
    )
