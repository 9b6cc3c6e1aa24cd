"""What `check --delta` says of a table that gives up what a query has not read, held against the pinned Spark and Delta.

Log clean-up and VACUUM are Delta's own here; only the times of files are put back.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from streamops.catalogue.watch import Watch
from streamops.diagnosis.checkup import check
from streamops.diagnosis.declared_places import SourceTable
from streamops.diagnosis.restart_plan import Safety
from streamops.engines import PINNED
from streamops.storage.local import LocalStorage
from support import delta_queries

# Two Sparks with Delta's jars.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

NOW = datetime.now(UTC)
MIDNIGHT = (NOW - timedelta(days=30)).replace(hour=0, minute=0, second=0, microsecond=0)
"""Before it a commit is older than thirty days by Delta's own count, which leaves a day that has begun."""
DAYS_AGO = MIDNIGHT - timedelta(days=10)
LOG_GONE, FILES_GONE = "removed-delta-versions", "vacuumed-delta-files"
LOG_GOES, FILES_GO = "expiring-delta-versions", "expiring-delta-files"
MISSING, SNAPSHOT, DATA = (
    "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
    "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
    "FAILED_READ_FILE",
)
FIRST_BATCH = ("append", "read")
TWO_BATCHES = (*FIRST_BATCH, "append", "read")
MORE = ("append", "append")
STOPS = "stopping-delta-commit"
DELETED, OVERWRITTEN = "sql delete from {} where n = 0", "sql insert overwrite {} values (99)"
MAPPED = (
    "sql alter table {} set tblproperties ('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2',"
    " 'delta.minWriterVersion' = '5')"
)
FEED = "set delta.enableChangeDataFeed true"


def aged(*moments):
    """The commits' files from version 0 on have these times."""
    return tuple(f"age {version} {moment.timestamp()}" for version, moment in enumerate(moments))


def rising(begin, count):
    return [begin + timedelta(seconds=number) for number in range(count)]


@dataclass(frozen=True)
class Case:
    """A query has read some of a table; then something happens to the table."""

    name: str
    steps: tuple[str, ...]
    rules: list[str] = field(default_factory=list)
    safety: Safety = Safety.SAFE
    error: str = ""
    read: list[int] = field(default_factory=list)
    """What the query has written after the next start."""
    options: dict[str, str] = field(default_factory=dict)
    """Of its source."""


FUTILE = Safety.FUTILE
CASES = (
    Case("whole", (*TWO_BATCHES, *MORE), read=[0, 1, 2, 3]),
    Case(
        "cleaned-up",
        (*TWO_BATCHES, *MORE, *aged(*rising(MIDNIGHT - timedelta(seconds=9), 3)), "checkpoint"),
        [LOG_GONE],
        FUTILE,
        MISSING,
        read=[0, 1],
    ),
    Case(
        "left-for-the-rest-of-the-day",
        (*TWO_BATCHES, *MORE, *aged(*rising(MIDNIGHT + timedelta(seconds=1), 3)), "checkpoint"),
        [LOG_GOES],
        read=[0, 1, 2, 3],
    ),
    Case(
        "kept-for-longer",
        (
            *TWO_BATCHES,
            "set delta.logRetentionDuration interval 100 days",
            *MORE,
            *aged(*rising(DAYS_AGO, 4)),
            "checkpoint",
        ),
        read=[0, 1, 3, 4],
    ),
    Case(
        "first-batch-s-snapshot",
        (*FIRST_BATCH, "append", *aged(DAYS_AGO), "checkpoint", "append"),
        [LOG_GONE],
        FUTILE,
        SNAPSHOT,
        read=[0],
    ),
    Case(
        "put-together-to-go-at-once",
        (*TWO_BATCHES, "set delta.deletedFileRetentionDuration interval 0 hours", *MORE, "optimize"),
        [FILES_GO],
        read=[0, 1, 3, 4],
    ),
    Case("rows-deleted", (*TWO_BATCHES, DELETED, *MORE), [STOPS], FUTILE, "DELTA_SOURCE_IGNORE_DELETE", read=[0, 1]),
    Case("deletes-ignored", (*TWO_BATCHES, DELETED, *MORE), read=[0, 1, 3, 4], options={"ignoreDeletes": "true"}),
    Case("overwritten", (*TWO_BATCHES, OVERWRITTEN), [STOPS], FUTILE, "DELTA_SOURCE_TABLE_IGNORE_CHANGES", read=[0, 1]),
    Case(
        "changes-skipped", (*TWO_BATCHES, OVERWRITTEN, "append"), read=[0, 1, 3], options={"skipChangeCommits": "true"}
    ),
    Case("column-added", (*TWO_BATCHES, "append", "sql alter table {} add column m long", "append"), read=[0, 1, 2, 4]),
    Case(
        "column-renamed",
        (*TWO_BATCHES, MAPPED, "sql alter table {} rename column n to k"),
        [STOPS],
        FUTILE,
        "SCHEMA",
        [0, 1],
    ),
    Case(
        "column-dropped",
        (*TWO_BATCHES, "sql alter table {} add column m long", MAPPED, "read", "sql alter table {} drop column m"),
        [STOPS],
        FUTILE,
        "SCHEMA",
        [0, 1],
    ),
    Case("features-added", (*TWO_BATCHES, "set delta.enableDeletionVectors true", *MORE), read=[0, 1, 3, 4]),
    Case(
        "changes-no-more-recorded",
        ("append", FEED, "append", "read", "append", "set delta.enableChangeDataFeed false", "append"),
        read=[0, 2, 3, 5],
        options={"readChangeFeed": "true"},
    ),
    Case("blank-line", (*TWO_BATCHES, *MORE, "blank 3"), [STOPS], FUTILE, "end-of-input", read=[0, 1]),
    Case("blank-line-in-what-was-read", (*TWO_BATCHES, *MORE, "blank 0"), read=[0, 1, 2, 3]),
    Case(
        "entry-below-of-another",
        (*TWO_BATCHES, *MORE, "of_another 0"),
        ["changed-delta-table"],
        FUTILE,
        "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        read=[0, 1],
    ),
    Case(
        "entry-below-that-one",
        (*TWO_BATCHES, "append", "read", *MORE, "of_another 0"),
        read=[0, 1, 2, 3, 4],
    ),
    Case("vacuumed", (*TWO_BATCHES, *MORE, "optimize", "vacuum"), [FILES_GONE], FUTILE, DATA, read=[0, 1]),
)


def run_all(tasks):
    """The answers of `delta_queries`."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    answer = subprocess.run(
        [sys.executable, delta_queries.__file__, json.dumps(tasks)],
        capture_output=True,
        text=True,
        timeout=900,
        env=environment,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    return json.loads(answer.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def came(tmp_path_factory):
    """By case: the checkup before the next start, and what that start brought."""
    root = tmp_path_factory.mktemp("delta-source")
    tasks = [
        {name: str(root / case.name / name) for name in ("table", "checkpoint", "output")}
        | {"steps": case.steps, "options": case.options}
        for case in CASES
    ]
    before = run_all(tasks)
    if datetime.now(UTC).date() != NOW.date():
        pytest.skip("the day has ended meanwhile, and with it what Delta keeps")
    assert [error for answer in before for error in answer["errors"] if error] == []
    checkups = [checkup(task) for task in tasks]
    answers = run_all([task | {"steps": ["read"]} for task in tasks])
    return {case.name: pair for case, pair in zip(CASES, zip(checkups, answers, strict=True), strict=True)}


def checkup(task):
    options = tuple(task["options"].items())
    table = SourceTable(storage=LocalStorage(), address=f"file://{task['table']}", options=options)
    address = f"file://{task['checkpoint']}"
    return check(LocalStorage(), address, engine=PINNED, source_table=table, watch=Watch(now=datetime.now(UTC)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_foretold_of_a_delta_source_comes(came, case):
    found, answer = came[case.name]
    (error,) = answer["errors"]

    assert [finding.rule for finding in found.findings if "delta" in finding.rule] == case.rules
    assert (found.restart.safety, found.restart.expected_error) == (case.safety, case.error)
    assert bool(error) == bool(case.error)
    assert case.error in error
    assert answer["rows"] == case.read
