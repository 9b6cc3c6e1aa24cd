"""From a declared stream to a StreamSpec: paths become absolute, addresses canonical, triggers checked.

Each rule was tried on Spark 4.2.0 (`tests/spark/test_low_latency.py`): without it the query would fail at its start, or lose
or repeat rows that the declaration promises to keep apart.

All that is wrong is collected, so that one look at the problems is enough.
"""

import glob
import os.path
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from streamops.durations import format_duration
from streamops.failures.policy import RestartPolicy
from streamops.launch.environment import is_declarable
from streamops.liveness import StallPolicy
from streamops.settings.folders import resolve_state_folder
from streamops.settings.job_file import look_at_job
from streamops.settings.model import (
    DeclaredCatchup,
    DeclaredLaunch,
    DeclaredRestart,
    DeclaredSchedule,
    DeclaredStream,
    DeclaredTrigger,
)
from streamops.settings.problems import Collector, Refusal, shown
from streamops.settings.refusals import (
    pinned_elsewhere,
    refused_deploy_mode,
    refused_master,
    refused_parameter,
    refused_spark_conf,
    refused_text,
)
from streamops.settings.resolve_places import refused_option, resolve_sink, resolve_source
from streamops.settings.yaml_file import Place
from streamops.spec import (
    TRACKS_PROGRESS_ASYNC,
    AirflowSpec,
    CatchupSpec,
    Keep,
    LaunchSpec,
    Mode,
    Schedule,
    StateSpec,
    StreamSpec,
    Timings,
    Trigger,
    TriggerKind,
)
from streamops.spec.sinks import SinkGuarantee
from streamops.spec.stream import ENDING

SHORTEST_BATCH = timedelta(seconds=5)
"""Of real time, as long as `_SHORTEST_BATCH_CONF` says nothing else (Spark 4.1 and 4.2)."""
_SHORTEST_BATCH_CONF = "spark.sql.streaming.realTimeMode.minBatchDuration"
_RATE_LIMITS = ("maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay")

_BY_BATCHES = frozenset({TriggerKind.PROCESSING_TIME, TriggerKind.DEFAULT})
_LOW_LATENCY = frozenset({TriggerKind.CONTINUOUS, TriggerKind.REAL_TIME})

AVAILABLE_NOW = Trigger(kind=TriggerKind.AVAILABLE_NOW)


def trigger_of(declared: DeclaredTrigger) -> Trigger:
    """The trigger that is declared."""
    if declared.processing_time is not None:
        return Trigger(kind=TriggerKind.PROCESSING_TIME, interval=declared.processing_time)
    if declared.once:
        return Trigger(kind=TriggerKind.ONCE)
    if declared.continuous is not None:
        return Trigger(kind=TriggerKind.CONTINUOUS, interval=declared.continuous)
    if declared.real_time is not None:
        return Trigger(kind=TriggerKind.REAL_TIME, interval=declared.real_time)
    return AVAILABLE_NOW if declared.available_now else Trigger(kind=TriggerKind.DEFAULT)


def refused_trigger(declared: DeclaredStream, trigger: Trigger) -> Iterator[Refusal]:
    """What of the stream does not go with its trigger."""
    if trigger.kind in _LOW_LATENCY:
        yield from _places(declared, trigger)
    if trigger.kind is TriggerKind.REAL_TIME:
        yield from _real_time(declared, trigger)
    yield from _async_progress(declared, trigger)


def _places(declared: DeclaredStream, trigger: Trigger) -> Iterator[Refusal]:
    kind, guarantee = str(trigger.kind), declared.sink.guarantee
    if declared.source.kafka is None and declared.source.custom is None:
        yield _refusal(("trigger",), kind, "processing_time for this source: Spark runs Kafka alone under this trigger")
    if declared.sink.delta:
        expected = "processing_time for a Delta table: its sink takes batches alone, in foreachBatch too"
        yield _refusal(("trigger",), kind, expected)
    if trigger.kind is TriggerKind.CONTINUOUS and guarantee is not SinkGuarantee.AT_LEAST_ONCE:
        expected = (
            f"sink.guarantee: {SinkGuarantee.AT_LEAST_ONCE} beside it: continuous processing repeats what it did after its"
            " last epoch"
        )
        yield _refusal(("trigger",), kind, expected)


def _real_time(declared: DeclaredStream, trigger: Trigger) -> Iterator[Refusal]:
    """A batch is logged at its end: one that a crash cuts comes again with other rows under the same number."""
    if declared.sink.guarantee not in (SinkGuarantee.AT_LEAST_ONCE, SinkGuarantee.IDEMPOTENT_BY_KEY):
        expected = (
            f"sink.guarantee: {SinkGuarantee.AT_LEAST_ONCE} or {SinkGuarantee.IDEMPOTENT_BY_KEY} beside it: real time writes"
            " rows before their batch is planned, so that a batch which runs again is another one under the same number"
        )
        yield _refusal(("trigger",), str(trigger.kind), expected)
    if trigger.interval < SHORTEST_BATCH and _SHORTEST_BATCH_CONF not in declared.launch.conf:
        expected = (
            f"{format_duration(SHORTEST_BATCH)} at least, or {_SHORTEST_BATCH_CONF} beside it: rows do not wait for it"
        )
        yield _refusal(("trigger", "real_time"), format_duration(trigger.interval), expected)
    kafka = declared.source.kafka
    for name, value in kafka.options.items() if kafka else ():
        if name.lower() in _RATE_LIMITS:
            expected = (
                "no such option under real_time: a batch takes what comes while it lasts, and Spark refuses limits"
            )
            yield _refusal(("source", "kafka", "options", name), value, expected)


def _async_progress(declared: DeclaredStream, trigger: Trigger) -> Iterator[Refusal]:
    """Spark refuses availableNow, once and real time; of the others only micro-batches know the option."""
    kafka = declared.sink.kafka
    for name, value in kafka.options.items() if kafka else ():
        if name.lower() != TRACKS_PROGRESS_ASYNC or value.lower() != "true":
            continue
        place = ("sink", "kafka", "options", name)
        if trigger.kind not in _BY_BATCHES:
            expected = (
                f"trigger: processing_time or default beside it, found {trigger.kind}: only their queries can do it"
            )
            yield _refusal(place, value, expected)
        if declared.sink.guarantee is not SinkGuarantee.AT_LEAST_ONCE:
            expected = (
                f"sink.guarantee: {SinkGuarantee.AT_LEAST_ONCE} beside it: batches that were not logged run again"
            )
            yield _refusal(place, value, expected)


def _refusal(place: Place, value: str, expected: str) -> Refusal:
    return Refusal(place, shown(value, place=place), expected)


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
            airflow=AirflowSpec(**{**dict(declared.airflow), "tags": tuple(declared.airflow.tags)}),
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
