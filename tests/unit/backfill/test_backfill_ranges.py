"""Backfills of tables and of folders at the desk: what is there, what is missing, in words."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streamops.backfill import files
from streamops.backfill.asked import range_of
from streamops.backfill.backfill_service import BackfillService, PlannedBackfill, RequestedBackfill
from streamops.backfill.backfill_text import plan_lines
from streamops.backfill.files import folder_files
from streamops.errors import SettingsError
from streamops.spec import DeltaTableSource, FileFormat, FilesSource
from streamops.storage.local import LocalStorage
from support.clock import FakeClock
from support.delta_table import write_table
from support.specs import SUPERVISOR, a_stream, seconds

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
AFTERWARDS = datetime(2026, 3, 2, tzinfo=UTC)


def put(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("{}")
        os.utime(root / name, (NOON,) * 2)


def names(root: Path, address: str = "", *, pattern: str = "") -> list[str]:
    found = folder_files(LocalStorage(), address or f"file://{root}", pattern=pattern)
    return sorted(file.address.removeprefix(f"file://{root}/") for file in found.files)


class ADesk:
    """The desk of a stream that writes to another table."""

    def __init__(self, root: Path, source: DeltaTableSource | FilesSource) -> None:
        self.spec = a_stream(source=source, checkpoint=f"file://{root}/checkpoint")
        self.desk = BackfillService(
            self.spec, storage=LocalStorage(), clock=FakeClock(AFTERWARDS), author=SUPERVISOR, broker=None, others={}
        )

    def plan(self, begin: str, end: str = "", *, chunk: int = 100) -> PlannedBackfill:
        asked = range_of(begin, end, slack=seconds(0))
        return self.desk.plan(
            RequestedBackfill(range=asked, reason="a wrong rate", table="file:///data/again", chunk=chunk),
            backfill="march",
        )


# What lies in a folder


@pytest.fixture
def landing(tmp_path):
    put(tmp_path, "a.json", "_b.json", ".c.json", "d._COPYING_", "day=1/e.json", "2026/11/f.json", "2026/12/g.json")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        pytest.param("", ["a.json", "day=1/e.json"], id="as Spark sees it"),
        pytest.param("*.json", ["a.json"], id="of the folder itself"),
        pytest.param("2026/11/*.json", ["2026/11/f.json"], id="of one folder"),
        pytest.param("2026/*/[fg].json", ["2026/11/f.json", "2026/12/g.json"], id="of several folders"),
        pytest.param("2027/*", [], id="of none"),
    ],
)
def test_the_files_of_a_folder(landing, pattern, found):
    assert names(landing, pattern=pattern) == found


def test_the_files_of_a_source_that_is_a_pattern_itself(landing):
    assert names(landing, f"file://{landing}/2026/*") == ["2026/11/f.json", "2026/12/g.json"]


def test_more_files_than_are_listed_are_told(landing, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILES", 1)

    assert not folder_files(LocalStorage(), f"file://{landing}").is_whole


# At the desk


def test_a_backfill_of_files_is_told_in_words(landing):
    desk = ADesk(landing, FilesSource(path=f"file://{landing}", format=FileFormat.TEXT))

    lines = list(plan_lines(desk.plan("files:2026/*/*.json", chunk=1)))

    assert lines[2:5] == [
        "  reads    2 files in 2 steps",
        f"           file://{landing}/2026/11/f.json",
        f"           file://{landing}/2026/12/g.json",
    ]
    assert "  takes    nobody knows how long: how many records 2 files hold is not known" in lines


def test_files_that_are_written_over_are_missing(landing):
    desk = ADesk(landing, FilesSource(path=f"file://{landing}", format=FileFormat.TEXT))
    plan = desk.plan("2026-03-01T12:00+00:00", "2026-03-01T12:01+00:00").refuse()
    (landing / "a.json").write_text("{...}")
    (landing / "day=1" / "e.json").unlink()

    assert [str(one) for one in desk.desk.missing(plan)] == [
        f"file://{landing}/a.json: written over",
        f"file://{landing}/day=1/e.json: gone",
    ]


def commits(number: int) -> list[list[dict[str, object]]]:
    return [
        [
            {
                "add": {
                    "path": f"{one}.parquet",
                    "dataChange": True,
                    "partitionValues": {},
                    "size": 1,
                    "modificationTime": 1,
                }
            }
        ]
        for one in range(number)
    ]


def a_table(folder: Path, *, versions: int) -> str:
    """With a data file for each version."""
    address = write_table(folder, *commits(versions))
    for one in range(versions):
        (folder / f"{one}.parquet").touch()
    return address


def test_a_backfill_of_versions_is_told_in_words(tmp_path):
    table = a_table(tmp_path / "raw", versions=5)

    lines = list(plan_lines(ADesk(tmp_path, DeltaTableSource(table=table)).plan("v2", "v4", chunk=2)))

    assert lines[0] == "backfill march of orders: from v2 to v4"
    assert lines[2:4] == [
        "  reads    3 versions in 2 steps",
        "           versions 2 to 4 of table 7d6a3f0e-0000-4000-8000-000000000001",
    ]


def test_versions_that_the_log_has_lost_are_named(tmp_path):
    table = a_table(tmp_path / "raw", versions=5)
    desk = ADesk(tmp_path, DeltaTableSource(table=table))
    plan = desk.plan("v1", "v4").refuse()
    for version in (0, 1, 2):
        (tmp_path / "raw" / "_delta_log" / f"{version:020d}.json").unlink()

    assert [str(one) for one in desk.desk.missing(plan)] == [f"{table} versions 1 to 2: commits"]


def test_offsets_are_no_range_of_a_table(tmp_path):
    table = write_table(tmp_path / "raw", *commits(2))

    planned = ADesk(tmp_path, DeltaTableSource(table=table)).plan('{"orders":{"0":1}}', '{"orders":{"0":5}}')

    assert planned.plan is None
    assert "names no versions of a Delta table" in planned.refusals[0]


# In words


@pytest.mark.parametrize(
    "text", ["v", "v-1", "v1.5", "12", "files:", "files:../x", "files:/x", "files:a//b", "2026-03-01T12:00"]
)
def test_what_is_no_end_of_a_range_is_refused(text):
    with pytest.raises(SettingsError, match="expected a time with its zone"):
        range_of(text, text, slack=seconds(0))


def test_files_need_one_end_only():
    assert str(range_of("files:*.json", "", slack=seconds(0)).end) == "files:*.json"
