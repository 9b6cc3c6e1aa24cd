"""What the trial of a job has found, and the marks of a test that is one."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

TRIAL_MARKS = (pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900))
"""Of a test that puts a job on trial; `catalogue` as well where `make test` is to leave it out."""

TARGET = os.environ.get("STREAMOPS_TRIALS", "")
"""A file that gets a line of JSON for each account; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a trial has found."""

    job: str
    guarantee: str
    records: int
    kills: int
    lost: int
    """Rows that had to come out and did not, or not with these values."""
    duplicated: int
    """Rows that came out and had not to: once more than wanted, or with other values."""
    repeated: int
    """Of these the ones that came out right before, as at least once may have it."""
    seconds: float

    @property
    def line(self) -> str:
        """One object of JSON."""
        return json.dumps(asdict(self))

    def keep(self) -> None:
        """Append it to the file that STREAMOPS_TRIALS names, if it names one."""
        if TARGET:
            with Path(TARGET).open("a") as file:
                file.write(self.line + "\n")
