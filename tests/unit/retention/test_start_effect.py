"""What a start makes of lost records, with the texts of real Spark 4.2 (tests/data/exceptions/recorded/kafka.json)."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streamops.retention import Coverage, OffsetRange, PartitionCoverage, PartitionState
from streamops.retention.covered_plan import CoverageEffect, Effect, changed_since_planned, start_effect

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RECORDED = Path(__file__).parents[2] / "data" / "exceptions" / "recorded" / "kafka.json"


def one(standing, *, partition=0, start=5, topic="orders", reason="why", suspected=None):
    return PartitionCoverage(
        topic=topic,
        partition=partition,
        standing=standing,
        start=start,
        lost=OffsetRange(first=0, end=4) if start is None else None,
        suspected=suspected,
        reason=reason,
    )


COVERED = one(PartitionState.COVERED, partition=9, reason="")


def effect(*partitions, fails=True):
    return start_effect([Coverage(at=NOW, partitions=partitions)], fails_on_data_loss=fails)


def test_nothing_is_missing():
    assert effect(COVERED, one(PartitionState.NEW, start=None)) == CoverageEffect(effect=Effect.READS_ALL)


def test_what_the_broker_does_not_say_keeps_nobody_from_starting():
    assert effect(one(PartitionState.UNKNOWN)).effect is Effect.READS_ALL


def test_what_has_to_be_said_twice_waits():
    found = effect(one(PartitionState.UNKNOWN, suspected=PartitionState.RESET))

    assert (found.effect, found.summary) == (Effect.UNCONFIRMED, "orders-0: why")


@pytest.mark.parametrize(
    ("partitions", "recorded"),
    [
        pytest.param([one(PartitionState.LOST)], "kafka-retention", id="lost"),
        pytest.param([one(PartitionState.PARTLY_LOST)], "kafka-retention", id="partly lost"),
        pytest.param([one(PartitionState.RESET)], "kafka-recreated-shorter", id="created anew and shorter"),
        pytest.param([COVERED, one(PartitionState.GONE)], "kafka-partitions-gone", id="a partition is gone"),
        pytest.param([one(PartitionState.UNSUBSCRIBED)], "kafka-partitions-gone", id="no longer subscribed"),
        pytest.param(
            [COVERED, one(PartitionState.PARTLY_LOST, start=None)], "kafka-new-partition-cut", id="a new one behind 0"
        ),
        pytest.param([one(PartitionState.GONE)], "kafka-topic-deleted", id="the topic is gone"),
    ],
)
def test_the_error_is_the_one_that_spark_was_seen_to_raise(partitions, recorded):
    case = next(case for case in json.loads(RECORDED.read_text()) if case["id"] == recorded)

    found = effect(*partitions)

    assert found.effect is Effect.FAILS
    assert found.expected_error in "\n".join(case["text"])


@pytest.mark.parametrize(
    ("standings", "error"),
    [
        ((PartitionState.LOST, PartitionState.RESET), "offset was changed from"),
        ((PartitionState.LOST, PartitionState.RESET, PartitionState.UNSUBSCRIBED), "have been deleted"),
    ],
)
def test_of_several_the_first_that_spark_comes_across(standings, error):
    found = effect(*[one(standing, partition=number) for number, standing in enumerate(standings)])

    assert found.expected_error == error


def test_without_fail_on_data_loss_it_runs_and_loses_in_silence():
    found = effect(
        one(PartitionState.PARTLY_LOST, reason="300 offsets [500, 800) that are needed are deleted"), fails=False
    )

    assert found == CoverageEffect(
        effect=Effect.LOSES,
        summary="orders-0: 300 offsets [500, 800) that are needed are deleted: it goes on without them, and no error tells",
    )


@pytest.mark.parametrize("fails", [True, False])
def test_a_topic_that_was_created_anew_and_grew_past_is_never_noticed(fails):
    assert effect(one(PartitionState.RECREATED), fails=fails).effect is Effect.LOSES


def test_many_partitions_are_counted():
    found = effect(*[one(PartitionState.LOST, partition=number) for number in range(5)])

    assert found.summary == "orders-0: why; orders-1: why; orders-2: why; and 2 partitions more"


CHANGED = one(PartitionState.NEW, partition=1, start=None)


def since_planned(*partitions, pending=4):
    return changed_since_planned(Coverage(at=NOW, partitions=partitions, pending_batch=pending))


@pytest.mark.parametrize(
    ("partition", "is_changed"),
    [
        pytest.param(CHANGED, True, id="a new partition"),
        pytest.param(replace(CHANGED, standing=PartitionState.PARTLY_LOST), True, id="a new one that is cut"),
        pytest.param(replace(CHANGED, standing=PartitionState.UNKNOWN), True, id="a new one that does not answer"),
        pytest.param(one(PartitionState.GONE), True, id="a partition is gone"),
        pytest.param(one(PartitionState.UNSUBSCRIBED), True, id="its topic is no longer read"),
        pytest.param(one(PartitionState.LOST), False, id="records are lost"),
        pytest.param(one(PartitionState.COVERED), False, id="all is there"),
        pytest.param(
            one(PartitionState.UNKNOWN, suspected=PartitionState.GONE), False, id="gone at the first look only"
        ),
    ],
)
def test_partitions_that_a_batch_in_flight_was_not_planned_for(partition, is_changed):
    assert since_planned(COVERED, partition) == ([partition] if is_changed else [])


def test_without_a_batch_in_flight_the_next_is_planned_for_what_is_there():
    assert since_planned(COVERED, CHANGED, one(PartitionState.GONE), pending=None) == []
