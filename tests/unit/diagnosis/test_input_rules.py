"""What is told of the input folder of a file source, and what stays quiet."""

from datetime import UTC, datetime, timedelta

import pytest

from streamops.catalogue.expectations import Expectations
from streamops.catalogue.watch import Watch
from streamops.checkpoint.batch_times import BatchTimes
from streamops.diagnosis.judge import INPUT_RULES, explanations
from streamops.places.input_files import InputFacts, InputFile, RecordedFile, TakenFile
from streamops.verdict import Severity
from support.plans import by_rules

NOTE, WARNING, UNKNOWN, CRITICAL = Severity.NOTE, Severity.WARNING, Severity.UNKNOWN, Severity.CRITICAL
NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FINE = timedelta(minutes=5, milliseconds=250)


def there(name, age=HOUR, folder="file:///in"):
    return InputFile(address=f"{folder}/{name}", modified_at=NOW - age)


def read(name, age=HOUR, folder="file:///in"):
    return RecordedFile(address=f"{folder}/{name}", modified_at=NOW - age)


def planned(name, *, is_in_flight=True):
    """A file that the next batch takes, written again an hour later."""
    return TakenFile(
        address=f"file:///in/{name}", modified_at=NOW - 2 * HOUR, found_at=NOW - HOUR, is_in_flight=is_in_flight
    )


def facts(files=(), recorded=(), **changes):
    return InputFacts(address="file:///in", source="sources/0", files=tuple(files), recorded=tuple(recorded), **changes)


def said(found, *, max_file_age=7 * DAY):
    expected = Expectations(max_file_age=max_file_age)
    watch = Watch(now=NOW, times=BatchTimes(committed_at=NOW - 3 * HOUR))
    return by_rules(INPUT_RULES, found, expected, watch)


LOUD = {
    "the folder does not answer": (facts(problem="no answer", is_whole=False), ("unseen-input", UNKNOWN)),
    "B26: all that was read lies elsewhere": (
        facts([there("a")], [read("a", folder="file:///old")]),
        ("moved-input", CRITICAL),
    ),
    "an entry of another query's log": (
        facts([there("a")], [read("a"), read("z", folder="file:///old")]),
        ("foreign-input", CRITICAL),
    ),
    "B26: a folder whose name only begins alike": (
        facts([there("a")], [read("a", folder="file:///in2")]),
        ("moved-input", CRITICAL),
    ),
    "B24: a file is younger than when it was read": (
        facts([there("a", HOUR)], [read("a", 2 * HOUR)]),
        ("overwritten-input", WARNING),
    ),
    "a file that was read eight days before the youngest was copied without its time": (
        facts([there("a", HOUR), there("b", DAY)], [read("a", 9 * DAY), read("b", DAY)]),
        ("forgotten-input", CRITICAL),
    ),
    "a file of the batch in flight was written again": (
        facts([there("a", HOUR)], [read("a", 2 * HOUR)], planned=[planned("a")]),
        ("replaced-input", CRITICAL),
    ),
    "a file that the source has noted for the next batch was written again": (
        facts([there("a", HOUR)], [read("a", 2 * HOUR)], planned=[planned("a", is_in_flight=False)]),
        ("replaced-input", CRITICAL),
    ),
    "B23: a file of eight days ago came after one of today": (
        facts([there("a", 8 * DAY)], [read("b", HOUR)]),
        ("aged-input", WARNING),
    ),
    "a file that was read has another name now": (
        facts([there("a", 2 * HOUR), there("b.done", FINE)], [read("a", 2 * HOUR), read("b", FINE)]),
        ("renamed-input", CRITICAL),
    ),
    "the same where times are whole seconds, so that it may be another file": (
        facts([there("a", 2 * HOUR), there("b.done")], [read("a", 2 * HOUR), read("b")]),
        ("renamed-input", WARNING),
    ),
    "files that were read are cleaned up, and one of their times waits": (
        facts([there("c", HOUR)], [read("a", 2 * HOUR), read("b", HOUR)]),
        ("waiting-input", NOTE),
    ),
    "one of many files of one moment is gone": (
        facts([there("a", 2 * HOUR), there("c"), there("d")], [read("a", 2 * HOUR), read("b")]),
        ("waiting-input", NOTE),
    ),
    "a file waits": (facts([there("a"), there("b")], [read("a")]), ("waiting-input", NOTE)),
    "nothing was read yet, and a file of last year waits": (facts([there("a", 365 * DAY)]), ("waiting-input", NOTE)),
}
QUIET = {
    "all is read": facts([there("a")], [read("a")]),
    "B83: nothing is there, and nothing was": facts(),
    "all that was read was cleaned up since": facts([], [read("a")]),
    "another folder was read before": facts([there("a")], [read("z", folder="file:///old"), read("a")]),
    "the time differs by less than some file systems keep": facts(
        [there("a", HOUR)], [read("a", HOUR + timedelta(milliseconds=900))]
    ),
    "a file is older than when it was read: put back from a copy": facts([there("a", 2 * HOUR)], [read("a", HOUR)]),
    "what is unread can't be told": facts([there("a"), there("b", 8 * DAY)], [read("c")], is_whole=False),
}


@pytest.mark.parametrize("because", LOUD)
def test_what_is_wrong_with_the_input_is_told_and_nothing_else(because):
    found, expected = LOUD[because]

    (finding,) = said(found)

    assert (finding.rule, finding.severity) == expected
    assert finding.file == "sources/0"
    assert finding.evidence
    assert finding.meaning
    assert finding.repair or finding.severity is NOTE


@pytest.mark.parametrize("because", QUIET)
def test_what_is_well_stays_quiet(because):
    assert said(QUIET[because]) == ()


def test_the_limit_of_age_is_the_declared_one():
    found = facts([there("a", 8 * DAY)], [read("b", HOUR)])

    assert [finding.rule for finding in said(found, max_file_age=30 * DAY)] == ["waiting-input"]
    assert [finding.rule for finding in said(found, max_file_age=timedelta.max)] == ["waiting-input"]


def test_the_limit_of_age_counts_from_the_youngest_that_was_read_and_not_from_now():
    """SPARK-19813: a query that stood still for months still reads what came next."""
    assert [finding.rule for finding in said(facts([there("a", 60 * DAY)], [read("b", 61 * DAY)]))] == ["waiting-input"]


def test_a_file_is_forgotten_by_its_newest_entry_and_only_where_it_is_young_enough_to_be_read():
    again = facts([there("a", HOUR)], [read("a", 9 * DAY), read("b", DAY), read("a", 2 * DAY)])
    old = facts([there("a", 8 * DAY + HOUR)], [read("a", 9 * DAY), read("b", HOUR)])

    assert [finding.rule for finding in said(again)] == ["overwritten-input"]
    assert [finding.rule for finding in said(old)] == ["overwritten-input"]
    assert [finding.rule for finding in said(old, max_file_age=8 * DAY + 2 * HOUR)] == ["forgotten-input"]
    assert [finding.rule for finding in said(old, max_file_age=30 * DAY)] == ["overwritten-input"]


def test_a_file_that_was_read_under_two_times_is_written_anew_on_purpose():
    weekly = facts([there("weekly", HOUR)], [read("weekly", 16 * DAY), read("weekly", 9 * DAY), read("b", DAY)])

    assert [finding.rule for finding in said(weekly)] == ["overwritten-input"]


def test_a_living_driver_has_read_what_was_written_again_or_fails_on_it_by_itself():
    found = facts([there("a", HOUR)], [read("a", 2 * HOUR)], planned=[planned("a")])

    (finding,) = by_rules(INPUT_RULES, found, Expectations(has_driver=True), Watch(now=NOW))

    assert (finding.rule, finding.severity, finding.start) == ("replaced-input", WARNING, None)


def test_how_long_files_have_waited_is_told_beside_the_age_of_the_last_commit():
    (finding,) = said(facts([there("a", 2 * HOUR), there("b", 5 * HOUR)], [read("c")]))

    assert finding.evidence == "2 files are not read yet, the oldest has waited for 5.0 h; the last commit is 3.0 h old"


def test_names_of_files_are_shown_escaped_and_five_at_most():
    files = [there(f"\x1b[2J{n}", HOUR) for n in range(9)]
    recorded = [read(f"\x1b[2J{n}", 2 * HOUR) for n in range(9)]

    (finding,) = said(facts(files, recorded))

    assert finding.evidence.isprintable()
    assert finding.evidence.count("\\x1b") == 5
    assert finding.evidence.startswith("9 files")


def test_each_rule_speaks_in_some_row_and_can_be_explained():
    spoken = {finding.rule for found, _ in LOUD.values() for finding in said(found)}

    assert spoken == {rule.__name__.replace("_", "-") for rule in INPUT_RULES}
    assert spoken <= set(explanations())
