"""What is in a sink, in a form that two runs can be compared by."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from damage.checksums import side_file
from damage.queries import Kind
from damage.spark import Spark


@dataclass(slots=True, kw_only=True)
class Rows:
    """The content of a sink that knows batches by id; of one that doesn't, each batch counts once, as it came last."""

    found: Counter[str] = field(default_factory=Counter)
    attempts: dict[int, list[str]] = field(default_factory=dict)
    """Of a sink that only appends: what each batch brought, once for each time that it came."""
    error: str = ""
    """Why it can't be read."""

    @classmethod
    def of(cls, kind: Kind, folder: Path, spark: Spark) -> "Rows":
        """As it is now."""
        if kind.sink == "ledger":
            return cls._of_ledger(kind, folder / "ledger.jsonl")
        answer = spark.rows(kind, folder)
        return cls(found=Counter(json.dumps(row) for row in answer["rows"]), error=answer["error"])

    @classmethod
    def _of_ledger(cls, kind: Kind, ledger: Path) -> "Rows":
        lines = [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []
        attempts: dict[int, list[str]] = {}
        for line in lines:
            attempts.setdefault(line["batch"], []).append(json.dumps(sorted(line["rows"], key=json.dumps)))
        last = {line["batch"]: line["rows"] for line in lines}
        if kind.is_updating:
            newest = {row[0]: row for batch in sorted(last) for row in last[batch]}
            return cls(found=Counter(json.dumps(row) for row in newest.values()), attempts=attempts)
        found = Counter(json.dumps(row) for rows in last.values() for row in rows)
        return cls(found=found, attempts=attempts)

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> "Rows":
        """As they were written down."""
        attempts = {int(batch): came for batch, came in kept["attempts"].items()}
        return cls(found=Counter(kept["found"]), attempts=attempts, error=kept["error"])

    def to_json(self) -> dict[str, Any]:
        """To be written down."""
        return {"found": dict(self.found), "attempts": self.attempts, "error": self.error}

    def lacks(self, expected: "Rows") -> list[str]:
        """Rows that should be there."""
        return sorted((expected.found - self.found).elements())

    def adds(self, expected: "Rows") -> list[str]:
        """Rows that should not be there, or not so often."""
        return sorted((self.found - expected.found).elements())

    def repeated(self, before: "Rows") -> tuple[int, ...]:
        """Batches that came again since."""
        return tuple(
            batch
            for batch, came in self.attempts.items()
            if len(came) > max(1, len(before.attempts.get(batch, ()))) and any(one != "[]" for one in came)
        )

    def changed(self) -> tuple[int, ...]:
        """Batches that came with other rows the second time: a sink that knows them by id drops those."""
        return tuple(batch for batch, came in self.attempts.items() if len(set(came)) > 1)


def without_batch(kind: Kind, folder: Path, batch: int) -> None:
    """The sink as it was before it had this batch, which is its newest."""
    if kind.sink == "ledger":
        ledger = folder / "ledger.jsonl"
        kept = [line for line in ledger.read_text().splitlines() if json.loads(line)["batch"] != batch]
        ledger.write_text("".join(line + "\n" for line in kept))
    elif kind.sink == "parquet":
        for name in (str(batch), f"{batch}.compact"):
            file = folder / "out" / "_spark_metadata" / name
            file.unlink(missing_ok=True)
            side_file(file).unlink(missing_ok=True)
    else:
        log = folder / "out" / "_delta_log"
        newest = max(log.glob("*.json"))
        if re.search(rf'"txn":\{{[^}}]*"version":{batch}\b', newest.read_text()):
            for file in (newest, side_file(newest), newest.with_suffix(".crc"), side_file(newest.with_suffix(".crc"))):
                file.unlink(missing_ok=True)
