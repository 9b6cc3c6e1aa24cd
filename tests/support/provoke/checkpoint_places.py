"""Checkpoints that others write, too, and places where none can be written."""

import shutil
import subprocess
from pathlib import Path

from pyspark.sql import DataFrame

from streamops.failures.failure_class import FailureClass
from support.provoke.bench import Bench, write_rows
from support.provoke.case import Family

FAMILY = Family("checkpoint")


@FAMILY.provokes(FailureClass.CONCURRENT_WRITER)
def foreign_commit(bench: Bench) -> None:
    """Another writer commits the batch while ours runs."""
    checkpoint = bench.place("foreign-commit") / "checkpoint"

    def write(frame: DataFrame, batch: int) -> None:
        (checkpoint / "commits").mkdir(exist_ok=True)
        (checkpoint / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')

    bench.run(bench.rows().writeStream.foreachBatch(write), checkpoint)


@FAMILY.provokes(FailureClass.CONCURRENT_WRITER, has_progressed=True)
def foreign_offset(bench: Bench) -> None:
    """Another writer plans the next batch while ours runs."""
    folder = bench.place("foreign-offset")
    checkpoint = folder / "checkpoint"
    for name in ("a", "b", "c"):
        write_rows(folder, name)

    def write(frame: DataFrame, batch: int) -> None:
        shutil.copy(checkpoint / "offsets" / str(batch), checkpoint / "offsets" / str(batch + 1))

    bench.run(bench.files(folder).writeStream.foreachBatch(write), checkpoint)


@FAMILY.provokes(FailureClass.CONCURRENT_WRITER)
def started_again_by_another_session(bench: Bench) -> None:
    """The same checkpoint in a second session of the driver, where a restart may not stop the first."""
    folder = bench.place("twice")
    with bench.setting("spark.sql.streaming.stopActiveRunOnRestart", "false"):
        rows = bench.spark.readStream.format("rate").load()
        first = rows.writeStream.format("noop").option("checkpointLocation", str(folder)).start()
        try:
            bench.run(rows.writeStream.format("noop"), folder)
        finally:
            first.stop()


@FAMILY.provokes(FailureClass.CODE_ERROR)
def name_taken(bench: Bench) -> None:
    """Two queries of one driver with the same name."""
    rows = bench.spark.readStream.format("rate").load()
    writer = rows.writeStream.format("noop").queryName("orders")
    first = writer.option("checkpointLocation", str(bench.place("name-1"))).start()
    try:
        bench.run(rows.writeStream.format("noop").queryName("orders"), bench.place("name-2"))
    finally:
        first.stop()


@FAMILY.provokes(FailureClass.CODE_ERROR)
def a_file_in_its_place(bench: Bench) -> None:
    """The checkpoint's address names a file."""
    file = bench.place("a-file") / "checkpoint"
    file.write_text("not a folder")
    bench.run(bench.rows().writeStream.format("noop"), file)


# Of the next two, and of a read-only file system, Hadoop says only that the folder could not be made.
@FAMILY.provokes(FailureClass.STORAGE_UNAVAILABLE)
def not_allowed_to_write(bench: Bench) -> None:
    """The checkpoint's folder can't be written, even by root."""
    folder = bench.place("immutable")
    subprocess.run(["chattr", "+i", str(folder)], check=True)
    try:
        bench.run(bench.rows().writeStream.format("noop"), folder)
    finally:
        subprocess.run(["chattr", "-i", str(folder)], check=True)


@FAMILY.provokes(FailureClass.STORAGE_UNAVAILABLE)
def nowhere(bench: Bench) -> None:
    """The checkpoint lies where no folder can be made."""
    bench.run(bench.rows().writeStream.format("noop"), "/proc/streamops/checkpoint")


@FAMILY.provokes(FailureClass.DISK_FULL, has_progressed=True)
def disk_full(bench: Bench) -> None:
    """The checkpoint's disk is full: a file system of a few KiB in memory."""
    folder = bench.place("tiny")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,nr_inodes=2000", "tmpfs", str(folder)], check=True)
    try:
        rows = bench.files(_many(bench))
        (folder / "ballast").write_bytes(b"x" * 150_000)
        bench.run(rows.writeStream.format("noop"), folder / "checkpoint")
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _many(bench: Bench) -> Path:
    return bench.once("many", lambda folder: [write_rows(folder, str(name), rows=1) for name in range(60)] and None)
