"""Findings and plan of a checkpoint, from what a test says of it."""

from streamops.catalogue.expectations import Expectations
from streamops.diagnosis.judge import Evidence, judge
from streamops.diagnosis.plan import plan_restart
from streamops.verdict import worst_first


def evidence_of(seen, *, watch=None, source_inputs=(), source_table=None, sink=None, **expected):
    """`seen`: a snapshot, or the facts of the logs alone; `expected`: fields of `Expectations`."""
    snapshot = seen if hasattr(seen, "facts") else None
    return Evidence(
        facts=snapshot.facts if snapshot else seen,
        expected=Expectations(**expected),
        snapshot=snapshot,
        watch=watch,
        source_inputs=source_inputs,
        source_table=source_table,
        sink=sink,
    )


def findings_on(seen, **more):
    """In the order in which a start comes across them."""
    return judge(evidence_of(seen, **more))


def plan_of(seen, **more):
    """What a start now would do."""
    evidence = evidence_of(seen, **more)
    return plan_restart(evidence, judge(evidence))


def by_rules(rules, *seen):
    """What some rules of the catalogue find, worst first."""
    return worst_first(finding for rule in rules for finding in rule(*seen))
