"""Real backfills of sources beside Kafka: planned at the desk, run by the driver from the zip, seen from outside.

What is proven:

1. A range of versions of a Delta table is read exactly, dead letters too, in several steps, although the first driver is killed
   with SIGKILL in the middle of a step, the table goes on, and the stream is declared with a begin and a rate limit of its own.
2. A range of files by their times is read exactly, one file a step over more steps than Spark puts into a compact file of its
   log, with odd letters in names, a kill in between, and files that come later.
3. A file that is written over after the plan ends the backfill before it is read, and nothing is passed over.
4. A driver that runs for good reads the declared table, and the declared files.
"""

import json
import os
import signal
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from streamops.backfill.asked import range_of
from streamops.backfill.backfill_service import BackfillService, RequestedBackfill
from streamops.control.backfill_plan import BackfillPlan
from streamops.control.drivers import DriverTraces
from streamops.control.records import ClaimMode, Outcome
from streamops.spec import DeltaTableSource, FileFormat, FilesSource, SinkSpec, Source, Trigger, TriggerKind
from streamops.storage.address import local_path
from support.backfill_drivers import BackfillBench, pid_of
from support.clock import FakeClock
from support.specs import SUPERVISOR, seconds

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

BOTH = """
def define(spark, stream):
    rows = stream.{read}(spark).select("n")
    stream.dead_letters_to_delta(rows.where("n % 10 = 0"))
    return stream.to_delta(rows.where("n % 10 <> 0"))
"""

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
AFTERWARDS = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture
def bench(tmp_path, spark_submit):
    made: list[BackfillBench] = []

    def make(source: Source, read: str) -> BackfillBench:
        job = BOTH.format(read=read)
        made.append(BackfillBench(tmp_path / "bench", spark_submit, job=job, source=source))
        return made[-1]

    yield make
    for one in made:
        one.end()


def planned(one: BackfillBench, begin: str, end: str, *, chunk: int) -> BackfillPlan:
    """The plan that a person gets at the desk of the declared stream, which writes elsewhere itself."""
    own = SinkSpec(table=f"file://{one.root}/own", dead_letters=f"file://{one.root}/own_dead")
    declared = replace(one.spec, checkpoint=f"file://{one.root}/orders", sink=own)
    desk = BackfillService(
        declared, storage=one.storage, clock=FakeClock(AFTERWARDS), author=SUPERVISOR, broker=None, others={}
    )
    asked = RequestedBackfill(
        range=range_of(begin, end, slack=seconds(0)),
        reason="a wrong rate",
        table=one.spec.sink.table,
        dead_letters=one.spec.sink.dead_letters,
        chunk=chunk,
    )
    plan = desk.plan(asked, backfill="march").refuse()
    one.keep(plan)
    return plan


def numbers(address: str) -> Counter[int]:
    """The rows of a table, with how often each is there; nothing where there is no table."""
    folder = local_path(address) or ""
    if not DeltaTable.is_deltatable(folder):
        return Counter()
    return Counter(DeltaTable(folder).to_pyarrow_table(columns=["n"])["n"].to_pylist())


def written(one: BackfillBench) -> Counter[int]:
    """Rows and dead letters together, each where it belongs."""
    rows, dead = numbers(one.spec.sink.table), numbers(one.spec.sink.dead_letters)
    assert all(number % 10 for number in rows)
    assert not any(number % 10 for number in dead)
    return rows + dead


def outcome(trace: DriverTraces) -> Outcome | None:
    return trace.exit.outcome if trace.exit else None


def kill_in_a_step(one: BackfillBench, step: int) -> None:
    handle = one.start(epoch=1)
    one.expect(lambda: one.newest("offsets") >= step)
    os.killpg(pid_of(handle), signal.SIGKILL)
    one.expect(lambda: one.has_ended(handle))


def append(table: Path, *numbers: int) -> None:
    """One commit."""
    write_deltalake(table, pa.table({"n": pa.array(numbers, pa.int64())}), mode="append")


def test_a_range_of_versions_is_read_exactly_although_its_driver_is_killed(tmp_path, bench):
    table = tmp_path / "raw"
    for version in range(8):
        append(table, *range(version * 20, version * 20 + 20))
    options = (("maxFilesPerTrigger", "1"), ("startingVersion", "7"))
    one = bench(DeltaTableSource(table=f"file://{table}", options=options), "from_delta")
    plan = planned(one, "v2", "v6", chunk=40)

    kill_in_a_step(one, 1)
    append(table, 999)
    trace = one.run(epoch=2)

    assert [place.version for place in plan.chunks] == [4, 6, 7]
    assert (plan.counted_in, plan.records) == ("records", 100)
    assert outcome(trace) is Outcome.FINISHED, one.driver_log[-3000:]
    assert written(one) == Counter(range(40, 140))


def put(folder: Path, name: str, *numbers: int, minute: int) -> Path:
    """A file of JSON lines, last changed so many minutes behind noon."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text("\n".join(json.dumps({"n": number}) for number in numbers))
    os.utime(file, (NOON + 60 * minute,) * 2)
    return file


def a_folder(tmp_path: Path) -> FilesSource:
    """Fifteen files, a minute apart, with two rows each."""
    for number in range(15):
        put(tmp_path / "in", f"{number} ä+%&.json", number * 10, number * 10 + 1, minute=number)
    return FilesSource(
        path=f"file://{tmp_path}/in",
        format=FileFormat.JSON,
        schema="n BIGINT",
        options=(("cleanSource", "delete"), ("latestFirst", "true"), ("maxFileAge", "1h"), ("maxFilesPerTrigger", "2")),
    )


def test_a_range_of_files_is_read_exactly_over_many_steps(tmp_path, bench):
    one = bench(a_folder(tmp_path), "from_files")
    plan = planned(one, "2026-03-01T12:01+00:00", "2026-03-01T12:14+00:00", chunk=1)

    kill_in_a_step(one, 6)
    put(tmp_path / "in", "late.json", 500, minute=5)
    trace = one.run(epoch=2)

    assert (len(plan.chunks), plan.counted_in, plan.records) == (13, "files", 13)
    assert outcome(trace) is Outcome.FINISHED, one.driver_log[-3000:]
    assert written(one) == Counter(number * 10 + row for number in range(1, 14) for row in (0, 1))
    assert len(list((tmp_path / "in").iterdir())) == 16


def test_a_file_that_is_written_over_ends_the_backfill_before_it_is_read(tmp_path, bench):
    one = bench(a_folder(tmp_path), "from_files")
    planned(one, "files:[0-3] *.json", "", chunk=2)
    put(tmp_path / "in", "3 ä+%&.json", 700, minute=3)

    trace = one.run(epoch=1)

    assert trace.exit is not None
    assert trace.exit.outcome is Outcome.FAILED
    assert "1 files of the next step are gone or written over" in trace.exit.text
    assert written(one) == Counter([0, 1, 10, 11])


@pytest.mark.parametrize("kind", ["delta", "files"])
def test_a_driver_reads_what_is_declared(tmp_path, bench, kind):
    append(tmp_path / "raw", 1, 2, 10)
    append(tmp_path / "raw", 3)
    table = DeltaTableSource(table=f"file://{tmp_path}/raw", options=(("startingVersion", "1"),))
    files = replace(a_folder(tmp_path), options=(("pathGlobFilter", "[0-1] *"),))
    one = bench(*((table, "from_delta") if kind == "delta" else (files, "from_files")))
    one.spec = replace(one.spec, trigger=Trigger(kind=TriggerKind.AVAILABLE_NOW))

    trace = one.run(mode=ClaimMode.CATCHUP)

    assert outcome(trace) is Outcome.FINISHED, one.driver_log[-3000:]
    assert written(one) == Counter([3] if kind == "delta" else [0, 1, 10, 11])
