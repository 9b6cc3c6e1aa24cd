"""A round over a fleet: how many streams of ordinary size one thread judges in a second."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench.figure import Figure, timed
from bench.synthetic import Size, build
from streamops.storage import Storage, join
from streamops.storage.local import LocalStorage
from streamops.supervisor.checks.checkup import check_stream
from support.specs import a_stream

FLEET = 5_000
STREAMS = 100
"""Enough to tell the rate: every stream is judged by itself."""
SIZE = Size(batches=100, partitions=8)
"""What Spark keeps of a query by default (`minBatchesToRetain` 100)."""
RUNS = 5


def measure(root: Path, *, streams: int = STREAMS) -> Iterator[Figure]:
    """Checks in a second, and the same with names only."""
    specs = [a_stream(f"stream_{number}", checkpoint=f"file://{root}/stream_{number}") for number in range(streams)]
    for number in range(streams):
        build(root / f"stream_{number}", SIZE)
    storage = LocalStorage()
    now = datetime.now(UTC)

    def judge_all() -> None:
        for spec in specs:
            check_stream(spec, storage_for=lambda _: storage, now=now)

    def list_all() -> None:
        for spec in specs:
            _list(storage, spec.checkpoint)

    judged, listed = timed(judge_all, runs=RUNS), timed(list_all, runs=RUNS)
    rate = streams / median(judged.wall) * 1000
    yield Figure(
        name="fleet: checks",
        value=rate,
        unit="streams/s",
        baseline=streams / median(listed.wall) * 1000,
        against="listing the same folders, names only",
        note=f"one thread; {FLEET} streams in {FLEET / rate:.0f} s, {median(judged.cpu) / streams:.2f} ms of processor"
        f" time each; {SIZE.log_files} log files and {SIZE.partitions} state partitions a stream",
    )


def _list(storage: Storage, checkpoint: str) -> None:
    for folder in ("offsets", "commits", "sources", "sources/0", "state"):
        storage.list(join(checkpoint, folder))
    for partition in storage.list(join(checkpoint, "state/0")):
        storage.list(join(checkpoint, "state/0", partition))
