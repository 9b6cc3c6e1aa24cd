"""Replays over a real broker: killed in the middle, refused by the topic, without rights; each dead letter comes once."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)

from streamops.clock import SystemClock
from streamops.kafka.broker import KafkaAccess, OutgoingRecord
from streamops.kafka.confluent_sending import ConfluentSender
from support.cluster import Cluster
from support.dead_letters import a_letter, append
from support.provoke.broker import Broker
from support.provoke.secured import MODULE, SECURITY
from support.settings import a_declared_stream, a_project
from support.topics import counting, ends

pytestmark = pytest.mark.kafka

LETTERS = 10_000
OLD = 5


@pytest.fixture
def project(cluster, tmp_path):
    """Tells how to declare a stream that reads a topic of two partitions, with some records in each."""

    def declared(topic: str, **config: str):
        project = a_project(tmp_path)
        cluster.create(topic, partitions=2, **config)
        for partition in (0, 1):
            cluster.produce(topic, OLD, partition=partition)
        source = {"kafka": {"bootstrap_servers": cluster.bootstrap, "topics": [topic]}}
        project.load(streams={"orders": a_declared_stream(source=source)})
        return project

    return declared


def streamops(project, *options: str) -> list[str]:
    return [sys.executable, "-m", "streamops.cli.main", "--config", str(project.file), "dlq", "orders", *options]


def run(project, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(streamops(project, *options), capture_output=True, text=True, timeout=120, check=False)


def letters(project, topic: str, count: int) -> None:
    rows = [a_letter(number, topic=topic, partition=number % 2, minutes=number / 1000) for number in range(count)]
    append(project.root / "data/dead/orders", *rows)


def marks(bootstrap: str, topic: str) -> list[tuple[str, bytes | None, bytes | None, int]]:
    """Position, key, value and partition of all records that bear the mark of a replay."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "t", "enable.auto.commit": False, "log_level": 0})
    found = []
    try:
        for (_, partition), end in ends(bootstrap, topic).items():
            consumer.assign([TopicPartition(topic, partition, 0)])
            offset = 0
            while offset < end:
                message = consumer.poll(30)
                assert message is not None
                assert message.error() is None
                offset = message.offset() + 1
                if position := dict(message.headers() or ()).get("streamops-position"):
                    found.append((position.decode(), message.key(), message.value(), partition))
    finally:
        consumer.close()
    return found


def allow(bootstrap: str, topic: str, size: str) -> None:
    """Records of the topic may have so many bytes from now on."""
    entry = ConfigEntry("max.message.bytes", size, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.incremental_alter_configs([resource])[resource].result(timeout=30)


def allow_describe(bootstrap: str, topic: str) -> None:
    """The user ana may see the topic, and nothing more."""
    place = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL)
    binding = AclBinding(*place, "User:ana", "*", AclOperation.DESCRIBE, AclPermissionType.ALLOW)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_acls([binding])[binding].result(timeout=30)


def kill_in_the_middle(project, bootstrap: str, topic: str, *options: str, after: int) -> int:
    """SIGKILL once so many more records have come; how many had come when the process was gone."""
    with counting(bootstrap, topic) as count:
        begun = count()
        process = subprocess.Popen(
            streamops(project, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        until = time.monotonic() + 60
        while count() < begun + after:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        return count() - begun


@pytest.mark.slow
def test_killed_twice_in_the_middle_each_comes_once(cluster, project, record_property):
    declared = project("replay-killed")
    letters(declared, "replay-killed", LETTERS)

    first = kill_in_the_middle(
        declared, cluster.bootstrap, "replay-killed", "--replay", "--reason", "mended", "--yes", after=500
    )
    second = kill_in_the_middle(declared, cluster.bootstrap, "replay-killed", "--resume", "--yes", after=3000)
    there = sum(ends(cluster.bootstrap, "replay-killed").values()) - 2 * OLD
    last = run(declared, "--resume", "--yes")

    assert last.returncode == 0, last.stderr
    assert first >= 500
    assert 3500 <= first + second <= there < LETTERS
    found = marks(cluster.bootstrap, "replay-killed")
    assert Counter(position for position, *_ in found) == Counter(
        f"replay-killed/{number % 2}/{number}" for number in range(LETTERS)
    )
    wrong = [mark for mark in found if mark[3] != int(mark[0].split("/")[1])]
    assert wrong == []
    assert f"{LETTERS - there} of them now" in last.stdout
    figure = f"replay: {LETTERS} dead letters, 2 kills, the second after {there}: 0 missing, 0 twice"
    record_property("figure", figure)


def test_key_and_value_come_back_to_the_byte(cluster, project):
    declared = project("replay-bytes")
    rows = [
        a_letter(0, topic="replay-bytes", key=b"\x00\xff", value=b"\xfe\x01"),
        a_letter(1, topic="replay-bytes", partition=1, key=None, value=b"no key"),
        a_letter(2, topic="replay-bytes", partition=1, key=b"gone", value=None),
    ]
    append(declared.root / "data/dead/orders", *rows)

    done = run(declared, "--replay", "--reason", "mended", "--yes")

    assert done.returncode == 0, done.stderr
    assert marks(cluster.bootstrap, "replay-bytes") == [
        ("replay-bytes/0/0", b"\x00\xff", b"\xfe\x01", 0),
        ("replay-bytes/1/1", None, b"no key", 1),
        ("replay-bytes/1/2", b"gone", None, 1),
    ]


@pytest.mark.slow
def test_a_record_that_is_too_large_is_named_and_sent_when_the_topic_takes_it(cluster, project):
    declared = project("replay-large", max_message_bytes="20000")
    rows = [a_letter(number, topic="replay-large", value=b"x" * 300) for number in range(200)]
    rows[100] = a_letter(100, topic="replay-large", value=b"x" * 30_000)
    append(declared.root / "data/dead/orders", *rows)

    refused = run(declared, "--replay", "--reason", "mended", "--yes")

    assert refused.returncode == 1
    assert "replay 1 is open: 199 of 200 dead letters are sent" in refused.stdout
    assert "replay-large/0:100: MSG_SIZE_TOO_LARGE" in refused.stdout
    allow(cluster.bootstrap, "replay-large", "50000")
    resumed = run(declared, "--resume", "--yes")
    assert resumed.returncode == 0, resumed.stderr + resumed.stdout
    found = Counter(position for position, *_ in marks(cluster.bootstrap, "replay-large"))
    assert found == Counter(f"replay-large/0/{number}" for number in range(200))


@pytest.mark.slow
def test_a_broker_that_stands_still_is_no_loss_and_no_double(cluster, project):
    """Records that nobody answered for may have come all the same: the next process looks for them."""
    declared = project("replay-paused")
    letters(declared, "replay-paused", 5_000)
    with counting(cluster.bootstrap, "replay-paused") as count:
        begun = count()
        process = subprocess.Popen(
            streamops(declared, "--replay", "--reason", "mended", "--yes"), stdout=subprocess.PIPE, text=True
        )
        while count() < begun + 200:
            assert process.poll() is None
    with cluster.paused():
        out, _ = process.communicate(timeout=120)

    assert process.returncode == 1
    assert "replay 1 is open" in out
    assert "_MSG_TIMED_OUT" in out
    resumed = run(declared, "--resume", "--yes")
    assert resumed.returncode == 0, resumed.stderr + resumed.stdout
    found = Counter(position for position, *_ in marks(cluster.bootstrap, "replay-paused"))
    assert found == Counter(f"replay-paused/{number % 2}/{number}" for number in range(5_000))


def test_a_topic_that_takes_less_than_a_batch_takes_each_record_alone(cluster):
    cluster.create("replay-tiny", max_message_bytes="1000")
    sender = ConfluentSender(KafkaAccess(bootstrap=cluster.bootstrap), SystemClock())

    found = sender.send(
        [
            OutgoingRecord(topic="replay-tiny", partition=0, key=None, value=b"x" * size)
            for size in (300, 2000, 400, 500)
        ]
    )

    assert [delivery.offset for delivery in found] == [0, -1, 1, 2]
    assert [delivery.is_unfit for delivery in found] == [False, True, False, False]


@pytest.mark.slow
def test_an_unknown_topic_is_an_answer_and_no_hang(cluster):
    sender = ConfluentSender(KafkaAccess(bootstrap=cluster.bootstrap), SystemClock())
    record = OutgoingRecord(topic="replay-never-made", partition=0, key=None, value=b"x")

    (delivery,) = sender.send([record])

    assert delivery.trouble
    assert not delivery.is_unfit


@pytest.mark.slow
def test_without_the_right_to_write_nothing_is_sent_and_without_that_to_read_nothing_is_told(tmp_path):
    broker = Broker(tmp_path / "broker", security=SECURITY, module=MODULE)
    plain, sasl = broker.bootstrap().split(",")
    try:
        Cluster.at(plain).create("orders")
        allow_describe(plain, "orders")
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "ana"}
        access = KafkaAccess(bootstrap=sasl).with_properties({**login, "sasl.password": "right"})
        sender = ConfluentSender(access, SystemClock())

        (delivery,) = sender.send([OutgoingRecord(topic="orders", partition=0, key=None, value=b"x")])
        marked = sender.marked({("orders", 0): (0, 1)}, name="streamops-replay", value=b"orders-1")
    finally:
        broker.stop()

    assert "AUTHORIZATION_FAILED: " in delivery.trouble
    assert not delivery.is_unfit
    assert marked.trouble.startswith("TOPIC_AUTHORIZATION_FAILED: ")
