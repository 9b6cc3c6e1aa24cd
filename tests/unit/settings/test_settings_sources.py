"""Sources beside Kafka, from the YAML to what a driver is told."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from streamops.diagnosis.declared_places import declared_source_input
from streamops.spec import DeltaTableSource, FileFormat, FilesSource, StreamSpec
from streamops.storage.memory import MemoryStorage
from support.settings import Project, a_declared_stream, a_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return a_project(tmp_path)


def declared_with(source: dict[str, Any]) -> dict[str, Any]:
    return a_declared_stream(source={"kafka": None, **source})


def load_one(project: Project, source: dict[str, Any]) -> StreamSpec:
    settings = project.load(streams={"orders": declared_with(source)})
    assert settings.errors == ()
    return settings.stream("orders")


def test_a_delta_table_is_a_source(project: Project) -> None:
    spec = load_one(project, {"delta": {"table": "data/raw", "options": {"startingVersion": 3, "ignoreDeletes": True}}})

    assert spec.source == DeltaTableSource(
        table=project.address("data/raw"), options=(("ignoreDeletes", "true"), ("startingVersion", "3"))
    )
    assert not spec.reads_kafka


def test_the_files_of_a_folder_are_a_source(project: Project) -> None:
    source = {"path": "in/*", "format": "csv", "schema": "id BIGINT, at TIMESTAMP", "options": {"latestFirst": True}}
    spec = load_one(project, {"files": source})

    assert spec.source == FilesSource(
        path=project.address("in/*"),
        format=FileFormat.CSV,
        schema="id BIGINT, at TIMESTAMP",
        options=(("latestFirst", "true"),),
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, timedelta(days=7), id="Spark's own"),
        pytest.param({"maxFileAge": "12h"}, timedelta(hours=12), id="hours"),
        pytest.param({"MAXFILEAGE": " 90MIN "}, timedelta(minutes=90), id="no case, blanks"),
        pytest.param({"maxFileAge": "1500"}, timedelta(milliseconds=1500), id="milliseconds where no unit is given"),
        pytest.param({"maxFileAge": "999999999999d"}, timedelta.max, id="more than a calendar holds"),
        pytest.param({"maxFileAge": "999999999999999999"}, timedelta.max, id="for ever"),
        pytest.param({"latestFirst": True}, timedelta(days=7), id="the latest first, without a limit"),
        pytest.param(
            {"latestFirst": True, "maxFilesPerTrigger": 5}, timedelta.max, id="the latest first, with a limit"
        ),
        pytest.param({"latestFirst": True, "maxBytesPerTrigger": 1000}, timedelta.max, id="with a limit of bytes"),
    ],
)
def test_how_old_a_file_may_be_to_count(project: Project, options: dict[str, object], expected: timedelta) -> None:
    """FileStreamOptions and FileStreamSource, 4.2."""
    spec = load_one(project, {"files": {"path": "in", "format": "text", "options": options}})

    assert spec.max_file_age == expected


def test_a_folder_is_compared_unless_files_are_known_by_their_names_alone(project: Project) -> None:
    folder = {"path": "in", "format": "text"}
    chosen = {**folder, "options": {"pathGlobFilter": "*.txt"}}
    by_name = {**folder, "options": {"fileNameOnly": True}}

    found = [
        declared_source_input(load_one(project, {"files": source}), lambda _: MemoryStorage())
        for source in (folder, chosen, by_name)
    ]

    assert [(one.address, one.chooses) if one else None for one in found] == [
        (project.address("in"), False),
        (project.address("in"), True),
        None,
    ]


@pytest.mark.parametrize("form", ["text", "binaryFile"])
def test_files_whose_columns_are_fixed_need_no_schema(project: Project, form: str) -> None:
    source = load_one(project, {"files": {"path": "in", "format": form}}).source

    assert isinstance(source, FilesSource)
    assert source.schema == ""


@pytest.mark.parametrize(
    ("source", "place", "expected"),
    [
        pytest.param({}, "source", "exactly one of the four", id="none"),
        pytest.param(
            {"delta": {"table": "t"}, "files": {"path": "in", "format": "text"}}, "source", "exactly one", id="two"
        ),
        pytest.param({"delta": {}}, "source.delta.table", "an address of a Delta table", id="no table"),
        pytest.param({"delta": {"table": "/"}}, "source.delta.table", "a folder of its own", id="root"),
        pytest.param(
            {"delta": {"table": "t", "options": {"Path": "x"}}},
            "source.delta.options.Path",
            "source.delta.table",
            id="path of a table by option",
        ),
        pytest.param(
            {"delta": {"table": "t", "options": {"versionAsOf": "3"}}},
            "source.delta.options.versionAsOf",
            "startingVersion",
            id="one version",
        ),
        pytest.param(
            {"delta": {"table": "t", "options": {"startingVersion": "3", "startingTimestamp": "2026-01-01"}}},
            "source.delta.options",
            "one of the two",
            id="two begins",
        ),
        pytest.param(
            {
                "kafka": {
                    "bootstrap_servers": "h:1",
                    "topics": ["t"],
                    "options": {"minOffsetsPerTrigger": "10", "maxOffsetsPerTrigger": "5"},
                }
            },
            "source.kafka.options",
            "not above the maximum",
            id="a minimum above the maximum",
        ),
        pytest.param(
            {"files": {"path": "in", "format": "text", "options": {"cleanSource": "archive"}}},
            "source.files.options",
            "sourceArchiveDir",
            id="an archive without a folder",
        ),
        pytest.param(
            {
                "files": {
                    "path": "/in",
                    "format": "text",
                    "options": {"cleanSource": "ARCHIVE", "sourceArchiveDir": "/in/done"},
                }
            },
            "source.files.options.sourceArchiveDir",
            "outside",
            id="an archive within the input",
        ),
        pytest.param(
            {"custom": {"format": "rate", "options": {"rowsPerSecond": "0"}}},
            "source.custom.options.rowsPerSecond",
            "above 0",
            id="a rate of nothing",
        ),
        pytest.param({"files": {"path": "in", "format": "jsonl"}}, "source.files.format", "one of", id="format"),
        pytest.param({"files": {"path": "in", "format": "json"}}, "source.files.schema", "as DDL", id="no schema"),
        pytest.param(
            {"files": {"path": "in", "format": "json", "schema": "a DECIMAL(40,2)"}},
            "source.files.schema",
            "at most 38 digits",
            id="a type that Spark does not have",
        ),
        pytest.param(
            {"files": {"path": "in", "format": "csv", "schema": "a ARRAY<INT>"}},
            "source.files.schema",
            "plain values",
            id="an array in CSV",
        ),
        pytest.param(
            {"files": {"path": "in", "format": "text", "shema": "x"}},
            "source.files.shema",
            "did you mean 'schema'?",
            id="misspelt",
        ),
        pytest.param(
            {"files": {"path": "in", "format": "text", "schema": ["x"]}}, "source.files.schema", "as DDL", id="a list"
        ),
        pytest.param(
            {"files": {"path": "in", "format": "text", "options": {"path": "x"}}},
            "source.files.options.path",
            "source.files.path",
            id="path of files by option",
        ),
        pytest.param(
            {"files": {"path": "in", "format": "text", "options": {"my.token": "x"}}},
            "source.files.options.my.token",
            "no secrets here",
            id="secret",
        ),
    ],
)
def test_a_source_that_can_not_be_read_is_refused(
    project: Project, source: dict[str, Any], place: str, expected: str
) -> None:
    settings = project.load(streams={"orders": declared_with(source)})

    assert [error.place for error in settings.errors] == [f"streams.orders.{place}"]
    assert expected in settings.errors[0].expected


def test_options_of_a_catch_up_are_judged_by_the_source_that_is_declared(project: Project) -> None:
    stream = declared_with({"delta": {"table": "t"}})
    stream["catchup"] = {"options": {"path": "x"}}

    settings = project.load(streams={"orders": stream})

    assert [error.place for error in settings.errors] == ["streams.orders.catchup.options.path"]
