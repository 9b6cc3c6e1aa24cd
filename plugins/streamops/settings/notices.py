"""What works and should be declared otherwise: common advice that is wrong, told where it is followed."""

import os.path
import shutil
from collections.abc import Iterator

from streamops.settings.job_file import look_at_job
from streamops.spec import DeltaTableSource, FilesSource, KafkaSource, StreamSpec, TriggerKind
from streamops.storage.address import local_path

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
