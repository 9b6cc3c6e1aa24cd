"""From a declared stream to a StreamSpec: paths become absolute, addresses canonical, globs files.

All that is wrong is collected, so that one look at the problems is enough.
"""

import glob
import os.path
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from streamops.errors import SettingsError
from streamops.health import StallPolicy
from streamops.restart import RestartPolicy
from streamops.settings.durations import format_duration
from streamops.settings.model import (
    DeclaredCatchup,
    DeclaredFiles,
    DeclaredLaunch,
    DeclaredRestart,
    DeclaredSchedule,
    DeclaredSource,
    DeclaredStream,
    DeclaredTrigger,
)
from streamops.settings.problems import Refusal, shown
from streamops.settings.refusals import (
    PASSWORD_IN_ADDRESS,
    refused_delta_option,
    refused_deploy_mode,
    refused_files_option,
    refused_kafka_option,
    refused_master,
    refused_spark_conf,
)
from streamops.settings.yaml_file import Place
from streamops.spec import (
    CatchupSpec,
    DeltaTableSource,
    FilesSource,
    KafkaSource,
    LaunchSpec,
    Mode,
    Schedule,
    SinkSpec,
    Source,
    StreamSpec,
    Timings,
    Trigger,
    TriggerKind,
)
from streamops.spec.stream import ENDING
from streamops.storage import canonical_address
from streamops.storage.address import is_root
from streamops.storage.kinds import storage_for

T = TypeVar("T", RestartPolicy, StallPolicy, Timings)


def resolve_stream(name: str, declared: DeclaredStream, *, root: str) -> tuple[StreamSpec | None, tuple[Refusal, ...]]:
    """The spec, or why there is none. Relative paths count from `root`."""
    resolver = _Resolver(root)
    spec = resolver.stream(name, declared)
    return (None if resolver.refusals else spec), tuple(resolver.refusals)


def resolve_folder(text: str, *, root: str) -> str:
    """The canonical address of a folder that belongs to one owner; SettingsError says what is expected instead."""
    if PASSWORD_IN_ADDRESS.search(text):
        raise SettingsError("an address without a password: give it by environment")
    try:
        address = canonical_address(text, base=root)
    except ValueError as error:
        raise SettingsError(f"a path: {error}") from error
    if is_root(address):
        raise SettingsError("a folder of its own, not the root of a file system or of a bucket")
    return address


def asked_folder(name: str, text: str, *, root: str) -> str:
    """As resolve_folder, of what a person filled in under a name; nothing for nothing. The SettingsError names it."""
    try:
        return resolve_folder(text.strip(), root=root) if text.strip() else ""
    except SettingsError as error:
        found = "" if PASSWORD_IN_ADDRESS.search(text) else f"found {text!r}, "
        raise SettingsError(f"{name}: {found}expected {error}") from error


def resolve_state_folder(text: str, *, root: str) -> str:
    """As resolve_folder, for a folder that the suite itself reads and writes."""
    address = resolve_folder(text, root=root)
    storage_for(address)
    return address


class _Resolver:
    """Resolves one stream; something stands in for what is refused, and nobody sees it."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.refusals: list[Refusal] = []

    def stream(self, name: str, declared: DeclaredStream) -> StreamSpec:
        delta, mode = declared.sink.delta, Mode(declared.mode)
        return StreamSpec(
            name=name,
            description=declared.description,
            job=self._job(declared.job),
            mode=mode,
            trigger=self._trigger(mode, declared),
            schedule=self._schedule(mode, declared.schedule),
            catchup=self._catchup(declared.catchup, _refused_option(declared.source)),
            source=self._source(declared.source),
            sink=SinkSpec(
                table=self._folder(delta.table, ("sink", "delta", "table"), resolve_folder),
                dead_letters=self._folder(delta.dead_letters, ("sink", "delta", "dead_letters"), resolve_folder),
                guarantee=delta.guarantee,
            ),
            checkpoint=self._folder(declared.checkpoint, ("checkpoint",), resolve_state_folder),
            launch=self._launch(declared.launch),
            restart=self._consistent(RestartPolicy, ("restart",), _restart_figures(declared.restart)),
            stall=self._consistent(StallPolicy, ("stall",), dict(declared.stall)),
            timings=self._consistent(Timings, ("timings",), dict(declared.timings)),
        )

    def _source(self, declared: DeclaredSource) -> Source:
        """Of the one kind that is declared: the model lets no other number pass."""
        if delta := declared.delta:
            return DeltaTableSource(
                table=self._folder(delta.table, ("source", "delta", "table"), resolve_folder),
                options=self._delta_options(delta.options),
            )
        if files := declared.files:
            return self._files(files)
        kafka = declared.kafka
        assert kafka is not None, "the model demands one source"
        return KafkaSource(
            bootstrap_servers=kafka.bootstrap_servers,
            topics=tuple(kafka.topics),
            options=self._accepted(kafka.options, ("source", "kafka", "options"), refused_kafka_option),
            connection=kafka.connection,
            tolerated_outage=kafka.tolerated_outage,
        )

    def _delta_options(self, options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        place = ("source", "delta", "options")
        if {"startingversion", "startingtimestamp"} <= {name.lower() for name in options}:
            self._refuse(place, "startingVersion and startingTimestamp", "one of the two: Delta refuses both together")
        return self._accepted(options, place, refused_delta_option)

    def _files(self, declared: DeclaredFiles) -> FilesSource:
        place, schema = ("source", "files"), declared.ddl.strip()
        if not schema and not declared.format.has_fixed_columns:
            expected = (
                f"columns as DDL, for example id BIGINT, amount DOUBLE: a stream can't infer those of {declared.format}"
            )
            self._refuse((*place, "schema"), declared.ddl or None, expected)
            schema = "value STRING"
        return FilesSource(
            path=self._folder(declared.path, (*place, "path"), resolve_folder),
            format=declared.format,
            schema=schema,
            options=self._accepted(declared.options, (*place, "options"), refused_files_option),
        )

    def _refuse(self, place: Place, value: object, expected: str) -> None:
        self.refusals.append(Refusal(place, shown(value, place=place), expected))

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._root, path))

    def _job(self, text: str) -> str:
        job = self._absolute(text)
        if not os.path.isfile(job):
            self._refuse(("job",), text, f"a file that exists; {job} does not")
        return job

    def _folder(self, text: str, place: Place, resolve: Callable[..., str]) -> str:
        try:
            return resolve(text, root=self._root)
        except SettingsError as error:
            self._refuse(place, text, str(error))
            return ""

    def _accepted(
        self, values: Mapping[str, str], place: Place, refused: Callable[[str, str], str]
    ) -> tuple[tuple[str, str], ...]:
        """Sorted by name, so that another order in the file is not another spec."""
        for name, value in values.items():
            if expected := refused(name, value):
                self._refuse((*place, name), value, expected)
        return tuple(sorted(values.items()))

    def _trigger(self, mode: Mode, declared: DeclaredStream) -> Trigger:
        """A scheduled stream needs a query that ends; without a word it is availableNow, whatever live streams begin with."""
        if mode is not Mode.SCHEDULED:
            return _trigger(declared.trigger)
        trigger = _trigger(declared.trigger) if "trigger" in declared.model_fields_set else _AVAILABLE_NOW
        if trigger.kind in ENDING:
            return trigger
        self._refuse(
            ("trigger",), str(trigger.kind), "available_now for a scheduled stream: its query must end by itself"
        )
        return _AVAILABLE_NOW

    def _schedule(self, mode: Mode, declared: DeclaredSchedule | None) -> Schedule | None:
        if mode is not Mode.SCHEDULED:
            if declared:
                self._refuse(("schedule",), declared.cron, f"mode: {Mode.SCHEDULED} beside it, or no schedule")
            return None
        if declared is None:
            self._refuse(("schedule",), None, "a mapping with cron, as the stream is scheduled")
            return Schedule(cron="@daily")
        return Schedule(cron=declared.cron, timezone=declared.timezone)

    def _catchup(self, declared: DeclaredCatchup, refused_option: Callable[[str, str], str]) -> CatchupSpec:
        if declared.master and (expected := refused_master(declared.master)):
            self._refuse(("catchup", "master"), declared.master, expected)
        return CatchupSpec(
            budget=declared.budget,
            master=declared.master,
            options=self._accepted(declared.options, ("catchup", "options"), refused_option),
            conf=self._accepted(declared.conf, ("catchup", "conf"), refused_spark_conf),
        )

    def _launch(self, declared: DeclaredLaunch) -> LaunchSpec:
        for setting, expected in (
            ("master", refused_master(declared.master)),
            ("deploy_mode", refused_deploy_mode(declared.deploy_mode)),
        ):
            if expected:
                self._refuse(("launch", setting), getattr(declared, setting), expected)
        folder = self._absolute(declared.folder)
        if not os.path.isdir(folder):
            self._refuse(("launch", "folder"), declared.folder, f"a folder that exists; {folder} does not")
        spark_submit = declared.spark_submit
        return LaunchSpec(
            spark_submit=self._absolute(spark_submit) if "/" in spark_submit else spark_submit,
            master=declared.master,
            deploy_mode=declared.deploy_mode,
            queue=declared.queue,
            connection=declared.connection,
            jars=self._jars(declared.jars),
            conf=self._accepted(declared.conf, ("launch", "conf"), refused_spark_conf),
            folder=folder,
        )

    def _jars(self, patterns: list[str]) -> tuple[str, ...]:
        """Every jar once; addresses of other places are left to spark-submit."""
        jars: list[str] = []
        for index, pattern in enumerate(patterns):
            if "://" in pattern:
                jars.append(pattern)
                continue
            found = sorted(glob.glob(pattern, root_dir=self._root, recursive=True))
            if not found:
                self._refuse(("launch", "jars", index), pattern, "a path of jars that exist: run `make setup`")
            jars += [self._absolute(jar) for jar in found]
        return tuple(dict.fromkeys(jars))

    def _consistent(self, kind: type[T], place: Place, figures: dict[str, Any]) -> T:
        """The policy, or its defaults where its own check says that the figures don't fit each other."""
        try:
            return kind(**figures)
        except ValueError as error:
            self.refusals.append(Refusal(place, _written(figures), f"figures that fit: {error}"))
            return kind()


def _refused_option(source: DeclaredSource) -> Callable[[str, str], str]:
    """What judges an option of such a source."""
    if source.delta:
        return refused_delta_option
    return refused_files_option if source.files else refused_kafka_option


def _restart_figures(declared: DeclaredRestart) -> dict[str, Any]:
    """As RestartPolicy takes them; remedies sorted, so that another order in the file is not another spec."""
    return {**dict(declared), "remedies": tuple(sorted(declared.remedies.items()))}


def _trigger(declared: DeclaredTrigger) -> Trigger:
    if declared.processing_time is not None:
        return Trigger(kind=TriggerKind.PROCESSING_TIME, interval=declared.processing_time)
    if declared.once:
        return Trigger(kind=TriggerKind.ONCE)
    return _AVAILABLE_NOW if declared.available_now else Trigger(kind=TriggerKind.DEFAULT)


_AVAILABLE_NOW = Trigger(kind=TriggerKind.AVAILABLE_NOW)


def _written(figures: Mapping[str, object]) -> str:
    """`beat 5s, halt 10s, takeover 75s`"""
    return ", ".join(
        f"{name} {format_duration(value) if isinstance(value, timedelta) else value}" for name, value in figures.items()
    )
