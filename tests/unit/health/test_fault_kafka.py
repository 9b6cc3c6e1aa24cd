"""Reports about Kafka positions that show in the checkpoint, and gaps that are no loss."""

from datetime import UTC, datetime

import pytest

from streamops.coverage import PartitionNeed, SourceNeeds, Standing, cover
from streamops.health.verdict import Severity
from streamops.kafka import BrokerFacts, PartitionFacts, TopicFacts
from streamops.restart import Safety
from streamops.restart.engines import PINNED
from streamops.storage.memory import MemoryStorage
from streamops.supervisor.checks.checkup import check
from support.checkpoints import commit, metadata, offsets

ADDRESS = "file:///checkpoints/orders"


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

    # A start is safe, and repeats nothing more: what was read twice is in the sink already.
    assert [(found.rule, found.severity) for found in checkup.findings] == [("offsets-moved-back", Severity.WARNING)]
    assert checkup.restart.safety is Safety.SAFE


@pytest.mark.fault("B40")
def test_offsets_without_records_are_no_loss():
    """SPARK-17147, apache/spark#20572: compaction and transactions leave gaps; what counts is where the log begins and ends."""
    partition = PartitionFacts(partition=0, earliest=0, latest=111)
    broker = BrokerFacts(
        bootstrap="broker:9092",
        at=datetime(2026, 3, 1, tzinfo=UTC),
        topics=(TopicFacts(topic="t", exists=True, partitions=(partition,)),),
    )
    needs = (SourceNeeds(source="0", partitions=(PartitionNeed(topic="t", partition=0, start=110),)),)

    (found,) = cover(needs, broker).partitions

    # One offset is left, and it may hold the mark of a transaction: no lag that ever reaches 0 is waited for.
    assert (found.standing, found.lag, found.lost) == (Standing.COVERED, 1, None)
