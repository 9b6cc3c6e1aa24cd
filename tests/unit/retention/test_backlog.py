"""What of a Delta table or of a folder is not read yet, and what that means for a run."""

from datetime import UTC, datetime

import pytest

from streamops.backfill.run_service import news_of
from streamops.deltalog import DeltaTableFacts
from streamops.places.input_files import InputFacts, InputFile, RecordedFile
from streamops.retention.backlog import Backlog, delta_backlog, files_backlog, lag_without_topics, read_backlogs
from streamops.spec import DeltaTableSource, FileFormat, FilesSource
from streamops.storage.local import LocalStorage
from streamops.verdict import Verdict
from support.base_checkpoint import ADDRESS, files, stored
from support.clock import FakeClock
from support.delta_offsets import inspected, offset, reading, the_first_batch
from support.delta_table import TABLE_ID, creation, write_table
from support.specs import a_stream

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
IN = "file:///in"


def table_at(version: int, *, earliest: int = 0) -> DeltaTableFacts:
    return DeltaTableFacts(address="file:///t", table_id=TABLE_ID, version=version, earliest_commit=earliest)


@pytest.mark.parametrize(
    ("logs", "table", "has_any", "reason"),
    [
        pytest.param(
            reading(offset(5)), table_at(4), False, "the table is read to its version 4", id="read to the end"
        ),
        pytest.param(
            reading(offset(5)),
            table_at(5),
            True,
            "1 version behind: it goes on in 5, the table is at 5",
            id="one behind",
        ),
        pytest.param(
            reading(offset(5, index=1)),
            table_at(7),
            True,
            "3 versions behind: it goes on in 5, the table is at 7",
            id="within a version",
        ),
        pytest.param(
            the_first_batch(offset(5, index=1, is_starting=True)),
            table_at(7),
            True,
            "the table's first rows are being read; it is at version 7",
            id="within the first rows",
        ),
        pytest.param(files(), table_at(3), True, "nothing is read yet of the table at version 3", id="another source"),
    ],
)
def test_versions_that_a_query_has_not_read(logs, table, has_any, reason):
    assert delta_backlog(inspected(logs).facts, table) == Backlog(has_any=has_any, reason=reason)


@pytest.mark.parametrize(
    ("logs", "table", "loss"),
    [
        pytest.param(
            reading(offset(5)),
            table_at(9, earliest=7),
            "version 5 was to be read next, and its commit is removed",
            id="removed",
        ),
        pytest.param(
            reading(offset(5, table_id="00000000-0000-4000-8000-00000000000f")),
            table_at(9),
            "a table with another id lies there than the one that was read",
            id="another table",
        ),
        pytest.param(
            reading(offset(5)),
            table_at(2),
            "the query has come to version 5, and the table has not: it was put back, or made anew",
            id="put back",
        ),
    ],
)
def test_versions_that_can_not_be_read_any_more(logs, table, loss):
    assert delta_backlog(inspected(logs).facts, table) == Backlog(has_any=None, reason=loss, loss=loss)


def the_folder(*names: str, recorded: tuple[str, ...] = (), **changes: object) -> InputFacts:
    facts = {
        "address": IN,
        "files": tuple(InputFile(address=f"{IN}/{name}", modified_at=AT) for name in names),
        "recorded": tuple(RecordedFile(address=f"{IN}/{name}", modified_at=AT) for name in recorded),
    }
    return InputFacts(**{**facts, **changes})


JSON = FilesSource(path=IN, format=FileFormat.JSON, schema="n BIGINT")


@pytest.mark.parametrize(
    ("found", "has_any", "reason"),
    [
        pytest.param(the_folder("a", recorded=("a",)), False, "all 1 file of file:///in are read", id="all"),
        pytest.param(
            the_folder("a", "b", "c", recorded=("a",)),
            True,
            "2 files wait, the oldest of 2026-03-01 12:00:00 UTC",
            id="two",
        ),
        pytest.param(the_folder("a", is_whole=False), None, "too many files", id="too many"),
        pytest.param(the_folder(problem="there is no such folder"), None, "there is no such folder", id="no folder"),
    ],
)
def test_files_that_a_query_has_not_read(found, has_any, reason):
    backlog = files_backlog(JSON, found)

    assert backlog.has_any is has_any
    assert reason in backlog.reason


def test_which_files_count_is_not_guessed_where_an_option_chooses():
    source = FilesSource(path=IN, format=FileFormat.TEXT, options=(("PathGlobFilter", "*.txt"),))

    assert files_backlog(source, the_folder("a")).has_any is None


@pytest.mark.parametrize(
    ("backlogs", "has_any", "reason"),
    [
        pytest.param([Backlog(has_any=False, reason="read")], False, "nothing new: read", id="nothing"),
        pytest.param(
            [Backlog(has_any=False, reason="read"), Backlog(has_any=True, reason="behind")],
            True,
            "behind",
            id="a companion is behind",
        ),
        pytest.param(
            [Backlog(has_any=None, reason="away"), Backlog(has_any=True, reason="behind")],
            True,
            "behind",
            id="one known",
        ),
        pytest.param(
            [Backlog(has_any=False, reason="read"), Backlog(has_any=None, reason="away\x1b[2J")],
            None,
            "away\\x1b[2J",
            id="one that nobody can tell",
        ),
    ],
)
def test_a_run_is_left_out_only_where_nothing_is_known_to_wait(backlogs, has_any, reason):
    news = news_of([inspected(reading(offset(5)))], [], backlogs)

    assert (news.has_any, news.reason) == (has_any, reason)


def test_a_batch_in_flight_is_work_whatever_waits():
    checkpoint = inspected(reading(offset(5), offset(4), is_pending=True))

    assert news_of([checkpoint], [], [Backlog(has_any=False, reason="read")]).has_any is True


# Read


def test_a_real_table_is_read_beside_the_checkpoint(tmp_path):
    address = write_table(tmp_path / "raw", [], [])
    spec = a_stream(source=DeltaTableSource(table=address))

    (backlog,) = read_backlogs(spec, [inspected(reading(offset(2)))], lambda _: LocalStorage())

    assert backlog.reason == "1 version behind: it goes on in 2, the table is at 2"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param(
            DeltaTableSource(table="file:///nowhere/t"), "the Delta table file:///nowhere/t is not there", id="t"
        ),
        pytest.param(FilesSource(path="file:///nowhere/in", format=FileFormat.TEXT), "no such folder", id="files"),
    ],
)
def test_a_source_that_is_not_there_leaves_the_answer_open(source, reason):
    logs = reading(offset(2)) if isinstance(source, DeltaTableSource) else files()

    (backlog,) = read_backlogs(a_stream(source=source), [inspected(logs)], lambda _: LocalStorage())

    assert backlog.has_any is None
    assert reason in backlog.reason


def test_a_stream_of_kafka_has_no_backlog_of_this_kind():
    assert read_backlogs(a_stream(), [], lambda _: LocalStorage()) == ()


def test_the_offsets_of_another_source_say_nothing_of_what_waits():
    spec = a_stream(source=DeltaTableSource(table="file:///nowhere/t"))

    (backlog,) = read_backlogs(spec, [inspected(files())], lambda _: LocalStorage())

    assert backlog.has_any is None
    assert backlog.reason.startswith("offsets/4 was not written by such a source")


@pytest.mark.parametrize(
    ("logs", "verdict", "rule"),
    [
        pytest.param(reading(offset(2)), Verdict.OK, "", id="behind"),
        pytest.param(reading(offset(9)), Verdict.CRITICAL, "input-lost", id="put back"),
    ],
)
def test_the_lag_of_a_stream_without_topics_says_what_is_known(tmp_path, logs, verdict, rule):
    address = write_table(tmp_path / "raw", [], [], creates=creation())
    checkpoints, local = stored(logs), LocalStorage()
    spec = a_stream(checkpoint=ADDRESS, source=DeltaTableSource(table=address))

    lag = lag_without_topics(spec, lambda place: checkpoints if place == ADDRESS else local, FakeClock())

    assert (lag.verdict, lag.rule) == (verdict, rule)
    assert f"(it reads the Delta table {address}, no topic)" in lag.reason
