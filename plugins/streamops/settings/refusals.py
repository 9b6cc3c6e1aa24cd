"""Settings that are well formed and still refused, each with the reason a user reads.

Every function answers with what is expected instead; an empty answer means that the setting is fine.
"""

import re

from streamops.settings import secrets
from streamops.settings.option_values import (
    CUSTOM_OPTIONS,
    DELTA_OPTIONS,
    FILES_OPTIONS,
    KAFKA_OPTIONS,
    SPARK_CONF,
    unfit_value,
)
from streamops.settings.secrets import holds_secret, is_secret
from streamops.spec import FileFormat

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
