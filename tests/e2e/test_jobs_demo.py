"""`make demo JOBS=J2` as a person runs it, with few records.

What is proven, in order:

1. It ends with exit code 0, tells of the blow, and its table has the job in one line; the figures are in `jobs.json`.
2. Nothing of it runs afterwards, and the sandbox of `make demo` was not touched.
3. A job that is none is refused before anything starts, with those that there are.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from support.processes import processes_of

pytestmark = [pytest.mark.e2e, pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]

PROJECT = Path(__file__).parents[2]


def make_demo(root: Path, *variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", "demo", *variables],
        cwd=PROJECT,
        env={**os.environ, "STREAMOPS_SANDBOX": str(root)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.mark.catalogue
def test_a_job_is_struck_and_its_account_is_right(sandbox_root: Path) -> None:
    demo = make_demo(sandbox_root, "JOBS=J2", "RECORDS=300")

    assert demo.returncode == 0, demo.stdout
    assert "1 of 1 at once: " in demo.stdout
    assert re.search(r"word_count: kill -9 of its driver in batch \d+; the next driver is submitted", demo.stdout)
    assert re.search(r"│ J2 +│ word_count +│ Delta +│ idempotent +│ +300 │ +\d+ │ +1 │ +0 │ +0 │ +\d+ │", demo.stdout)
    (job,) = json.loads((sandbox_root / "jobs.json").read_text())["jobs"]
    assert (job["stream"], job["records"], job["kills"], job["lost"], job["duplicated"]) == ("word_count", 300, 1, 0, 0)
    assert job["rows"] > 0
    assert job["dead_letters"] > 0
    assert processes_of(sandbox_root) == {}
    assert [entry.name for entry in sandbox_root.iterdir() if entry.is_dir()] == ["jobs"]


def test_an_unknown_job_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    demo = make_demo(tmp_path / "sandbox", "JOBS=J2,J99")

    assert demo.returncode != 0
    assert re.search(
        r"there is no job 'J99' in the catalogue: give some of .*J2 \(word_count\), .* or all", demo.stdout
    )
    assert not (tmp_path / "sandbox").exists()
