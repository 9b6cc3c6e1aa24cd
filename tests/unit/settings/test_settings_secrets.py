"""What is refused as a secret wherever it is written, and what only looks like one."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamops.control.assignment import RestOutput, assignment_of
from streamops.launch import SubmitRequest
from streamops.launch.local import spark_submit_command
from streamops.settings import Settings
from streamops.settings.secrets import is_secret, secret_in_address, secret_in_conf
from streamops.spec import StreamSpec
from streamops.spec.wire import spec_text
from streamops.supervision.bundle import submit_request
from support.records import a_claim, a_state
from support.settings import a_declared_stream, a_project

S = "hunter2"

CONFS = [
    ("spark.hadoop.fs.gs.auth.service.account.private.key", S, "credential.provider.path"),
    ("spark.hadoop.fs.s3a.bucket.raw.secret.key", S, "credential.provider.path"),
    ("spark.hadoop.fs.s3a.encryption.key", S, "credential.provider.path"),
    ("spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net", S, "credential.provider.path"),
    ("spark.hadoop.fs.azure.sas.raw.lake.blob.core.windows.net", S, "credential.provider.path"),
    ("spark.hadoop.fs.azure.sas.files.lake.blob.core.windows.net", f"?sv=2022&sig={S}", "credential.provider.path"),
    ("spark.hadoop.fs.azure.sas.fixed.token.lake.dfs.core.windows.net", S, "credential.provider.path"),
    ("spark.hadoop.fs.azure.account.oauth2.client.secret", S, "credential.provider.path"),
    ("spark.sql.catalog.lake.credential", S, "launch.environment"),
    ("spark.ssl.keyStorePassword", S, "launch.environment"),
    ("spark.kubernetes.authenticate.driver.oauthToken", S, "launch.environment"),
    ("spark.eventhubs.connectionString", f"Endpoint=sb://h/;SharedAccessKey={S}", "launch.environment"),
    ("spark.my.proxy", f"http://me:{S}@proxy:3128", "launch.environment"),
    ("spark.executorEnv.API_KEY", S, "launch.environment"),
    ("spark.executorEnv.PGPASS", S, "launch.environment"),
    ("spark.executorEnv.PGPASSWORD", S, "launch.environment"),
    ("spark.executorEnv.SLACK_WEBHOOK", f"https://hooks.slack.com/services/{S}", "launch.environment"),
    ("spark.executorEnv.OPENAI_KEY", S, "launch.environment"),
    ("spark.executorEnv.SENTRY_DSN", f"https://{S}@o1.ingest.sentry.io/1", "launch.environment"),
    ("spark.executorEnv.DATABASE_URL", f"postgresql://me:{S}@db/shop", "launch.environment"),
    ("spark.yarn.appMasterEnv.DB_PWD", S, "launch.environment"),
    ("spark.driver.extraJavaOptions", f"-Dapp.pwd={S}", "login.config"),
    ("spark.executor.extraJavaOptions", f"-Dx=1 -Ddb.pass={S} -Dy=2", "login.config"),
    ("spark.driver.defaultJavaOptions", f"-Djavax.net.ssl.trustStorePassword={S}", "login.config"),
]
KAFKA_OPTIONS = [
    ("kafka.basic.auth.user.info", f"me:{S}"),
    ("kafka.ssl.key.pwd", S),
    ("kafka.ssl.key.password", S),
    ("kafka.ssl.keystore.key", S),
    ("kafka.sasl.jaas.config", f'org.X required username="me" password="{S}";'),
    ("kafka.sasl.oauthbearer.client.credentials.client.secret", S),
    ("kafka.schema.registry.url", f"https://me:{S}@registry:8081"),
    ("kafka.client.id", "AKIAIOSFODNN7EXAMPLE"),
]
OPTIONS = [
    ("pwd", S),
    ("apikey", S),
    ("sig", S),
    ("api-key", S),
    ("authorization", f"Basic {S}"),
    ("header.X-Api-Key", S),
    ("headers", f'{{"x-auth-token": "{S}"}}'),
    ("dbPassword", S),
    ("sasToken", S),
    ("url", f"https://api.example/orders?code={S}"),
    ("url", f"https://api.example/orders?token={S}"),
    ("webhook", f"https://alerts.example/{S}"),
    ("arguments", f"--user me --password {S}"),
    ("key", f"-----BEGIN PRIVATE KEY-----\n{S}"),
]
JDBC_URLS = [
    f"jdbc:sqlserver://db:1433;databaseName=shop;user=me;password={S}",
    f"jdbc:postgresql://db/shop?sslmode=require&sslpassword={S}",
    f"jdbc:postgresql://db/shop?%70assword={S}",
    f"jdbc:db2://db:50000/shop:user=me;password={S};",
    f"jdbc:mysql://address=(host=db)(port=3306)(user=me)(password={S})/shop",
    f"jdbc:mysql://(host=db,password={S})/shop",
    f"jdbc:mysql://me:{S}@db/shop",
    f"jdbc:mysql://me:a/{S}@db/shop",
    f"jdbc:oracle:thin:scott/{S}@db:1521/shop",
    f"jdbc:oracle:thin:scott/{S}@//db:1521/shop",
]
REST_URLS = [
    f"https://me:{S}@api.example/orders",
    f"https://{S}@api.example/orders",
    f"https://api.example/orders?code={S}",
    f"https://api.example/orders?tenant=5&sig={S}",
    f"https://api.example/orders?token={S}",
    f"https://maps.example/x?key={S}",
    f"https://hooks.slack.com/services/T0/B0/{S}",
    f"https://discord.com/api/webhooks/123/{S}",
    f"https://acme.webhook.office.com/webhookb2/{S}",
    f"https://ntfy.sh/{S}",
    f"https://ntfy.acme.example/{S}",
    f"https://chat.acme.example/hooks/{S}8a7b6c5d4e3f",
    f"https://api.telegram.org/bot1:{S}/sendMessage",
    f"https://prod-1.westeurope.logic.azure.com/workflows/ab/triggers/manual/paths/invoke?sp=%2Ftriggers&sig={S}",
]


def load(root: Path, **changes: Any) -> Settings:
    return a_project(root).load(streams={"orders": a_declared_stream(**changes)})


def assert_refused(settings: Settings, place: str, *, way: str) -> None:
    """Refused there alone, with the way that is right, and without the secret."""
    assert [error.place for error in settings.errors] == [f"streams.orders.{place}"]
    assert way in settings.errors[0].expected
    assert S not in str(settings.errors[0])
    assert settings.streams == ()


@pytest.mark.parametrize(("name", "value", "way"), CONFS)
def test_a_secret_among_the_confs_is_refused_with_the_way_that_is_right(
    tmp_path: Path, name: str, value: str, way: str
) -> None:
    assert_refused(load(tmp_path, launch={"conf": {name: value}}), f"launch.conf.{name}", way=way)
    assert_refused(load(tmp_path, catchup={"conf": {name: value}}), f"catchup.conf.{name}", way=way)


@pytest.mark.parametrize(("name", "value"), KAFKA_OPTIONS)
def test_a_secret_among_the_options_of_kafka_is_refused_with_a_jaas_file(tmp_path: Path, name: str, value: str) -> None:
    source = {"kafka": {"options": {name: value}}}
    assert_refused(load(tmp_path, source=source), f"source.kafka.options.{name}", way="JAAS file")
    assert_refused(
        load(tmp_path, catchup={"options": {name: value}}), f"catchup.options.{name}", way="config.providers"
    )
    sink = {"kafka": {"bootstrap_servers": "b:9092", "topic": "t", "options": {name: value}}}
    sink["guarantee"] = "at-least-once"  # type: ignore[assignment]
    assert_refused(load(tmp_path, sink=sink), f"sink.kafka.options.{name}", way="JAAS file")


@pytest.mark.parametrize(("name", "value"), OPTIONS)
def test_a_secret_among_other_options_or_parameters_is_refused(tmp_path: Path, name: str, value: str) -> None:
    sources = {
        "files": {"path": "in", "format": "text", "options": {name: value}},
        "delta": {"table": "in", "options": {name: value}},
        "custom": {"format": "es", "options": {name: value}},
    }
    for kind, source in sources.items():
        settings = load(tmp_path, source={"kafka": None, kind: source})
        assert_refused(settings, f"source.{kind}.options.{name}", way="launch.environment")
    assert_refused(load(tmp_path, parameters={name: value}), f"parameters.{name}", way="launch.environment")


@pytest.mark.parametrize("url", JDBC_URLS)
def test_an_address_of_a_database_with_a_login_is_refused(tmp_path: Path, url: str) -> None:
    sink = {"jdbc": {"url": url, "table": "t"}, "guarantee": "idempotent"}

    assert_refused(load(tmp_path, sink=sink), "sink.jdbc.url", way="password_file")


@pytest.mark.parametrize("url", REST_URLS)
def test_an_endpoint_whose_address_is_a_secret_is_refused_with_url_file(tmp_path: Path, url: str) -> None:
    sink = {"rest": {"url": url}, "guarantee": "at-least-once"}

    assert_refused(load(tmp_path, sink=sink), "sink.rest.url", way="url_file")


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        pytest.param({"description": f"login: password={S}"}, "description", id="text for people"),
        pytest.param({"launch": {"master": f"spark://me:{S}@head:7077"}}, "launch.master", id="master"),
        pytest.param({"catchup": {"master": f"spark://me:{S}@head:7077"}}, "catchup.master", id="master of runs"),
        pytest.param({"launch": {"jars": [f"https://me:{S}@repo/a.jar"]}}, "launch.jars[0]", id="jar"),
        pytest.param({"checkpoint": f"s3a://key:{S}@bucket/cp"}, "checkpoint", id="checkpoint"),
        pytest.param({"sink": {"delta": {"table": f"wasbs://c@a/t?sig={S}"}}}, "sink.delta.table", id="table"),
        pytest.param(
            {"source": {"kafka": {"topics": f"${{NO}} token={S}"}}}, "source.kafka.topics", id="not filled in"
        ),
    ],
)
def test_a_secret_anywhere_else_is_refused_and_never_shown(tmp_path: Path, changes: dict[str, Any], place: str) -> None:
    assert_refused(load(tmp_path, **changes), place, way="")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.hadoop.fs.s3a.aws.credentials.provider", "org.Provider"),
        ("spark.hadoop.fs.s3a.aws.credentials.provider.mapping", "a=b"),
        ("spark.hadoop.hadoop.security.credential.provider.path", "jceks://file/etc/keys.jceks"),
        ("spark.hadoop.fs.azure.sas.token.provider.type.lake.dfs.core.windows.net", "org.Provider"),
        ("spark.hadoop.fs.azure.account.auth.type.lake.dfs.core.windows.net", "OAuth"),
        (
            "spark.hadoop.fs.azure.account.oauth2.client.endpoint",
            "https://login.microsoftonline.com/acme/oauth2/token",
        ),
        ("spark.hadoop.fs.s3a.secret.key", "${env.AWS_SECRET_ACCESS_KEY}"),
        ("spark.hadoop.fs.gs.auth.service.account.private.key.id", "4711"),
        ("spark.hadoop.google.cloud.auth.service.account.json.keyfile", "/etc/gcs.json"),
        ("spark.hadoop.fs.s3a.delegation.tokens.enabled", "true"),
        ("spark.security.credentials.hive.enabled", "false"),
        ("spark.security.credentials.renewalRatio", "0.75"),
        ("spark.authenticate.secret.file", "/etc/secret"),
        ("spark.redaction.regex", "(?i)secret|password|token"),
        ("spark.ssl.keyStore", "/etc/keys.jks"),
        ("spark.kubernetes.driver.secretKeyRef.PGPASSWORD", "db:password"),
        ("spark.kubernetes.executor.secrets.db-login", "/etc/db"),
        ("spark.kubernetes.authenticate.driver.oauthTokenFile", "/etc/token"),
        ("spark.kubernetes.namespace", "streams"),
        ("spark.kerberos.renewal.credentials", "keytab"),
        ("spark.kerberos.keytab", "/etc/streams.keytab"),
        (
            "spark.driver.extraJavaOptions",
            "-Djava.security.auth.login.config=/etc/jaas.conf -Djavax.net.ssl.keyStore=/k",
        ),
        (
            "spark.driver.extraJavaOptions",
            "-Dlog4j2.configurationFile=file:config/log4j2.properties -Dapp.token.file=/t",
        ),
        ("spark.executorEnv.PARTITION_KEY", "day"),
        ("spark.executorEnv.TZ", "UTC"),
        ("spark.executorEnv.HF_HOME", "/models"),
        ("spark.yarn.appMasterEnv.PYSPARK_PYTHON", "/opt/python"),
        ("spark.jars.packages", "io.delta:delta-spark_4.2_2.13:4.4.0"),
        ("spark.sql.catalog.lake.uri", "https://catalog.acme.example:8443/api/v1"),
    ],
)
def test_a_conf_that_only_sounds_like_a_secret_passes(name: str, value: str) -> None:
    assert secret_in_conf(name, value) == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kafka.ssl.keystore.location", "/etc/keys.jks"),
        ("kafka.ssl.keystore.type", "PKCS12"),
        ("kafka.group.id", "orders"),
        ("kafka.security.protocol", "SASL_SSL"),
        ("kafka.sasl.mechanism", "SCRAM-SHA-512"),
        ("kafka.sasl.login.callback.handler.class", "org.Handler"),
        ("kafka.sasl.oauthbearer.token.endpoint.url", "https://idp.acme.example/oauth2/token"),
        ("kafka.basic.auth.credentials.source", "USER_INFO"),
        ("kafka.ssl.key.password", "${file:/etc/kafka.properties:key}"),
        ("kafka.sasl.jaas.config", 'org.X required username="me" password="${file:/etc/kafka.properties:login}";'),
        ("schema.registry.url", "http://registry:8081"),
        ("tokenizer", "whitespace"),
        ("tokens_per_second", "5"),
        ("max_tokens", "512"),
        ("token_column", "t"),
        ("password_file", "/etc/password"),
        ("secret_name", "prod/db"),
        ("password_resets_topic", "resets"),
        ("primary_key", "id"),
        ("partition_key", "day"),
        ("sort_key", "at"),
        ("key_columns", "a,b"),
        ("keys", "id"),
        ("signal", "SIGTERM"),
        ("design", "star"),
        ("sort.signature", "asc,desc"),
        ("signature_column", "s"),
        ("compass", "north"),
        ("bypass", "yes"),
        ("pass_through", "yes"),
        ("secretary", "Ms Moneypenny"),
        ("session_key", "customer_id"),
        ("webhook_topic", "hooks"),
        ("webhooks_enabled", "true"),
        ("authorization.mode", "none"),
        ("path", "abfss://raw@lake.dfs.core.windows.net/orders"),
        ("path", "s3a://bucket/orders/day=1/id=2"),
        ("filter", "status = 'paid' AND code = 5"),
        ("query", "SELECT user, amount FROM orders"),
        ("note", "basic authentication is off"),
        ("url", "https://api.acme.example:8443/v1/users/@me"),
        ("url", "https://api.acme.example/webhooks/orders-created"),
        ("url", "https://api.acme.example/orders?tenant=5&page=2"),
    ],
)
def test_a_setting_that_only_sounds_like_a_secret_passes(name: str, value: str) -> None:
    assert not is_secret(name, value)


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://db:5432/shop?sslmode=verify-full&sslrootcert=/etc/ca.pem",
        "jdbc:sqlserver://db:1433;databaseName=shop;encrypt=true",
        "jdbc:oracle:thin:@//db:1521/shop",
        "jdbc:db2://db:50000/shop:sslConnection=true;",
        "jdbc:mysql://address=(host=db)(port=3306)/shop",
        "http://127.0.0.1:8080/alerts",
        "https://api.acme.example/v1/alerts?tenant=5",
        "https://api.acme.example/orders/3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    ],
)
def test_an_address_that_names_nobody_passes(url: str) -> None:
    assert not secret_in_address(url)


def test_a_url_file_reaches_the_driver_and_its_content_never_does(tmp_path: Path) -> None:
    (tmp_path / "hook").write_text(f"https://hooks.slack.com/services/{S}")
    settings = load(tmp_path, sink={"rest": {"url_file": "hook"}, "guarantee": "at-least-once"})

    claim = replace(a_claim(), spec=spec_text(settings.stream("orders")))

    assert assignment_of(claim).outputs.rest == RestOutput(url_file=str(tmp_path.resolve() / "hook"))
    assert S not in claim.spec


@pytest.mark.parametrize(
    "rest", [{}, {"url": "https://api/alerts", "url_file": "hook"}, {"token_file": "t"}], ids=["none", "both", "token"]
)
def test_an_endpoint_has_a_url_or_a_url_file(tmp_path: Path, rest: dict[str, str]) -> None:
    settings = load(tmp_path, sink={"rest": rest, "guarantee": "at-least-once"})

    assert_refused(settings, "sink.rest", way="url_file for an address that is a secret itself")


def forms(secret: str) -> list[dict[str, Any]]:
    """A stream for each form in which a secret is refused above."""

    def told(value: str) -> str:
        return value.replace(S, secret)

    jdbc = [{"sink": {"jdbc": {"url": told(url), "table": "t"}, "guarantee": "idempotent"}} for url in JDBC_URLS]
    rest = [{"sink": {"rest": {"url": told(url)}, "guarantee": "at-least-once"}} for url in REST_URLS]
    confs = [{"launch": {"conf": {name: told(value)}}} for name, value, _ in CONFS]
    kafka = [{"source": {"kafka": {"options": {name: told(value)}}}} for name, value in KAFKA_OPTIONS]
    custom = [
        {"source": {"kafka": None, "custom": {"format": "es", "options": {name: told(value)}}}}
        for name, value in OPTIONS
    ]
    parameters = [{"parameters": {name: told(value)}} for name, value in OPTIONS]
    return [*jdbc, *rest, *confs, *kafka, *custom, *parameters]


ALL_FORMS = len(forms(S))


@given(secret=st.from_regex(r"[A-Za-z][A-Za-z0-9]{9,20}", fullmatch=True), form=st.integers(0, ALL_FORMS - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_secret_in_any_form_gets_into_a_claim_an_argument_or_a_message(
    tmp_path: Path, secret: str, form: int
) -> None:
    loaded = load(tmp_path, **forms(secret)[form])

    claimed = [spec_text(spec) for spec in loaded.streams]
    arguments = [" ".join(spark_submit_command(request_of(spec))) for spec in loaded.streams]
    assert not any(secret in text for text in (*claimed, *arguments, *map(str, loaded.problems), *loaded.notices))
    assert loaded.errors


def request_of(spec: StreamSpec) -> SubmitRequest:
    """What the launcher is asked for."""
    epoch = a_state(a_claim()).newest
    assert epoch is not None
    return submit_request(spec, epoch, "file:///c/orders.streamops", f"file://{os.path.dirname(spec.job)}/state")
