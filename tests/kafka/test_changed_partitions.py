"""A batch in flight whose topic has got a partition since: what is foretold, and what real Spark 4.2 does with each trigger.

Before SPARK-53560 Spark refused such a batch under availableNow. These queries were tried by hand on 4.0.1, which does, and on
4.0.2, which does not; `with_retry` foretells both.
"""

import pytest

from streamops.checkpoint.reader import read_checkpoint
from streamops.clock import SystemClock
from streamops.diagnosis.restart_plan import Safety
from streamops.engines import engine_of
from streamops.kafka.broker import KafkaAccess
from streamops.kafka.confluent import ConfluentBroker
from streamops.retention import cover
from streamops.retention.covered_plan import changed_since_planned, with_retry
from streamops.retention.source_coverage import read_needs
from streamops.storage.local import LocalStorage
from support.kafka_starts import start
from support.plans import plan_of

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

IN_FLIGHT = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]]
NEW = [[2, 0], [2, 1], [2, 2], [2, 3]]
TRIGGERS = ("availableNow", "once")


@pytest.fixture(scope="module")
def planned(cluster, tmp_path_factory):
    """The first batch broke off, then a third partition came; what two plans say, and what came of a start by trigger."""
    root = tmp_path_factory.mktemp("changed")
    queries = {trigger: a_query(cluster, root, trigger) for trigger in TRIGGERS}
    broken = start(root, [{**query, "breaks": True} for query in queries.values()])
    assert all("broken" in answer["error"] for answer in broken)
    for trigger in TRIGGERS:
        cluster.add_partitions(topic_of(trigger), 3)
        cluster.eventually(lambda trigger=trigger: cluster.produce(topic_of(trigger), 0, partition=2))
        cluster.produce(topic_of(trigger), 4, partition=2)
    plans = foretold(cluster, queries["availableNow"])
    answers = start(root, [{**query, "trigger": {trigger: True}} for trigger, query in queries.items()])
    return plans, dict(zip(TRIGGERS, answers, strict=True))


def topic_of(trigger):
    return f"changed-{trigger.lower()}"


def a_query(cluster, root, trigger):
    topic = topic_of(trigger)
    cluster.create(topic, partitions=2)
    cluster.produce(topic, 3, partition=0)
    cluster.produce(topic, 2, partition=1)
    return {
        "topic": topic,
        "bootstrap": cluster.bootstrap,
        "checkpoint": str(root / topic / "checkpoint"),
        "output": str(root / topic / "output"),
        "options": {},
    }


def foretold(cluster, query):
    """By Spark's version."""
    address = f"file://{query['checkpoint']}"
    (needs,) = read_needs(LocalStorage(), address)
    broker = ConfluentBroker(KafkaAccess(bootstrap=cluster.bootstrap), SystemClock())
    coverage = cover(needs.sources, broker.scan([query["topic"]]))
    assert [one.partition for one in changed_since_planned(coverage)] == [2]
    plan = plan_of(read_checkpoint(LocalStorage(), address))
    versions = ("4.2.0", "4.0.1")
    return {
        version: with_retry(plan, coverage, is_available_now=True, engine=engine_of(version)) for version in versions
    }


@pytest.mark.timeout(600)
def test_available_now_finishes_the_batch_in_flight_and_then_reads_the_new_partition(planned):
    plans, came = planned

    assert plans["4.2.0"].safety is Safety.SAFE_IF_IDEMPOTENT
    assert plans["4.0.1"].safety is Safety.FUTILE
    assert came["availableNow"] == {"error": "", "read": IN_FLIGHT + NEW}


@pytest.mark.timeout(600)
def test_once_finishes_the_batch_in_flight_and_stops(planned):
    _, came = planned

    assert came["once"] == {"error": "", "read": IN_FLIGHT}
