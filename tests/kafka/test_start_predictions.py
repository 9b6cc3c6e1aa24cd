"""Lost records: what is foretold of a start, and what real Spark 4.2 then does, with and without `failOnDataLoss`."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from streamops.checkpoint.reader import read_checkpoint
from streamops.clock import SystemClock
from streamops.kafka.broker import KafkaAccess
from streamops.kafka.confluent import ConfluentBroker
from streamops.retention import Coverage, PartitionState, cover, needs_of
from streamops.retention.covered_plan import Effect, start_effect
from streamops.storage.local import LocalStorage
from support.kafka_starts import start

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow, pytest.mark.thorough]


@dataclass(frozen=True)
class Case:
    """A topic with ten records in each of two partitions that a query has read; then something happens."""

    name: str
    happen: Callable
    standing: PartitionState
    error: str
    """Of a start that fails on data loss; empty where it does not notice."""
    read: list[list[int]] = field(default_factory=list)
    """Beyond the first ten, when it does not fail on data loss."""
    read_anyway: bool = False
    """Whether it runs with `failOnDataLoss` as well."""


def more(cluster, topic):
    cluster.produce(topic, 5)


def expire(cluster, topic):
    cluster.produce(topic, 10)
    cluster.delete_records(topic, before=14)


def expire_all(cluster, topic):
    cluster.produce(topic, 10)
    cluster.delete_records(topic, before=20)


def recreate(cluster, topic, *, count, partitions=2):
    cluster.delete(topic)
    time.sleep(2)
    cluster.create(topic, partitions=partitions)
    for partition in range(partitions):
        cluster.produce(topic, count, partition=partition)


def add_partition(cluster, topic):
    cluster.add_partitions(topic, 3)
    cluster.eventually(lambda: cluster.produce(topic, 0, partition=2))
    time.sleep(1)
    cluster.produce(topic, 6, partition=2)
    cluster.delete_records(topic, before=2, partition=2)


CASES = (
    Case("whole", more, PartitionState.COVERED, "", [[0, n] for n in range(10, 15)], read_anyway=True),
    Case(
        "partly",
        expire,
        PartitionState.PARTLY_LOST,
        "Could not read records in offset",
        [[0, n] for n in range(14, 20)],
    ),
    Case("all", expire_all, PartitionState.LOST, "Could not read records in offset"),
    Case("shorter", lambda c, t: recreate(c, t, count=4), PartitionState.RESET, "offset was changed from"),
    Case(
        "grown-past",
        lambda c, t: recreate(c, t, count=12),
        PartitionState.RECREATED,
        "",
        [[p, n] for p in (0, 1) for n in (10, 11)],
        read_anyway=True,
    ),
    Case(
        "fewer",
        lambda c, t: recreate(c, t, count=12, partitions=1),
        PartitionState.GONE,
        "have been deleted",
        [[0, 10], [0, 11]],
    ),
    Case("new-cut", add_partition, PartitionState.PARTLY_LOST, "instead of 0", [[2, n] for n in range(2, 6)]),
)


@dataclass
class Observed:
    """One case: what was foretold, and what came, by `failOnDataLoss`."""

    coverage: Coverage
    came: dict[bool, dict] = field(default_factory=dict)


@pytest.fixture(scope="module")
def observed(cluster, tmp_path_factory) -> dict[str, Observed]:
    """All cases in two Sparks: one that reads the topics, one that is started after what happened to them."""
    root = tmp_path_factory.mktemp("predictions")
    for case in CASES:
        for fails in (True, False):
            cluster.create(topic_of(case, fails), partitions=2)
            for partition in (0, 1):
                cluster.produce(topic_of(case, fails), 10, partition=partition)
    queries = [a_query(cluster, root, case, fails) for case in CASES for fails in (True, False)]
    first = start(root, queries)
    assert [answer["error"] for answer in first] == [""] * len(queries)
    topics = [query["topic"] for query in queries]
    broker = ConfluentBroker(KafkaAccess(bootstrap=cluster.bootstrap), SystemClock())
    ids = {facts.topic: facts.topic_id for facts in broker.scan(topics).topics}
    for case in CASES:
        for fails in (True, False):
            case.happen(cluster, topic_of(case, fails))
    time.sleep(2)
    facts = broker.scan(topics)
    found = {}
    for case, query in zip([case for case in CASES for _ in "ab"], queries, strict=True):
        needs = needs_of(read_checkpoint(LocalStorage(), f"file://{query['checkpoint']}"))
        first_look = cover(needs, facts, remembered=ids)
        found.setdefault(case.name, Observed(cover(needs, facts, remembered=ids, before=first_look)))
    answers = start(root, queries)
    for (case, fails), answer in zip([(c, f) for c in CASES for f in (True, False)], answers, strict=True):
        found[case.name].came[fails] = answer
    return found


def topic_of(case: Case, fails: bool) -> str:
    return f"{case.name}-{'fails' if fails else 'goes-on'}"


def a_query(cluster, root, case, fails):
    topic = topic_of(case, fails)
    return {
        "topic": topic,
        "bootstrap": cluster.bootstrap,
        "checkpoint": str(root / topic / "checkpoint"),
        "output": str(root / topic / "output"),
        "options": {"failOnDataLoss": str(fails).lower()},
    }


def second_reading(answer):
    """What came after the ten records of the first start."""
    first = [[partition, offset] for partition in (0, 1) for offset in range(10)]
    rest = list(answer["read"])
    for place in first:
        rest.remove(place)
    return rest


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_foretold_comes(observed, case):
    coverage, came = observed[case.name].coverage, observed[case.name].came
    strict = start_effect([coverage], fails_on_data_loss=True)
    lenient = start_effect([coverage], fails_on_data_loss=False)

    assert case.standing in {one.standing for one in coverage.partitions}
    assert strict.expected_error == case.error
    assert strict.expected_error in came[True]["error"]
    assert (strict.effect is Effect.FAILS) == bool(came[True]["error"])
    assert second_reading(came[True]) == (case.read if case.read_anyway else [])
    assert came[False]["error"] == ""
    assert lenient.effect is (Effect.READS_ALL if case.standing is PartitionState.COVERED else Effect.LOSES)
    assert second_reading(came[False]) == case.read
