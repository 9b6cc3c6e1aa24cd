"""The corpus of `tests/data/exceptions`: each failure gets the class and the remedy that a person gave it."""

import json
import re
from collections import Counter

import pytest

from streamops.control.records import Outcome
from streamops.failures.classify import classify
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.rules import rules
from support.provoke.case import CORPUS, Case, read_cases

CASES = read_cases()
TUNED = [case for case in CASES if not case.is_held_out]
HELD_OUT = [case for case in CASES if case.is_held_out]
WANTED_SHARE = 0.95

MACHINE = re.compile(r"/root\b|/tmp/provoke|provoke-[a-z0-9_]{8}/|\b\d{1,3}(?:\.\d{1,3}){3}\b")
HARMLESS = frozenset({"127.0.0.1", "10.0.0.1", "10.0.0.7", "0.0.0.0", "0.10.9.9"})
"""Loopback, invented addresses, and py4j's version."""


def entries() -> list[dict]:
    return [entry for file in sorted(CORPUS.glob("*/*.json")) for entry in json.loads(file.read_text())]


def share(cases: list[Case], has: str) -> float:
    """The share of cases that get the class, or the remedy, that they should."""
    right = sum(getattr(classify(case.ending), has) is getattr(case, has) for case in cases)
    return right / len(cases)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in TUNED])
def test_a_failure_that_the_rules_were_tuned_on_is_recognised(case):
    found = classify(case.ending)

    assert (found.failure_class, found.remedy) == (case.failure_class, case.remedy), f"{found.rule}: {found.evidence}"


@pytest.mark.parametrize("has", ["failure_class", "remedy"])
def test_failures_that_the_rules_were_not_tuned_on_are_recognised_too(has):
    """Only the share is shown: who tunes the rules by these cases has none left to measure with."""
    assert share(HELD_OUT, has) >= WANTED_SHARE


def test_the_corpus_is_large_enough():
    recorded = [case for case in CASES if case.source.startswith("recorded: Spark 4.2.0")]

    assert len(recorded) >= 60
    assert len(CASES) >= 150
    assert 0.25 < len(HELD_OUT) / len(CASES) < 0.4


def test_nobody_picked_what_is_held_out():
    """The hash of the id did."""
    written = {entry["id"]: entry["split"] for entry in entries()}

    assert written == {case.id: "held-out" if case.is_held_out else "tune" for case in CASES}


def test_each_case_has_a_name_of_its_own():
    assert [name for name, count in Counter(case.id for case in CASES).items() if count > 1] == []


def test_each_class_and_each_remedy_has_cases():
    assert {case.failure_class for case in CASES} == set(FailureClass)
    assert {case.remedy for case in CASES} >= {Remedy(rule.remedy) for rule in rules()}


def test_each_outcome_has_cases():
    assert {case.ending.outcome for case in CASES} == set(Outcome)


def test_each_rule_of_the_table_answers_some_case():
    """A rule that nothing needs is a guess, and a rule that others always forestall is dead."""
    used = {classify(case.ending).rule for case in CASES}

    assert [rule.id for rule in rules() if rule.id not in used] == []


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_a_case_says_nothing_of_the_machine_that_it_was_recorded_on(case):
    found = set(MACHINE.findall(case.ending.text)) - HARMLESS

    assert found == set()
