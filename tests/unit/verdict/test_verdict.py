"""The order of findings in a report, and how many there are of one rule."""

from streamops.verdict import Finding, Severity, worst_first


def a_finding(rule, number, severity=Severity.WARNING):
    return Finding(rule=rule, severity=severity, file=f"sources/{number}", evidence=f"{number}", meaning="", repair="")


def test_the_worst_comes_first_and_equals_stay_in_their_order():
    found = worst_first(
        [a_finding("a", 1), a_finding("b", 2, Severity.CRITICAL), a_finding("c", 3), a_finding("a", 4, Severity.NOTE)]
    )

    assert [finding.evidence for finding in found] == ["2", "1", "3", "4"]


def test_a_rule_that_speaks_very_often_is_cut_and_says_so():
    found = worst_first([*(a_finding("a", number) for number in range(100_000)), a_finding("b", 7)])

    assert len(found) == 21
    assert (found[18].evidence, found[19].evidence) == ("18", "19; 99980 more like it")
    assert found[20].rule == "b"


def test_findings_that_were_cut_once_are_not_cut_again():
    once = worst_first(a_finding("a", number) for number in range(21))

    assert worst_first(once) == once


def test_as_many_findings_as_a_report_holds_are_all_told():
    found = worst_first(a_finding("a", number) for number in range(20))

    assert [finding.evidence for finding in found] == [str(number) for number in range(20)]
