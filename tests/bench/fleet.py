"""A fleet: how many streams of ordinary size one thread judges in a second, and looks at when all are down at once."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.figure import Figure, timed
from bench.synthetic import Size, build
from streamops.clock import SystemClock
from streamops.control import codec
from streamops.control.registry import SharedRegistry, entry_address, read_registry
from streamops.diagnosis.checkup import check_stream
from streamops.spec import StreamSpec
from streamops.storage import Storage, join
from streamops.storage.local import LocalStorage
from streamops.supervision.observe import registry_entry
from streamops.supervision.supervisor import Supervisor
from support.launcher import FakeLauncher
from support.specs import SUPERVISOR, a_stream
from support.state_root import init

FLEET = 5_000
STREAMS = 100
"""Enough to tell the rate: every stream is judged by itself."""
SIZE = Size(batches=100, partitions=8)
"""What Spark keeps of a query by default (`minBatchesToRetain` 100)."""
RUNS = 5


def measure(root: Path, *, streams: int = STREAMS, fleet: int = FLEET) -> Iterator[Figure]:
    """Checks in a second, and the same with names only."""
    specs = [a_stream(f"stream_{number}", checkpoint=f"file://{root}/stream_{number}") for number in range(streams)]
    for number in range(streams):
        build(root / f"stream_{number}", SIZE)
    storage = LocalStorage()
    yield _checks(specs, storage)
    yield _all_down(root, storage, streams=streams, fleet=fleet)


def _checks(specs: Sequence[StreamSpec], storage: Storage) -> Figure:
    now, streams = datetime.now(UTC), len(specs)

    def judge_all() -> None:
        for spec in specs:
            check_stream(spec, storage_for=lambda _: storage, now=now)

    def list_all() -> None:
        for spec in specs:
            _list(storage, spec.checkpoint)

    judged, listed = timed(judge_all, runs=RUNS), timed(list_all, runs=RUNS)
    rate = streams / median(judged.wall) * 1000
    return Figure(
        name="fleet: checks",
        value=rate,
        unit="streams/s",
        baseline=streams / median(listed.wall) * 1000,
        against="listing the same folders, names only",
        note=f"one thread; {FLEET} streams in {FLEET / rate:.0f} s, {median(judged.cpu) / streams:.2f} ms of processor"
        f" time each; {SIZE.log_files} log files and {SIZE.partitions} state partitions a stream",
    )


def _all_down(root: Path, storage: Storage, *, streams: int, fleet: int) -> Figure:
    """A look at each of some streams that are down, beside a registry of the whole fleet; the first one reads it."""
    state_root, clock = f"file://{root}/state", SystemClock()
    init(storage, state_root)
    for number in range(fleet):
        entry = registry_entry(a_stream(f"stream_{number}", checkpoint=f"file://{root}/stream_{number}"), None)
        storage.write(entry_address(state_root, entry.stream), codec.encode(entry))

    def look_at(count: int, registry: SharedRegistry) -> float:
        begun = perf_counter()
        for number in range(count):
            Supervisor(
                a_stream(f"stream_{number}", checkpoint=f"file://{root}/stream_{number}"),
                storage=storage,
                launcher=FakeLauncher(),
                clock=clock,
                state_root=state_root,
                author=SUPERVISOR,
                registry=registry,
            ).look()
        return (perf_counter() - begun) * 1000

    shared = SharedRegistry(clock, max_age=timedelta(days=1))
    whole = timed(lambda: read_registry(storage, state_root), runs=RUNS)
    shared.of(storage, state_root)
    each = median(look_at(streams, shared) / streams for _ in range(RUNS))
    alone = look_at(1, SharedRegistry(clock, max_age=timedelta(0)))
    return Figure(
        name="fleet: looks at streams that are down",
        value=each,
        unit="ms",
        baseline=alone,
        against=f"a look that reads all {fleet} entries itself",
        note=f"one thread; all {fleet} in {(each * fleet + median(whole.wall)) / 1000:.0f} s with the registry read once"
        f" ({median(whole.wall):.0f} ms), {alone * fleet / 1000:.0f} s without",
    )


def _list(storage: Storage, checkpoint: str) -> None:
    for folder in ("offsets", "commits", "sources", "sources/0", "state"):
        storage.list(join(checkpoint, folder))
    for partition in storage.list(join(checkpoint, "state/0")):
        storage.list(join(checkpoint, "state/0", partition))
