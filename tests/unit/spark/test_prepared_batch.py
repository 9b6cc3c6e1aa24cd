"""Entries that Spark will run: one a step, never twice, and only on a checkpoint that holds nothing but the plan."""

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from streamops.checkpoint.reader import read_checkpoint
from streamops.checkpoint.source_entries import parse_initial_offsets
from streamops.checkpoint.source_offsets import KafkaOffset
from streamops.diagnosis.restart_plan import Safety
from streamops.errors import BackfillError
from streamops.spark.backfill_run import PINNED_CONFS
from streamops.spark.prepared_batch import next_step, prepare_step, read_prepared
from streamops.storage.memory import MemoryStorage
from support.backfills import a_plan, offsets
from support.plans import plan_of
from support.recordings import RECORDINGS

CHECKPOINT = "file:///c/orders.backfills/march/checkpoint"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CONF = {"spark.sql.shuffle.partitions": "2"}
PLAN = a_plan(chunks=(offsets(7, 10), offsets(8, 11), offsets(9, 12)))


@pytest.fixture
def storage():
    return MemoryStorage()


def prepare(storage, **changes):
    """The next step; what it wrote, by name."""
    before = set(storage.list(f"{CHECKPOINT}/offsets"))
    prepare_step(storage, read_prepared(storage, CHECKPOINT), PLAN, **{"conf": CONF, "now": NOW, **changes})
    return set(storage.list(f"{CHECKPOINT}/offsets")) - before


def commit(storage, batch, *, watermark=0):
    storage.write(f"{CHECKPOINT}/commits/{batch}", f'v1\n{{"nextBatchWatermarkMs":{watermark}}}'.encode())


def entry(storage, batch):
    return storage.read(f"{CHECKPOINT}/offsets/{batch}").decode()


def step(storage):
    return next_step(read_prepared(storage, CHECKPOINT), PLAN)


def test_the_first_step_is_written_as_spark_reads_it(storage):
    assert prepare(storage) == {"0"}

    assert entry(storage, 0) == (
        "v1\n"
        '{"batchWatermarkMs":0,"batchTimestampMs":1772366400000,"conf":{"spark.sql.shuffle.partitions":"2"}}\n'
        '{"orders":{"0":7,"1":10}}'
    )


def test_what_is_written_is_a_batch_in_flight_to_our_own_reader(storage):
    prepare(storage)

    facts = read_checkpoint(storage, CHECKPOINT)
    (source,) = facts.newest.offsets
    assert isinstance(source, KafkaOffset)
    assert plan_of(facts).safety is Safety.SAFE_IF_IDEMPOTENT
    assert facts.query_id == str(UUID(facts.query_id))


def test_each_backfill_has_a_query_id_of_its_own_and_keeps_it(storage):
    prepare(storage)
    first = storage.read(f"{CHECKPOINT}/metadata")
    commit(storage, 0)
    prepare(storage)
    other = MemoryStorage()
    prepare(other)

    assert storage.read(f"{CHECKPOINT}/metadata") == first
    assert other.read(f"{CHECKPOINT}/metadata") != first
    assert b"\n" not in first


def test_where_the_range_begins_is_written_as_spark_keeps_it(storage):
    prepare(storage)

    content = storage.read(f"{CHECKPOINT}/sources/0/0")
    assert content == b'\0v1\n{"orders":{"0":5,"1":3}}'
    assert parse_initial_offsets(content, address="0") == '{"orders":{"0":5,"1":3}}'


def test_a_driver_that_was_killed_before_it_wrote_where_the_range_begins_writes_it_again(storage):
    prepare(storage)
    storage.delete(f"{CHECKPOINT}/sources/0/0")

    assert prepare(storage) == set()
    assert storage.list(f"{CHECKPOINT}/sources/0") == ("0",)


def test_where_the_source_began_counts_until_the_first_step_is_committed(storage):
    storage.write(f"{CHECKPOINT}/sources/0/0", b'\0v1\n{"orders":{"1":3,"0":5}}')
    prepare(storage)
    storage.write(f"{CHECKPOINT}/sources/0/0", b'\0v1\n{"orders":{"0":0,"1":3}}')

    with pytest.raises(BackfillError, match="sources/0/0 is not where the plan begins"):
        step(storage)

    commit(storage, 0)
    assert step(storage) == 1


def test_a_step_that_is_in_flight_stays_as_it_is(storage):
    prepare(storage)
    before = entry(storage, 0)

    assert prepare(storage, now=NOW.replace(hour=13)) == set()
    assert entry(storage, 0) == before


def test_the_next_step_keeps_the_confs_and_takes_over_the_watermark(storage):
    prepare(storage)
    commit(storage, 0, watermark=77)

    assert prepare(storage, conf={"spark.sql.shuffle.partitions": "9"}) == {"1"}

    header = json.loads(entry(storage, 1).split("\n")[1])
    assert (header["conf"], header["batchWatermarkMs"]) == ({"spark.sql.shuffle.partitions": "2"}, 77)


def test_step_after_step_until_none_is_left(storage):
    steps = [step(storage)]
    for batch in range(3):
        prepare(storage)
        commit(storage, batch)
        steps.append(step(storage))

    assert steps == [0, 1, 2, 3]
    assert [entry(storage, batch).split("\n")[2] for batch in range(3)] == [
        '{"orders":{"0":7,"1":10}}',
        '{"orders":{"0":8,"1":11}}',
        '{"orders":{"0":9,"1":12}}',
    ]


def test_a_driver_that_was_killed_between_metadata_and_entry_begins_with_the_same_id(storage):
    storage.write(f"{CHECKPOINT}/metadata", b'{"id":"7d6a3f0e-0000-4000-8000-000000000001"}')

    assert prepare(storage) == {"0"}
    assert storage.read(f"{CHECKPOINT}/metadata") == b'{"id":"7d6a3f0e-0000-4000-8000-000000000001"}'


def test_files_that_are_no_batches_are_passed_over(storage):
    prepare(storage)
    for name in ("0.tmp", ".1.7d6a.tmp", "foo"):
        storage.write(f"{CHECKPOINT}/offsets/{name}", b"")

    assert step(storage) == 0


def replaced(batch, text):
    return lambda storage: storage.write(f"{CHECKPOINT}/offsets/{batch}", text.encode())


def without(name):
    return lambda storage: storage.delete(f"{CHECKPOINT}/{name}")


def both(*damages):
    return lambda storage: [damage(storage) for damage in damages]


FOREIGN = {
    "another range": (replaced(1, 'v1\n{"conf":{}}\n{"orders":{"0":9,"1":11}}'), "offsets/1 is not step 1"),
    "one partition more": (replaced(1, 'v1\n{"conf":{}}\n{"orders":{"0":8,"1":11,"2":0}}'), "offsets/1 is not step 1"),
    "a second source": (
        replaced(1, 'v1\n{"conf":{}}\n{"orders":{"0":8,"1":11}}\n{"orders":{"0":8,"1":11}}'),
        "offsets/1 is not step 1",
    ),
    "the format of other releases": (replaced(1, 'v2\n{"conf":{}}\n0:{"orders":{"0":8}}'), "offsets/1 is not step 1"),
    "cut": (replaced(1, "v1\n{"), "offsets/1 is not step 1"),
    "empty": (replaced(1, ""), "offsets/1 is not step 1"),
    "the entry before is another": (
        replaced(0, 'v1\n{"conf":{}}\n{"orders":{"0":7,"1":9}}'),
        "offsets/0 is not step 0",
    ),
    "the entry before is gone": (without("offsets/0"), "a start needs two entries"),
    "a batch behind the plan": (
        both(replaced(2, "v1"), replaced(3, "v1")),
        "holds batch 3, the plan ends with batch 2",
    ),
    "a commit without a plan": (lambda storage: commit(storage, 2), "planned batch 1 and committed batch 2"),
    "two batches in flight": (without("commits/0"), "planned batch 1 and committed batch -1"),
}


@pytest.mark.parametrize(("damage", "trouble"), FOREIGN.values(), ids=FOREIGN)
def test_a_checkpoint_that_something_else_has_run_on_is_refused_with_a_way_out(storage, damage, trouble):
    prepare(storage)
    commit(storage, 0)
    prepare(storage)
    damage(storage)

    with pytest.raises(BackfillError, match=f"{trouble}.*make a new plan"):
        step(storage)


def test_a_commit_that_spark_did_not_write_is_refused(storage):
    prepare(storage)
    storage.write(f"{CHECKPOINT}/commits/0", b"v1\nnothing")

    with pytest.raises(BackfillError, match="commits/0 is no commit of Spark's: nothing"):
        prepare(storage)


@pytest.mark.parametrize("version", ["3.5.9", "4.0.5", "4.1.4", "4.2.0"])
def test_all_that_spark_pins_is_pinned(version):
    pinned = set()
    for file in (RECORDINGS / version).glob("*/checkpoint/offsets/[0-9]*"):
        lines = file.read_bytes().split(b"\n")
        header = json.loads(lines[1]) if len(lines) > 1 and lines[1].startswith(b"{") else {}
        pinned |= set(header.get("conf", {}))

    assert "spark.sql.shuffle.partitions" in pinned
    assert pinned - set(PINNED_CONFS) == set()
