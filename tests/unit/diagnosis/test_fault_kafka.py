"""Reports about Kafka positions that show in the checkpoint, and gaps that are no loss."""

from datetime import UTC, datetime

import pytest

from streamops.checkpoint.reader import read_checkpoint
from streamops.diagnosis.checkup import check
from streamops.diagnosis.restart_plan import RestartPlan, Safety
from streamops.engines import PINNED, engine_of
from streamops.kafka import BrokerFacts, PartitionFacts, TopicFacts
from streamops.retention import Coverage, PartitionCoverage, PartitionNeed, PartitionState, SourceNeeds, cover, needs_of
from streamops.retention.covered_plan import FINISH_FIRST, with_coverage, with_retry
from streamops.storage.memory import MemoryStorage
from streamops.verdict import Severity
from support.checkpoints import commit, metadata, offsets
from support.plans import plan_of

ADDRESS = "file:///checkpoints/orders"
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def a_checkpoint(*entries):
    storage = MemoryStorage()
    storage.write(f"{ADDRESS}/metadata", metadata())
    for batch, text in enumerate(entries):
        storage.write(f"{ADDRESS}/offsets/{batch}", offsets(text))
        storage.write(f"{ADDRESS}/commits/{batch}", commit())
    return storage


@pytest.mark.fault("B43")
def test_a_partition_that_begins_again_is_told():
    """Azure/azure-event-hubs-spark#651: half of the partitions vanished in a rebalance and came back at their beginning."""
    storage = a_checkpoint('{"t":{"0":905,"1":880}}', '{"t":{"0":910,"1":12}}')

    checkup = check(storage, ADDRESS, engine=PINNED)

    # Nothing here tells a topic that was made anew, which goes on well, from records that are read twice.
    assert [(found.rule, found.severity) for found in checkup.findings] == [("offsets-moved-back", Severity.CRITICAL)]
    assert checkup.restart.safety is Safety.BLOCKED
    assert "'t' partition 1: 880 → 12" in checkup.restart.summary


@pytest.mark.fault("B37")
@pytest.mark.parametrize(
    ("is_available_now", "version", "partitions", "is_committed", "safety"),
    [
        pytest.param(True, "4.0.1", 3, False, Safety.FUTILE, id="the triple"),
        pytest.param(True, "3.5.6", 1, False, Safety.FUTILE, id="a partition fewer"),
        pytest.param(False, "4.0.1", 3, False, Safety.SAFE_IF_IDEMPOTENT, id="another trigger"),
        pytest.param(True, "4.0.2", 3, False, Safety.SAFE_IF_IDEMPOTENT, id="a Spark with the fix"),
        pytest.param(True, "4.0", 3, False, Safety.SAFE_IF_IDEMPOTENT, id="which patch release is not known"),
        pytest.param(True, "4.0.1", 2, False, Safety.SAFE_IF_IDEMPOTENT, id="the same partitions"),
        pytest.param(True, "4.0.1", 3, True, Safety.SAFE, id="no batch in flight"),
    ],
)
def test_available_now_never_gets_past_a_batch_whose_partitions_have_changed(
    is_available_now, version, partitions, is_committed, safety
):
    """SPARK-53560: the message advises a restart, which never helps; another trigger once, or an upgrade does."""
    storage = a_checkpoint('{"t":{"0":5,"1":5}}', '{"t":{"0":9,"1":9}}')
    if not is_committed:
        storage.delete(f"{ADDRESS}/commits/1")
    facts = read_checkpoint(storage, ADDRESS)
    here = tuple(PartitionFacts(partition=number, earliest=0, latest=9) for number in range(partitions))
    broker = BrokerFacts(bootstrap="broker:9092", at=NOW, topics=(TopicFacts(topic="t", exists=True, partitions=here),))
    first = cover(needs_of(facts), broker)
    coverage = cover(needs_of(facts), broker, before=first)

    plan = with_retry(plan_of(facts), coverage, is_available_now=is_available_now, engine=engine_of(version))

    assert plan.safety is safety
    assert ("SPARK-53560" in plan.summary) is (safety is Safety.FUTILE or version == "4.0")
    assert (FINISH_FIRST in plan.summary) is ("SPARK-53560" in plan.summary)
    assert plan.expected_error == (
        "should provide the same topic partitions in pre-fetched offset" if safety is Safety.FUTILE else ""
    )


@pytest.mark.parametrize("fails", [True, False])
def test_a_topic_that_ends_before_the_batch_in_flight_is_one_more_guard_of_an_old_spark(fails):
    """SPARK-41387, seen on 4.0.1: there `failOnDataLoss` is not asked."""
    lost = PartitionCoverage(
        topic="t", partition=0, standing=PartitionState.RESET, start=5, end=9, reason="it ends at 7"
    )
    coverage = Coverage(at=NOW, partitions=(lost,), pending_batch=4)
    plan = RestartPlan(safety=Safety.SAFE_IF_IDEMPOTENT, summary="batch 4 runs again", next_batch=4, reruns=(4,))

    plan = with_retry(plan, coverage, is_available_now=True, engine=engine_of("4.0.1"))
    plan = with_coverage(plan, coverage, fails_on_data_loss=fails)

    assert (plan.safety, plan.expected_error) == (
        Safety.FUTILE,
        "lower or equal offset per each topic partition than pre-fetched offset",
    )


@pytest.mark.fault("B40")
def test_offsets_without_records_are_no_loss():
    """SPARK-17147, apache/spark#20572: compaction and transactions leave gaps; what counts is where the log begins and ends."""
    partition = PartitionFacts(partition=0, earliest=0, latest=111)
    broker = BrokerFacts(
        bootstrap="broker:9092",
        at=NOW,
        topics=(TopicFacts(topic="t", exists=True, partitions=(partition,)),),
    )
    needs = (SourceNeeds(source="0", partitions=(PartitionNeed(topic="t", partition=0, start=110),)),)

    (found,) = cover(needs, broker).partitions

    # One offset is left, and it may hold the mark of a transaction: no lag that ever reaches 0 is waited for.
    assert (found.standing, found.lag, found.lost) == (PartitionState.COVERED, 1, None)
