"""A supervisor's look at a stream that runs: what it costs every few seconds, for each stream, however long its log is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.figure import Figure, Timed, timed
from streamops.control.codec import encode_record
from streamops.control.fold import fold
from streamops.control.layout import log_folder
from streamops.control.records import StartRequested
from streamops.control.snapshot import save_snapshot_if_due
from streamops.storage import join
from streamops.storage.local import LocalStorage
from support.counting_storage import CountingStorage
from support.records import a_record
from support.specs import a_stream, seconds
from support.world import World

RUNS = 200
FIRST_RUNS = 20
LENGTHS = (1_000, 10_000, 100_000)
GOAL_MS = 10.0
"""Of a look at the longest log."""


def measure(root: Path, lengths: Sequence[int] = LENGTHS) -> Iterator[Figure]:
    """Calls and time of a look, on files; the driver is a simulated one, so that asking the launcher costs nothing."""
    yield from _usual(root / "usual")
    shortest: _Looks | None = None
    for length in lengths:
        looks = _looks_at(root / str(length), length)
        shortest = shortest or looks
        for name, timed_looks, base in (
            ("a further look", looks.further, shortest.further),
            ("a first look", looks.first, shortest.first),
        ):
            yield Figure(
                name=f"look: {name} at {length} records",
                value=median(timed_looks.wall),
                unit="ms",
                baseline=median(base.wall),
                against=f"{name} at {lengths[0]} records",
                goal=GOAL_MS,
                note=timed_looks.note,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looks:
    """Looks at one log: of a supervisor that goes on, and of processes that know nothing yet."""

    further: Timed
    first: Timed


def _looks_at(root: Path, records: int) -> _Looks:
    """A stream that runs behind a log of so many records, with the snapshot that the newest fifty of them have left."""
    world = World(root / "state", spec=a_stream(checkpoint=f"file://{root}/checkpoint"))
    world.storage = LocalStorage()
    log = tuple(a_record(StartRequested(), number) for number in range(records))
    folder = Path(log_folder(world.control).removeprefix("file://"))
    folder.mkdir(parents=True)
    for record in log:
        (folder / f"{record.number:020d}.json").write_bytes(encode_record(record))
    save_snapshot_if_due(world.storage, world.control, fold(log[:-1]), log[-1])
    supervisor = world.supervisor()
    world.run(seconds(60), supervisor)
    supervisor.look()
    return _Looks(
        further=timed(supervisor.look, runs=RUNS), first=timed(lambda: world.supervisor().look(), runs=FIRST_RUNS)
    )


def _usual(root: Path) -> Iterator[Figure]:
    storage = CountingStorage(LocalStorage())
    world = World(root / "state", spec=a_stream(checkpoint=f"file://{root}/checkpoint"))
    world.storage = storage
    supervisor = world.supervisor()
    world.run(seconds(60), supervisor)
    supervisor.look()
    before = storage.calls.copy()
    look = supervisor.look()
    calls = storage.calls - before
    looked = timed(supervisor.look, runs=RUNS)
    listed = timed(lambda: storage.list(join(world.control, "log")), runs=RUNS)
    yield Figure(
        name="look: time",
        value=median(looked.wall),
        unit="ms",
        baseline=median(listed.wall),
        against="listing the control log, names only",
        note=f"{looked.note}; decision: {look.decision.action}",
    )
    yield Figure(
        name="look: calls",
        value=calls.total(),
        unit="calls",
        baseline=1,
        against="listing the control log, names only",
        note=", ".join(f"{count} × {verb}" for verb, count in sorted(calls.items())),
    )
