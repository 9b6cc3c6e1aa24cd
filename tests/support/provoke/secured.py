"""Kafka with passwords and permissions: a broker of its own, whose users are `admin` and `ana`."""

from functools import partial

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from streamops.failures.failure_class import FailureClass
from support.provoke.bench import Bench
from support.provoke.case import Family
from support.provoke.kafka import IMPATIENT

FAMILY = Family("secured")
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SECURITY = """\
listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={module} user_admin="right" user_ana="right";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:admin
"""


def _login(user: str, password: str) -> dict[str, str]:
    return {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{MODULE} username="{user}" password="{password}";',
    }


SASL = {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN"}
TLS = {"kafka.security.protocol": "SSL"}

LOGINS: list[tuple[str, str, FailureClass, dict[str, str]]] = [
    ("wrong-password", "the password is wrong", FailureClass.CREDENTIALS, _login("ana", "wrong")),
    ("not-allowed", "the user may not read the topic", FailureClass.CREDENTIALS, _login("ana", "right")),
    ("no-login", "no user is named", FailureClass.CREDENTIALS, SASL),
    (
        "no-truststore",
        "the file with the certificates is not there",
        FailureClass.CREDENTIALS,
        TLS | {"kafka.ssl.truststore.location": "/tmp/x/no-such.jks"},
    ),
    # The text of these two is that of an unreachable broker, to the letter.
    (
        "other-mechanism",
        "a mechanism that the broker does not offer",
        FailureClass.SOURCE_UNAVAILABLE,
        _login("ana", "right") | {"kafka.sasl.mechanism": "SCRAM-SHA-256"},
    ),
    ("tls-to-plain", "TLS to a listener without it", FailureClass.SOURCE_UNAVAILABLE, TLS),
]


def _consume(bench: Bench, *, name: str, options: dict[str, str]) -> None:
    # Both listeners of this broker, told apart by the user's first setting.
    plain, sasl = bench.bootstrap.split(",")
    _create(plain)
    server = plain if options["kafka.security.protocol"] == "SSL" else sasl
    reader = bench.spark.readStream.format("kafka").options(**IMPATIENT, **options)
    rows = reader.option("kafka.bootstrap.servers", server).option("subscribe", "orders").load()
    bench.run(rows.writeStream.format("noop"), bench.place(f"secured-{name}"))


def _create(server: str) -> None:
    admin = AdminClient({"bootstrap.servers": server, "log_level": 0})
    if "orders" not in admin.list_topics(timeout=10).topics:
        admin.create_topics([NewTopic("orders", num_partitions=1, replication_factor=1)])["orders"].result(timeout=30)


for _id, _how, _class, _options in LOGINS:
    FAMILY.add(_id, _how, _class, partial(_consume, name=_id, options=_options))


@FAMILY.provokes(FailureClass.CREDENTIALS)
def not_allowed_to_write(bench: Bench) -> None:
    """The sink's user may not write the topic."""
    plain, sasl = bench.bootstrap.split(",")
    _create(plain)
    rows = bench.rows().selectExpr("k as value").writeStream.format("kafka").option("kafka.bootstrap.servers", sasl)
    writer = rows.option("topic", "orders").option("kafka.max.block.ms", "5000").options(**_login("ana", "right"))
    bench.run(writer, bench.place("secured-not-allowed-to-write"))
