"""Failures that are made here and now, in one session, are recognised: the recorded corpus has not gone stale."""

from importlib import import_module

import pytest

from streamops.failures.classify import classify
from support.provoke.bench import Bench
from support.provoke.recording import record_one

pytestmark = pytest.mark.spark

PROVOKED = {
    "checkpoints": ("checkpoint-hole", "checkpoint-newest-offset-gone", "checkpoint-source-added"),
    "state": ("state-hidden-in-foreach-batch", "state-value-changed"),
    "code": ("code-batch-missing-module",),
    "sinks": ("sink-refused", "sink-dev-full"),
    "server_sinks": ("server-sink-postgres-lock-timeout", "server-sink-rest-500"),
    "storage": ("sink-storage-refused",),
}


@pytest.fixture(scope="module")
def bench(spark, tmp_path_factory):
    return Bench(spark, tmp_path_factory.mktemp("provoked"))


def provocations():
    for module, wanted in PROVOKED.items():
        family = import_module(f"support.provoke.{module}").FAMILY
        by_id = {provocation.id: provocation for provocation in family.provocations}
        yield from (by_id[name] for name in wanted)


@pytest.mark.parametrize("provocation", [pytest.param(each, id=each.id) for each in provocations()])
def test_a_live_failure_is_recognised(bench, provocation):
    case = record_one(provocation, bench, bench.root)

    assert case is not None, "it did not fail"
    found = classify(case.ending)
    assert (found.failure_class, found.remedy) == (case.failure_class, case.remedy), case.ending.text
