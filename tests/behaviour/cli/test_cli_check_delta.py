"""`streamops check --delta`: what the table that a query reads gives up before the query has read it."""

import json
import os
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from streamops.cli.main import main
from support.delta_offsets import offset, reading

VERSIONS = 4


@pytest.fixture
def table(tmp_path):
    """Versions 0 to 3 brought a row each."""
    folder = tmp_path / "orders"
    for number in range(VERSIONS):
        write_deltalake(str(folder), pa.table({"n": [number]}), mode="append")
    return folder


@pytest.fixture
def report(table, tmp_path, capsys):
    """Exit code and report on a query that has read versions 0 and 1 of the table."""

    def judge():
        end = offset(2, table_id=str(DeltaTable(str(table)).metadata().id))
        for name, content in reading(end).items():
            path = tmp_path / "checkpoint" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        code = main(["check", str(tmp_path / "checkpoint"), "--delta", str(table), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return judge


def test_all_is_there(report):
    code, document = report()

    assert (code, document["findings"]) == (0, [])


def test_a_version_near_the_end_of_its_time_is_a_warning_with_the_moment(table, report):
    written = datetime.now(UTC).replace(microsecond=0) - timedelta(days=27)
    os.utime(table / "_delta_log/00000000000000000002.json", (written.timestamp(),) * 2)

    code, document = report()

    (finding,) = document["findings"]
    assert (code, finding["rule"], finding["severity"]) == (3, "expiring-delta-versions", "warning")
    assert f"from {written + timedelta(days=30):%Y-%m-%d %H:%M:%S} UTC on (in 3 d)" in finding["meaning"]
    assert document["restart"]["safety"] == "safe"


def test_versions_that_were_cleaned_up_make_a_start_futile(table, report):
    for version in range(VERSIONS):
        os.utime(table / f"_delta_log/{version:020d}.json", (1_000_000_000 + version,) * 2)
    DeltaTable(str(table)).optimize.compact()
    delta = DeltaTable(str(table))
    delta.create_checkpoint()
    delta.cleanup_metadata()

    code, document = report()

    assert (code, [finding["rule"] for finding in document["findings"]]) == (4, ["removed-delta-versions"])
    assert document["restart"]["expected_error"] == "DELTA_MISSING_FILES_UNEXPECTED_VERSION"


def test_files_that_a_vacuum_deleted_make_a_start_futile(table, report):
    DeltaTable(str(table)).optimize.compact()
    DeltaTable(str(table)).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)

    code, document = report()

    assert (code, [finding["rule"] for finding in document["findings"]]) == (4, ["vacuumed-delta-files"])
    assert document["restart"]["expected_error"] == "FAILED_READ_FILE"
    assert document["findings"][0]["evidence"].startswith("2 data files are gone, the first belongs to version 2: ")
