"""What `check --sink` says, held against what the pinned Spark and its sinks do: which rows arrive, and which are dropped.

`make conformance` runs all rows; a plain test run takes three of them, to stay quick.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from streamops.diagnosis.checkup import check
from streamops.diagnosis.declared_places import SinkPlace
from streamops.diagnosis.restart_plan import Safety
from streamops.engines import PINNED
from streamops.storage.local import LocalStorage
from support import sink_queries

# Two Sparks with Delta's jars, which run up to twelve queries each.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]

BATCHES = 3
APPLICATION = "orders-job"


@dataclass(frozen=True)
class Query:
    """A query in a folder of its own: input, checkpoint, sink."""

    root: Path
    format: str
    application: str = ""

    @property
    def checkpoint(self):
        return self.root / "checkpoint"

    @property
    def sink(self):
        return self.root / "sink"

    def put(self, *numbers):
        """One file of one row for each number, in this order."""
        (self.root / "in").mkdir(parents=True, exist_ok=True)
        for number in numbers:
            file = self.root / "in" / f"{number}.json"
            file.write_text(json.dumps({"n": number}))
            os.utime(file, (1_772_366_400 + number,) * 2)

    def request(self):
        """For `sink_queries`."""
        return {
            "format": self.format,
            "input": str(self.root / "in"),
            "checkpoint": str(self.checkpoint),
            "sink": str(self.sink),
            "application": self.application,
        }

    def check(self):
        """The checkup before the next start."""
        applications = (self.application,) if self.application else ()
        place = SinkPlace(storage=LocalStorage(), address=f"file://{self.sink}", applications=applications)
        return check(LocalStorage(), f"file://{self.checkpoint}", engine=PINNED, sink=place, is_declared=True)

    def forget(self, *names):
        """Delete parts of the checkpoint, with their checksums."""
        for name in names:
            path = self.checkpoint / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            (path.parent / f".{path.name}.crc").unlink(missing_ok=True)


def run_all(queries):
    """Errors and rows of the queries, run one after another."""
    request = json.dumps([query.request() for query in queries])
    answer = subprocess.run(
        [sys.executable, sink_queries.__file__, request], capture_output=True, text=True, timeout=500
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    return json.loads(answer.stdout.splitlines()[-1])


DAMAGES = {
    "untouched": (),
    "killed between write and commit": ("commits/2",),
    "begun anew under the same id": ("offsets", "commits", "sources"),
    "begun anew": ("",),
}
KINDS = {"delta": ("delta", ""), "files": ("parquet", ""), "foreach-batch": ("delta", APPLICATION)}
FORETOLD = {
    ("delta", "untouched"): (Safety.SAFE, []),
    ("delta", "killed between write and commit"): (Safety.SAFE, ["pending-batch", "sink-has-pending-batch"]),
    ("delta", "begun anew under the same id"): (Safety.UNSAFE, ["sink-ahead"]),
    # Another query id: what is read again arrives again.
    ("delta", "begun anew"): (Safety.SAFE, ["no-checkpoint"]),
    ("files", "untouched"): (Safety.SAFE, []),
    ("files", "killed between write and commit"): (Safety.SAFE, ["pending-batch", "sink-has-pending-batch"]),
    ("files", "begun anew under the same id"): (Safety.UNSAFE, ["sink-ahead"]),
    ("files", "begun anew"): (Safety.UNSAFE, ["sink-ahead", "no-checkpoint"]),
    ("foreach-batch", "untouched"): (Safety.SAFE, []),
    ("foreach-batch", "killed between write and commit"): (
        Safety.SAFE_IF_IDEMPOTENT,
        ["pending-batch", "sink-has-pending-batch"],
    ),
    ("foreach-batch", "begun anew under the same id"): (Safety.UNSAFE, ["sink-ahead"]),
    ("foreach-batch", "begun anew"): (Safety.UNSAFE, ["sink-ahead", "no-checkpoint"]),
}
SOME = [
    ("delta", "killed between write and commit"),
    ("delta", "begun anew under the same id"),
    ("files", "begun anew"),
]
ROWS = list(FORETOLD) if os.environ.get("STREAMOPS_CONFORMANCE") else SOME


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Three batches to each kind of sink; then the damage, the checkup, new input, and a start."""
    root = tmp_path_factory.mktemp("sinks")
    queries = {(kind, damage): Query(root / kind / damage.replace(" ", "-"), *KINDS[kind]) for kind, damage in ROWS}
    for query in queries.values():
        query.put(*range(BATCHES))
    assert {answer["error"] for answer in run_all(queries.values())} == {""}
    checkups = {}
    for (kind, damage), query in queries.items():
        query.forget(*DAMAGES[damage])
        if damage.startswith("begun"):
            shutil.rmtree(query.root / "in")
        checkups[kind, damage] = query.check()
        # As many new files as there are batches in the sink: each is a batch, and all are dropped where ids begin anew.
        query.put(*range(100, 100 + BATCHES))
    answers = run_all(queries.values())
    return {key: (checkups[key], answer) for key, answer in zip(queries, answers, strict=True)}


@pytest.mark.parametrize(("kind", "damage"), ROWS, ids=lambda part: part.replace(" ", "-"))
def test_what_was_foretold_of_the_sink_comes_true(outcomes, kind, damage):
    checkup, answer = outcomes[kind, damage]

    safety, rules = FORETOLD[kind, damage]
    assert checkup.restart.safety is safety
    assert [finding.rule for finding in checkup.findings] == rules
    assert answer["error"] == ""
    fresh = [] if safety is Safety.UNSAFE else [100, 101, 102]
    assert answer["rows"] == [0, 1, 2, *fresh]
