"""Where rows go: every kind of sink reaches the spec, and what can't be kept is refused with its reason."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from streamops.control.assignment import (
    CustomInput,
    CustomOutput,
    FilesOutput,
    JdbcOutput,
    KafkaOutput,
    RestOutput,
    assignment_of,
)
from streamops.settings import SettingsProblem
from streamops.spec import StateStore, StreamSpec, TriggerKind
from streamops.spec.sinks import SinkGuarantee
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
    spec = one(project, trigger=trigger, sink=TO_KAFKA)

    assert (spec.trigger.kind, spec.trigger.interval.total_seconds()) == (kind, seconds)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({}, "", id="by batches"),
        pytest.param({"trigger": {"real_time": "5s"}}, "", id="real time"),
        pytest.param({"trigger": {"continuous": "1s"}}, "no query by batches can go on", id="continuous"),
        pytest.param({"sink": {"kafka": {"options": {"asyncProgressTrackingEnabled": "TRUE"}}}}, "holes", id="async"),
    ],
)
def test_a_stream_whose_checkpoint_no_bounded_run_can_take_says_so(
    project: Project, changes: dict[str, Any], reason: str
) -> None:
    sink = {**TO_KAFKA, "kafka": {**KAFKA, **changes.get("sink", {}).get("kafka", {})}}

    spec = one(project, **{**changes, "sink": sink})

    assert bool(spec.why_no_bounded_run) is bool(reason)
    assert reason in spec.why_no_bounded_run
    assert spec.tracks_progress_async is (reason == "holes")


def test_a_shorter_batch_of_real_time_is_taken_where_spark_is_told_to_take_it(project: Project) -> None:
    conf = {"spark.sql.streaming.realTimeMode.minBatchDuration": "1000"}

    assert one(project, trigger={"real_time": "1s"}, sink=TO_KAFKA, launch={"conf": conf}).trigger.quiet == timedelta(
        seconds=2
    )


KAFKA = {"bootstrap_servers": "a:9092", "topic": "t"}
TO_KAFKA = {"delta": None, "kafka": KAFKA, "guarantee": "at-least-once"}
ASYNC = {**TO_KAFKA, "kafka": {**KAFKA, "options": {"asyncProgressTrackingEnabled": True}}}
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
            {"trigger": {"continuous": "1s"}, "sink": {**TO_KAFKA, "guarantee": "exactly-once-or-nothing"}},
            "trigger",
            "sink.guarantee: at-least-once",
            id="continuous processing is not exactly once",
        ),
        pytest.param(
            {"trigger": {"continuous": "1s"}, "sink": {"guarantee": "at-least-once"}},
            "trigger",
            "processing_time for a Delta table",
            id="Delta's sink takes batches alone",
        ),
        pytest.param(
            {"trigger": {"real_time": "5s"}, "sink": {"guarantee": "at-least-once"}},
            "trigger",
            "processing_time for a Delta table",
            id="Delta's sink is not for real time",
        ),
        pytest.param(
            {"trigger": {"real_time": "5s"}, "sink": TO_KAFKA, "source": {"kafka": None, "delta": {"table": "x"}}},
            "trigger",
            "processing_time for this source",
            id="a table is not read in real time",
        ),
        pytest.param(
            {
                "trigger": {"real_time": "5s"},
                "sink": {"delta": None, "files": {"path": "out", "format": "json"}, "guarantee": "idempotent"},
            },
            "trigger",
            "another one under the same number",
            id="numbers of batches mean nothing in real time",
        ),
        pytest.param(
            {"trigger": {"real_time": "4999ms"}, "sink": TO_KAFKA},
            "trigger.real_time",
            "5s at least",
            id="a batch of real time that Spark calls too short",
        ),
        pytest.param(
            {
                "trigger": {"real_time": "5s"},
                "sink": TO_KAFKA,
                "source": {"kafka": {"options": {"maxOffsetsPerTrigger": 5}}},
            },
            "source.kafka.options.maxOffsetsPerTrigger",
            "no such option under real_time",
            id="a rate limit in real time",
        ),
        pytest.param(
            {"trigger": {"real_time": "5s"}, "sink": ASYNC},
            "sink.kafka.options.asyncProgressTrackingEnabled",
            "processing_time or default",
            id="no asynchronous progress in real time",
        ),
        pytest.param(
            {"mode": "scheduled", "schedule": {"cron": "@daily"}, "sink": ASYNC},
            "sink.kafka.options.asyncProgressTrackingEnabled",
            "processing_time or default",
            id="no asynchronous progress with availableNow",
        ),
        pytest.param(
            {"sink": {**ASYNC, "guarantee": "exactly-once-or-nothing"}},
            "sink.kafka.options.asyncProgressTrackingEnabled",
            "sink.guarantee: at-least-once",
            id="asynchronous progress is not exactly once",
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


@pytest.mark.parametrize(
    ("sink", "place"),
    [
        pytest.param({"rest": {"url": "https://h/hook?token=hush"}}, "sink.rest.url", id="token in a query"),
        pytest.param({"rest": {"url": "https://h/hook?x=1&api_key=hush"}}, "sink.rest.url", id="key in a query"),
        pytest.param({"rest": {"url": "https://hush@h/hook"}}, "sink.rest.url", id="a name"),
        pytest.param({"rest": {"url": "https://u:hush/a@h/hook"}}, "sink.rest.url", id="a password with a slash"),
        pytest.param(
            {"jdbc": {"url": "jdbc:oracle:thin:scott/hush@h:1521:x", "table": "t"}}, "sink.jdbc.url", id="Oracle"
        ),
        pytest.param({"jdbc": {"url": "jdbc:mysql://h/db?pwd=hush", "table": "t"}}, "sink.jdbc.url", id="MySQL"),
        pytest.param(
            {"custom": {"format": "es", "options": {"apiKey": "hush"}}},
            "sink.custom.options.apiKey",
            id="key of a connector",
        ),
        pytest.param(
            {"custom": {"format": "es", "options": {"url": "https://h?sig=hush"}}},
            "sink.custom.options.url",
            id="signature in an option",
        ),
    ],
)
def test_no_secret_of_a_sink_gets_into_a_claim_or_a_message(project: Project, sink: dict[str, Any], place: str) -> None:
    errors = refusals(project, sink={**sink, "guarantee": "at-least-once"})

    assert [error.place for error in errors] == [f"streams.orders.{place}"]
    assert "hush" not in str(errors[0])


@pytest.mark.parametrize(
    "url", ["https://h:8443/hook?version=2", "jdbc:oracle:thin:@h:1521:x", "jdbc:postgresql://[::1]:5432/db"]
)
def test_an_address_without_secrets_is_taken(project: Project, url: str) -> None:
    kind = {"rest": {"url": url}} if url.startswith("http") else {"jdbc": {"url": url, "table": "t"}}

    assert one(project, sink={**kind, "guarantee": "at-least-once"}).sink.guarantee is SinkGuarantee.AT_LEAST_ONCE


@pytest.mark.parametrize("name", ["api_key", "passphrase", "pwd", "privateKey", "dbPassword", "access.token"])
def test_a_parameter_that_is_a_secret_is_refused(project: Project, name: str) -> None:
    assert [error.place for error in refusals(project, parameters={name: "hush"})] == [
        f"streams.orders.parameters.{name}"
    ]


def test_a_parameter_that_only_sounds_like_one_is_not(project: Project) -> None:
    parameters = {"tokenizer": "bert", "tokens_per_second": 5, "monkey": "x"}

    assert dict(one(project, parameters=parameters).parameters) == {
        "tokenizer": "bert",
        "tokens_per_second": "5",
        "monkey": "x",
    }


def test_a_catch_up_must_not_contradict_the_declared_state(project: Project) -> None:
    """Where it made the first start, its values would be pinned for good."""
    conf = {"spark.sql.shuffle.partitions": 64}

    (error,) = refusals(project, state={"shuffle_partitions": 4}, catchup={"conf": conf})

    assert error.place == "streams.orders.catchup.conf.spark.sql.shuffle.partitions"


def test_confs_have_case(project: Project) -> None:
    """Spark knows no conf of these letters: it must not take away the one that is meant."""
    spec = one(project, state={"shuffle_partitions": 2}, launch={"conf": {"spark.sql.shuffle.Partitions": 9}})

    assert dict(spec.conf) == {"spark.sql.shuffle.Partitions": "9", "spark.sql.shuffle.partitions": "2"}


def test_a_stream_must_not_write_the_topic_that_it_reads(project: Project) -> None:
    again = {"kafka": {"bootstrap_servers": "127.0.0.1:9092, b:9092", "topic": "orders"}, "guarantee": "at-least-once"}

    (error,) = refusals(project, sink=again)

    assert (error.place, error.expected) == (
        "streams.orders.sink.kafka.topic",
        "a topic that the stream does not read itself",
    )


@pytest.mark.parametrize("format", ["parquet", "binaryFile", "JSON"])
def test_a_format_of_files_is_no_custom_one(project: Project, format: str) -> None:
    errors = refusals(project, sink={"custom": {"format": format}, "guarantee": "at-least-once"})

    assert [error.expected for error in errors] == ["files beside custom, which has checks of its own"]


def test_what_spark_can_not_write_is_no_sink(project: Project) -> None:
    (error,) = refusals(project, sink={"files": {"path": "out", "format": "binaryFile"}, "guarantee": "idempotent"})

    assert error.place == "streams.orders.sink.files.format"


def test_a_folder_of_files_has_a_place_of_its_own(project: Project) -> None:
    """The VACUUM of a table deletes files that its log does not know."""
    files = {"delta": None, "files": {"path": "data/tables/a/out", "format": "json"}, "guarantee": "idempotent"}

    settings = project.load(streams={"a": a_declared_stream("a"), "b": a_declared_stream("b", sink=files)})

    assert {error.place for error in settings.errors} == {"streams.a.sink.delta.table", "streams.b.sink.files.path"}


def test_another_stream_may_read_the_files_of_one(project: Project) -> None:
    files = {"delta": None, "files": {"path": "out", "format": "text"}, "guarantee": "idempotent"}
    source = {"kafka": None, "files": {"path": "out", "format": "text"}}

    settings = project.load(
        streams={"a": a_declared_stream("a", sink=files), "b": a_declared_stream("b", source=source)}
    )

    assert settings.errors == ()
