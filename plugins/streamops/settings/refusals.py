"""Settings that are well formed and still refused: values on which each start of the query fails, each with its reason.

Tried on Spark 4.2.0 and Delta 4.4. Names are in lower case, as Spark takes option names in any case; settings are not. What is
not listed here is Spark's to judge.

Every function answers with what is expected instead; an empty answer means that the setting is fine.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from streamops.settings import secrets
from streamops.settings.secrets import holds_secret, is_secret
from streamops.spec import FileFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueForm:
    """What a value must be."""

    wanted: str
    """In the words of a message: `true or false`."""
    fits: Callable[[str], bool]


def _matches(pattern: str) -> Callable[[str], bool]:
    form = re.compile(pattern, re.ASCII | re.IGNORECASE)
    return lambda text: form.fullmatch(text) is not None


def _is_start(text: str) -> bool:
    return text.strip().lower() in ("earliest", "latest") or _has_numbers_by_partition(text)


def _has_numbers_by_partition(text: str) -> bool:
    """`{"orders":{"0":23}}`."""
    try:
        topics = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(topics, dict) and all(
        isinstance(partitions, dict)
        and all(_is_partition(name) and type(number) is int for name, number in partitions.items())
        for partitions in topics.values()
    )


_is_partition = _matches(r"[0-9]{1,10}")


def _is_share(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def _is_pattern(text: str) -> bool:
    """Java's patterns are not Python's: only what is none in both is told."""
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _one_of(*values: str) -> ValueForm:
    return ValueForm(wanted=" or ".join(values), fits=lambda text: text.strip().lower() in values)


def _never(instead: str) -> ValueForm:
    return ValueForm(wanted=instead, fits=lambda text: False)


FLAG = _one_of("true", "false")
COUNT = ValueForm(wanted="a whole number above 0", fits=_matches(r"\s*\+?0*[1-9][0-9]{0,18}\s*"))
WHOLE = ValueForm(wanted="a whole number, 0 or more", fits=_matches(r"\s*\+?[0-9]{1,19}\s*"))
LIMIT = ValueForm(
    wanted="a number above 0: with 0 a run ends well and has read nothing, with less each start fails", fits=COUNT.fits
)
BYTES = ValueForm(wanted="a whole number of bytes above 0: the source of files takes no unit", fits=COUNT.fits)
SIZE = ValueForm(
    wanted="a number of bytes above 0, with a unit or without: 10g",
    fits=_matches(r"\s*0*[1-9][0-9]{0,18}\s*[bkmgtp]?b?\s*"),
)
DURATION = ValueForm(
    wanted="a time with its unit: 30s, 10min, 7d", fits=_matches(r"\s*[0-9]{1,18}\s*(us|ms|s|m|min|h|d)?\s*")
)
NO_END = _never("no such option: a stream has no end, Spark refuses it; `streamops backfill` reads a range")
PARTITION_TIMES = ValueForm(
    wanted='milliseconds by partition: {"orders":{"0":1772366400000}}', fits=_has_numbers_by_partition
)

KAFKA_OPTIONS: Mapping[str, ValueForm] = {
    "maxoffsetspertrigger": LIMIT,
    "minoffsetspertrigger": LIMIT,
    "minpartitions": LIMIT,
    "maxrecordsperpartition": COUNT,
    "maxtriggerdelay": DURATION,
    "failondataloss": FLAG,
    "includeheaders": FLAG,
    "startingoffsets": ValueForm(
        wanted='earliest, latest, or offsets by partition: {"orders":{"0":23,"1":-2}}, -2 for earliest, -1 for latest',
        fits=_is_start,
    ),
    "startingtimestamp": ValueForm(wanted="milliseconds since 1970: 1772366400000", fits=WHOLE.fits),
    "startingoffsetsbytimestamp": PARTITION_TIMES,
    "startingoffsetsbytimestampstrategy": _one_of("error", "latest"),
    "endingoffsets": NO_END,
    "endingtimestamp": NO_END,
    "endingoffsetsbytimestamp": NO_END,
    "kafka.isolation.level": ValueForm(
        wanted="read_committed or read_uncommitted",
        fits=lambda text: text.strip() in ("read_committed", "read_uncommitted"),
    ),
    "kafkaconsumer.polltimeoutms": WHOLE,
    "fetchoffset.numretries": WHOLE,
    "fetchoffset.retryintervalms": WHOLE,
}
FILES_OPTIONS: Mapping[str, ValueForm] = {
    "maxfilespertrigger": LIMIT,
    "maxbytespertrigger": BYTES,
    "maxfileage": DURATION,
    "latestfirst": FLAG,
    "filenameonly": FLAG,
    "cleansource": _one_of("archive", "delete", "off"),
    "maxcachedfiles": WHOLE,
    "discardcachedinputratio": ValueForm(wanted="a number from 0 to 1", fits=_is_share),
    "modifiedbefore": _never("no such option: Spark refuses it in a stream, whose files all come later"),
    "modifiedafter": _never("no such option: Spark refuses it in a stream; keep what is older out of the folder"),
    "multiline": FLAG,
    "recursivefilelookup": FLAG,
}
DELTA_OPTIONS: Mapping[str, ValueForm] = {
    "maxfilespertrigger": LIMIT,
    "maxbytespertrigger": SIZE,
    "startingversion": ValueForm(
        wanted="latest, or a version of the table, 0 or more", fits=_matches(r"\s*(latest|[0-9]{1,19})\s*")
    ),
    "startingtimestamp": ValueForm(wanted="a date or a time: 2026-03-01", fits=_matches(r"\s*[0-9]{4}-[0-9]{1,2}.*")),
    "ignorechanges": FLAG,
    "ignoredeletes": FLAG,
    "skipchangecommits": FLAG,
    "readchangefeed": FLAG,
    "failondataloss": FLAG,
    "excluderegex": ValueForm(wanted="a regular expression", fits=_is_pattern),
}
CUSTOM_OPTIONS: Mapping[str, Mapping[str, ValueForm]] = {
    "rate": {"rowspersecond": COUNT, "numpartitions": COUNT, "rampuptime": DURATION},
    "rate-micro-batch": {
        "rowsperbatch": COUNT,
        "numpartitions": COUNT,
        "starttimestamp": WHOLE,
        "advancemillisperbatch": WHOLE,
    },
}
"""By the name of the source."""
SPARK_CONF: Mapping[str, ValueForm] = {
    "spark.sql.shuffle.partitions": COUNT,
    "spark.sql.streaming.minBatchesToRetain": COUNT,
    "spark.sql.streaming.multipleWatermarkPolicy": _one_of("min", "max"),
    "spark.sql.streaming.noDataMicroBatches.enabled": FLAG,
    "spark.sql.streaming.stateStore.checkpointFormatVersion": _one_of("1", "2"),
    "spark.sql.streaming.offsetLog.formatVersion": _one_of("1", "2"),
    "spark.sql.streaming.fileSource.log.compactInterval": COUNT,
    "spark.sql.streaming.fileSink.log.compactInterval": COUNT,
    "spark.sql.streaming.stateStore.maintenanceInterval": DURATION,
    "spark.sql.streaming.stopTimeout": DURATION,
}


def unfit_value(forms: Mapping[str, ValueForm], name: str, value: str) -> str:
    """What is expected instead of a value; empty where it fits, or nothing is known of the name."""
    form = forms.get(name)
    return "" if form is None or form.fits(value) else form.wanted


_KAFKA_OPTIONS = {
    "kafka.bootstrap.servers": "source.kafka.bootstrap_servers, which is where the servers are declared",
    "subscribe": "source.kafka.topics, which is where the topics are declared",
    "subscribepattern": "source.kafka.topics, which is where the topics are declared: a list, not a pattern",
    "assign": "source.kafka.topics, which is where the topics are declared",
    "kafka.auto.offset.reset": "startingOffsets: Spark keeps the offsets itself and refuses this option",
    "kafka.enable.auto.commit": "no such option: Spark commits nothing to Kafka and refuses it",
    "kafka.key.deserializer": "no such option: Spark reads bytes and refuses it, the job decodes them",
    "kafka.value.deserializer": "no such option: Spark reads bytes and refuses it, the job decodes them",
    "kafka.interceptor.classes": "no such option: Spark refuses interceptors, which could break the query",
}
"""Lower case, as all of these: Spark takes option names in any case."""

_DELTA_OPTIONS = {
    "path": "source.delta.table, which is where the table is declared",
    "versionasof": "startingVersion: a stream reads what comes, not one version (Delta refuses this option in a stream)",
    "timestampasof": "startingTimestamp: a stream reads what comes, not one version (Delta refuses this option in a stream)",
}

_FILES_OPTIONS = {
    "path": "source.files.path, which is where the folder is declared",
    "inferschema": "source.files.schema, which is where the columns are declared: a stream can't infer them",
}

_SPARK_CONF = {
    "spark.streaming.stopGracefullyOnShutdown": "no such conf: it is for DStreams only and has no effect here;"
    " `streamops stop` ends a query between two batches",
    "spark.master": "launch.master, which is where it is declared",
    "spark.submit.deployMode": "launch.deploy_mode, which is where it is declared",
    "spark.yarn.queue": "launch.queue, which is where it is declared",
    "spark.jars": "launch.jars, which is where they are declared",
    "spark.app.name": "no such conf: the driver is named after the stream",
    "spark.sql.streaming.metricsEnabled": "metrics: true, which is where they are switched on",
}

_STATE_CONF = {
    "spark.sql.streaming.stateStore.providerClass": "state.store",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "state.changelog",
    "spark.sql.shuffle.partitions": "state.shuffle_partitions",
}
"""Confs that a setting stands for, as long as only one of the two is declared."""

_FOR_DSTREAMS = "spark.streaming."
"""Of structured streaming are `spark.sql.streaming.` and the options of a source."""

_CUSTOM_FORMATS = {
    "kafka": "kafka beside custom, which has checks of its own",
    "delta": "delta beside custom, which has checks of its own",
    "org.apache.spark.sql.kafka010.kafkasourceprovider": "kafka beside custom, which has checks of its own",
    "cloudfiles": "source.files: Auto Loader is of one vendor, the file source of Spark takes each new file once as well",
}

_CONF_NAME = re.compile(r"spark\.[^\s=]+")
_LOCAL_MASTER = re.compile(r"local(\[\s*(\*|[1-9]\d*)\s*(,\s*[1-9]\d*\s*)?\])?")
_STANDALONE_MASTER = re.compile(r"spark://\S+")
_LATER_MASTER = re.compile(r"yarn\b.*|k8s://.*|mesos://.*")


def refused_kafka_option(name: str, value: str) -> str:
    """Secrets, options that Spark refuses at the start of the query, and those that have a field of their own.

    And values that no start gets past.
    """
    if is_secret(name, value):
        return secrets.IN_KAFKA_OPTION
    return _KAFKA_OPTIONS.get(name.lower(), "") or unfit_value(KAFKA_OPTIONS, name.lower(), value)


def refused_delta_option(name: str, value: str) -> str:
    """As `refused_kafka_option`, of Delta's streaming source."""
    if is_secret(name, value):
        return secrets.IN_OPTION
    return _DELTA_OPTIONS.get(name.lower(), "") or unfit_value(DELTA_OPTIONS, name.lower(), value)


def refused_files_option(name: str, value: str) -> str:
    """As `refused_kafka_option`, of Spark's file source."""
    if is_secret(name, value):
        return secrets.IN_OPTION
    return _FILES_OPTIONS.get(name.lower(), "") or unfit_value(FILES_OPTIONS, name.lower(), value)


def refused_kafka_sink_option(name: str, value: str) -> str:
    """As `refused_kafka_option`, of Spark's Kafka sink."""
    if is_secret(name, value):
        return secrets.IN_KAFKA_OPTION
    if name.lower() in ("topic", "kafka.bootstrap.servers"):
        return (
            f"sink.kafka.{'topic' if name.lower() == 'topic' else 'bootstrap_servers'}, which is where it is declared"
        )
    if name.lower() == "failondataloss":
        return "no such option of a sink: it belongs to the source, where false skips lost records in silence"
    return ""


def refused_custom_option(name: str, value: str, *, source: str = "") -> str:
    """Secrets; what else an option means only the connector knows, but for the sources that come with Spark."""
    if is_secret(name, value):
        return secrets.IN_OPTION
    return unfit_value(CUSTOM_OPTIONS.get(source.lower(), {}), name.lower(), value)


def refused_source_format(name: str) -> str:
    """As `refused_custom_format`, and sources that can't be read again from a checkpoint (SPARK-24462)."""
    if name.lower() == "socket":
        return (
            "a source that can be read again: a query on a socket can't go on from its checkpoint; put Kafka in between"
        )
    return refused_custom_format(name)


def refused_sink_format(name: str) -> str:
    """As `refused_custom_format`, and sinks that don't go on from a checkpoint (MemorySink, 4.2)."""
    if name.lower() == "memory":
        return "a sink that lasts: the memory sink can't go on from a checkpoint, and its rows end with the driver"
    return refused_custom_format(name)


def refused_custom_format(name: str) -> str:
    """Formats that have a setting of their own, or that Spark does not have."""
    if name.lower() in {str(kind).lower() for kind in FileFormat}:
        return "files beside custom, which has checks of its own"
    return _CUSTOM_FORMATS.get(name.lower(), "")


def refused_parameter(name: str, value: str) -> str:
    """Secrets: a claim carries the parameters, and everybody may read it."""
    return secrets.IN_PARAMETER if is_secret(name, value) else ""


def refused_jdbc_url(url: str) -> str:
    """An address of a database with somebody's name or password in it: claims, messages and pages show addresses."""
    return secrets.IN_JDBC_URL if secrets.secret_in_address(url) else ""


def refused_rest_url(url: str) -> str:
    """As `refused_jdbc_url`, of an endpoint; of a webhook the whole address is a secret."""
    return secrets.IN_REST_URL if secrets.secret_in_address(url) else ""


def refused_text(text: str) -> str:
    """Secrets in what people write freely."""
    return secrets.IN_TEXT if holds_secret(text) else ""


def pinned_elsewhere(conf: str) -> str:
    """The setting that stands for a conf; empty where there is none."""
    return _STATE_CONF.get(conf, "")


def refused_spark_conf(name: str, value: str) -> str:
    """Secrets, confs that start a second driver behind our back, and those without the effect that is hoped for.

    A manager's own restart puts a second driver on the same checkpoint: seen on YARN and on a
    standalone cluster, after a kill and after a plain exception.
    """
    if way := secrets.secret_in_conf(name, value):
        return way
    if not _CONF_NAME.fullmatch(name):
        return "a name that begins with spark.: spark-submit ignores all others"
    if name == "spark.yarn.maxAppAttempts" and value.strip() != "1":
        return "1: YARN's own restart is a second driver on the same checkpoint"
    if name == "spark.driver.supervise" and value.strip().lower() != "false":
        return "false: the cluster's own restart is a second driver on the same checkpoint"
    if name.startswith(_FOR_DSTREAMS) and name not in _SPARK_CONF:
        return (
            "no such conf: it is for DStreams only and has no effect here; the rate of a query is an option of its source:"
            " maxOffsetsPerTrigger (Kafka), maxFilesPerTrigger (files, Delta), maxBytesPerTrigger (Delta)"
        )
    return _SPARK_CONF.get(name, "") or unfit_value(SPARK_CONF, name, value)


def refused_master(master: str) -> str:
    """Masters whose drivers this version can't watch, and logins."""
    if refusal := refused_text(master):
        return refusal
    if _LOCAL_MASTER.fullmatch(master) or _STANDALONE_MASTER.fullmatch(master):
        return ""
    expected = "local, local[N], local[*] or spark://host:port"
    return f"{expected}: this master comes in a later version" if _LATER_MASTER.fullmatch(master) else expected


def refused_deploy_mode(deploy_mode: str) -> str:
    """With `local[N]` and `spark://…` the driver must be a process of this host, or nothing proves its death."""
    return "" if deploy_mode == "client" else "client: other deploy modes come in a later version"
