"""A backfill holds on to the very topic that it was planned over, as a real broker knows it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import Producer

from streamops.backfill import OffsetBound, RangeRefused, RequestedRange, StepsFound, TimeBound
from streamops.backfill.backfill_service import BackfillService, RequestedBackfill
from streamops.backfill.source_ranges import KafkaRanges
from streamops.clock import SystemClock
from streamops.control.kafka_offsets import Offsets
from streamops.errors import BackfillError
from streamops.kafka.broker import KafkaAccess
from streamops.kafka.confluent import ConfluentBroker
from streamops.spec import KafkaSource
from streamops.storage.local import LocalStorage
from support.cluster import Cluster
from support.specs import SUPERVISOR, a_stream
from support.waiting import eventually

pytestmark = pytest.mark.kafka


def offsets(topic: str, offset: int) -> OffsetBound:
    return OffsetBound(offsets=Offsets.of({(topic, 0): offset}))


@pytest.fixture
def broker(cluster: Cluster) -> ConfluentBroker:
    return ConfluentBroker(KafkaAccess(bootstrap=cluster.bootstrap), SystemClock(), limit=timedelta(seconds=20))


def test_a_plan_over_a_topic_is_refused_over_another_one_of_that_name(
    cluster: Cluster, broker: ConfluentBroker, tmp_path: Path
) -> None:
    cluster.create("again")
    cluster.produce("again", 9)
    source = KafkaSource(bootstrap_servers=cluster.bootstrap, topics=("again",))
    desk = BackfillService(
        a_stream(source=source, checkpoint=f"file://{tmp_path}/orders"),
        storage=LocalStorage(),
        clock=SystemClock(),
        author=SUPERVISOR,
        broker=broker,
        others={},
    )
    asked = RequestedBackfill(
        range=RequestedRange(begin=offsets("again", 2), end=offsets("again", 8), slack=timedelta(0)),
        reason="a wrong rate",
        table=f"file://{tmp_path}/again",
    )
    desk.keep(desk.plan(asked, backfill="march").refuse())
    kept = desk.read("march")

    desk.refuse_another_source(kept)
    cluster.delete("again")
    assert eventually(lambda: broker.scan(["again"]).topic("again").exists is False, within=60)
    with pytest.raises(BackfillError, match="there is no topic again any more"):
        desk.refuse_another_source(kept)
    cluster.create("again")
    cluster.produce("again", 9)

    assert eventually(lambda: broker.scan(["again"]).topic("again").exists is True, within=60)
    with pytest.raises(BackfillError, match="topic again was deleted and made anew since the plan was made"):
        desk.refuse_another_source(kept)


def test_a_range_ends_where_readers_of_committed_records_come_to(
    cluster: Cluster, broker: ConfluentBroker, tmp_path: Path
) -> None:
    """risingwavelabs/risingwave#25258: what lies behind an open transaction is delivered to nobody until it has ended."""
    cluster.create("paid")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": "payments"})
    producer.init_transactions()
    for ends in (producer.commit_transaction, producer.abort_transaction, None):
        producer.begin_transaction()
        producer.produce("paid", b"x", partition=0)
        producer.flush()
        if ends:
            ends()
    seen = broker.scan(["paid"], committed=True).topic("paid").partitions[0]
    source = KafkaSource(
        bootstrap_servers=cluster.bootstrap,
        topics=("paid",),
        options=(("kafka.isolation.level", "read_committed"),),
    )
    ranges = KafkaRanges(broker=broker, topics=source.topics, reads_committed=source.reads_committed)
    of_all_time = RequestedRange(
        begin=TimeBound(at=datetime.now(UTC) - timedelta(days=1)),
        end=TimeBound(at=datetime.now(UTC) + timedelta(days=1)),
    )

    # A record and a mark for each of the first two, and a record without one.
    assert (seen.stable, seen.latest) == (4, 5)
    found = ranges.steps(of_all_time, chunk=100, accepts_expired=False)
    assert isinstance(found, StepsFound)
    assert found.chunks[-1] == Offsets.of({("paid", 0): 4})
    assert any("a transaction is open" in note for note in found.notes)
    refused = ranges.steps(
        RequestedRange(begin=offsets("paid", 0), end=offsets("paid", 5)), chunk=100, accepts_expired=False
    )
    assert isinstance(refused, RangeRefused)
    assert "ends at 4 for readers of committed records" in refused.reasons[0]

    producer.commit_transaction()

    assert broker.scan(["paid"], committed=True).topic("paid").partitions[0].readable == 6
