"""The table of rules as a whole, and the laws that hold for any ending."""

import re
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.control.records import Outcome
from streamops.failures.classify import DriverEvidence, classify
from streamops.failures.failure_class import DEFAULT_REMEDIES, FailureClass
from streamops.failures.rules import rules
from streamops.failures.rules.rule import EVIDENCE_LIMIT, READ_LIMIT, statements
from support.provoke.case import read_cases

CASES = read_cases()


def test_an_answer_shows_what_it_rests_on():
    for case in CASES:
        answer = classify(case.ending)
        assert len(answer.evidence) <= EVIDENCE_LIMIT
        assert answer.evidence in case.ending.text or answer.evidence.strip("[]") in case.ending.error_classes


endings = st.builds(
    DriverEvidence,
    outcome=st.sampled_from(Outcome),
    text=st.lists(st.sampled_from([case.ending.text for case in CASES]) | st.text()).map("\n".join),
    error_classes=st.lists(st.sampled_from(["STREAM_FAILED", "DIVIDE_BY_ZERO", "java.io.IOException", "x"])).map(tuple),
    exit_code=st.none() | st.integers(0, 255),
    has_progressed=st.booleans(),
)


@given(endings)
def test_each_ending_has_an_answer_and_always_the_same(ending):
    assert classify(ending) == classify(ending)


def test_each_class_has_a_remedy():
    assert set(DEFAULT_REMEDIES) == set(FailureClass)


def test_each_rule_has_a_name_of_its_own_a_source_and_a_condition():
    names = [rule.id for rule in rules()]

    assert len(set(names)) == len(names)
    assert [rule.id for rule in rules() if not rule.source] == []
    assert [rule.id for rule in rules() if not (rule.needs_text or rule.outcomes or rule.exit_codes)] == []


def test_each_source_lies_outside_or_in_the_corpus():
    """Notes of those who wrote a rule are nothing that its reader can look up."""
    assert [rule.id for rule in rules() if re.search(r"\b(?:facts|faults)\b", rule.source)] == []


@pytest.mark.parametrize(
    ("rule", "case"),
    [
        pytest.param(rule, case, id=f"{rule.id}: {case}")
        for rule in rules()
        if "recorded case" in rule.source
        for case in re.findall(r"\b[a-z0-9]+(?:-[a-z0-9]+)+\b", rule.source.partition("recorded case")[2])
    ],
)
def test_a_recorded_case_that_a_rule_names_leads_to_it(rule, case):
    (ending,) = [known.ending for known in CASES if known.id == case and known.source.startswith("recorded")]

    assert classify(ending).rule == rule.id


@pytest.mark.parametrize(
    ("rule", "word"),
    [pytest.param(rule, word, id=f"{rule.id}: {word.strip()}") for rule in rules() for word in rule.words],
)
def test_each_word_of_a_rule_leads_to_it(rule, word):
    """A word that an earlier rule always takes is dead."""
    text = "\n".join(["Traceback (most recent call last):", *rule.beside[:1], word])
    outcome = rule.outcomes[0] if rule.outcomes else Outcome.FAILED
    ending = DriverEvidence(outcome=outcome, text=text, has_progressed=bool(rule.has_progressed))

    assert classify(ending).rule == rule.id


def test_a_text_of_any_length_costs_no_more_than_the_limit():
    heard = statements("word " * READ_LIMIT)

    assert sum(len(statement.seen) for statement in heard.values()) <= READ_LIMIT + 1


REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def nesting(pattern: object, depth: int = 0) -> int:
    """How deep repetitions lie within each other."""
    deepest = depth
    for code, argument in pattern:
        parts = argument if isinstance(argument, tuple) else ()
        inner = depth + (code in REPEATS and argument[1] > 1)
        for part in parts:
            nested = part if isinstance(part, list) else [part]
            for item in nested:
                if isinstance(item, parser.SubPattern):
                    deepest = max(deepest, nesting(item, inner))
        deepest = max(deepest, inner)
    return deepest


def test_the_measure_of_nesting_sees_a_dangerous_pattern():
    assert nesting(parser.parse(r"(?:a|(?:b+)c)+")) == 2
    assert nesting(parser.parse(r"a+b?c{2,9}")) == 1


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.id) for rule in rules() if rule.pattern])
def test_no_pattern_repeats_what_repeats(rule):
    """Time stays linear by construction: backtracking explodes where repetitions are nested, and is quadratic where one
    may run over the beginnings of the next."""
    assert nesting(parser.parse(rule.pattern.pattern, rule.pattern.flags)) <= 1
    repeated = re.findall(r"(\\.|[^\\])(?:[*+]|\{\d+(?:,\d*)?\})", rule.pattern.pattern)
    assert set(repeated) <= {r"\d", r"\S"}
