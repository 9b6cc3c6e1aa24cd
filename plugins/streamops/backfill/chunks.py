"""A range of offsets in steps. Pure."""

from collections.abc import Mapping

from streamops.control.kafka_offsets import Offsets, Partition, offsets_between
from streamops.errors import BackfillError

MAX_PLACES = 1_000_000
"""Ends of steps, one in each partition, that a plan may hold: some 15 MB of JSON, read whole by each driver."""


def chunks_of(start: Offsets, end: Offsets, *, records: int) -> tuple[Offsets, ...]:
    """Where each step ends: as few steps as can be with at most so many offsets each, all about equally long.

    Each takes of every partition in proportion to what is left in it, and leaves one record of each to the last, where steps are
    long enough for that: whoever looks at the checkpoint meanwhile takes each partition for needed, and is right.
    Raises ValueError for a range that is empty or goes back, for two places in different partitions, and for steps of nothing;
    BackfillError where the steps are too many to be written down.
    """
    if records < 1:
        raise ValueError(f"steps of {records} records")
    if start.partitions != end.partitions:
        raise ValueError("start and end do not name the same partitions")
    reached, left = start.by_partition(), _left(start, end)
    if min(left.values()) < 0 or not any(left.values()):
        raise ValueError("the range goes back, or is empty")
    total, places = offsets_between(start, end), len(start.positions)
    steps = -(-total // records)
    if steps * places > MAX_PLACES:
        least = -(-total // max(1, MAX_PLACES // places))
        raise BackfillError(
            f"{total} records of {places} partitions in steps of {records} are {steps} steps: take steps of {least} at least"
        )
    ends = []
    for remaining in range(steps, 0, -1):
        step = -(-sum(left.values()) // remaining)
        spare = {partition: max(0, rest - 1) for partition, rest in left.items()} if remaining > 1 else left
        for partition, taken in _shares(spare if sum(spare.values()) >= step else left, step).items():
            reached[partition] += taken
            left[partition] -= taken
        ends.append(Offsets.of(reached))
    return tuple(ends)


def _left(start: Offsets, end: Offsets) -> dict[Partition, int]:
    ends = end.by_partition()
    return {partition: ends[partition] - offset for partition, offset in start.by_partition().items()}


def _shares(left: Mapping[Partition, int], step: int) -> dict[Partition, int]:
    """What a step takes of each partition: its share rounded down, and one more where the largest rests are."""
    total = sum(left.values())
    shares = {partition: step * rest // total for partition, rest in left.items()}
    rests = sorted(left, key=lambda partition: (-(step * left[partition] % total), partition))
    for partition in rests[: step - sum(shares.values())]:
        shares[partition] += 1
    return shares
