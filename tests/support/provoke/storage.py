"""Storage that is away, full, read-only or closed to us: the checkpoint's, a table's, a source's."""

import subprocess
from functools import partial

from pyspark.sql import DataFrame

from streamops.failures.failure_class import FailureClass, Remedy
from support.provoke.bench import Bench
from support.provoke.case import Family
from support.provoke.servers import CLOSED_PORT, answering, hanging_up

FAMILY = Family("sink")


# Storage that speaks WebHDFS, for the checkpoint. What the answer says beside its status is not read: the reader of
# the name node's exceptions is not among PySpark's jars.
def _checkpoint_on(bench: Bench, *, status: int) -> None:
    with answering(status) as port:
        bench.run(bench.rows().writeStream.format("noop"), f"webhdfs://127.0.0.1:{port}/checkpoint")


for _status, _class in (
    (503, FailureClass.STORAGE_UNAVAILABLE),
    (500, FailureClass.STORAGE_UNAVAILABLE),
    (401, FailureClass.CREDENTIALS),
    (403, FailureClass.CREDENTIALS),
):
    FAMILY.add(f"storage-{_status}", f"WebHDFS answers {_status}", _class, partial(_checkpoint_on, status=_status))


@FAMILY.provokes(FailureClass.STORAGE_UNAVAILABLE)
def storage_hangs_up(bench: Bench) -> None:
    """WebHDFS resets the connection."""
    with hanging_up() as port:
        bench.run(bench.rows().writeStream.format("noop"), f"webhdfs://127.0.0.1:{port}/checkpoint")


@FAMILY.provokes(FailureClass.STORAGE_UNAVAILABLE)
def storage_refused(bench: Bench) -> None:
    """Nothing listens where the name node of the checkpoint should be."""
    bench.run(bench.rows().writeStream.format("noop"), f"hdfs://127.0.0.1:{CLOSED_PORT}/checkpoint")


@FAMILY.provokes(FailureClass.STORAGE_UNAVAILABLE)
def storage_unknown_host(bench: Bench) -> None:
    """The name node's name can't be resolved."""
    bench.run(bench.rows().writeStream.format("noop"), "hdfs://no-such-namenode.invalid:8020/checkpoint")


@FAMILY.provokes(FailureClass.CODE_ERROR)
def storage_without_its_jar(bench: Bench) -> None:
    """The checkpoint's scheme has no file system on the class path."""
    bench.run(bench.rows().writeStream.format("noop"), "s3a://bucket/checkpoint")


@FAMILY.provokes(FailureClass.CODE_ERROR)
def storage_of_an_unknown_scheme(bench: Bench) -> None:
    """The checkpoint's scheme is misspelt."""
    bench.run(bench.rows().writeStream.format("noop"), "hfds://127.0.0.1/checkpoint")


@FAMILY.provokes(FailureClass.SINK_UNAVAILABLE)
def delta_table_refused(bench: Bench) -> None:
    """Nothing listens where the name node of the Delta sink should be."""
    folder = bench.place("delta-refused")
    writer = bench.rows().writeStream.format("delta").option("path", f"hdfs://127.0.0.1:{CLOSED_PORT}/table")
    bench.run(writer, folder)


@FAMILY.provokes(FailureClass.DISK_FULL)
def delta_table_full(bench: Bench) -> None:
    """The Delta sink's disk is full: a file system of a few KiB in memory."""
    folder = bench.place("delta-tiny")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], check=True)
    try:
        rows = bench.rows(2000).selectExpr("n", "uuid() as k")
        bench.run(rows.writeStream.format("delta").option("path", str(folder / "t")), bench.place("delta-tiny-ck"))
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@FAMILY.provokes(FailureClass.STORAGE_UNAVAILABLE, remedy=Remedy.BACK_OFF)
def checkpoint_read_only(bench: Bench) -> None:
    """The checkpoint's file system has become read-only."""
    folder = bench.place("read-only")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,ro", "tmpfs", str(folder)], check=True)
    try:
        bench.run(bench.rows().writeStream.format("noop"), folder / "checkpoint")
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@FAMILY.provokes(FailureClass.TRANSIENT)
def socket_source_refused(bench: Bench) -> None:
    """Nothing listens where the socket source should be; the text says "Connection refused" and nothing of whose."""
    rows = bench.spark.readStream.format("socket").option("host", "127.0.0.1").option("port", CLOSED_PORT).load()
    rows.writeStream.format("noop").option("checkpointLocation", str(bench.place("socket"))).start().awaitTermination(
        30
    )


@FAMILY.provokes(FailureClass.DATA_LOSS)
def input_file_gone(bench: Bench) -> None:
    """A file of the batch is removed between planning and reading."""
    folder = bench.place("file-gone")
    (folder / "in").mkdir()
    (folder / "in" / "a.json").write_text('{"n": 1}\n')

    def read_late(frame: DataFrame, batch: int) -> None:
        (folder / "in" / "a.json").unlink()
        frame.collect()

    bench.run(bench.files(folder / "in").writeStream.foreachBatch(read_late), folder / "checkpoint")
