"""A checkpoint's Delta offsets beside the table that they were taken from."""

from datetime import UTC, datetime

import pytest

from streamops.catalogue.delta_source_rules import DeltaSourceView
from streamops.deltalog import DeltaTableFacts
from streamops.diagnosis.judge import DELTA_SOURCE_RULES, explanations
from streamops.diagnosis.restart_plan import Safety
from streamops.places.sink import DeltaSink, MissingSink, UnreadSink
from support.base_checkpoint import files
from support.delta_offsets import inspected, offset, reading, the_first_batch
from support.delta_table import TABLE_ID
from support.plans import by_rules, plan_of
from support.sinks import TABLE, file_sink


def table(version, *, earliest=0):
    facts = DeltaTableFacts(address=TABLE, table_id=TABLE_ID, version=version, earliest_commit=earliest)
    return DeltaSink(table=facts, query_id=None)


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANOTHER = "7d6a3f0e-0000-4000-8000-00000000000f"
SAFE, FUTILE = Safety.SAFE, Safety.FUTILE
ROWS = [
    pytest.param(reading(offset(12)), table(12), [], SAFE, id="the newest version is next"),
    pytest.param(reading(offset(13)), table(12), [], SAFE, id="all is read: the end is the begin of the next version"),
    pytest.param(reading(offset(5)), table(12, earliest=5), [], SAFE, id="what is next is the lowest that is there"),
    pytest.param(reading(offset(13)), table(12, earliest=None), [], SAFE, id="all is read, and no commit is left"),
    pytest.param(
        reading(offset(5, index=7, is_starting=True)), table(12, earliest=5), [], SAFE, id="within the initial snapshot"
    ),
    pytest.param(
        reading(offset(3, index=7, is_starting=True)),
        table(12, earliest=5),
        ["removed-delta-versions"],
        FUTILE,
        id="the initial snapshot can't be made any more",
    ),
    pytest.param(the_first_batch(offset(3)), table(12, earliest=2), [], SAFE, id="the first batch read version 2"),
    pytest.param(
        the_first_batch(offset(3)),
        table(12, earliest=3),
        ["removed-delta-versions"],
        FUTILE,
        id="the first batch is planned again from a snapshot that is gone",
    ),
    pytest.param(
        the_first_batch(offset(3, index=2)),
        table(12, earliest=3),
        [],
        SAFE,
        id="it began within a version, by `startingVersion`",
    ),
    pytest.param(files(), table(12), [], SAFE, id="the query reads files"),
    pytest.param(
        reading(offset(9), offset(6), is_pending=True),
        table(12, earliest=6),
        [],
        Safety.SAFE_IF_IDEMPOTENT,
        id="the batch in flight is still there",
    ),
    pytest.param(
        reading(offset(9), offset(4), is_pending=True),
        table(12, earliest=6),
        ["removed-delta-versions"],
        FUTILE,
        id="the batch in flight is not",
    ),
    pytest.param(reading(offset(4)), table(12, earliest=5), ["removed-delta-versions"], FUTILE, id="versions are gone"),
    pytest.param(
        reading(offset(4)), table(12, earliest=None), ["removed-delta-versions"], FUTILE, id="all commits are gone"
    ),
    pytest.param(
        reading(offset(6), offset(4)),
        table(12, earliest=5),
        ["removed-delta-versions"],
        FUTILE,
        id="the last batch is planned again, committed or not",
    ),
    pytest.param(reading(offset(14)), table(12), ["beyond-delta-table"], FUTILE, id="beyond the newest"),
    pytest.param(
        reading(offset(12, table_id=ANOTHER)), table(12), ["another-delta-table"], FUTILE, id="the table was made anew"
    ),
    pytest.param(reading(offset(12)), MissingSink(address=TABLE), ["unread-delta-source"], SAFE, id="no table there"),
    pytest.param(reading(offset(12)), file_sink(1), ["unread-delta-source"], SAFE, id="files, and no table"),
    pytest.param(
        reading(offset(12)),
        UnreadSink(address=TABLE, reason="Permission denied\x1b"),
        ["unread-delta-source"],
        SAFE,
        id="it does not answer",
    ),
]


@pytest.mark.parametrize(("found", "place", "rules", "safety"), ROWS)
def test_what_is_told_of_the_table_that_a_query_reads(found, place, rules, safety):
    snapshot = inspected(found)
    view = DeltaSourceView(place=place, now=NOW)

    findings = by_rules(DELTA_SOURCE_RULES, snapshot, view)
    plan = plan_of(snapshot, source_table=view)

    assert [finding.rule for finding in findings] == rules
    assert plan.safety is safety
    for finding in findings:
        assert finding.meaning
        assert finding.repair
        assert finding.evidence.isprintable()


@pytest.mark.parametrize(
    ("found", "safety"),
    [
        pytest.param(reading(offset(-1), offset(4)), FUTILE, id="committed"),
        pytest.param(
            reading(offset(-1), offset(4), is_pending=True), Safety.UNSAFE, id="the batch in flight runs first"
        ),
        pytest.param(reading(offset(5), offset(-1), is_pending=True), FUTILE, id="where the batch in flight begins"),
    ],
)
def test_a_version_below_all_versions_fails_a_start(found, safety):
    """Tried on Spark 4.2.0 with delta-spark 4.4.0."""
    plan = plan_of(inspected(found), source_table=DeltaSourceView(place=table(12), now=NOW))

    assert plan.safety is safety
    assert plan.expected_error == "DELTA_MISSING_FILES_UNEXPECTED_VERSION"


@pytest.mark.parametrize("is_pending", [False, True])
def test_an_offset_without_the_index_that_delta_reads_as_0_is_left_to_a_person(is_pending):
    edited = offset(6).replace('"index":-1', '"indexx":-1')
    assert edited != offset(6)

    plan = plan_of(inspected(reading(edited, offset(5), is_pending=is_pending)))

    assert plan.safety is Safety.BLOCKED
    assert "there is no `index`" in plan.summary


def test_where_the_entry_below_has_the_table_s_id_the_entries_are_to_be_restored_and_not_the_table():
    """Whatever the table: the source refuses either of the two, and an id that was edited says nothing of the table."""
    view = DeltaSourceView(place=table(12), now=NOW)
    (made_anew,) = by_rules(DELTA_SOURCE_RULES, inspected(reading(offset(12, table_id=ANOTHER))), view)
    edited = inspected(reading(offset(12, table_id=ANOTHER), offset(11)))

    assert made_anew.repair.startswith("restore the table")
    assert not by_rules(DELTA_SOURCE_RULES, edited, view)
    assert plan_of(edited, source_table=view).expected_error == "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"


def test_a_start_that_fails_foretells_delta_s_words():
    """The names of error classes in delta-spark 4.4, as real starts gave them."""
    snapshots = [
        inspected(reading(offset(4))),
        inspected(reading(offset(4, is_starting=True))),
        inspected(the_first_batch(offset(4))),
        inspected(reading(offset(12, table_id=ANOTHER))),
        inspected(reading(offset(14))),
    ]

    plans = [plan_of(one, source_table=DeltaSourceView(place=table(12, earliest=5))) for one in snapshots]

    assert [plan.expected_error for plan in plans] == [
        "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
        "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
        "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
        "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        "DELTA_STREAMING_TRAILING_COMMIT_MISSING",
    ]


def test_each_rule_about_the_table_speaks_in_some_row_and_all_can_be_explained():
    """Those about what it gives up while the query has not read it are beside, in `test_delta_source_expiry`."""
    spoken = {rule for row in ROWS for rule in row.values[2]}
    rules = {rule.__name__.replace("_", "-") for rule in DELTA_SOURCE_RULES}

    assert spoken == {
        rule for rule in rules if not rule.startswith(("expiring-", "vacuumed-", "unread-delta-versions", "stopping-"))
    }
    assert rules <= explanations().keys()
