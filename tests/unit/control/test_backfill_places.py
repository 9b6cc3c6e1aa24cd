"""Places in tables and among files: as Spark writes them, and what no plan may hold."""

import pytest

from streamops.control.backfill_places import (
    AlteredFile,
    FilesPlace,
    PlannedFile,
    TablePlace,
    altered_files,
    planned_file,
)
from streamops.control.backfill_plan import Counted, decode_plan, encode_plan
from streamops.errors import CorruptRecordError
from streamops.storage.memory import MemoryStorage
from support.backfills import a_plan, offsets


def at(version: int, taken: int = 0, *, table: str = "t-1") -> TablePlace:
    return TablePlace(table_id=table, version=version, taken=taken)


def a_file(name: str) -> PlannedFile:
    return PlannedFile(address=f"file:///in/{name}", modified_ms=1_772_366_400_000, size=3)


def after(step: int, *names: str, taken: int) -> FilesPlace:
    return FilesPlace(step=step, files=tuple(map(a_file, names)), taken=taken)


BEGIN = FilesPlace(step=-1)


def test_a_place_in_a_table_is_written_as_delta_writes_it():
    assert at(12).source_text == (
        '{"sourceVersion":1,"reservoirId":"t-1","reservoirVersion":12,"index":-1,"isStartingVersion":false}'
    )


def test_files_of_a_step_are_written_as_spark_s_file_source_writes_them():
    place = after(2, "0 a.json", "ä#%.json", taken=4)

    assert place.source_text == '{"logOffset":2}'
    assert place.source_log.decode().split("\n") == [
        "v1",
        '{"path":"file:///in/0%20a.json","timestamp":1772366400000,"batchId":2}',
        '{"path":"file:///in/%C3%A4%23%25.json","timestamp":1772366400000,"batchId":2}',
    ]


@pytest.mark.parametrize(
    ("start", "chunks", "counted"),
    [
        pytest.param(at(2), (at(2),), "versions", id="reads no version"),
        pytest.param(at(2), (at(5), at(4)), "versions", id="goes back"),
        pytest.param(at(2), (at(5, table="t-2"),), "versions", id="two tables"),
        pytest.param(at(2), (at(5, 9), at(6, 8)), "records", id="counts back"),
        pytest.param(at(2), (at(5),), "files", id="counts files of a table"),
        pytest.param(at(2), (offsets(5),), "versions", id="a table and topics"),
        pytest.param(BEGIN, (after(1, "a", taken=1),), "files", id="a step is left out"),
        pytest.param(BEGIN, (after(0, "a", taken=2),), "files", id="counts another file"),
        pytest.param(BEGIN, (after(0, "a", taken=1), after(1, "a", taken=2)), "files", id="a file twice"),
        pytest.param(offsets(1), (offsets(2),), "versions", id="counts versions of topics"),
    ],
)
def test_a_plan_that_reads_something_twice_or_nothing_is_none(start, chunks, counted):
    with pytest.raises(ValueError, match=r"backfill|comes twice|count"):
        a_plan(start=start, chunks=chunks, counted_in=Counted(counted))


def test_a_plan_over_a_table_is_refused_by_those_who_know_topics_only():
    plan = a_plan(start=at(2), chunks=(at(4, 2),), counted_in=Counted.VERSIONS)

    assert encode_plan(plan).startswith(b'{"format":2,')
    assert encode_plan(a_plan()).startswith(b'{"format":1,')
    assert b"counted_in" not in encode_plan(a_plan())


@pytest.mark.parametrize(
    ("found", "put"),
    [
        pytest.param(b'"version":4', b'"version":"4"', id="a text for a number"),
        pytest.param(b'"counted_in":"versions"', b'"counted_in":"miles"', id="counts something else"),
        pytest.param(b'"counted_in":"versions"', b'"counted_in":"files"', id="another kind"),
        pytest.param(b'"table_id":"t-1"', b'"table_id":7', id="a number for a text"),
    ],
)
def test_a_damaged_plan_is_told_as_one(found, put):
    content = encode_plan(a_plan(start=at(2), chunks=(at(4, 2),), counted_in=Counted.VERSIONS))
    assert found in content

    with pytest.raises(CorruptRecordError, match=r"file:///plan.json is not the plan"):
        decode_plan(content.replace(found, put), address="file:///plan.json")


def test_files_that_are_no_more_what_they_were_are_told():
    storage = MemoryStorage()
    for name in ("a", "b", "c"):
        storage.write(f"file:///in/{name}", b"123")
    files = [planned_file("file:///in", detail) for detail in storage.details("file:///in")]
    storage.delete("file:///in/b")
    storage.write("file:///in/c", b"12345")

    assert altered_files(storage, files) == (
        AlteredFile(address="file:///in/b", is_gone=True),
        AlteredFile(address="file:///in/c", is_gone=False),
    )
