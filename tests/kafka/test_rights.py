"""A broker that asks for a password and for rights: each right that is missing takes its own part away, and no more."""

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from streamops.clock import SystemClock
from streamops.kafka.broker import KafkaAccess, RecordPlace, access_of
from streamops.kafka.confluent import ConfluentBroker
from streamops.retention import PartitionNeed, PartitionState, SourceNeeds, cover
from support.cluster import Cluster
from support.provoke.broker import Broker
from support.provoke.secured import MODULE, SECURITY

pytestmark = pytest.mark.kafka

PASSWORD = "right"
PLACE = RecordPlace(topic="orders", partition=0, offset=2)
NEEDS = (SourceNeeds(source="0", partitions=(PartitionNeed(topic="orders", partition=0, start=2),)),)


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    """Address of the listener with passwords, and a client that may do everything."""
    broker = Broker(tmp_path_factory.mktemp("secured") / "broker", security=SECURITY, module=MODULE)
    plain, sasl = broker.bootstrap().split(",")
    try:
        Cluster.at(plain).create("orders")
        Cluster.at(plain).produce("orders", 5, at_ms=1_772_366_400_000)
        yield sasl, AdminClient({"bootstrap.servers": plain, "log_level": 0})
    finally:
        broker.stop()


def allow(admin, *operations):
    for operation in operations:
        binding = AclBinding(
            ResourceType.TOPIC,
            "orders",
            ResourcePatternType.LITERAL,
            "User:ana",
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        admin.create_acls([binding])[binding].result(timeout=30)


def asked(server, tmp_path, *, password=PASSWORD):
    """As a stream's source and the properties file of the place say."""
    file = tmp_path / "kafka.properties"
    file.write_text(f"sasl.username=ana\nsasl.password={password}\n")
    options = [("kafka.security.protocol", "SASL_PLAINTEXT"), ("kafka.sasl.mechanism", "PLAIN")]
    access = access_of(server, options, environment={"STREAMOPS_KAFKA_PROPERTIES": str(file)})
    broker = ConfluentBroker(access, SystemClock())
    return broker.scan(["orders"]), broker.record_times([PLACE])[PLACE]


def test_each_right_adds_its_part(secured, tmp_path):
    server, admin = secured

    nothing, _ = asked(server, tmp_path)
    allow(admin, AclOperation.DESCRIBE)
    ends, no_time = asked(server, tmp_path)
    allow(admin, AclOperation.DESCRIBE_CONFIGS)
    with_retention, _ = asked(server, tmp_path)
    allow(admin, AclOperation.READ)
    _, time = asked(server, tmp_path)

    assert nothing.topic("orders").exists is None
    assert nothing.topic("orders").trouble.startswith("TOPIC_AUTHORIZATION_FAILED")
    assert cover(NEEDS, nothing).standing is PartitionState.UNKNOWN
    assert [(one.earliest, one.latest) for one in ends.topic("orders").partitions] == [(0, 5)]
    assert ends.topic("orders").retention is None
    assert ends.topic("orders").retention_trouble.startswith("TOPIC_AUTHORIZATION_FAILED")
    assert cover(NEEDS, ends).standing is PartitionState.COVERED
    assert (no_time.at, "TOPIC_AUTHORIZATION_FAILED" in no_time.trouble) == (None, True)
    assert with_retention.topic("orders").retention is not None
    assert time.at is not None
    assert time.at.isoformat() == "2026-03-01T12:00:00+00:00"


def test_a_wrong_password_is_unknown_and_shows_nowhere(secured, tmp_path, capfd):
    server, _ = secured

    facts, time = asked(server, tmp_path, password="hunter2")

    shown = capfd.readouterr()
    told = f"{facts} {time} {shown.out} {shown.err}"
    assert facts.topic("orders").exists is None
    assert facts.topic("orders").trouble
    assert time.at is None
    assert "hunter2" not in told


def test_no_login_at_all_is_unknown(secured):
    server, _ = secured

    topic = ConfluentBroker(KafkaAccess(bootstrap=server), SystemClock()).scan(["orders"]).topic("orders")

    assert topic.exists is None
