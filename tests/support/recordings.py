"""The recorded checkpoints of `tests/data/checkpoints`, and what Spark itself told of each."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from streamops.engines import Engine, engine_of
from support.recording_archives import unpacked

RECORDINGS = unpacked()


@dataclass(frozen=True)
class Recording:
    """One query on one version of Spark."""

    version: str
    name: str

    @property
    def folder(self) -> Path:
        """The checkpoint, and what lay beside it."""
        return RECORDINGS / self.version / self.name

    @property
    def checkpoint(self) -> Path:
        """The folder as Spark left it."""
        return self.folder / "checkpoint"

    @property
    def address(self) -> str:
        """As streamops is given it."""
        return f"file://{self.checkpoint}"

    @cached_property
    def expected(self) -> dict[str, Any]:
        """What Spark told while it ran the query, and when it was resumed."""
        told: dict[str, Any] = json.loads((self.folder / "expected.json").read_text())
        return told

    @property
    def engine(self) -> Engine:
        """The version that it was recorded with, and resumed."""
        return engine_of(self.version)

    @property
    def is_async(self) -> bool:
        """Whether progress was tracked asynchronously."""
        return "sink_options" in self.expected["recipe"]

    @property
    def last_batch(self) -> int:
        """The last batch whose end Spark told of; -1 for none."""
        return self.expected["last"]["batch"] if self.expected["last"] else -1

    @property
    def pending_batch(self) -> int | None:
        """The newest planned batch, where it has no commit."""
        newest = max(self.expected["offsets"], default=None)
        return None if newest in self.expected["commits"] else newest

    def files(self, pattern: str) -> list[Path]:
        """Files of the checkpoint."""
        return sorted(file for file in self.checkpoint.glob(pattern) if file.is_file())

    def __str__(self) -> str:
        return f"{self.version}/{self.name}"


def recordings() -> list[Recording]:
    """All there are."""
    found = sorted(RECORDINGS.glob("*/*/expected.json"))
    return [Recording(file.parts[-3], file.parts[-2]) for file in found]
