"""The prediction against the Spark that we pin: damage a real checkpoint, foretell the start, start, compare.

`make conformance` runs this alone and writes `.sandbox/conformance.json`.
"""

import json
import os
from pathlib import Path

import pytest

from streamops.checkpoint import read_checkpoint
from streamops.restart.engines import PINNED
from streamops.restart.predict import predict_start
from streamops.storage.local import LocalStorage
from support.damage_matrix import ROWS

pytestmark = pytest.mark.spark

BATCHES = 5


class FileQuery:
    """A file source with one file a batch, and a sink that only counts."""

    def __init__(self, spark, inputs: Path, checkpoint: Path) -> None:
        self.spark = spark
        self.inputs = inputs
        self.checkpoint = checkpoint

    def add_input(self, number: int) -> None:
        """One more file, the youngest, so that it makes the next batch."""
        self.inputs.mkdir(parents=True, exist_ok=True)
        file = self.inputs / f"{number}.json"
        file.write_text(json.dumps({"n": number}))
        os.utime(file, (1_772_366_400 + number,) * 2)

    def run(self) -> tuple[list[int], str]:
        """Batches that ran, and the error's text, empty where there is none."""
        ran: list[int] = []
        try:
            query = (
                self.spark.readStream.schema("n long")
                .option("maxFilesPerTrigger", 1)
                .json(str(self.inputs))
                .writeStream.foreachBatch(lambda frame, batch: ran.append(batch))
                .option("checkpointLocation", str(self.checkpoint))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
        except Exception as error:
            return ran, str(error)
        return ran, ""

    def files(self) -> dict[str, bytes]:
        """Everything in the checkpoint but the checksums of the local file system, which are never asked for."""
        return {
            str(path.relative_to(self.checkpoint)): path.read_bytes()
            for path in self.checkpoint.rglob("*")
            if path.is_file() and not path.name.endswith(".crc")
        }

    def restored(self, files: dict[str, bytes], checkpoint: Path) -> "FileQuery":
        """The same query on a checkpoint with these files; folders of logs are there although they may be empty."""
        for name in ("offsets", "commits"):
            (checkpoint / name).mkdir(parents=True)
        for name, content in files.items():
            (checkpoint / name).parent.mkdir(parents=True, exist_ok=True)
            (checkpoint / name).write_bytes(content)
        return FileQuery(self.spark, self.inputs, checkpoint)


@pytest.fixture(scope="module")
def base(spark, tmp_path_factory):
    """Five committed batches, and input for a sixth."""
    root = tmp_path_factory.mktemp("base")
    query = FileQuery(spark, root / "in", root / "checkpoint")
    for number in range(BATCHES):
        query.add_input(number)
    assert query.run() == (list(range(BATCHES)), "")
    query.add_input(BATCHES)
    return query


@pytest.fixture(scope="module")
def ledger():
    """What agreed and what did not; written where `make conformance` asks for it."""
    found: dict[str, list[dict]] = {"agree": [], "disagree": []}
    yield found
    if target := os.environ.get("STREAMOPS_CONFORMANCE"):
        rows = len(found["agree"]) + len(found["disagree"])
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        summary = {"rows": rows, "agree": len(found["agree"]), "disagree": found["disagree"], "table": found["agree"]}
        Path(target).write_text(json.dumps(summary, indent=2) + "\n")


@pytest.mark.parametrize("row", [pytest.param(row, id=row.code) for row in ROWS if PINNED.version in row.engines])
def test_spark_does_what_was_foretold(base, row, tmp_path, ledger):
    query = base.restored(row.applied(base.files()), tmp_path / "checkpoint")
    foretold = predict_start(read_checkpoint(LocalStorage(), f"file://{query.checkpoint}"), PINNED)

    ran, error = query.run()

    agrees = (
        (ran[0] if ran else None) == foretold.next_batch
        and bool(error) == bool(foretold.expected_error)
        and foretold.expected_error in error
    )
    ledger["agree" if agrees else "disagree"].append(
        {"row": row.code, "foretold": foretold.summary, "expected_error": foretold.expected_error, "ran": ran}
        | ({} if agrees else {"error": error[:2000]})
    )
    assert (ran[0] if ran else None) == foretold.next_batch
    assert foretold.expected_error in error
    assert bool(error) == bool(foretold.expected_error), error[:2000]
