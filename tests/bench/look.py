"""A supervisor's look at a stream that runs: what it costs every few seconds, for each stream."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.figure import Figure, timed
from streamops.storage import join
from streamops.storage.local import LocalStorage
from support.counting_storage import CountingStorage
from support.specs import a_stream, seconds
from support.world import World

RUNS = 200


def measure(root: Path) -> Iterator[Figure]:
    """Calls and time of a look, on files; the driver is a simulated one, so that asking the launcher costs nothing."""
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
