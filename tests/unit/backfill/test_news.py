"""Whether a bounded run would find anything to read."""

from dataclasses import replace

import pytest

from streamops.backfill.run_service import news_of
from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.retention import Coverage, PartitionCoverage, PartitionState
from streamops.storage.memory import MemoryStorage
from support.checkpoints import write_checkpoint
from support.clock import START

ADDRESS = "memory://c/orders"


def a_checkpoint(*, committed: int, planned: int | None = None):
    """A query's checkpoint with these batches."""
    storage = MemoryStorage()
    last = committed if planned is None else planned
    write_checkpoint(storage, ADDRESS, planned=range(last + 1), committed=range(committed + 1))
    return inspect_checkpoint(storage, ADDRESS)


READ = a_checkpoint(committed=4)
NEW = a_checkpoint(committed=-1)
IN_FLIGHT = a_checkpoint(committed=4, planned=5)


def at(
    number: int, start: int | None, latest: int | None, standing: PartitionState = PartitionState.COVERED
) -> PartitionCoverage:
    """A partition of the topic that is read up to `start` and ends at `latest`."""
    return PartitionCoverage(topic="orders", partition=number, standing=standing, start=start, latest=latest)


def covered(*partitions: PartitionCoverage) -> Coverage:
    return Coverage(at=START, partitions=partitions)


ALL_READ = covered(at(0, 23, 23), at(1, 40, 40))
SOME_WAIT = covered(at(0, 23, 30), at(1, 40, 45))
UNKNOWN = covered(at(0, 23, 30), replace(at(1, 40, None), standing=PartitionState.UNKNOWN))
ONE_NEW = covered(at(0, 23, 23), at(1, None, 0, PartitionState.NEW))


@pytest.mark.parametrize(
    ("checkpoints", "coverages", "has_any", "reason", "offsets"),
    [
        pytest.param([NEW], [], True, "the query has never run", None, id="never run"),
        pytest.param([IN_FLIGHT], [ALL_READ], True, "batch 5 is in flight", 0, id="a batch in flight is work"),
        pytest.param(
            [READ, IN_FLIGHT], [ALL_READ, ALL_READ], True, "batch 5 is in flight", 0, id="a companion's batch in flight"
        ),
        pytest.param([READ], [SOME_WAIT], True, "12 offsets wait", 12, id="offsets wait"),
        pytest.param(
            [READ, READ], [ALL_READ, SOME_WAIT], True, "12 offsets wait", 0, id="offsets wait for a companion only"
        ),
        pytest.param(
            [READ, READ], [SOME_WAIT, ALL_READ], True, "12 offsets wait", 12, id="a companion reads the same records"
        ),
        pytest.param([READ], [ONE_NEW], True, "there are partitions that were never read", 0, id="new partition"),
        pytest.param([READ], [], None, "what the source holds could not be asked", None, id="nobody could be asked"),
        pytest.param(
            [READ],
            [UNKNOWN],
            None,
            "what the source holds could not be asked",
            None,
            id="one partition does not answer",
        ),
        pytest.param(
            [READ],
            [ALL_READ],
            False,
            "nothing new since batch 4: orders-0 ends at 23, orders-1 ends at 40",
            0,
            id="all is read",
        ),
    ],
)
def test_what_waits(checkpoints, coverages, has_any, reason, offsets):
    news = news_of(checkpoints, coverages)

    assert (news.has_any, news.reason, news.offsets) == (has_any, reason, offsets)


def test_a_reason_names_eight_partitions_and_counts_the_rest():
    news = news_of([READ], [covered(*(at(number, 7, 7) for number in range(11)))])

    assert news.reason.endswith("orders-7 ends at 7 and 3 more")
