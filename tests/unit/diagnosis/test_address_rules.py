"""What is told of the place of a checkpoint, and of places that only look odd."""

import pytest

from streamops.catalogue import address_rules
from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.diagnosis.judge import DEPTH_RULES, LOG_RULES, explanations
from streamops.errors import StorageError
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from streamops.verdict import Severity
from support.base_checkpoint import files
from support.plans import findings_on

NOTE, WARNING, CRITICAL = Severity.NOTE, Severity.WARNING, Severity.CRITICAL
UUID = "01234567-89ab-cdef-0123-456789abcdef"
OWN = {
    rule.__name__.replace("_", "-") for rule in (*LOG_RULES, *DEPTH_RULES) if rule.__module__ == address_rules.__name__
}


def said(address, *, master="", others=(), found=None, storage=None):
    """What the rules about places find; whole checkpoints lie here and at the other addresses."""
    storage = storage or MemoryStorage()
    for place in (address, *others):
        for name, content in (files() if place in others or found is None else found).items():
            storage.write(join(place, name), content)
    findings = findings_on(inspect_checkpoint(storage, address), master=master)
    return [finding for finding in findings if finding.rule in OWN]


def told(findings):
    return [(finding.rule, finding.severity) for finding in findings]


@pytest.mark.parametrize(
    ("address", "evidence"),
    [
        (
            "file:///ck/application_1700000000000_0001/orders",
            "'application_1700000000000_0001' holds an application id",
        ),
        ("file:///ck/orders-application_1700000000000_0001", "holds an application id"),
        ("file:///ck/app-20260301120000-0007/orders", "holds an application id"),
        ("file:///ck/local-1772366400000", "holds an application id"),
        ("file:///ck/spark-0123456789abcdef0123456789abcdef", "holds an application id"),
        ("file:///ck/scheduled__2026-03-01T00:00:00+00:00", "holds an Airflow run id"),
        ("file:///ck/manual__2026-03-01T00:00:00/orders", "holds an Airflow run id"),
        ("file:///ck/{{ ts_nodash }}/orders", "'{{ ts_nodash }}' holds a template that nobody filled in"),
        ("file:///ck/${RUN}/orders", "'${RUN}' holds a template that nobody filled in"),
    ],
)
def test_b18_a_place_that_belongs_to_one_run_is_a_warning(address, evidence):
    (found,) = said(address)

    assert (found.rule, found.severity) == ("run-dependent-address", WARNING)
    assert evidence in found.evidence
    assert found.meaning
    assert found.repair


def test_b81_a_folder_that_spark_made_for_want_of_a_checkpoint_is_a_warning():
    """What a query without `checkpointLocation` leaves behind (StreamingQueryManager)."""
    assert told(said(f"file:///tmp/temporary-{UUID}")) == [("temporary-address", WARNING)]


@pytest.mark.parametrize(
    "address",
    [
        "file:///ck/orders",
        "file:///tmp/orders",
        f"file:///ck/{UUID}",
        "file:///ck/temporary-orders",
        "file:///ck/applications/app-orders",
        "file:///ck/local-orders/spark-jobs",
        "file:///ck/2026/03/orders",
        "file:///ck/manual_orders",
    ],
)
def test_a_place_that_only_looks_like_it_stays_quiet(address):
    assert said(address) == []


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("yarn", [("local-checkpoint", NOTE)]),
        ("k8s://https://cluster:6443", [("local-checkpoint", NOTE)]),
        ("local[2]", []),
        ("", []),
    ],
)
def test_b14_a_local_place_and_a_cluster_is_a_note(master, expected):
    assert told(said("file:///ck/orders", master=master)) == expected


@pytest.mark.parametrize(
    ("address", "other"),
    [
        ("file:///ck/chk %@#chk", "file:///ck/chk%20%25@%23chk"),
        ("file:///ck/chk %@#chk", "file:///ck/chk%252520%252525@%252523chk"),
        ("file:///ck/my orders/live", "file:///ck/my%20orders/live"),
        ("file:///ck/my%20orders", "file:///ck/my orders"),
    ],
)
def test_b13_an_empty_place_beside_its_other_spelling_is_critical(address, other):
    """SPARK-26824: a start would begin anew, where an older Spark had gone on."""
    (found,) = said(address, others=[other], found={"metadata": files()["metadata"]})

    assert (found.rule, found.severity) == ("twin-address", CRITICAL)
    assert found.evidence == f"{other!r} has batches up to 4, here is none"
    assert "move that folder" in found.repair


def test_b13_two_spellings_with_batches_are_a_note():
    (found,) = said("file:///ck/my orders", others=["file:///ck/my%20orders"])

    assert (found.severity, found.repair) == (NOTE, "")


@pytest.mark.parametrize(
    "others",
    [
        pytest.param(["file:///ck/my_orders"], id="another name"),
        pytest.param(["file:///other/my%20orders"], id="another folder"),
        pytest.param([], id="nothing"),
    ],
)
def test_b13_what_is_no_other_spelling_stays_quiet(others):
    assert said("file:///ck/my orders", others=others, found={"metadata": files()["metadata"]}) == []


def test_b13_an_other_spelling_without_batches_stays_quiet():
    storage = MemoryStorage()
    storage.write("file:///ck/my%20orders/metadata", b"{}")

    assert said("file:///ck/my orders", found={}, storage=storage) == []


def test_a_neighbourhood_that_cannot_be_asked_hides_no_checkpoint():
    class Fenced(MemoryStorage):
        def list(self, directory, *, after=""):
            if directory == "file:///ck":
                raise StorageError("not allowed")
            return super().list(directory, after=after)

    assert said("file:///ck/my orders", others=["file:///ck/my%20orders"], storage=Fenced()) == []


def test_each_rule_about_places_can_be_explained():
    assert {"temporary-address", "run-dependent-address", "local-checkpoint", "twin-address"} == OWN
    assert set(explanations()) >= OWN
