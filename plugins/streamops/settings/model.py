"""The shape of the settings file.

The description of a field is what a problem at its place says is expected, so each is a noun phrase; so are the
docstrings of what has no field around it. Defaults are those of the dataclasses that the settings become; figures are
written there and nowhere else.
"""

from datetime import timedelta
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from streamops.health import StallAction, StallPolicy
from streamops.restart import FailureClass, Remedy, RestartPolicy, SinkGuarantee
from streamops.settings.durations import EXPECTED as A_DURATION
from streamops.settings.durations import format_duration, parse_duration
from streamops.settings.schedules import EXPECTED as A_CRON
from streamops.settings.schedules import EXPECTED_ZONE as A_TIME_ZONE
from streamops.settings.schedules import checked_cron, checked_time_zone
from streamops.spec import CatchupSpec, FileFormat, LaunchSpec, Timings, Trigger
from streamops.spec.health_rounds import CALLABLE_NAME, MOST_SHARDS, SHORTEST, HealthRounds

_CATCHUP = CatchupSpec()
_LAUNCH = LaunchSpec()
_RESTART = RestartPolicy()
_ROUNDS = HealthRounds()
_STALL = StallPolicy()
_TIMINGS = Timings()


def _as_written(value: object) -> object:
    """`2`, `false` and text are all text where Spark or Kafka take text; yaml_file keeps them as they are written."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


Text = Annotated[str, BeforeValidator(_as_written)]
Name = Annotated[Text, Field(min_length=1)]
Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
PositiveDuration = Annotated[Duration, Field(gt=timedelta(0))]
Count = Annotated[int, Field(ge=0)]
ShardCount = Annotated[int, Field(ge=1, le=MOST_SHARDS)]
RoundInterval = Annotated[Duration, Field(ge=SHORTEST)]
Cron = Annotated[Text, AfterValidator(checked_cron)]
TimeZone = Annotated[Text, AfterValidator(checked_time_zone)]
DeclaredMode = Literal["live", "scheduled"]
"""Of the modes those that may be declared; a backfill is derived."""
CallableName = Annotated[Text, Field(pattern=CALLABLE_NAME)]
Factor = Annotated[float, Field(ge=1, strict=False)]
Share = Annotated[float, Field(ge=0, le=1, strict=False)]
Topic = Annotated[Text, Field(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]
Servers = Annotated[Text, Field(pattern=r"^[^\s,@]+:\d{1,5}(\s*,\s*[^\s,@]+:\d{1,5})*$")]


class _Declared(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class DeclaredTrigger(_Declared):
    """Exactly one of its settings; the word `default` alone stands for `{default: true}`."""

    processing_time: Duration | None = Field(default=None, description=A_DURATION)
    available_now: Literal[True] | None = Field(default=None, description="true")
    once: Literal[True] | None = Field(default=None, description="true")
    default: Literal[True] | None = Field(default=None, description="true")

    @model_validator(mode="before")
    @classmethod
    def _accept_the_word_default(cls, value: object) -> object:
        return {"default": True} if value == "default" else value

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        kinds = [self.processing_time, self.available_now, self.once, self.default]
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("one of four")
        return self


_TRIGGER = DeclaredTrigger.model_validate({"processing_time": format_duration(Trigger().interval)})


class DeclaredSchedule(_Declared):
    """`schedule` of a scheduled stream."""

    cron: Cron = Field(description=A_CRON)
    timezone: TimeZone = Field(default="UTC", description=A_TIME_ZONE)


class DeclaredCatchup(_Declared):
    """`catchup` of a stream."""

    budget: PositiveDuration = Field(default=_CATCHUP.budget, description=A_DURATION)
    master: Text = Field(default=_CATCHUP.master, description="local[N] or spark://host:port")
    options: dict[str, Text] = Field(
        default_factory=dict, description="options of the source by name, each a text, a number, true or false"
    )
    conf: dict[str, Text] = Field(
        default_factory=dict, description="Spark confs by name, each a text, a number, true or false"
    )


class DeclaredKafka(_Declared):
    """`source.kafka` of a stream."""

    bootstrap_servers: Servers = Field(description="host:port, several joined by commas")
    topics: list[Topic] = Field(min_length=1, description="a list of topic names, at least one")
    options: dict[str, Text] = Field(
        default_factory=dict,
        description="options of Spark's Kafka source by name, each a text, a number, true or false",
    )
    connection: Text = Field(default="", description="the id of an Airflow connection of type kafka")
    tolerated_outage: Duration = Field(default=timedelta(0), description=A_DURATION)


class DeclaredDeltaTable(_Declared):
    """`source.delta` of a stream."""

    table: Name = Field(description="a path or an address of a Delta table")
    options: dict[str, Text] = Field(
        default_factory=dict,
        description="options of Delta's streaming source by name, each a text, a number, true or false",
    )


class DeclaredFiles(_Declared):
    """`source.files` of a stream."""

    path: Name = Field(description="a path or an address of a folder")
    format: FileFormat = Field(strict=False, description=f"one of {', '.join(FileFormat)}")
    # BaseModel has a method of the setting's name.
    ddl: Text = Field(default="", alias="schema", description="columns as DDL, for example id BIGINT, amount DOUBLE")
    options: dict[str, Text] = Field(
        default_factory=dict,
        description="options of Spark's file source and of the format by name, each a text, a number, true or false",
    )


class DeclaredSource(_Declared):
    """`source` of a stream: exactly one of its settings."""

    kafka: DeclaredKafka | None = Field(default=None, description="a mapping with bootstrap_servers and topics")
    delta: DeclaredDeltaTable | None = Field(default=None, description="a mapping with table")
    files: DeclaredFiles | None = Field(default=None, description="a mapping with path and format")

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        if sum(kind is not None for kind in (self.kafka, self.delta, self.files)) != 1:
            raise ValueError("one of three")
        return self


class DeclaredDelta(_Declared):
    """`sink.delta` of a stream."""

    table: Name = Field(description="a path or an address of a Delta table")
    dead_letters: Name = Field(description="a path or an address of a Delta table")
    guarantee: SinkGuarantee = Field(
        default=SinkGuarantee.IDEMPOTENT, strict=False, description=f"one of {', '.join(SinkGuarantee)}"
    )


class DeclaredSink(_Declared):
    """`sink` of a stream."""

    delta: DeclaredDelta = Field(description="a mapping with table and dead_letters")


class DeclaredLaunch(_Declared):
    """`launch` of a stream."""

    spark_submit: Name = Field(default=_LAUNCH.spark_submit, description="a path, or the name of a command on the PATH")
    master: Name = Field(default=_LAUNCH.master, description="local[N] or spark://host:port")
    deploy_mode: Name = Field(default=_LAUNCH.deploy_mode, description="client")
    queue: Text = Field(default=_LAUNCH.queue, description="a text")
    connection: Text = Field(default=_LAUNCH.connection, description="the id of an Airflow connection of type spark")
    jars: list[Name] = Field(default_factory=list, description="a list of paths, * allowed")
    conf: dict[str, Text] = Field(
        default_factory=dict, description="Spark confs by name, each a text, a number, true or false"
    )
    folder: Name = Field(default=".", description="a path of a folder")


class DeclaredRestart(_Declared):
    """`restart` of a stream."""

    budget_per_hour: Count = Field(default=_RESTART.budget_per_hour, description="a whole number, 0 or more")
    thrash_limit: Count = Field(default=_RESTART.thrash_limit, description="a whole number, 0 or more")
    initial_delay: Duration = Field(default=_RESTART.initial_delay, description=A_DURATION)
    max_delay: Duration = Field(default=_RESTART.max_delay, description=A_DURATION)
    jitter: Share = Field(default=_RESTART.jitter, description="a share from 0 to 1")
    forgive_after: PositiveDuration = Field(default=_RESTART.forgive_after, description=A_DURATION)
    remedies: dict[FailureClass, Remedy] = Field(
        default_factory=dict,
        strict=False,
        description=f"a mapping from failure classes ({', '.join(FailureClass)}) to one of {', '.join(Remedy)}",
    )


class DeclaredStall(_Declared):
    """`stall` of a stream."""

    action: StallAction = Field(default=_STALL.action, strict=False, description=f"one of {', '.join(StallAction)}")
    window_floor: PositiveDuration = Field(default=_STALL.window_floor, description=A_DURATION)
    factor: Factor = Field(default=_STALL.factor, description="a number, 1 or more")
    restart_floor: PositiveDuration = Field(default=_STALL.restart_floor, description=A_DURATION)
    restart_factor: Factor = Field(default=_STALL.restart_factor, description="a number, 1 or more")
    first_batch: PositiveDuration = Field(default=_STALL.first_batch, description=A_DURATION)


class DeclaredTimings(_Declared):
    """`timings` of a stream."""

    beat: PositiveDuration = Field(default=_TIMINGS.beat, description=A_DURATION)
    halt: PositiveDuration = Field(default=_TIMINGS.halt, description=A_DURATION)
    takeover: PositiveDuration = Field(default=_TIMINGS.takeover, description=A_DURATION)
    start: PositiveDuration = Field(default=_TIMINGS.start, description=A_DURATION)
    claim: PositiveDuration = Field(default=_TIMINGS.claim, description=A_DURATION)
    stop: PositiveDuration = Field(default=_TIMINGS.stop, description=A_DURATION)


class DeclaredStream(_Declared):
    """a mapping with job, source, sink and checkpoint"""

    job: Name = Field(description="a path of a Python file")
    source: DeclaredSource = Field(description="a mapping with kafka, delta or files: exactly one of the three")
    sink: DeclaredSink = Field(description="a mapping with delta")
    checkpoint: Name = Field(description="a path or an address of a folder")
    mode: DeclaredMode = Field(default="live", description=f"one of {', '.join(get_args(DeclaredMode))}")
    trigger: DeclaredTrigger = Field(
        default=_TRIGGER,
        description="default, {processing_time: 10s}, {available_now: true} or {once: true}: one of the four",
    )
    schedule: DeclaredSchedule | None = Field(default=None, description="a mapping, for example {cron: '0 * * * *'}")
    catchup: DeclaredCatchup = Field(default_factory=DeclaredCatchup, description="a mapping, for example {budget: 2h}")
    launch: DeclaredLaunch = Field(
        default_factory=DeclaredLaunch, description="a mapping, for example {master: local[2]}"
    )
    restart: DeclaredRestart = Field(
        default_factory=DeclaredRestart, description="a mapping, for example {thrash_limit: 5}"
    )
    stall: DeclaredStall = Field(default_factory=DeclaredStall, description="a mapping, for example {action: report}")
    timings: DeclaredTimings = Field(default_factory=DeclaredTimings, description="a mapping, for example {beat: 5s}")
    description: Text = Field(default="", description="a text")


class DeclaredDefaults(_Declared):
    """What every stream begins with. Checked stream by stream, after the merge: one stream may override a mistake."""

    trigger: Any = Field(default=None, description="what a stream may say under trigger")
    catchup: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")
    launch: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")
    restart: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")
    stall: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")
    timings: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")


class DeclaredHealthRounds(_Declared):
    """`checkpoint_health` or `retention_coverage` of the file."""

    shards: ShardCount = Field(default=_ROUNDS.shards, description=f"a whole number from 1 to {MOST_SHARDS}")
    every: RoundInterval = Field(
        default=_ROUNDS.every, description=f"{A_DURATION}, {format_duration(SHORTEST)} at least"
    )
    on_change: CallableName = Field(
        default=_ROUNDS.on_change, description="module:callable, for example my_alerts:tell"
    )


class DeclaredFile(_Declared):
    """a mapping with state_root and streams"""

    state_root: Name = Field(description="a path or an address of a folder")
    checkpoint_health: DeclaredHealthRounds = Field(
        default_factory=DeclaredHealthRounds, description="a mapping, for example {every: 5m}"
    )
    retention_coverage: DeclaredHealthRounds = Field(
        default_factory=DeclaredHealthRounds, description="a mapping, for example {every: 5m}"
    )
    defaults: DeclaredDefaults = Field(
        default_factory=DeclaredDefaults,
        description="a mapping with catchup, launch, restart, stall, timings or trigger",
    )
    streams: dict[str, Any] = Field(description="a mapping from stream names to streams")
