"""Steps cover a range exactly: nothing twice, nothing left out, none too long."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.backfill import chunks_of
from streamops.control.kafka_offsets import offsets_between
from streamops.errors import BackfillError
from support.backfills import offsets, ranges

SIZES = st.integers(1, 60)


def places(start, end):
    """Every offset of a range, with its partition."""
    firsts, lasts = start.by_partition(), end.by_partition()
    return [(*partition, offset) for partition in firsts for offset in range(firsts[partition], lasts[partition])]


@given(ranges(), SIZES)
def test_the_steps_together_are_the_range_and_none_reads_what_another_has_read(ends, records):
    start, end = ends
    steps = list(pairwise((start, *chunks_of(start, end, records=records))))

    read = [place for begin, stop in steps for place in places(begin, stop)]
    assert len(read) == len(set(read))
    assert set(read) == set(places(start, end))


@given(ranges(), SIZES)
def test_the_last_step_ends_where_the_range_does_and_each_names_every_partition(ends, records):
    start, end = ends
    steps = chunks_of(start, end, records=records)

    assert steps[-1] == end
    assert {step.partitions for step in steps} == {start.partitions}


@given(ranges(), SIZES)
def test_no_step_is_too_long_and_there_are_no_more_than_must_be(ends, records):
    start, end = ends
    lengths = [offsets_between(a, b) for a, b in pairwise((start, *chunks_of(start, end, records=records)))]

    assert max(lengths) <= records
    assert max(lengths) - min(lengths) <= 1
    assert len(lengths) == -(-offsets_between(start, end) // records)


@given(ranges(), st.integers(0, 40))
def test_each_partition_is_needed_until_the_last_step_where_steps_are_long_enough(ends, more):
    start, end = ends
    steps = (start, *chunks_of(start, end, records=2 * len(start.partitions) + 2 + more))

    taken_last = zip(steps[-2].positions, end.positions, strict=True)
    had = zip(start.positions, end.positions, strict=True)
    assert [a.offset < b.offset for a, b in taken_last] == [a.offset < b.offset for a, b in had]


def test_a_step_takes_of_each_partition_in_proportion_so_that_all_end_together():
    steps = chunks_of(offsets(0, 0, 50), offsets(400, 200, 50), records=150)

    assert steps == (offsets(100, 50, 50), offsets(200, 100, 50), offsets(300, 150, 50), offsets(400, 200, 50))


def test_partitions_of_one_record_each_are_spread_over_the_steps():
    assert chunks_of(offsets(0, 0, 0), offsets(1, 1, 1), records=1) == (
        offsets(1, 0, 0),
        offsets(1, 1, 0),
        offsets(1, 1, 1),
    )


@pytest.mark.parametrize(
    ("start", "end", "records", "trouble"),
    [
        pytest.param(offsets(1, 2), offsets(1, 2), 5, "empty", id="empty"),
        pytest.param(offsets(1, 2), offsets(5, 1), 5, "goes back", id="one goes back"),
        pytest.param(offsets(1), offsets(5, 1), 5, "same partitions", id="other partitions"),
        pytest.param(offsets(1), offsets(5), 0, "steps of 0", id="steps of nothing"),
    ],
)
def test_what_makes_no_steps_is_refused(start, end, records, trouble):
    with pytest.raises(ValueError, match=trouble):
        chunks_of(start, end, records=records)


def test_steps_that_are_too_many_to_be_written_down_are_refused_with_what_would_do():
    start, end = offsets(0, 0), offsets(1_500_000_000, 1_500_000_000)

    with pytest.raises(BackfillError, match=r"are 3000000 steps: take steps of 6000 at least"):
        chunks_of(start, end, records=1_000)
