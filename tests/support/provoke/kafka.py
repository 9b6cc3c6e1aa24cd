"""Kafka as source and as sink: lost offsets, topics that were replaced, brokers that are gone, settings that are wrong."""

import time
from collections.abc import Callable
from functools import partial

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame

from streamops.failures.failure_class import FailureClass, Remedy
from support.provoke.bench import Bench
from support.provoke.case import Family, preparing

FAMILY = Family("kafka")
IMPATIENT = {
    "kafka.default.api.timeout.ms": "4000",
    "kafka.request.timeout.ms": "3000",
    "kafka.session.timeout.ms": "2500",
    "kafka.heartbeat.interval.ms": "500",
    "kafkaConsumer.pollTimeoutMs": "4000",
    "fetchOffset.numRetries": "1",
}


def _admin(bench: Bench) -> AdminClient:
    return AdminClient({"bootstrap.servers": bench.bootstrap, "log_level": 0})


def _create(bench: Bench, topic: str, *, partitions: int = 2) -> None:
    admin = _admin(bench)
    deadline = time.monotonic() + 30
    while True:
        creation = admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])[topic]
        try:
            creation.result(timeout=30)
            return
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)  # The name is still being deleted.


def _delete(bench: Bench, topic: str) -> None:
    admin = _admin(bench)
    admin.delete_topics([topic])[topic].result(timeout=30)
    while topic in admin.list_topics(timeout=10).topics:
        time.sleep(0.2)


def _send(bench: Bench, topic: str, *, count: int = 10, partition: int | None = None) -> None:
    producer = Producer({"bootstrap.servers": bench.bootstrap, "log_level": 0})
    for number in range(count):
        producer.produce(topic, value=str(number), partition=number % 2 if partition is None else partition)
    producer.flush(30)


def _lose(bench: Bench, topic: str, *, before: int, partitions: range = range(2)) -> None:
    """What retention does."""
    offsets = [TopicPartition(topic, partition, before) for partition in partitions]
    admin = _admin(bench)
    for result in admin.delete_records(offsets).values():
        result.result(timeout=30)


def _read(bench: Bench, topic: str, **options: str) -> DataFrame:
    reader = bench.spark.readStream.format("kafka").option("kafka.bootstrap.servers", bench.bootstrap)
    return reader.options(**{"subscribe": topic, "startingOffsets": "earliest", **IMPATIENT, **options}).load()


def _consume(bench: Bench, topic: str, **options: str) -> None:
    bench.run(_read(bench, topic, **options).writeStream.format("noop"), bench.root / topic / "checkpoint")


HAPPENINGS: list[tuple[str, str, Callable[[Bench, str], object], dict[str, str]]] = [
    ("retention", "B32: retention removed what comes next", lambda bench, topic: _outrun(bench, topic), {}),
    (
        "recreated-shorter",
        "B34: the topic was made anew and is shorter",
        lambda bench, topic: _recreate(bench, topic, count=4),
        {},
    ),
    (
        "partitions-gone",
        "B36: the topic was made anew with one partition",
        lambda bench, topic: _recreate(bench, topic, count=40, partitions=1),
        {},
    ),
    (
        "partitions-gone-with-group",
        "B36, with a group id of the user's",
        lambda bench, topic: _recreate(bench, topic, count=40, partitions=1),
        {"kafka.group.id": "orders"},
    ),
    (
        "new-partition-cut",
        "B36: a new partition does not start at 0",
        lambda bench, topic: _add_partition(bench, topic),
        {},
    ),
]


def _outrun(bench: Bench, topic: str) -> None:
    _send(bench, topic, count=40)
    _lose(bench, topic, before=18)


def _recreate(bench: Bench, topic: str, *, count: int, partitions: int = 2) -> None:
    _delete(bench, topic)
    _create(bench, topic, partitions=partitions)
    _send(bench, topic, count=count, partition=0 if partitions == 1 else None)


def _add_partition(bench: Bench, topic: str) -> None:
    admin = _admin(bench)
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(timeout=30)
    time.sleep(1)
    _send(bench, topic, count=10, partition=2)
    _lose(bench, topic, before=4, partitions=range(2, 3))


def _after(bench: Bench, *, name: str, happen: Callable[[Bench, str], object], options: dict[str, str]) -> None:
    topic = f"topic-{name}"
    with preparing():
        _create(bench, topic)
        _send(bench, topic)
        _consume(bench, topic, **options)
        happen(bench, topic)
    _consume(bench, topic, **options)


for _id, _how, _happen, _options in HAPPENINGS:
    FAMILY.add(_id, _how, FailureClass.DATA_LOSS, partial(_after, name=_id, happen=_happen, options=_options))


@FAMILY.provokes(FailureClass.SOURCE_UNAVAILABLE, remedy=Remedy.RETRY_FEW)
def topic_deleted(bench: Bench) -> None:
    """The topic was deleted: as far as the text goes, the same as one that was never made."""
    _after(bench, name="deleted", happen=_delete, options={})


@FAMILY.provokes(FailureClass.SOURCE_UNAVAILABLE, remedy=Remedy.RETRY_FEW)
def topic_missing(bench: Bench) -> None:
    """The topic was never made."""
    _consume(bench, "topic-never-made")


@FAMILY.provokes(FailureClass.SOURCE_UNAVAILABLE)
def broker_unreachable(bench: Bench) -> None:
    """Nothing listens where the broker should be."""
    _consume(bench, "topic-unreachable", **{"kafka.bootstrap.servers": "127.0.0.1:9"})


@FAMILY.provokes(FailureClass.SOURCE_UNAVAILABLE, remedy=Remedy.RETRY_FEW)
def broker_name_unknown(bench: Bench) -> None:
    """The broker's name can't be resolved."""
    _consume(bench, "topic-unresolved", **{"kafka.bootstrap.servers": "no-such-broker.invalid:9092"})


AWAY: list[tuple[str, str, dict[str, int]]] = [
    ("lost", "B38: the topic was made anew with one partition while it was read", {"count": 40, "partitions": 1}),
    ("put-back", "B38: the topic was made anew and is shorter while it was read", {"count": 2}),
]


def _replaced_meanwhile(bench: Bench, *, name: str, anew: dict[str, int]) -> None:
    """After the first of two batches that availableNow has foreseen."""
    topic = f"topic-available-now-{name}"
    with preparing():
        _create(bench, topic)
        _send(bench, topic)

    def take(frame: DataFrame, batch: int) -> None:
        frame.collect()
        if batch == 0:
            _recreate(bench, topic, **anew)

    rows = _read(bench, topic, maxOffsetsPerTrigger="4", **{"kafka.metadata.max.age.ms": "500"})
    bench.run_foreach(f"kafka-available-now-{name}", take, rows)


for _id, _how, _anew in AWAY:
    FAMILY.add(
        f"available-now-{_id}",
        _how,
        FailureClass.TRANSIENT,
        partial(_replaced_meanwhile, name=_id, anew=_anew),
        remedy=Remedy.RETRY_FEW,
        has_progressed=True,
    )


SETTINGS: list[tuple[str, str, dict[str, str]]] = [
    ("own-offset-reset", "an option that Spark keeps for itself", {"kafka.auto.offset.reset": "earliest"}),
    ("own-deserializer", "an option that Spark keeps for itself", {"kafka.value.deserializer": "x"}),
    ("offsets-no-json", "startingOffsets that is no JSON", {"startingOffsets": "{topic"}),
    ("offsets-incomplete", "startingOffsets for one of two partitions", {"startingOffsets": '{"TOPIC":{"0":2}}'}),
    ("two-strategies", "subscribe and assign at once", {"assign": '{"TOPIC":[0]}'}),
    ("min-partitions", "minPartitions that is no number", {"minPartitions": "many"}),
    ("negative-limit", "maxOffsetsPerTrigger that is no number", {"maxOffsetsPerTrigger": "ten"}),
    ("timestamp-to-come", "startingTimestamp behind the newest record", {"startingTimestamp": "32503680000000"}),
    ("security-protocol", "a security protocol that is none", {"kafka.security.protocol": "TSL"}),
]


def _with_options(bench: Bench, *, name: str, options: dict[str, str]) -> None:
    topic = f"topic-{name}"
    with preparing():
        _create(bench, topic)
        _send(bench, topic)
    _consume(bench, topic, **{key: value.replace("TOPIC", topic) for key, value in options.items()})


for _id, _how, _options in SETTINGS:
    FAMILY.add(f"setting-{_id}", _how, FailureClass.CODE_ERROR, partial(_with_options, name=_id, options=_options))


@FAMILY.provokes(FailureClass.CODE_ERROR)
def no_topic_at_all(bench: Bench) -> None:
    """Neither subscribe nor assign."""
    reader = bench.spark.readStream.format("kafka").option("kafka.bootstrap.servers", bench.bootstrap)
    bench.run(reader.load().writeStream.format("noop"), bench.place("kafka-no-topic"))


@FAMILY.provokes(FailureClass.DATA_LOSS)
def start_beyond_the_end(bench: Bench) -> None:
    """startingOffsets beyond what the topic has."""
    _with_options(bench, name="beyond", options={"startingOffsets": '{"TOPIC":{"0":900,"1":900}}'})


def _produce(bench: Bench, *, name: str, change: Callable[[DataFrame], DataFrame], options: dict[str, str]) -> None:
    topic = f"topic-{name}"
    writer = change(bench.rows()).writeStream.format("kafka").option("kafka.bootstrap.servers", bench.bootstrap)
    if "kafka.bootstrap.servers" not in options:
        with preparing():
            _create(bench, topic)
    settings = {"topic": topic, **options}
    bench.run(
        writer.options(**{key: value for key, value in settings.items() if value}), bench.place(f"kafka-sink-{name}")
    )


SINKS: list[tuple[str, str, FailureClass, Remedy | None, Callable[[DataFrame], DataFrame], dict[str, str]]] = [
    (
        "unreachable",
        "nothing listens where the sink's broker should be",
        FailureClass.SINK_UNAVAILABLE,
        None,
        lambda rows: rows.selectExpr("k as value"),
        {"kafka.bootstrap.servers": "127.0.0.1:9", "kafka.max.block.ms": "3000"},
    ),
    (
        "topic-missing",
        "the sink's topic was never made",
        FailureClass.SINK_UNAVAILABLE,
        Remedy.RETRY_FEW,
        lambda rows: rows.selectExpr("k as value"),
        {"topic": "topic-of-nobody", "kafka.max.block.ms": "3000"},
    ),
    (
        "record-too-large",
        "a record larger than the broker takes",
        FailureClass.CODE_ERROR,
        None,
        lambda rows: rows.selectExpr("repeat('x', 3000000) as value"),
        {"kafka.max.request.size": "5000000"},
    ),
    ("no-value", "no column named value", FailureClass.CODE_ERROR, None, lambda rows: rows.select("n"), {}),
    (
        "null-topic",
        "the column of topics holds a null",
        FailureClass.CODE_ERROR,
        None,
        lambda rows: rows.selectExpr("k as value", "cast(null as string) as topic"),
        {"topic": ""},
    ),
]

for _id, _how, _class, _remedy, _change, _options in SINKS:
    FAMILY.add(
        f"sink-{_id}",
        _how,
        _class,
        partial(_produce, name=f"sink-{_id}", change=_change, options=_options),
        remedy=_remedy,
    )


@FAMILY.provokes(FailureClass.SINK_UNAVAILABLE)
def sink_unreachable_in_foreach_batch(bench: Bench) -> None:
    """The broker that a function writes to is gone."""

    def write(frame: DataFrame, batch: int) -> None:
        writer = frame.selectExpr("k as value").write.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:9")
        writer.option("kafka.max.block.ms", "3000").option("topic", "orders").save()

    bench.run_foreach("kafka-sink-foreach", write)
