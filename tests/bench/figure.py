"""One measured figure, and the file that keeps them."""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What was measured, against what, and what it means."""

    name: str
    value: float
    unit: str
    baseline: float
    """In the same unit."""
    against: str
    """What the baseline is."""
    goal: float | None = None
    """In the same unit; None where none is set."""
    note: str = ""

    @property
    def ratio(self) -> float:
        """Value to baseline: below 1 is faster or less, where the unit is a time or a number of calls."""
        return self.value / self.baseline

    def fields(self) -> dict[str, object]:
        """As `bench.json` has it."""
        fields = asdict(self)
        del fields["name"]
        return {**fields, "ratio": self.ratio, "cores": os.cpu_count(), "measured_at": datetime.now(UTC).isoformat()}


def keep(figures: Iterable[Figure], target: Path) -> None:
    """Put figures into the file; those of benchmarks that did not run stay."""
    kept = json.loads(target.read_text()) if target.exists() else {}
    kept |= {figure.name: figure.fields() for figure in figures}
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(kept, indent=2) + "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """How long some runs of the same work took, in milliseconds."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]
    """Of this process: what the work costs, whoever else is on the machine."""

    @property
    def note(self) -> str:
        """The spread in words."""
        p95 = quantiles(self.wall, n=20)[-1]
        return (
            f"{len(self.wall)} runs, fastest {min(self.wall):.1f} ms, p95 {p95:.1f} ms,"
            f" processor time p50 {median(self.cpu):.1f} ms"
        )


def timed(work: Callable[[], object], *, runs: int) -> Timed:
    """Times some runs, after one that does not count."""
    work()
    wall, cpu = [], []
    for _ in range(runs):
        started, worked = perf_counter(), process_time()
        work()
        wall.append((perf_counter() - started) * 1000)
        cpu.append((process_time() - worked) * 1000)
    return Timed(wall=tuple(wall), cpu=tuple(cpu))
