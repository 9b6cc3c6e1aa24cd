from pathlib import Path
from typing import Any

import pytest

from streamops.settings import Settings
from support.settings import a_declared_stream, a_project


def load_conf(root: Path, name: str, value: object) -> Settings:
    return a_project(root).load(streams={"orders": a_declared_stream(launch={"conf": {name: value}})})


def load_option(root: Path, name: str, value: object) -> Settings:
    stream = a_declared_stream(source={"kafka": {"options": {name: value}}})
    return a_project(root).load(streams={"orders": stream})


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.session.token",
        "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net",
        "spark.ssl.keyStorePassword",
        "spark.my.Credential",
        "spark.my.access_key",
    ],
)
def test_a_secret_among_the_confs_is_refused_and_never_shown(tmp_path: Path, name: str) -> None:
    error = load_conf(tmp_path, name, "hunter2").errors[0]

    assert error.found == "***"
    assert "environment" in error.expected
    assert "hunter2" not in str(error)


@pytest.mark.parametrize("name", ["kafka.sasl.jaas.config", "kafka.ssl.key.password", "KAFKA.SSL.KEYSTORE.KEY"])
def test_a_secret_among_the_options_is_refused_and_never_shown(tmp_path: Path, name: str) -> None:
    error = load_option(tmp_path, name, "hunter2").errors[0]

    assert error.found == "***"
    assert "hunter2" not in str(error)


def test_a_secret_inside_of_java_options_is_refused_and_never_shown(tmp_path: Path) -> None:
    settings = load_conf(tmp_path, "spark.driver.extraJavaOptions", "-Dx=1 -Djavax.net.ssl.trustStorePassword=hunter2")

    assert settings.errors[0].found == "***"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"launch": {"conf": {"spark.my.password": ["hunter2"]}}}, id="in a list"),
        pytest.param({"launch": {"password": "hunter2"}}, id="under an unknown name"),
        pytest.param({"source": {"kafka": {"options": "kafka.ssl.password=hunter2"}}}, id="in place of a mapping"),
        pytest.param({"checkpoint": "s3a://key:hunter2@bucket/cp"}, id="in an address"),
        pytest.param({"source": {"kafka": {"bootstrap_servers": "me:hunter2@broker:9092"}}}, id="before a host"),
    ],
)
def test_no_problem_ever_shows_a_secret(tmp_path: Path, changes: dict[str, Any]) -> None:
    errors = a_project(tmp_path).load(streams={"orders": a_declared_stream(**changes)}).errors

    assert errors
    assert "hunter2" not in " ".join(map(str, errors))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("spark.hadoop.fs.s3a.aws.credentials.provider", "org.Provider", id="a class, not a secret"),
        pytest.param("spark.security.credentials.hive.enabled", False, id="a switch, not a secret"),
        pytest.param("spark.redaction.regex", "(?i)secret|password", id="names of secrets"),
        pytest.param("spark.yarn.maxAppAttempts", 1, id="no second attempt"),
        pytest.param("spark.driver.supervise", False, id="no second driver"),
        pytest.param("spark.jars.packages", "io.delta:delta-spark_4.2_2.13:4.4.0", id="Spark's own downloader"),
    ],
)
def test_a_harmless_conf_passes(tmp_path: Path, name: str, value: object) -> None:
    assert load_conf(tmp_path, name, value).errors == ()


@pytest.mark.fault("B67")
@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        pytest.param("spark.yarn.maxAppAttempts", 2, "second driver", id="YARN restarts"),
        pytest.param("spark.driver.supervise", True, "second driver", id="the cluster restarts"),
        pytest.param("spark.driver.supervise", "yes", "second driver", id="anything but false"),
        pytest.param("spark.streaming.stopGracefullyOnShutdown", True, "DStreams only", id="no effect"),
        pytest.param("spark.master", "local[8]", "launch.master", id="has a field"),
        pytest.param(
            "spark.submit.deployMode", "cluster", "launch.deploy_mode", id="has a field, and is refused there"
        ),
        pytest.param("sql.shuffle.partitions", 2, "begins with spark.", id="spark-submit would ignore it"),
        pytest.param("spark.a=b", 2, "begins with spark.", id="would be cut at the equals sign"),
    ],
)
def test_a_conf_that_does_harm_or_nothing_is_refused(tmp_path: Path, name: str, value: object, expected: str) -> None:
    settings = load_conf(tmp_path, name, value)

    assert settings.errors[0].place == f"streams.orders.launch.conf.{name}"
    assert expected in settings.errors[0].expected


@pytest.mark.parametrize(
    "name",
    [
        "kafka.auto.offset.reset",
        "kafka.enable.auto.commit",
        "kafka.key.deserializer",
        "kafka.value.deserializer",
        "kafka.interceptor.classes",
        "kafka.bootstrap.servers",
        "subscribe",
        "subscribePattern",
        "Subscribe",
    ],
)
def test_an_option_that_spark_refuses_or_that_has_a_field_is_refused(tmp_path: Path, name: str) -> None:
    assert load_option(tmp_path, name, "x").errors[0].place == f"streams.orders.source.kafka.options.{name}"


@pytest.mark.parametrize("name", ["kafka.group.id", "groupIdPrefix", "kafka.security.protocol"])
def test_other_options_pass(tmp_path: Path, name: str) -> None:
    assert load_option(tmp_path, name, "x").errors == ()


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[4,2]", "spark://a:7077,b:7077"])
def test_masters_with_a_driver_on_this_host_pass(tmp_path: Path, master: str) -> None:
    stream = a_declared_stream(launch={"master": master})

    assert a_project(tmp_path).load(streams={"orders": stream}).errors == ()


@pytest.mark.parametrize(
    ("master", "is_later"),
    [
        pytest.param("yarn", True, id="YARN"),
        pytest.param("k8s://https://k:6443", True, id="Kubernetes"),
        pytest.param("local[0]", False, id="no thread"),
        pytest.param("locl[2]", False, id="misspelt"),
    ],
)
def test_other_masters_are_refused_and_later_ones_say_so(tmp_path: Path, master: str, is_later: bool) -> None:
    stream = a_declared_stream(launch={"master": master})
    error = a_project(tmp_path).load(streams={"orders": stream}).errors[0]

    assert error.place == "streams.orders.launch.master"
    assert ("comes in a later version" in error.expected) is is_later


@pytest.mark.parametrize("master", ["local[*]", "spark://a:7077"])
def test_only_client_mode_is_allowed_for_them(tmp_path: Path, master: str) -> None:
    stream = a_declared_stream(launch={"master": master, "deploy_mode": "cluster"})

    assert a_project(tmp_path).load(streams={"orders": stream}).errors[0].place == "streams.orders.launch.deploy_mode"
