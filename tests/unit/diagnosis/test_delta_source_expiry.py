"""What a Delta table gives up while a query has not read it: when, and what a start makes of it once it is gone."""

from datetime import UTC, datetime, timedelta

import pytest

from streamops.catalogue.delta_source_rules import DeltaSourceView
from streamops.deltalog import DeltaTableFacts, PendingVersions, RemovedFile, TableRetention
from streamops.diagnosis.judge import DELTA_SOURCE_RULES
from streamops.diagnosis.restart_plan import Safety
from streamops.places.sink import DeltaSink
from streamops.verdict import Severity
from support.delta_offsets import inspected, offset, reading
from support.delta_table import TABLE_ID
from support.plans import by_rules, plan_of
from support.sinks import TABLE

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
VERSIONS, FILES, VACUUMED = "expiring-delta-versions", "expiring-delta-files", "vacuumed-delta-files"


def view(pending, *, retention=None, version=12):
    facts = DeltaTableFacts(
        address=TABLE,
        table_id=TABLE_ID,
        version=version,
        earliest_commit=0,
        retention=retention or TableRetention(),
    )
    return DeltaSourceView(place=DeltaSink(table=facts, query_id=None), pending=pending, now=NOW)


def written(ago, *removed, first=9):
    """The lowest version that is needed was written so long ago; these files were given up."""
    return PendingVersions(first=first, committed_at=NOW - ago, read_to=12, removed=removed)


def given_up(version, *, ago=HOUR, is_there=True, index=0):
    return RemovedFile(
        path=f"{version}\x1b.parquet",
        version=version,
        index=index,
        removed_at=None if ago is None else NOW - ago,
        is_there=is_there,
    )


def rules(found, view):
    return [finding.rule for finding in by_rules(DELTA_SOURCE_RULES, inspected(found), view)]


ROWS = [
    pytest.param(written(HOUR), None, [], id="just written"),
    pytest.param(written(22 * DAY), None, [], id="more than a quarter is left"),
    pytest.param(written(23 * DAY), None, [VERSIONS], id="less is left"),
    pytest.param(written(40 * DAY), None, [VERSIONS], id="its time is over, and nobody has cleaned up"),
    pytest.param(written(40 * DAY), TableRetention(log=100 * DAY), [], id="the table keeps it for longer"),
    pytest.param(
        written(HOUR, given_up(9, is_there=True)),
        TableRetention(log=timedelta.max, deleted_files=timedelta.max),
        [],
        id="for longer than a calendar has days",
    ),
    pytest.param(written(20 * HOUR), TableRetention(log=DAY), [VERSIONS], id="or not so long"),
    pytest.param(written(40 * DAY), TableRetention(cleans_log=False), [], id="it is never cleaned up"),
    pytest.param(written(40 * DAY), TableRetention(log=None), [], id="its property is not understood"),
    pytest.param(written(HOUR, given_up(9, ago=DAY)), None, [], id="a file that was removed yesterday"),
    pytest.param(written(HOUR, given_up(9, ago=6 * DAY)), None, [FILES], id="nearly a week ago"),
    pytest.param(written(HOUR, given_up(11, ago=20 * DAY)), None, [FILES], id="weeks ago, and nobody ran a VACUUM"),
    pytest.param(
        written(HOUR, given_up(9, ago=6 * DAY)), TableRetention(deleted_files=30 * DAY), [], id="kept for longer"
    ),
    pytest.param(
        written(HOUR, given_up(9, ago=20 * DAY)),
        TableRetention(deleted_files=None),
        [],
        id="for how long is not clear",
    ),
    pytest.param(written(HOUR, given_up(9, ago=None)), None, [], id="since when is not clear"),
    pytest.param(written(HOUR, given_up(9, ago=6 * DAY, is_there=None)), None, [FILES], id="nobody can look for it"),
    pytest.param(written(HOUR, given_up(9, is_there=False)), None, [VACUUMED], id="gone"),
    pytest.param(
        written(HOUR, given_up(9, is_there=False), given_up(10, ago=6 * DAY)),
        None,
        [VACUUMED, FILES],
        id="one is gone, one goes soon",
    ),
    pytest.param(
        PendingVersions(first=9, problem="00…10.json: no answer", is_whole=False),
        None,
        ["unread-delta-versions"],
        id="not readable",
    ),
    pytest.param(None, None, [], id="nobody has looked"),
]


@pytest.mark.parametrize(("pending", "retention", "expected"), ROWS)
def test_what_is_told_of_versions_that_wait(pending, retention, expected):
    assert rules(reading(offset(9)), view(pending, retention=retention)) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(reading(offset(9)), [VERSIONS, FILES], id="it goes on with version 9"),
        pytest.param(reading(offset(9, index=0)), [VERSIONS], id="of which it has read the first file"),
        pytest.param(reading(offset(10), offset(9)), [VERSIONS], id="version 9 is read, and planned once more"),
        pytest.param(reading(offset(10), offset(9), is_pending=True), [VERSIONS, FILES], id="its batch is in flight"),
        pytest.param(reading(offset(13), offset(9)), [], id="all is read"),
        pytest.param(reading(offset(9, index=3, is_starting=True)), [VERSIONS], id="within the initial snapshot"),
    ],
)
def test_what_the_query_has_read_already_may_go(found, expected):
    assert rules(found, view(written(29 * DAY, given_up(9, ago=6 * DAY)))) == expected


def test_without_a_clock_nothing_is_told_of_what_goes_soon():
    seen = view(written(29 * DAY, given_up(9, ago=6 * DAY)))

    assert rules(reading(offset(9)), DeltaSourceView(place=seen.place, pending=seen.pending)) == []


def test_the_words_have_the_moment_and_the_time_that_is_left():
    pending = written(27 * DAY, given_up(9, ago=6 * DAY))

    versions, files = by_rules(DELTA_SOURCE_RULES, inspected(reading(offset(9))), view(pending))

    assert versions.severity is files.severity is Severity.WARNING
    assert versions.evidence == "version 9 was written at 2026-03-04 12:00:00 UTC and is kept for 30 d"
    assert versions.meaning == (
        "from 2026-04-03 12:00:00 UTC on (in 3 d) a checkpoint of the table's log removes it, and a start then fails each time"
    )
    assert files.evidence == (
        "1 data files that are not read yet were removed from the table, the first at 2026-03-25 12:00:00 UTC, and are kept"
        " for 7 d"
    )
    assert files.meaning == (
        "from 2026-04-01 12:00:00 UTC on (in 24.0 h) VACUUM deletes them, and the query then fails when it comes to them"
    )


def test_a_moment_that_is_over_is_now():
    (found,) = by_rules(DELTA_SOURCE_RULES, inspected(reading(offset(9))), view(written(40 * DAY)))

    assert found.meaning.startswith("from now on a checkpoint of the table's log removes it")


@pytest.mark.parametrize(
    ("found", "gone", "safety"),
    [
        pytest.param(reading(offset(9)), given_up(9, is_there=False), Safety.FUTILE, id="the next batch reads it"),
        pytest.param(reading(offset(9)), given_up(11, is_there=False), Safety.FUTILE, id="so does it, or one after it"),
        pytest.param(reading(offset(9)), given_up(9), Safety.SAFE, id="it is still there"),
        pytest.param(reading(offset(9)), given_up(9, is_there=None), Safety.SAFE, id="nobody could look"),
        pytest.param(reading(offset(9)), given_up(8, is_there=False), Safety.SAFE, id="it was read"),
        pytest.param(
            reading(offset(10), offset(9), is_pending=True),
            given_up(9, is_there=False),
            Safety.FUTILE,
            id="the batch in flight reads it",
        ),
        pytest.param(
            reading(offset(10), offset(9), is_pending=True),
            given_up(10, is_there=False),
            Safety.FUTILE,
            id="the batch behind the one in flight reads it",
        ),
    ],
)
def test_a_start_on_files_that_are_gone(found, gone, safety):
    snapshot, pending = inspected(found), written(HOUR, gone)
    table = view(pending).place

    plan = plan_of(snapshot, source_table=DeltaSourceView(place=table, pending=pending))

    assert plan.safety is safety
    assert plan.expected_error == ("FAILED_READ_FILE" if safety is Safety.FUTILE else "")


def test_names_of_files_are_escaped():
    (found,) = by_rules(
        DELTA_SOURCE_RULES, inspected(reading(offset(9))), view(written(HOUR, given_up(9, is_there=False)))
    )

    assert found.evidence == "1 data files are gone, the first belongs to version 9: '9\\x1b.parquet'"


def test_each_rule_about_what_is_given_up_speaks_in_some_row():
    spoken = {rule for row in ROWS for rule in row.values[2]}
    about_the_table = {"unread-delta-source", "another-delta-table", "removed-delta-versions", "beyond-delta-table"}
    about_the_table |= {"stopping-delta-commit"}

    assert spoken == {rule.__name__.replace("_", "-") for rule in DELTA_SOURCE_RULES} - about_the_table
