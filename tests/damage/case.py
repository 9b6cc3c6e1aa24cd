"""One case: a copy, its damage, the verdict, the starts, and the same once more after each repair."""

import re
import shutil
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from damage.acts import COMPANIONS, Scene, damaged
from damage.bases import TOTAL, VARIANTS, WAITING, Base, Workshop, variants_of
from damage.compare import SAFE, Result, Truth, Went, judged
from damage.foretell import foretold
from damage.outcome import Before, started
from damage.queries import KINDS, Kind
from damage.repairs import CannotBeDoneError, Patient, Way, ways_of
from damage.sinks import Rows
from damage.spark import HarnessError, Spark
from damage.unknowable import Damage, exception_for, files_of

Record = dict[str, Any]
SECOND_STARTS = 0.4
"""Cases whose start goes well and is followed by another one."""
KILLED = 0.4
MOST_WAYS = 3
"""Repairs that are tried of one case."""
MOST_STEPS = 5
"""Findings that are repaired one after another."""


def kind_of(seed: int, index: int, kinds: tuple[Kind, ...]) -> Kind:
    """All kinds in turn, beginning anywhere."""
    return kinds[(index + seed) % len(kinds)]


def name_of(seed: int, index: int, kind: Kind) -> str:
    """What `--replay` takes."""
    return f"{seed}:{index}:{kind.name}"


@dataclass(frozen=True, slots=True)
class DamagedCopy:
    """A folder with what was done to it."""

    folder: Path
    acts: list[tuple[str, str]]
    """The kind of each, and its account."""
    damage: Damage
    """The same, as its files tell."""


class Run:
    """What the cases of a run share."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop

    def case(self, seed: int, index: int, kind: Kind) -> Record:
        """The record of one case; a run that goes wrong is a record, too."""
        begun = time.monotonic()
        record: Record = {
            "case": name_of(seed, index, kind),
            "kind": kind.name,
            "spark": self.workshop.spark.version,
        }
        try:
            self._play(record, Random(record["case"]), self.workshop.base(kind))
        except HarnessError as error:
            record |= {"result": "harness", "why": str(error)[:1000]}
        except Exception:
            # An act or a repair that met damage it can't work on: the cases after it are worth having.
            record |= {"result": "harness", "why": traceback.format_exc()[-1000:]}
        record["seconds"] = round(time.monotonic() - begun, 2)
        return record

    def _play(self, record: Record, draw: Random, base: Base) -> None:
        variant = draw.choice(variants_of(base.kind)[1:]) if draw.random() < KILLED else VARIANTS[0]
        twice = draw.random() < SECOND_STARTS
        act_seed = draw.random()
        record |= {"variant": variant}
        undamaged = base.undamaged[variant]
        copy = self.damaged_copy(base, variant, act_seed)
        folder, acts = copy.folder, copy.acts
        record |= {"acts": [account for _, account in acts], "act_kinds": [kind for kind, _ in acts]}
        report = foretold(base.kind, folder, self.workshop.spark)
        before = self.before(base, copy, undamaged)
        truth = started(self.workshop, base, folder, before, twice=twice)
        judgement = judged(report, truth)
        record |= {"result": str(judgement.result), "why": judgement.why, "went": str(truth.went)}
        record |= {"foretold": report, "truth": _short(asdict(truth))}
        _remove(folder)
        repairs = Repairs(self, base, variant, act_seed, undamaged)
        record["repairs"] = [tried for tried in repairs.of(report)] if acts else []

    def before(self, base: Base, copy: "DamagedCopy", undamaged: Rows) -> Before:
        touches_sink = any(" out" in account for _, account in copy.acts)
        before = Before.of(self.workshop, base, copy.folder, undamaged=undamaged, touches_sink=touches_sink)
        before.unknowable = exception_for(copy.damage)
        return before

    def damaged_copy(self, base: Base, variant: str, act_seed: float) -> "DamagedCopy":
        folder = self.workshop.copy(base, variant)
        whole = files_of(folder)
        acts = damaged(Scene(workshop=self.workshop, base=base, folder=folder, draw=Random(act_seed)))
        damage = Damage(
            kind=base.kind,
            before=whole,
            after=files_of(folder),
            others=self._others(base),
            waiting=TOTAL + WAITING,
            is_outside=base.kind.source == "kafka" and any(name == "break_source" for name, _ in acts),
        )
        return DamagedCopy(folder, acts, damage)

    def _others(self, base: Base) -> dict[str, tuple[bytes, ...]]:
        """Valid files of state under the same names."""
        alike = [
            other.folder
            for other in self.workshop.made
            if other.kind.name in COMPANIONS and other.kind.provider == base.kind.provider
        ]
        found: dict[str, tuple[bytes, ...]] = {}
        for root in (*base.older, *alike):
            for file in (root / "checkpoint" / "state").rglob("*"):
                if file.is_file():
                    name = str(file.relative_to(root))
                    found[name] = (*found.get(name, ()), file.read_bytes())
        return found


class Repairs:
    """The ways out of one damaged copy, each tried on a copy of its own."""

    def __init__(self, run: Run, base: Base, variant: str, act_seed: float, undamaged: Rows) -> None:
        self._run = run
        self._base = base
        self._variant = variant
        self._act_seed = act_seed
        self._undamaged = undamaged

    def of(self, report: Record) -> Iterator[Record]:
        """All ways that the worst findings offer."""
        tried = 0
        for finding in _to_repair(report):
            offered = ways_of(finding)
            if not offered:
                yield {"ways": [finding["rule"]], "result": "repair_not_understood", "why": finding["repair"]}
            for way in offered:
                if way.act is None:
                    yield {"ways": [_named(finding, way)], "result": "not_tried", "why": ""}
                elif tried < MOST_WAYS:
                    tried += 1
                    yield self._tried(finding["rule"], finding["file"], way.name)

    def _tried(self, rule: str, file: str, name: str) -> Record:
        workshop = self._run.workshop
        damaged_copy = self._run.damaged_copy(self._base, self._variant, self._act_seed)
        folder = damaged_copy.folder
        before = self._run.before(self._base, damaged_copy, self._undamaged)
        copy = workshop.undamaged_copy(self._base, self._variant, folder)
        patient = Patient(kind=self._base.kind, variant=self._variant, folder=folder, copy=copy)
        done: list[str] = []
        record: Record = {"ways": done}
        try:
            record |= self._repaired(patient, (rule, file, name), done, before, damaged_copy.damage)
        except CannotBeDoneError as reason:
            record |= {"result": "not_possible", "why": str(reason)}
        _remove(folder)
        return record | {"ways": done or [f"{rule}: {name}"]}

    def _repaired(
        self, patient: Patient, first: tuple[str, str, str], done: list[str], before: Before, damage: Damage
    ) -> Record:
        """The way that is tried, then the first way of each finding that is still there, as a person would go on."""
        spark = self._run.workshop.spark
        report = foretold(patient.kind, patient.folder, spark)
        says_repeats, seen = False, set()
        for step in range(MOST_STEPS):
            found = [one for one in _to_repair(report) if one["severity"] == "critical" or step == 0]
            ways = [(finding, way) for finding in found for way in ways_of(finding) if way.act]
            if step == 0:
                ways = [(one, way) for one, way in ways if (one["rule"], one["file"], way.name) == first]
            if not ways:
                break
            finding, way = ways[0]
            key = (finding["rule"], finding["file"])
            if key in seen:
                return {
                    "result": "wrong_repair",
                    "why": f"{key[0]} is still there: {finding['evidence']}",
                    "foretold": report,
                }
            if not way.is_allowed(patient):
                return {"result": "not_allowed", "why": finding["not_when"]}
            assert way.act
            way.act(patient, finding)
            seen.add(key)
            done.append(_named(finding, way))
            says_repeats |= way.repeats
            report = foretold(patient.kind, patient.folder, spark)
        before.unknowable = exception_for(damage.left_by(files_of(patient.folder)))
        truth = started(self._run.workshop, self._base, patient.folder, before, twice=False)
        result, why = _of_repair(report, truth, says_repeats=says_repeats)
        kept = {} if result in ("repaired", "open") else {"foretold": report, "truth": _short(asdict(truth))}
        return {"result": result, "why": why, **kept}


def _to_repair(report: Record) -> list[Record]:
    return [finding for finding in report["findings"] if finding["severity"] != "note" and finding["repair"]]


def _named(finding: Record, way: Way) -> str:
    return f"{finding['rule']}: {way.name}"


def _of_repair(report: Record, truth: Truth, *, says_repeats: bool) -> tuple[str, str]:
    """A repair is right when the start then goes as is foretold now, and nothing is lost or repeated beyond what was said."""
    safety, judgement = report["restart"]["safety"], judged(report, truth)
    if safety not in SAFE:
        if truth.is_bad:
            return "open", f"{safety}: {report['restart']['summary']}"
        if judgement.result is Result.UNDECIDED:
            return "open", judgement.why
        return "wrong_repair", f"repaired, and still {safety}: {report['restart']['summary']}"
    if truth.went is Went.REPEATS and says_repeats:
        return "repaired", "as it was said, batches came again"
    if truth.is_bad and truth.is_excused:
        return "open", judgement.why
    if truth.is_bad and judgement.result is Result.WARNED:
        return "open", judgement.why
    if truth.is_bad:
        return "wrong_repair", f"{safety} after the repair, and it {truth.went}"
    return "repaired", judgement.why


def chosen(only: str, spark: Spark) -> tuple[Kind, ...]:
    """Kinds whose names match, of those that this Spark can run."""
    able = [kind for kind in KINDS if kind.is_for(spark.version, has_jars=spark.has_jars)]
    return tuple(kind for kind in able if re.search(only, kind.name))


def _short(truth: dict[str, Any]) -> dict[str, Any]:
    """Errors are cut to what tells them apart."""
    return {key: value[:600] if isinstance(value, str) else value for key, value in truth.items()}


def _remove(folder: Path) -> None:
    """A task of Spark may still write there: what is left goes with the whole run."""
    shutil.rmtree(folder, ignore_errors=True)
