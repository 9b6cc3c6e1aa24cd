"""Where rows go: every kind of sink reaches the spec, and what can't be kept is refused with its reason."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streamops.control.assignment import CustomInput, assignment_of
from streamops.control.outputs import CustomOutput, FilesOutput, JdbcOutput, KafkaOutput, RestOutput
from streamops.settings import SettingsProblem
from streamops.spec import StateStore, StreamSpec, TriggerKind
from streamops.spec.wire import spec_text
from support.records import a_claim
from support.settings import Project, a_declared_stream, a_project

EVERYWHERE = {
    "kafka": {"bootstrap_servers": "a:9092,b:9092", "topic": "alerts", "options": {"kafka.linger.ms": 5}},
    "jdbc": {"url": "jdbc:postgresql://db:5432/shop", "table": "public.orders", "user": "u", "password_file": "p"},
    "rest": {"url": "https://api/alerts", "token_file": "t"},
    "files": {"path": "out", "format": "parquet"},
    "custom": {"format": "noop", "options": {"x": True}},
    "guarantee": "at-least-once",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return a_project(tmp_path)


def one(project: Project, **changes: Any) -> StreamSpec:
    settings = project.load(streams={"orders": a_declared_stream(**changes)})
    assert settings.errors == ()
    return settings.stream("orders")


def refusals(project: Project, **changes: Any) -> tuple[SettingsProblem, ...]:
    return project.load(streams={"orders": a_declared_stream(**changes)}).errors


def test_every_place_reaches_the_driver_by_its_claim(project: Project) -> None:
    spec = one(project, sink=EVERYWHERE)

    outputs = assignment_of(replace(a_claim(), spec=spec_text(spec))).outputs

    assert outputs.kafka == KafkaOutput(
        bootstrap_servers="a:9092,b:9092", topic="alerts", options=(("kafka.linger.ms", "5"),)
    )
    assert outputs.jdbc == JdbcOutput(
        url="jdbc:postgresql://db:5432/shop",
        table="public.orders",
        user="u",
        password_file=str(project.root / "p"),
    )
    assert outputs.rest == RestOutput(url="https://api/alerts", token_file=str(project.root / "t"))
    assert outputs.files == FilesOutput(path=project.address("out"), format="parquet")
    assert outputs.custom == CustomOutput(format="noop", options=(("x", "true"),))
    assert outputs.names == ("kafka", "jdbc", "rest", "files", "custom")


def test_a_stream_without_a_table_is_named_after_its_first_place(project: Project) -> None:
    spec = one(project, sink={**EVERYWHERE, "delta": None, "dead_letters": None})

    assert (spec.sink.table, spec.sink.dead_letters) == ("", "")
    assert spec.sink.address == "kafka://a:9092/alerts"


def test_a_custom_source_and_parameters_reach_the_driver(project: Project) -> None:
    spec = one(
        project,
        source={"kafka": None, "custom": {"format": "rate", "options": {"rowsPerSecond": 10}}},
        parameters={"rules_table": "data/rules"},
    )

    assignment = assignment_of(replace(a_claim(), spec=spec_text(spec)))

    assert assignment.source == CustomInput(format="rate", options=(("rowsPerSecond", "10"),))
    assert assignment.parameters == (("rules_table", "data/rules"),)


def test_a_claim_says_nothing_of_what_is_not_declared(project: Project) -> None:
    fields = json.loads(spec_text(one(project)))

    assert sorted(fields["sink"]) == ["dead_letters", "guarantee", "table"]
    assert not {"state", "metrics", "parameters"} & set(fields)


def test_how_state_is_kept_becomes_confs_of_the_driver(project: Project) -> None:
    spec = one(
        project,
        state={"store": "rocksdb", "changelog": True, "shuffle_partitions": 4},
        metrics=True,
        launch={"conf": {"spark.a": 1}},
    )

    assert spec.state.store is StateStore.ROCKSDB
    assert spec.conf == (
        ("spark.a", "1"),
        ("spark.sql.shuffle.partitions", "4"),
        ("spark.sql.streaming.metricsEnabled", "true"),
        (
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        ),
        ("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true"),
    )


def test_the_default_store_is_spark_s_own_and_not_rocksdb(project: Project) -> None:
    spec = one(project)

    assert spec.state.store is None
    assert spec.conf == ()


@pytest.mark.parametrize(
    ("trigger", "kind", "seconds"),
    [
        pytest.param({"continuous": "1s"}, TriggerKind.CONTINUOUS, 1, id="continuous"),
        pytest.param({"real_time": "5m"}, TriggerKind.REAL_TIME, 300, id="real time"),
    ],
)
def test_triggers_of_low_latency(project: Project, trigger: dict[str, str], kind: TriggerKind, seconds: int) -> None:
    spec = one(project, trigger=trigger, sink={"guarantee": "at-least-once"})

    assert (spec.trigger.kind, spec.trigger.interval.total_seconds()) == (kind, seconds)


KAFKA = {"bootstrap_servers": "a:9092", "topic": "t"}
JDBC = {"url": "jdbc:postgresql://db/shop", "table": "t"}


@pytest.mark.parametrize(
    ("changes", "place", "expected"),
    [
        pytest.param({"sink": {"delta": None}}, "sink", "at least one of them", id="no sink"),
        pytest.param(
            {"sink": {"delta": {"guarantee": "idempotent"}}},
            "sink.delta.guarantee",
            "sink.guarantee, which is where it is declared",
            id="one level too deep",
        ),
        pytest.param({"sink": {"kafka": KAFKA}}, "sink.guarantee", "written twice", id="no word on repeated batches"),
        pytest.param(
            {"sink": {"kafka": KAFKA, "guarantee": "idempotent"}},
            "sink.guarantee",
            "at-least-once: Spark's Kafka sink",
            id="the Kafka sink is not exactly once",
        ),
        pytest.param(
            {"sink": {"kafka": {**KAFKA, "options": {"failOnDataLoss": False}}, "guarantee": "at-least-once"}},
            "sink.kafka.options.failOnDataLoss",
            "no such option of a sink",
            id="failOnDataLoss is of the source",
        ),
        pytest.param(
            {"sink": {"kafka": {**KAFKA, "options": {"topic": "x"}}, "guarantee": "at-least-once"}},
            "sink.kafka.options.topic",
            "sink.kafka.topic",
            id="topic by option",
        ),
        pytest.param(
            {
                "sink": {
                    "jdbc": {**JDBC, "url": "jdbc:postgresql://db/shop?user=x&password=hush"},
                    "guarantee": "idempotent",
                }
            },
            "sink.jdbc.url",
            "without user and password",
            id="password in an address",
        ),
        pytest.param(
            {"sink": {"jdbc": {**JDBC, "user": "x"}, "guarantee": "idempotent"}}, "sink.jdbc", "both", id="half a login"
        ),
        pytest.param(
            {"sink": {"jdbc": {**JDBC, "table": "t; drop table x"}, "guarantee": "idempotent"}},
            "sink.jdbc.table",
            "the name of a table",
            id="no name of a table",
        ),
        pytest.param(
            {"sink": {"rest": {"url": "ftp://x"}, "guarantee": "at-least-once"}},
            "sink.rest.url",
            "http",
            id="no endpoint",
        ),
        pytest.param(
            {"sink": {"custom": {"format": "kafka"}, "guarantee": "at-least-once"}},
            "sink.custom.format",
            "kafka beside custom",
            id="kafka by the back door",
        ),
        pytest.param(
            {"source": {"kafka": None, "custom": {"format": "cloudFiles"}}},
            "source.custom.format",
            "source.files",
            id="Auto Loader is of one vendor",
        ),
        pytest.param(
            {"trigger": {"continuous": "1s"}},
            "trigger",
            "sink.guarantee: at-least-once",
            id="continuous processing is not exactly once",
        ),
        pytest.param(
            {"trigger": {"continuous": True}}, "trigger.continuous", "a duration", id="continuous takes an interval"
        ),
        pytest.param(
            {"launch": {"conf": {"spark.streaming.backpressure.enabled": True}}},
            "launch.conf.spark.streaming.backpressure.enabled",
            "maxOffsetsPerTrigger",
            id="back pressure is of DStreams",
        ),
        pytest.param(
            {"launch": {"conf": {"spark.streaming.kafka.maxRatePerPartition": 5}}},
            "launch.conf.spark.streaming.kafka.maxRatePerPartition",
            "maxOffsetsPerTrigger",
            id="a rate of DStreams",
        ),
        pytest.param(
            {"state": {"shuffle_partitions": 2}, "launch": {"conf": {"spark.sql.shuffle.partitions": 4}}},
            "launch.conf.spark.sql.shuffle.partitions",
            "state.shuffle_partitions alone",
            id="partitions said twice",
        ),
        pytest.param({"state": {"store": "redis"}}, "state.store", "hdfs, rocksdb", id="a store that Spark lacks"),
        pytest.param(
            {"parameters": {"api_token": "x"}}, "parameters.api_token", "no secrets here", id="secret parameter"
        ),
    ],
)
def test_what_can_not_be_kept_is_refused(project: Project, changes: dict[str, Any], place: str, expected: str) -> None:
    errors = refusals(project, **changes)

    assert [error.place for error in errors] == [f"streams.orders.{place}"]
    assert expected in errors[0].expected
    assert "hush" not in str(errors[0])
