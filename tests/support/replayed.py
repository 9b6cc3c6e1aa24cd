"""A query over a folder of JSON lines whose last batch can be made to run again, as after a crash before its commit."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ReplayedQuery:
    """One checkpoint, one input folder. Each `feed` becomes one batch of the next `run`."""

    spark: Any
    root: Path
    schema: str

    def feed(self, *rows: dict[str, Any]) -> None:
        """One more file; it is renamed into its place, as the file source demands."""
        folder = self.root / "in"
        folder.mkdir(exist_ok=True)
        number = len(list(folder.iterdir()))
        partial = self.root / "partial"
        partial.write_text("\n".join(json.dumps(row) for row in rows))
        partial.rename(folder / f"{number:06d}.json")

    def run(self, write: Callable[[Any, int], None], *, output_mode: str = "append") -> None:
        """All that is there, a batch a file, then the end."""
        rows = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1).json(f"file://{self.root}/in")
        query = (
            rows.writeStream.foreachBatch(write)
            .outputMode(output_mode)
            .option("checkpointLocation", f"file://{self.root}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    def forget_last_commit(self) -> None:
        """As a driver leaves it that dies between its write and its commit."""
        commits = self.root / "checkpoint" / "commits"
        last = max(int(name.name) for name in commits.iterdir() if name.name.isdigit())
        for name in (str(last), f".{last}.crc"):
            (commits / name).unlink(missing_ok=True)

    def table(self, name: str = "table") -> str:
        """The address of a table beside it."""
        return f"file://{self.root}/{name}"

    def rows(self, name: str = "table", *, format: str = "delta") -> Iterable[tuple[Any, ...]]:
        """What the table holds, sorted."""
        return sorted(tuple(row) for row in self.spark.read.format(format).load(self.table(name)).collect())
