"""Where a query goes on in Kafka, by the entries of its offset log."""

import pytest

from streamops.checkpoint.reader import read_checkpoint
from streamops.retention import PartitionNeed, SourceNeeds, needs_of
from streamops.storage.memory import MemoryStorage
from support.checkpoints import commit, metadata, offsets

ADDRESS = "file:///checkpoints/orders"


def a_checkpoint(entries, *, committed):
    """`entries`: by batch, the texts of the sources."""
    storage = MemoryStorage()
    storage.write(f"{ADDRESS}/metadata", metadata())
    for batch, sources in entries.items():
        storage.write(f"{ADDRESS}/offsets/{batch}", offsets(*sources))
    for batch in committed:
        storage.write(f"{ADDRESS}/commits/{batch}", commit())
    return read_checkpoint(storage, ADDRESS)


def need(partition, start, end=None, *, topic="orders", is_new=False):
    return PartitionNeed(topic=topic, partition=partition, start=start, end=end, is_new=is_new)


def test_after_a_committed_batch_the_next_one_begins_where_it_ended():
    facts = a_checkpoint({3: ['{"orders":{"0":20}}'], 4: ['{"orders":{"1":40,"0":23}}']}, committed=[3, 4])

    assert needs_of(facts) == (SourceNeeds(source="0", partitions=(need(0, 23), need(1, 40))),)


def test_a_batch_in_flight_is_read_again_from_its_start():
    facts = a_checkpoint({3: ['{"orders":{"0":20}}'], 4: ['{"orders":{"0":23}}']}, committed=[3])

    assert needs_of(facts) == (SourceNeeds(source="0", partitions=(need(0, 20, 23),), pending_batch=4),)


def test_a_batch_in_flight_that_the_sink_drops_is_never_read_again():
    facts = a_checkpoint({3: ['{"orders":{"0":20}}'], 4: ['{"orders":{"0":23}}']}, committed=[3])

    assert needs_of(facts, is_dropped=True) == (SourceNeeds(source="0", partitions=(need(0, 23),)),)


def test_a_partition_that_came_with_the_batch_in_flight_is_asked_for_its_earliest_offset_again():
    facts = a_checkpoint({3: ['{"orders":{"0":20}}'], 4: ['{"orders":{"0":23,"1":7}}']}, committed=[3])

    assert needs_of(facts)[0].partitions == (need(0, 20, 23), need(1, 0, 7, is_new=True))


def test_the_first_batch_in_flight_begins_with_the_initial_offsets():
    facts = a_checkpoint({0: ['{"orders":{"0":23}}']}, committed=[])

    assert needs_of(facts, initial={"0": '{"orders":{"0":5}}'})[0].partitions == (need(0, 5, 23),)


@pytest.mark.parametrize(
    ("entries", "committed", "trouble"),
    [
        pytest.param(
            {0: ['{"orders":{"0":23}}']},
            [],
            "batch 0 is in flight, and the offsets that the source began with, where it starts, can't be read",
            id="no initial offsets",
        ),
        pytest.param(
            {4: ['{"orders":{"0":23}}']},
            [3],
            "batch 4 is in flight, and offsets/3, where it starts, can't be read",
            id="no entry below",
        ),
        pytest.param(
            {3: ['{"logOffset":7}'], 4: ['{"orders":{"0":23}}']},
            [3],
            "batch 4 is in flight, and offsets/3, where it starts, can't be read",
            id="another source below",
        ),
    ],
)
def test_a_start_that_cannot_be_told_is_no_guess(entries, committed, trouble):
    (source,) = needs_of(a_checkpoint(entries, committed=committed))

    assert (source.trouble, source.partitions) == (trouble, (need(0, 23),))


def test_a_source_that_gets_its_first_offset_in_the_batch_in_flight_begins_as_a_first_batch_does():
    facts = a_checkpoint({3: ["-"], 4: ['{"orders":{"0":23}}']}, committed=[3])

    assert needs_of(facts, initial={"0": '{"orders":{"0":9}}'})[0].partitions == (need(0, 9, 23),)


def test_other_sources_are_left_out_and_each_kafka_source_has_its_own_needs():
    sources = ['{"logOffset":7}', '{"orders":{"0":23}}', '{"returns":{"0":5}}']
    facts = a_checkpoint({4: sources}, committed=[4])

    assert needs_of(facts) == (
        SourceNeeds(source="1", partitions=(need(0, 23),)),
        SourceNeeds(source="2", partitions=(need(0, 5, topic="returns"),)),
    )


@pytest.mark.parametrize(
    "content", [pytest.param(None, id="no batch was planned"), pytest.param(b"v1\n{", id="the newest entry is broken")]
)
def test_nothing_is_told_without_a_newest_entry(content):
    storage = MemoryStorage()
    storage.write(f"{ADDRESS}/metadata", metadata())
    if content:
        storage.write(f"{ADDRESS}/offsets/0", content)

    assert needs_of(read_checkpoint(storage, ADDRESS)) == ()
