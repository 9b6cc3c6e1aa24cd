"""From recipes to recordings: run the query, keep its checkpoint, resume a copy, write down what the engine did."""

import json
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from recorder.catalogue import PINNED, Recipe
from recorder.process import SparkProcess
from recorder.telling import Lines, expected, lines_of, resumption

PAUSE_MS = 600_000
"""How long the batch stands still that is to be killed: until the others that are to be killed stand still as well."""
SETTLE_SECONDS = 5.0
"""From the last offset entry until the tasks of the batch that is to be killed stand in the middle of their work."""
BATCHES_RESUMED = 2
RESUMED, UPGRADED = "resumed", "upgraded"
"""Copies that go on with the same Spark, and with the one that streamops submits with."""
AT_ONCE = 3
"""Queries that run side by side: starting and waiting is most of what they do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one version's queries live while they are recorded, and where the recordings go."""

    base: Path
    target: Path
    version: str
    has_jars: bool
    """Whether the version has the jars of Kafka and Delta."""
    bootstrap: str = ""

    def folder(self, recipe: Recipe) -> Path:
        """Input and output of a query."""
        return self.base / self.version / recipe.name

    def checkpoint(self, recipe: Recipe) -> Path:
        """Of the query that is recorded."""
        return self.folder(recipe) / "checkpoint"

    def copy(self, name: str, recipe: Recipe) -> Path:
        """A copy of the checkpoint that is resumed."""
        return self.base / self.version / name / recipe.name

    def recording(self, recipe: Recipe) -> Path:
        """What is kept."""
        return self.target / self.version / recipe.name

    def expected(self, recipe: Recipe) -> Path:
        """What Spark told, beside what is kept."""
        return self.recording(recipe) / "expected.json"

    def spark(self, name: str, *, version: str = "") -> SparkProcess:
        """A process of its own, with the version's Spark if no other is named."""
        return SparkProcess(
            version=version or self.version, work=self.base / self.version / "processes" / name, has_jars=self.has_jars
        )


def record(place: Place, recipes: list[Recipe]) -> None:
    """Make these recordings anew, if there are any.

    Raises RuntimeError where some did not come out as their recipes want it; the others are kept.
    """
    if not recipes:
        return
    for recipe in recipes:
        _prepare(place, recipe)
    lines = _run(place, recipes)
    for recipe in recipes:
        _keep(place, recipe)
    _say(place, f"resuming {len(recipes)} copies")
    resumed = place.spark(RESUMED).run(
        [_resumption(place, recipe, copy=RESUMED) for recipe in recipes], at_once=AT_ONCE
    )
    failed = []
    for recipe in recipes:
        told = expected(
            recipe,
            place.recording(recipe),
            version=place.version,
            recorded=lines_of(lines, recipe),
            resumed=lines_of(resumed, recipe),
        )
        if problem := _problem(recipe, told, lines_of(lines, recipe)):
            failed.append(f"{place.version} {recipe.name}: {problem}")
            shutil.rmtree(place.recording(recipe))
            continue
        _write(place.expected(recipe), told)
    if failed:
        raise RuntimeError("\n".join(failed))


def upgrade(place: Place, recipes: list[Recipe]) -> None:
    """Resume copies of these recordings on the version that streamops submits with, and add to them how that went.

    An error is kept like any other outcome. A file sink is left out: its output has had the resumption's batches already.
    """
    chosen = [recipe for recipe in recipes if recipe.sink == "noop" and place.expected(recipe).exists()]
    if not chosen or place.version == PINNED:
        return
    for recipe in chosen:
        shutil.copytree(place.checkpoint(recipe), place.copy(UPGRADED, recipe))
    _say(place, f"resuming {len(chosen)} copies on {PINNED}")
    tasks = [_resumption(place, recipe, copy=UPGRADED) for recipe in chosen]
    lines = place.spark(UPGRADED, version=PINNED).run(tasks, at_once=AT_ONCE)
    for recipe in chosen:
        told = json.loads(place.expected(recipe).read_text())
        _write(place.expected(recipe), told | {"upgraded": {"spark": PINNED} | resumption(lines_of(lines, recipe))})


def _write(file: Path, told: dict[str, Any]) -> None:
    file.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")


def _run(place: Place, recipes: list[Recipe]) -> Lines:
    """All reports. What is killed needs a process that may die; with async tracking the moment is its own."""
    calm = [recipe for recipe in recipes if recipe.killed_in < 0]
    killed = [recipe for recipe in recipes if recipe.killed_in >= 0 and not recipe.is_async]
    lines: Lines = []
    if calm:
        _say(place, f"running {len(calm)} queries to their end")
        lines += place.spark("calm").run([_task(place, recipe) for recipe in calm], at_once=AT_ONCE)
    groups = [killed] if killed else []
    groups += [[recipe] for recipe in recipes if recipe.killed_in >= 0 and recipe.is_async]
    for group in groups:
        _say(place, f"killing {', '.join(recipe.name for recipe in group)}")
        tasks = [_task(place, recipe) for recipe in group]
        lines += place.spark(group[0].name).run(tasks, at_once=len(group), kill_when=_in_the_middle(place, group))
    return lines


def _prepare(place: Place, recipe: Recipe) -> None:
    for side in ("in", "in-right") if recipe.shape == "joined" else ("in",):
        if recipe.source.startswith("file"):
            (place.folder(recipe) / side).mkdir(parents=True)


def _task(place: Place, recipe: Recipe) -> dict[str, Any]:
    """The recipe in the form that the scripts read."""
    has_pause = recipe.killed_in >= 0 and not recipe.is_async
    return asdict(recipe) | {
        "folder": str(place.folder(recipe)),
        "checkpoint": str(place.checkpoint(recipe)),
        "bootstrap": place.bootstrap,
        "first_portion": 0,
        "slow_portion": recipe.killed_in if has_pause else -1,
        "pause_ms": PAUSE_MS,
        "ends_by_itself": recipe.batches == 0,
    }


def _resumption(place: Place, recipe: Recipe, *, copy: str) -> dict[str, Any]:
    """One portion more, on the copy; nothing rests any longer."""
    return _task(place, recipe) | {
        "checkpoint": str(place.copy(copy, recipe)),
        "rounds": [1],
        "first_portion": recipe.portions,
        "slow_portion": -1,
        "pause_ms": 0,
        "rest_ms": 0,
        # With async tracking one batch may take all that has come since the last entry.
        "batches": 1 if recipe.is_async else BATCHES_RESUMED,
    }


def _in_the_middle(place: Place, recipes: list[Recipe]) -> Callable[[Lines], bool]:
    """Holds when all have stood still in a batch for some time; with async tracking as soon as the one before it ended."""
    since, stood_in = time.monotonic(), [-1]

    def is_time(lines: Lines) -> bool:
        nonlocal since, stood_in
        finished = [sum("batch" in line for line in lines_of(lines, recipe)) for recipe in recipes]
        if any(count < recipe.killed_in for count, recipe in zip(finished, recipes, strict=True)):
            return False
        if all(recipe.is_async for recipe in recipes):
            return True
        # Batches are numbered from 0: as many as have ended is the id of the one under way.
        has_planned = all(
            (place.checkpoint(recipe) / "offsets" / str(count)).exists()
            for count, recipe in zip(finished, recipes, strict=True)
        )
        if not has_planned or finished != stood_in:
            since, stood_in = time.monotonic(), finished
            return False
        return time.monotonic() - since >= SETTLE_SECONDS

    return is_time


def _keep(place: Place, recipe: Recipe) -> None:
    """The checkpoint as it is, and of a file sink's output the log alone."""
    recording = place.recording(recipe)
    shutil.rmtree(recording, ignore_errors=True)
    shutil.copytree(place.checkpoint(recipe), recording / "checkpoint")
    shutil.copytree(place.checkpoint(recipe), place.copy(RESUMED, recipe))
    sink_log = place.folder(recipe) / "out" / "_spark_metadata"
    if sink_log.exists():
        shutil.copytree(sink_log, recording / "out" / "_spark_metadata")


def _problem(recipe: Recipe, told: dict[str, Any], recorded: Lines) -> str:
    """Why a recording is not what its recipe wants; empty for a good one."""
    end = next((line for line in recorded if "end" in line), None)
    if end is not None and (end["error"] or recipe.killed_in >= 0):
        return f"ended with {end['error'] or 'nothing, before it was killed'}"
    if recipe.killed_in >= 0 and not recipe.is_async and told["in_flight"] is None:
        return "was killed between two batches"
    return f"its resumption failed: {told['resumed']['error']}" if told["resumed"]["error"] else ""


def _say(place: Place, text: str) -> None:
    print(f"{place.version}: {text}", file=sys.stderr, flush=True)
