"""The shape of the settings file.

The description of a field is what a problem at its place says is expected, so each is a noun phrase; so are the
docstrings of what has no field around it. Defaults are those of the dataclasses that the settings become; figures are
written there and nowhere else.
"""

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from streamops.durations import EXPECTED as A_DURATION
from streamops.durations import format_duration
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.policy import RestartPolicy
from streamops.liveness import StallAction, StallPolicy
from streamops.settings.declared import EXPECTED_ZONE as A_TIME_ZONE
from streamops.settings.declared import NAMESPACE_EXPECTED as A_NAMESPACE
from streamops.settings.declared import SCHEDULE_EXPECTED as A_CRON
from streamops.settings.declared import (
    Count,
    Duration,
    Name,
    PositiveDuration,
    SettingsSection,
    Text,
    checked_cron,
    checked_namespace,
    checked_time_zone,
)
from streamops.settings.model_places import DeclaredSink, DeclaredSource
from streamops.spec import AirflowSpec, CatchupSpec, Keep, LaunchSpec, StateSpec, StateStore, Timings, Trigger
from streamops.spec.health_rounds import CALLABLE_NAME, MOST_SHARDS, SHORTEST, HealthRounds
from streamops.spec.stream import MOST_DAYS_KEPT
from streamops.storage import FileAccess

_AIRFLOW = AirflowSpec()
_CATCHUP = CatchupSpec()
_KEEP = Keep()
_LAUNCH = LaunchSpec()
_RESTART = RestartPolicy()
_ROUNDS = HealthRounds()
_STALL = StallPolicy()
_STATE = StateSpec()
_TIMINGS = Timings()


EpochCount = Annotated[int, Field(ge=2)]
DayCount = Annotated[int, Field(ge=0, le=MOST_DAYS_KEPT)]
PartitionCount = Annotated[int, Field(ge=1)]
ShardCount = Annotated[int, Field(ge=1, le=MOST_SHARDS)]
RoundInterval = Annotated[Duration, Field(ge=SHORTEST)]
Cron = Annotated[Text, AfterValidator(checked_cron)]
TimeZone = Annotated[Text, AfterValidator(checked_time_zone)]
DeclaredMode = Literal["live", "scheduled"]
"""Of the modes those that may be declared; a backfill is derived."""
Namespace = Annotated[Text, AfterValidator(checked_namespace)]
CallableName = Annotated[Text, Field(pattern=CALLABLE_NAME)]
Owner = Annotated[Text, Field(pattern=r"^[^,]{1,100}$")]
"""Airflow joins owners with commas."""
ShortText = Annotated[Text, Field(max_length=200)]
Tag = Annotated[Text, Field(min_length=1, max_length=100)]
"""As long as Airflow takes them (TAG_MAX_LEN, 3.3)."""
Link = Annotated[Text, Field(pattern=r"^(https?://\S+)?$")]
Factor = Annotated[float, Field(ge=1, strict=False)]
Share = Annotated[float, Field(ge=0, le=1, strict=False)]


class DeclaredTrigger(SettingsSection):
    """Exactly one of its settings; the word `default` alone stands for `{default: true}`."""

    processing_time: Duration | None = Field(default=None, description=A_DURATION)
    available_now: Literal[True] | None = Field(default=None, description="true")
    once: Literal[True] | None = Field(default=None, description="true")
    default: Literal[True] | None = Field(default=None, description="true")
    continuous: PositiveDuration | None = Field(default=None, description=A_DURATION)
    real_time: PositiveDuration | None = Field(default=None, description=A_DURATION)

    @model_validator(mode="before")
    @classmethod
    def _accept_the_word_default(cls, value: object) -> object:
        return {"default": True} if value == "default" else value

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        if sum(kind is not None for _, kind in self) != 1:
            raise ValueError("one of six")
        return self


_TRIGGER = DeclaredTrigger.model_validate({"processing_time": format_duration(Trigger().interval)})


class DeclaredSchedule(SettingsSection):
    """`schedule` of a scheduled stream."""

    cron: Cron = Field(description=A_CRON)
    timezone: TimeZone = Field(default="UTC", description=A_TIME_ZONE)


class DeclaredCatchup(SettingsSection):
    """`catchup` of a stream."""

    budget: PositiveDuration = Field(default=_CATCHUP.budget, description=A_DURATION)
    master: Text = Field(default=_CATCHUP.master, description="local[N] or spark://host:port")
    options: dict[str, Text] = Field(
        default_factory=dict, description="options of the source by name, each a text, a number, true or false"
    )
    conf: dict[str, Text] = Field(
        default_factory=dict, description="Spark confs by name, each a text, a number, true or false"
    )


class DeclaredLaunch(SettingsSection):
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
    environment: list[Name] = Field(
        default_factory=list, description="a list of names of environment variables, a trailing * allowed"
    )


class DeclaredRestart(SettingsSection):
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


class DeclaredStall(SettingsSection):
    """`stall` of a stream."""

    action: StallAction = Field(default=_STALL.action, strict=False, description=f"one of {', '.join(StallAction)}")
    window_floor: PositiveDuration = Field(default=_STALL.window_floor, description=A_DURATION)
    factor: Factor = Field(default=_STALL.factor, description="a number, 1 or more")
    restart_floor: PositiveDuration = Field(default=_STALL.restart_floor, description=A_DURATION)
    restart_factor: Factor = Field(default=_STALL.restart_factor, description="a number, 1 or more")
    first_batch: PositiveDuration = Field(default=_STALL.first_batch, description=A_DURATION)


class DeclaredTimings(SettingsSection):
    """`timings` of a stream."""

    beat: PositiveDuration = Field(default=_TIMINGS.beat, description=A_DURATION)
    halt: PositiveDuration = Field(default=_TIMINGS.halt, description=A_DURATION)
    takeover: PositiveDuration = Field(default=_TIMINGS.takeover, description=A_DURATION)
    start: PositiveDuration = Field(default=_TIMINGS.start, description=A_DURATION)
    claim: PositiveDuration = Field(default=_TIMINGS.claim, description=A_DURATION)
    stop: PositiveDuration = Field(default=_TIMINGS.stop, description=A_DURATION)


class DeclaredState(SettingsSection):
    """`state` of a stream."""

    store: StateStore | None = Field(default=_STATE.store, strict=False, description=f"one of {', '.join(StateStore)}")
    changelog: bool | None = Field(default=_STATE.changelog, description="true or false")
    shuffle_partitions: PartitionCount | None = Field(
        default=_STATE.shuffle_partitions, description="a whole number, 1 or more"
    )


class DeclaredKeep(SettingsSection):
    """`keep` of a stream."""

    epochs: EpochCount = Field(default=_KEEP.epochs, description="a whole number, 2 or more")
    days: DayCount = Field(default=_KEEP.days, description=f"a whole number from 0 to {MOST_DAYS_KEPT}")


class DeclaredAirflow(SettingsSection):
    """`airflow` of a stream."""

    owner: Owner = Field(default=_AIRFLOW.owner, description="a name without a comma, 100 characters at most")
    display_name: ShortText = Field(default=_AIRFLOW.display_name, description="a text, 200 characters at most")
    tags: list[Tag] = Field(default_factory=list, description="a list of words, each of 100 characters at most")
    runbook: Link = Field(default=_AIRFLOW.runbook, description="a link that begins with https:// or http://")


class DeclaredStream(SettingsSection):
    """a mapping with job, source, sink and checkpoint"""

    job: Name = Field(description="a path of a Python file")
    source: DeclaredSource = Field(description="a mapping with kafka, delta, files or custom: exactly one of the four")
    sink: DeclaredSink = Field(
        description="a mapping with delta, kafka, jdbc, rest, files or custom: at least one of them"
    )
    checkpoint: Name = Field(description="a path or an address of a folder")
    mode: DeclaredMode = Field(default="live", description=f"one of {', '.join(get_args(DeclaredMode))}")
    trigger: DeclaredTrigger = Field(
        default=_TRIGGER,
        description="one of default, {processing_time: 10s}, {available_now: true}, {once: true}, {continuous: 1s} and"
        " {real_time: 5m}",
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
    state: DeclaredState = Field(default_factory=DeclaredState, description="a mapping, for example {store: rocksdb}")
    keep: DeclaredKeep = Field(default_factory=DeclaredKeep, description="a mapping, for example {epochs: 20, days: 7}")
    metrics: bool = Field(default=False, description="true or false")
    parameters: dict[str, Text] = Field(default_factory=dict, description="a mapping from names to texts")
    description: Text = Field(default="", description="a text")
    airflow: DeclaredAirflow = Field(
        default_factory=DeclaredAirflow, description="a mapping, for example {owner: payments, tags: [tier-1]}"
    )


class DeclaredDefaults(SettingsSection):
    """What every stream begins with. Checked stream by stream, after the merge: one stream may override a mistake."""

    airflow: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")
    trigger: Any = Field(default=None, description="what a stream may say under trigger")
    catchup: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")
    keep: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")
    launch: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")
    restart: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")
    stall: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")
    state: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")
    timings: dict[str, Any] = Field(default_factory=dict, description="a mapping as under a stream")


class DeclaredHealthRounds(SettingsSection):
    """`checkpoint_health` or `retention_coverage` of the file."""

    shards: ShardCount = Field(default=_ROUNDS.shards, description=f"a whole number from 1 to {MOST_SHARDS}")
    every: RoundInterval = Field(
        default=_ROUNDS.every, description=f"{A_DURATION}, {format_duration(SHORTEST)} at least"
    )
    on_change: CallableName = Field(
        default=_ROUNDS.on_change, description="module:callable, for example my_alerts:tell"
    )


class DeclaredFile(SettingsSection):
    """a mapping with state_root and streams"""

    state_root: Name = Field(description="a path or an address of a folder")
    namespace: Namespace = Field(default="", description=A_NAMESPACE)
    file_access: FileAccess = Field(
        default=FileAccess.OWNER, strict=False, description=f"one of {', '.join(FileAccess)}"
    )
    checkpoint_health: DeclaredHealthRounds = Field(
        default_factory=DeclaredHealthRounds, description="a mapping, for example {every: 5m}"
    )
    retention_coverage: DeclaredHealthRounds = Field(
        default_factory=DeclaredHealthRounds, description="a mapping, for example {every: 5m}"
    )
    defaults: DeclaredDefaults = Field(
        default_factory=DeclaredDefaults,
        description="a mapping with airflow, catchup, keep, launch, restart, stall, state, timings or trigger",
    )
    streams: dict[str, Any] = Field(description="a mapping from stream names to streams")
