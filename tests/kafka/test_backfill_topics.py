"""A backfill holds on to the very topic that it was planned over, as a real broker knows it."""

from datetime import timedelta
from pathlib import Path

import pytest

from streamops.backfill import AskedRange, OffsetBound
from streamops.clock import SystemClock
from streamops.control.kafka_offsets import Offsets
from streamops.errors import BackfillError
from streamops.kafka.access import KafkaAccess
from streamops.kafka.confluent import ConfluentBroker
from streamops.spec import KafkaSource
from streamops.storage.local import LocalStorage
from streamops.supervisor.backfills.backfill_desk import AskedBackfill, BackfillDesk
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
    desk = BackfillDesk(
        a_stream(source=source, checkpoint=f"file://{tmp_path}/orders"),
        storage=LocalStorage(),
        clock=SystemClock(),
        author=SUPERVISOR,
        broker=broker,
        others={},
    )
    asked = AskedBackfill(
        range=AskedRange(begin=offsets("again", 2), end=offsets("again", 8), slack=timedelta(0)),
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
