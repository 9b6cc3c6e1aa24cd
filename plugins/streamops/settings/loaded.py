"""What a settings file comes to: the streams that can be supervised, what is wrong, and what should be declared otherwise."""

import difflib
import os.path
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from streamops.errors import SettingsError
from streamops.settings.job_file import look_at_job
from streamops.settings.problems import SettingsProblem
from streamops.spec import DeltaTableSource, FilesSource, KafkaSource, StreamSpec, TriggerKind
from streamops.spec.health_rounds import HealthRounds
from streamops.storage import FileAccess, Storage
from streamops.storage.address import local_path
from streamops.storage.kinds import storage_for

_PARTITIONS = "spark.sql.shuffle.partitions"


def notices_of(spec: StreamSpec) -> Iterator[str]:
    """Each with the setting that it is about: `trigger: …`"""
    if unparsed := look_at_job(spec.job).unparsed:
        yield f"job: {spec.job} could not be looked into ({unparsed}): the Python of the driver decides"
    if spec.trigger.kind is TriggerKind.ONCE:
        yield (
            "trigger: once is deprecated since Spark 3.4: it ignores rate limits, and where a batch is uncommitted it runs only"
            " that one and ends; what waits for a watermark comes out with the next data only, and a record counts as late one"
            " run later (tried on 4.2.0); available_now reads all that there is, in batches"
        )
    if spec.trigger.kind is TriggerKind.CONTINUOUS:
        yield (
            "trigger: continuous is experimental since Spark 2.3 and has at-least-once semantics: what came after its last mark"
            " is done again after a restart"
        )
    if spec.trigger.kind is TriggerKind.REAL_TIME and spec.trigger.interval > spec.timings.stop:
        yield (
            "trigger: a batch of real time lasts longer than a stop waits (timings.stop): each stop cuts one, and what it has"
            " written is written again"
        )
    if spec.state.conf and _PARTITIONS not in dict(spec.conf):
        yield (
            "state: shuffle_partitions is not declared: Spark's default of 200 is pinned at the first start, each with files of"
            " its own in every batch; 2 to 8 do for a small stream"
        )
    yield from _missing_places(spec)
    if isinstance(spec.source, KafkaSource) and not spec.source.fails_on_data_loss:
        yield (
            "source.kafka.options.failOnDataLoss: false skips records that Kafka has deleted without a word in the stream;"
            " `streamops lag` tells before they are"
        )


def _missing_places(spec: StreamSpec) -> Iterator[str]:
    """What a start would not find from here; it may be there where drivers run, so it is told and not refused."""
    command = spec.launch.spark_submit
    # A plain name is looked for in the PATH of the process that starts drivers, which is another one.
    if "/" in command and not shutil.which(command):
        yield f"launch.spark_submit: {command} is not to be found from here, or can't be run: no driver would start"
    source = spec.source
    if isinstance(source, FilesSource) and _is_missing(source.path):
        yield f"source.files.path: there is no folder {source.path}: a query fails until it is there"
    if isinstance(source, DeltaTableSource) and _is_missing(f"{source.table}/_delta_log"):
        yield f"source.delta.table: no Delta table lies at {source.table}: a query fails until it is there"


def _is_missing(address: str) -> bool:
    """Whether a local folder is not there; of patterns and other places nothing is said."""
    path = local_path(address)
    return path is not None and not any(letter in path for letter in "*?[{") and not os.path.isdir(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptStream:
    """A stream that goes on as it was declared before: the file declares it wrongly now, not at all, or can't be read."""

    name: str
    since: datetime
    """When that declaration was read first."""
    has_left: bool = False
    """Whether the file can be read and does not name it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a settings file declares, as far as it can be used."""

    path: str
    """The file, as it was asked for."""
    state_root: str
    """Canonical address of registry and shared files; empty when the whole file is wrong and no good version is kept."""
    streams: tuple[StreamSpec, ...]
    """Those that can be supervised: the valid ones in the order of the file, then those in `kept`."""
    errors: tuple[SettingsProblem, ...]
    namespace: str = ""
    """What the ids of its DAGs begin with; for several settings files in one Airflow."""
    file_access: FileAccess = FileAccess.OWNER
    """Who may read and write what the suite keeps on file systems."""
    kept: tuple[KeptStream, ...] = ()
    """Of `streams` those that go by their last good declaration. For each there is a problem in `errors`."""
    checkpoint_health: HealthRounds = field(default_factory=HealthRounds)
    """How the checkpoints of all of them are looked at."""
    retention_coverage: HealthRounds = field(default_factory=HealthRounds)
    """How it is looked at whether what they need is still in Kafka."""
    asides: tuple[SettingsProblem, ...] = ()
    """What is wrong in a section on which no stream depends. Its defaults count meanwhile: it must not disarm the streams."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What works and should be declared otherwise."""
        return tuple(
            f"{self.path}: streams.{spec.name}.{notice}" for spec in self.streams for notice in notices_of(spec)
        )

    @property
    def problems(self) -> tuple[SettingsProblem, ...]:
        """Everything that is wrong."""
        return (*self.errors, *self.asides)

    @property
    def whole(self) -> tuple[SettingsProblem, ...]:
        """What is wrong with the file as a whole: with any of it the file declares no stream."""
        return tuple(problem for problem in self.errors if not problem.stream)

    def usable(self) -> "Settings":
        """Itself; SettingsError when not even the frame of the file is sound, and no good version of it is kept."""
        if not self.state_root:
            raise SettingsError("\n".join(str(problem) for problem in self.whole))
        return self

    def storage_for(self, address: str) -> Storage:
        """The storage behind an address, which gives new files the access that is declared."""
        return storage_for(address, access=self.file_access)

    def stream(self, name: str) -> StreamSpec:
        """One stream; SettingsError with its problems, or with names that are close, when there is no such spec."""
        for spec in self.streams:
            if spec.name == name:
                return spec
        problems = [str(problem) for problem in self.errors if problem.stream in ("", name)]
        if problems:
            raise SettingsError("\n".join(problems))
        known = sorted({spec.name for spec in self.streams} | {problem.stream for problem in self.errors})
        close = difflib.get_close_matches(name, known)
        hint = f"did you mean {' or '.join(close)}?" if close else f"{len(known)} are declared, none is called alike"
        raise SettingsError(f"{self.path}: no stream is called {name!r}: {hint}")
