"""The versions of a table one by one, from logs as Delta writes them."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from streamops.deltalog.versions import VersionContent, WrittenVersion, version_contents, written_versions
from streamops.errors import DeltaLogError, ObjectNotFoundError
from streamops.storage import join
from streamops.storage.local import LocalStorage
from streamops.storage.memory import MemoryStorage
from support.delta_table import write_table

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_file(records: int | None = 4, *, changes_data: bool = True) -> dict[str, object]:
    stats = {} if records is None else {"stats": json.dumps({"numRecords": records})}
    return {"add": {"path": "a.parquet", "size": 1, "dataChange": changes_data, **stats}}


@pytest.mark.parametrize(
    ("actions", "content"),
    [
        pytest.param([a_file(4), a_file(3)], {"files": 2, "records": 7}, id="two files"),
        pytest.param([a_file(4), a_file(None)], {"files": 2, "records": None}, id="one without statistics"),
        pytest.param([{"add": {"path": "a", "stats": "{"}}], {"files": 1, "records": None}, id="broken statistics"),
        pytest.param([a_file(4, changes_data=False)], {}, id="rows that only moved"),
        pytest.param([{"remove": {"path": "a", "dataChange": False}}], {}, id="removed by OPTIMIZE"),
        pytest.param([{"remove": {"path": "a", "dataChange": True}}], {"removes_rows": True}, id="rows taken away"),
        pytest.param([{"commitInfo": {"inCommitTimestamp": 5}}], {"has_own_time": True}, id="in-commit timestamp"),
        pytest.param([{"commitInfo": {"timestamp": 5}}, {"unheard": {}}], {}, id="nothing for a reader of rows"),
    ],
)
def test_what_a_version_holds(tmp_path, actions, content):
    address = write_table(tmp_path / "raw", actions)

    assert version_contents(LocalStorage(), address, [1]) == (VersionContent(version=1, **content),)


def test_a_commit_that_is_no_json_is_named(tmp_path):
    address = write_table(tmp_path / "raw", [])
    (tmp_path / "raw" / "_delta_log" / f"{1:020d}.json").write_text('{"add":')

    with pytest.raises(DeltaLogError, match=r"00000000000000000001.json can't be read"):
        version_contents(LocalStorage(), address, [1])


def test_a_commit_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(ObjectNotFoundError):
        version_contents(LocalStorage(), write_table(tmp_path / "raw"), [1])


def test_too_many_versions_are_not_begun(tmp_path):
    with pytest.raises(DeltaLogError, match="10001 versions are more than are read at once"):
        version_contents(LocalStorage(), write_table(tmp_path / "raw"), range(10_001))


def test_versions_have_the_times_of_their_files_and_never_go_back(tmp_path):
    address = write_table(tmp_path / "raw", [], [], [])
    for version, minute in enumerate((0, 5, 3, 9)):
        file = Path(tmp_path, "raw", "_delta_log", f"{version:020d}.json")
        os.utime(file, ((NOON + timedelta(minutes=minute)).timestamp(),) * 2)

    assert written_versions(LocalStorage(), address) == (
        WrittenVersion(version=0, written_at=NOON),
        WrittenVersion(version=1, written_at=NOON + timedelta(minutes=5)),
        WrittenVersion(version=2, written_at=NOON + timedelta(minutes=5, milliseconds=1)),
        WrittenVersion(version=3, written_at=NOON + timedelta(minutes=9)),
    )


def test_versions_are_counted_in_numbers_whatever_else_lies_in_the_log():
    storage = MemoryStorage(now=lambda: NOON)
    for name in (
        "00000000000000000009.json",
        "00000000000000000010.json",
        "00000000000000000009.checkpoint.parquet",
        "x",
    ):
        storage.write(join("file:///t/_delta_log", name), b"")

    assert [one.version for one in written_versions(storage, "file:///t")] == [9, 10]
