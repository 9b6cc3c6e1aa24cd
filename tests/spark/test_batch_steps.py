"""The steps of a batch as a real driver's progress tells them, after another driver was killed in the middle of it."""

import os
import signal
from dataclasses import replace

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from streamops.control.layout import control_folder
from streamops.control.records import ClaimMode, Outcome
from streamops.cost.batch_cost import Step, batch_costs
from streamops.diagnosis.last_progress import last_progress
from streamops.spec import DeltaTableSource, Trigger, TriggerKind
from support.backfill_drivers import BackfillBench, pid_of

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

# One batch for each of the two commits of the table. The first driver never gets to the end of the first.
SLOW_AT_FIRST = """
import time
from pathlib import Path

def define(spark, stream):
    begun = Path(__file__).with_name("begun")

    def write(rows, batch):
        if not begun.exists():
            begun.touch()
            time.sleep(600)
        rows.write.format("noop").mode("overwrite").save()

    return stream.from_delta(spark).writeStream.foreachBatch(write)
"""


@pytest.fixture
def bench(tmp_path, spark_submit):
    for numbers in ([1, 2], [3]):
        write_deltalake(tmp_path / "raw", pa.table({"n": pa.array(numbers, pa.int64())}), mode="append")
    options = (("maxFilesPerTrigger", "1"),)
    source = DeltaTableSource(table=f"file://{tmp_path}/raw", options=options)
    one = BackfillBench(tmp_path / "bench", spark_submit, job=SLOW_AT_FIRST, source=source)
    one.spec = replace(one.spec, trigger=Trigger(kind=TriggerKind.AVAILABLE_NOW))
    yield one
    one.end()


def test_a_batch_that_was_killed_runs_again_without_a_range_of_its_own(bench):
    handle = bench.start(epoch=1, mode=ClaimMode.CATCHUP)
    bench.expect(lambda: (bench.root / "begun").exists())
    os.killpg(pid_of(handle), signal.SIGKILL)
    bench.expect(lambda: bench.has_ended(handle))

    trace = bench.run(epoch=2, mode=ClaimMode.CATCHUP)

    assert trace.exit is not None
    assert trace.exit.outcome is Outcome.FINISHED, bench.driver_log[-3000:]
    (cost,) = batch_costs(last_progress(bench.storage, control_folder(bench.spec.checkpoint)), last=50)
    assert (cost.first, cost.last, cost.repeated, cost.others) == (0, 1, (0,), ())
    assert {step.step for step in cost.steps if step.taken is None} == {Step.START, Step.SINK_COMMIT}
