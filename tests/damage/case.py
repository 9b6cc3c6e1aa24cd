"""One case: a copy, its damage, the verdict, the starts, and the same once more after each repair."""

import shutil
import time
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from damage.acts import Scene, damaged
from damage.bases import VARIANTS, Base, Workshop
from damage.compare import judged
from damage.foretell import foretold
from damage.outcome import Before, started
from damage.queries import KINDS, Kind
from damage.sinks import Rows
from damage.spark import HarnessError

Record = dict[str, Any]
SECOND_STARTS = 0.4
"""Cases whose start goes well and is followed by another one."""
KILLED = 0.4


def kind_of(seed: int, index: int, kinds: tuple[Kind, ...]) -> Kind:
    """All kinds in turn, beginning anywhere."""
    return kinds[(index + seed) % len(kinds)]


def name_of(seed: int, index: int, kind: Kind) -> str:
    """What `--replay` takes."""
    return f"{seed}:{index}:{kind.name}"


class Run:
    """What the cases of a run share."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self._undamaged: dict[tuple[str, str], Rows] = {}

    def case(self, seed: int, index: int, kind: Kind) -> Record:
        """The record of one case; a run that goes wrong is a record, too."""
        begun = time.monotonic()
        record: Record = {"case": name_of(seed, index, kind), "kind": kind.name}
        try:
            self._play(record, Random(record["case"]), self.workshop.base(kind))
        except HarnessError as error:
            record |= {"result": "harness", "why": str(error)[:1000]}
        record["seconds"] = round(time.monotonic() - begun, 2)
        return record

    def _play(self, record: Record, draw: Random, base: Base) -> None:
        variant = draw.choice(VARIANTS[1:]) if draw.random() < KILLED else VARIANTS[0]
        twice = draw.random() < SECOND_STARTS
        act_seed = draw.random()
        record |= {"variant": variant}
        undamaged = self._rows(base, variant)
        folder, acts = self._damaged_copy(base, variant, act_seed)
        record |= {"acts": [account for _, account in acts], "act_kinds": [kind for kind, _ in acts]}
        report = foretold(base.kind, folder, self.workshop.spark.bootstrap)
        before = self._before(base, folder, undamaged, acts)
        truth = started(self.workshop, base, folder, before, twice=twice)
        judgement = judged(report, truth)
        record |= {"result": str(judgement.result), "why": judgement.why, "went": str(truth.went)}
        record |= {"foretold": report, "truth": _short(asdict(truth))}
        shutil.rmtree(folder)

    def _before(self, base: Base, folder: Path, undamaged: Rows, acts: list[tuple[str, str]]) -> Before:
        touches_sink = any(" out" in account for _, account in acts)
        return Before.of(self.workshop, base, folder, undamaged=undamaged, touches_sink=touches_sink)

    def _damaged_copy(self, base: Base, variant: str, act_seed: float) -> tuple[Path, list[tuple[str, str]]]:
        folder = self.workshop.copy(base, variant)
        return folder, damaged(Scene(workshop=self.workshop, base=base, folder=folder, draw=Random(act_seed)))

    def _rows(self, base: Base, variant: str) -> Rows:
        """What the sink of a variant has, undamaged."""
        key = (base.kind.name, variant)
        if key not in self._undamaged:
            folder = self.workshop.copy(base, variant)
            self._undamaged[key] = Rows.of(base.kind, folder, self.workshop.spark)
            shutil.rmtree(folder)
        return self._undamaged[key]


def chosen(only: str) -> tuple[Kind, ...]:
    """Kinds whose names match."""
    import re

    return tuple(kind for kind in KINDS if re.search(only, kind.name))


def _short(truth: dict[str, Any]) -> dict[str, Any]:
    """Errors are cut to what tells them apart."""
    return {key: value[:600] if isinstance(value, str) else value for key, value in truth.items()}
