"""Real backfills: the driver from the zip, a real broker, real Delta tables, seen from outside.

What is proven:

1. A range over several partitions is read exactly, dead letters too, although the first driver is asked to stop, the second
   is killed with SIGKILL in the middle of a step, and a partition is added meanwhile.
2. A time range with stamps out of order, to another table: both ends exact to the record.
3. Records that are deleted while the backfill is under way end it with Spark's data-loss error, and nothing is skipped.
4. A job with a MERGE by key writes over what its table has; and one with state that was accepted keeps it from step to step.
5. A stop that comes into the last step leaves nothing to do.
6. A job with a sink of its own that is to write elsewhere is refused before it has written.
"""

import os
import signal
from collections import Counter
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from deltalake import write_deltalake

from streamops.backfill import chunks_of
from streamops.control.drivers import QueryStep
from streamops.control.kafka_offsets import Offsets
from streamops.control.records import Outcome, StartRequested, StopRequested
from support.backfill_drivers import BackfillBench, pid_of, within
from support.cluster import a_cluster

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

ORDERS = """
import time

from pyspark.sql import functions as f

def define(spark, stream):
    slowly = f.udf(lambda value: (time.sleep(0.1), value)[1])
    rows = stream.from_kafka(spark).select(f.col("value").cast("string").alias("value"), "partition", "offset")
    rows = rows.select(slowly("value").alias("value"), "partition", "offset")
    stream.dead_letters_to_delta(rows.where("value like 'bad%'"))
    return stream.to_delta(rows.where("value not like 'bad%'"))
"""

PLAIN = """
def define(spark, stream):
    return stream.to_delta(stream.from_kafka(spark).select("partition", "offset", "timestamp"))
"""

MERGE = """
def define(spark, stream):
    table = stream.table

    def upsert(rows, batch):
        rows.createOrReplaceTempView("fresh")
        rows.sparkSession.sql(
            f"MERGE INTO delta.`{table}` old USING fresh ON old.partition = fresh.partition AND old.offset = fresh.offset"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    rows = stream.from_kafka(spark).selectExpr("partition", "offset", "cast(value as string) value")
    return rows.writeStream.foreachBatch(upsert)
"""

FIRST_ONLY = """
def define(spark, stream):
    rows = stream.from_kafka(spark).selectExpr("cast(value as string) value", "partition", "offset")
    return stream.to_delta(rows.dropDuplicates(["value"]))
"""

OWN_SINK = """
def define(spark, stream):
    rows = stream.from_kafka(spark).select("partition", "offset")
    return rows.writeStream.format("delta").option("path", {table!r})
"""

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with a_cluster(tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster


@pytest.fixture
def bench(tmp_path, spark_submit, cluster):
    made: list[BackfillBench] = []

    def make(topic: str, job: str, **options: str) -> BackfillBench:
        bootstrap = cluster.bootstrap
        made.append(BackfillBench(tmp_path / topic, spark_submit, bootstrap=bootstrap, topic=topic, job=job, **options))
        return made[-1]

    yield make
    for one in made:
        one.end()


def produce(cluster, topic, partition, values, *, minutes=None):
    """These values in this order, each with the stamp of a minute behind noon."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for number, value in enumerate(values):
        at = NOON + timedelta(minutes=minutes[number] if minutes else number)
        stamp = int(at.timestamp() * 1000)
        producer.produce(topic, value.encode(), partition=partition, timestamp=stamp)
    assert producer.flush(30) == 0


def places(topic, *found):
    return Offsets.of({(topic, number): offset for number, offset in enumerate(found)})


def wanted(one, start, end, *, takes):
    """Partition and offset of each record of the range that an independent consumer finds."""
    return Counter(
        place
        for place, (value, at) in one.records().items()
        if within((one.topic, place[0]), place[1], start, end) and takes(value, at)
    )


@pytest.mark.timeout(1200)
def test_a_range_is_exact_through_a_stop_a_kill_and_a_new_partition(bench, cluster):
    cluster.create("exact", partitions=3, retention_ms="-1")
    for partition, count in enumerate((120, 90, 40)):
        values = [f"bad {n}" if n % 7 == 0 else f"order {n}" for n in range(count)]
        produce(cluster, "exact", partition, values)
    one = bench("exact", ORDERS, startingOffsets="latest", maxOffsetsPerTrigger="3", failOnDataLoss="false")
    start, end = places("exact", 17, 0, 12), places("exact", 101, 77, 12)
    plan = one.plan(start, *chunks_of(start, end, records=30))
    assert len(plan.chunks) == 6

    # Asked to stop, it stops between two steps.
    first = one.start(1)
    one.expect(lambda: one.newest("commits") >= 0)
    one.append(StopRequested(epoch=1), reason="an upgrade")
    one.expect(lambda: one.has_ended(first))
    assert one.trace(1).exit.outcome is Outcome.STOPPED
    reached = one.newest("commits")
    assert reached < 4

    # Killed in the middle of a step; meanwhile the topic gets a partition.
    one.append(StartRequested(), reason="go on")
    second = one.start(2)
    one.expect(lambda: QueryStep.BATCH in one.steps(2))
    os.killpg(pid_of(second), signal.SIGKILL)
    one.expect(lambda: one.has_ended(second))
    cluster.add_partitions("exact", 4)
    cluster.eventually(lambda: cluster.produce("exact", 5, partition=3))
    assert reached <= one.newest("commits") < 5
    assert max(one.newest("offsets"), one.newest("offsets", companion=0)) > one.newest("commits")

    trace = one.run(3)

    assert trace.exit.outcome is Outcome.FINISHED, one.driver_log[-4000:]
    good = wanted(one, start, end, takes=lambda value, _: not value.startswith("bad"))
    bad = wanted(one, start, end, takes=lambda value, _: value.startswith("bad"))
    assert (good.total(), bad.total()) == (138, 23)
    assert one.rows(plan.table) == good
    assert one.rows(plan.dead_letters) == bad
    assert [one.newest("commits"), one.newest("commits", companion=0)] == [5, 5]
    assert [one.newest("offsets"), one.newest("offsets", companion=0)] == [5, 5]
    assert trace.exit.batch == 5

    # Once more: nothing is left to do, and nothing is done.
    assert one.run(4).exit.outcome is Outcome.FINISHED
    assert one.rows(plan.table) == good


@pytest.mark.timeout(1200)
def test_a_stop_that_comes_into_the_last_step_finds_the_range_read(bench, cluster):
    cluster.create("last", retention_ms="-1")
    produce(cluster, "last", 0, [f"bad {n}" if n % 7 == 0 else f"order {n}" for n in range(90)])
    one = bench("last", ORDERS)
    plan = one.plan(places("last", 5), places("last", 75))

    driver = one.start(1)
    one.expect(lambda: QueryStep.BATCH in one.steps(1))
    one.append(StopRequested(epoch=1), reason="an upgrade")
    assert one.newest("commits") < 0
    one.expect(lambda: one.has_ended(driver))

    assert one.trace(1).exit.outcome is Outcome.FINISHED, one.driver_log[-4000:]
    assert one.rows(plan.table).total() + one.rows(plan.dead_letters).total() == 70


@pytest.mark.timeout(1200)
def test_a_time_range_takes_no_record_of_another_time_whatever_the_order(bench, cluster):
    cluster.create("times", partitions=2, retention_ms="-1")
    produce(cluster, "times", 0, list("abcdefgh"), minutes=[0, 10, 9, 20, 11, 29, 30, 12])
    produce(cluster, "times", 1, list("ijk"), minutes=[31, 10, 40])
    one = bench("times", PLAIN)
    begin, end = NOON + timedelta(minutes=10), NOON + timedelta(minutes=30)
    # As the broker says of minute 10, and of minute 30 with ten minutes of slack.
    start, stop = places("times", 1, 0), places("times", 8, 2)
    plan = one.plan(start, stop, not_before=begin, before=end)

    trace = one.run()

    assert trace.exit.outcome is Outcome.FINISHED, one.driver_log[-4000:]
    assert one.rows(plan.table) == Counter({(0, 1): 1, (0, 3): 1, (0, 4): 1, (0, 5): 1, (0, 7): 1, (1, 1): 1})
    assert one.rows(plan.table) == wanted(one, start, stop, takes=lambda _, at: begin <= at < end)


@pytest.mark.timeout(1200)
def test_records_that_are_deleted_meanwhile_end_it_and_nothing_is_skipped(bench, cluster):
    cluster.create("lossy", retention_ms="-1")
    cluster.produce("lossy", 60)
    options = {"fetchOffset.retryIntervalMs": "50", "kafkaConsumer.pollTimeoutMs": "15000", "failOnDataLoss": "false"}
    one = bench("lossy", PLAIN, **options)
    plan = one.plan(places("lossy", 10), places("lossy", 20), places("lossy", 40), places("lossy", 50))
    # The first step is done when they go: 25 lies in the middle of the second.
    cluster.delete_records("lossy", before=10)
    handle = one.start()
    one.expect(lambda: one.newest("commits") == 0)
    one.append(StopRequested(epoch=1), reason="retention")
    one.expect(lambda: one.has_ended(handle))
    done = one.newest("commits")
    cluster.delete_records("lossy", before=25 if done == 0 else 45)
    one.append(StartRequested(), reason="go on")

    trace = one.run(2)

    assert trace.exit.outcome is Outcome.FAILED
    lost = "[20, 40)" if done == 0 else "[40, 50)"
    assert f"Could not read records in offset {lost} for topic partition lossy-0" in trace.exit.text
    assert one.rows(plan.table) == Counter((0, offset) for offset in range(10, 20 if done == 0 else 40))
    assert one.newest("commits") == done


@pytest.mark.timeout(1200)
def test_a_merge_by_key_writes_over_what_the_table_has(bench, cluster):
    cluster.create("merge", retention_ms="-1")
    produce(cluster, "merge", 0, [f"new {offset}" for offset in range(30)])
    one = bench("merge", MERGE)
    plan = one.plan(places("merge", 5), places("merge", 15), places("merge", 25))
    fields = [("partition", pa.int32()), ("offset", pa.int64()), ("value", pa.string())]
    old = [{"partition": 0, "offset": offset, "value": "old"} for offset in range(12)]
    write_deltalake(plan.table.removeprefix("file://"), pa.Table.from_pylist(old, schema=pa.schema(fields)))

    trace = one.run()

    assert trace.exit.outcome is Outcome.FINISHED, one.driver_log[-4000:]
    assert one.values(plan.table) == {
        **{(0, offset): "old" for offset in range(5)},
        **{(0, offset): f"new {offset}" for offset in range(5, 25)},
    }
    assert one.rows(plan.table).total() == 25


@pytest.mark.timeout(1200)
def test_state_that_was_accepted_is_kept_from_step_to_step(bench, cluster):
    cluster.create("state", retention_ms="-1")
    produce(cluster, "state", 0, list("abcabdabexy"))
    one = bench("state", FIRST_ONLY)
    plan = one.plan(places("state", 1), places("state", 4), places("state", 7), places("state", 9), is_approximate=True)

    trace = one.run()

    assert trace.exit.outcome is Outcome.FINISHED, one.driver_log[-4000:]
    assert sorted(one.values(plan.table).values()) == ["a", "b", "c", "d", "e"]


@pytest.mark.timeout(1200)
def test_a_job_with_a_sink_of_its_own_writes_nothing(bench, cluster, tmp_path):
    cluster.create("own", retention_ms="-1")
    cluster.produce("own", 10)
    one = bench("own", OWN_SINK.format(table=str(tmp_path / "real")))
    one.plan(places("own", 0), places("own", 10))

    trace = one.run()

    assert trace.exit.outcome is Outcome.FAILED
    assert "the job did not ask its context for the sink: it would write to its own" in trace.exit.text
    assert not (tmp_path / "real").exists()
    assert one.newest("offsets") == -1


def test_a_job_that_appends_is_refused_where_its_own_table_has_the_rows(cluster, bench):
    cluster.create("twice", retention_ms="-1")
    cluster.produce("twice", 10)
    one = bench("twice", PLAIN)
    one.plan(places("twice", 0), places("twice", 10), is_redirected=False)

    trace = one.run()

    assert "the job appends to it by to_delta: rows that are there would be there twice" in trace.exit.text
    assert one.newest("offsets") == -1
