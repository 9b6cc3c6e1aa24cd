"""What is kept of earlier looks at a query's partitions, and what is taken from it."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from streamops.retention import Coverage, PartitionCoverage, PartitionState
from streamops.retention.growth import EndSample
from streamops.retention.past import CoveragePast

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CHECKPOINT = "file:///data/checkpoints/orders"
MINUTE = timedelta(minutes=1)


def a_partition(number=0, *, start=10, ends=(0, 100), standing=PartitionState.COVERED, **more):
    earliest, latest = ends
    return PartitionCoverage(
        topic="orders", partition=number, standing=standing, start=start, earliest=earliest, latest=latest, **more
    )


def looked(past, *partitions, at, ids=None):
    coverage = Coverage(at=at, partitions=partitions)
    return past.with_look({CHECKPOINT: coverage}, ids or {}, at=at)


def watched(duration, *, every=5 * MINUTE, rate=100):
    """Looks for so long at a partition that grows; the query reads all at once."""
    past, at = CoveragePast(), START
    while at <= START + duration:
        minutes = (at - START) // MINUTE
        past = looked(past, a_partition(start=rate * minutes, ends=(0, rate * minutes)), at=at)
        at += every
    return past


# What is kept


def test_looks_are_kept_every_five_minutes_for_three_hours_and_every_hour_for_nine_days():
    past = watched(timedelta(days=10))

    ages = [past.at[-1] - at for at in past.at]
    fine = [age for age in ages if age <= timedelta(hours=3)]
    coarse = [age for age in ages if age > timedelta(hours=3)]
    assert len(fine) == 37
    assert {sooner - later for sooner, later in pairwise(fine)} == {5 * MINUTE}
    assert len(coarse) == 9 * 24 - 3
    assert max(ages) <= timedelta(days=9)


def test_many_looks_within_five_minutes_leave_the_last():
    past = watched(timedelta(minutes=9), every=MINUTE)

    assert past.at == (START + 4 * MINUTE, START + 9 * MINUTE)


def test_the_place_of_the_query_is_kept_for_three_hours():
    past = watched(timedelta(days=2))

    starts = past.starts(CHECKPOINT, "orders", 0)
    assert len(starts) == 37
    assert starts[-1].at - starts[0].at == timedelta(hours=3)
    assert len(past.ends("orders", 0)) == len(past.at) > 80


def test_a_partition_that_came_later_has_a_shorter_column():
    past = looked(CoveragePast(), a_partition(0), at=START)
    past = looked(past, a_partition(0), a_partition(1, ends=(5, 50)), at=START + 5 * MINUTE)

    assert past.ends("orders", 1) == (EndSample(at=START + 5 * MINUTE, earliest=5, latest=50),)
    assert len(past.ends("orders", 0)) == 2


def test_what_was_not_learned_leaves_a_gap_and_no_figure():
    past = looked(CoveragePast(), a_partition(0), a_partition(1), at=START)
    past = looked(past, a_partition(0, ends=(None, None)), a_partition(1), at=START + 5 * MINUTE)
    past = looked(past, a_partition(0, ends=(20, 300)), a_partition(1), at=START + 10 * MINUTE)

    assert [sample.latest for sample in past.ends("orders", 0)] == [100, 300]


def test_a_look_that_learned_nothing_is_none():
    past = looked(CoveragePast(), a_partition(0), at=START)

    blind = looked(past, a_partition(0, ends=(None, None), standing=PartitionState.UNKNOWN), at=START + 5 * MINUTE)

    assert blind.at == past.at


def test_a_partition_that_is_gone_for_nine_days_is_forgotten():
    past = looked(CoveragePast(), a_partition(0), a_partition(1), at=START)
    for day in range(1, 10):
        past = looked(past, a_partition(0), at=START + timedelta(days=day))
    past = looked(past, a_partition(0), at=START + timedelta(days=9, hours=2))

    assert set(past.tracks) == {("orders", 0)}


def test_a_clock_that_was_set_back_begins_anew_from_there():
    past = watched(timedelta(hours=1))

    back = looked(past, a_partition(0, ends=(0, 9_000)), at=START + 32 * MINUTE)

    assert list(back.at) == sorted(back.at)
    assert back.at[-1] == START + 32 * MINUTE


def test_halved_it_keeps_the_newest_look():
    past = watched(timedelta(minutes=20))

    assert past.halved().at == (START, START + 10 * MINUTE, START + 20 * MINUTE)


# What is taken from it


def test_no_pace_is_taken_across_offsets_that_went_back():
    past = looked(CoveragePast(), a_partition(start=900, ends=(500, 1_000)), at=START)
    past = looked(past, a_partition(start=10, ends=(0, 40)), at=START + 5 * MINUTE)
    past = looked(past, a_partition(start=30, ends=(0, 80)), at=START + 10 * MINUTE)

    assert [sample.latest for sample in past.ends("orders", 0)] == [40, 80]
    assert [sample.start for sample in past.starts(CHECKPOINT, "orders", 0)] == [10, 30]


def test_of_a_partition_that_was_never_seen_nothing_is_known():
    assert CoveragePast().ends("orders", 0) == ()
    assert CoveragePast().starts(CHECKPOINT, "orders", 0) == ()


@pytest.mark.parametrize(
    ("partition", "suspected"),
    [
        pytest.param(
            a_partition(standing=PartitionState.UNKNOWN, suspected=PartitionState.RESET),
            PartitionState.RESET,
            id="suspected",
        ),
        pytest.param(a_partition(standing=PartitionState.GONE), PartitionState.GONE, id="found, and to be found again"),
    ],
)
def test_what_was_odd_is_there_for_the_next_look(partition, suspected):
    past = looked(CoveragePast(), partition, at=START)

    before = past.before(CHECKPOINT, since=START - MINUTE, until=START)

    assert before.partition("orders", 0).suspected == suspected


def test_what_was_odd_in_the_last_look_long_ago_confirms_nothing():
    past = looked(CoveragePast(), a_partition(standing=PartitionState.GONE), at=START - 61 * MINUTE)

    assert past.before(CHECKPOINT, since=START - 60 * MINUTE, until=START) is None


def test_what_is_odd_counts_from_the_first_look_in_a_row_that_found_it():
    past = CoveragePast()
    for minutes, standing in enumerate([PartitionState.RESET, PartitionState.GONE, PartitionState.GONE]):
        past = looked(past, a_partition(standing=standing), at=START + minutes * MINUTE)

    def confirmed(until):
        return past.before(CHECKPOINT, since=START, until=until).partition("orders", 0)

    assert confirmed(START) is None
    assert confirmed(START + MINUTE).suspected is PartitionState.GONE


def test_what_was_odd_once_and_is_not_any_more_is_forgotten():
    past = looked(
        CoveragePast(), a_partition(standing=PartitionState.UNKNOWN, suspected=PartitionState.RESET), at=START
    )
    past = looked(past, a_partition(), at=START + 5 * MINUTE)

    assert past.odd == {}


# Which topic was read


def test_the_id_of_a_topic_is_taken_over_at_first_sight():
    assert looked(CoveragePast(), a_partition(), at=START, ids={"orders": "a"}).topic_ids == {"orders": "a"}


@pytest.mark.parametrize(
    "standing",
    [
        PartitionState.UNKNOWN,
        PartitionState.RESET,
        PartitionState.GONE,
        PartitionState.RECREATED,
    ],
)
def test_the_id_of_a_topic_that_the_query_may_not_have_read_is_not_taken_over(standing):
    past = looked(CoveragePast(), a_partition(standing=standing), a_partition(1), at=START, ids={"orders": "a"})

    assert past.topic_ids == {}


def test_the_id_of_a_topic_without_a_batch_is_not_taken_over():
    past = looked(CoveragePast(), a_partition(start=None, standing=PartitionState.NEW), at=START, ids={"orders": "a"})

    assert past.topic_ids == {}


def test_a_remembered_id_stays_whatever_the_topic_is_now():
    past = looked(CoveragePast(), a_partition(), at=START, ids={"orders": "a"})
    for minutes, standing in enumerate(
        [PartitionState.RECREATED, PartitionState.RESET, PartitionState.COVERED], start=5
    ):
        past = looked(past, a_partition(standing=standing), at=START + minutes * MINUTE, ids={"orders": "b"})

    assert past.topic_ids == {"orders": "a"}


def test_the_id_of_a_topic_that_the_checkpoint_no_longer_names_goes():
    past = looked(CoveragePast(), a_partition(), at=START, ids={"orders": "a"})
    other = PartitionCoverage(
        topic="clicks", partition=0, standing=PartitionState.COVERED, start=1, earliest=0, latest=5
    )

    past = looked(past, other, at=START + 5 * MINUTE, ids={"clicks": "c"})

    assert past.topic_ids == {"clicks": "c"}
