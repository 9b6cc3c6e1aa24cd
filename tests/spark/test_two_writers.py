"""Two real drivers on one checkpoint: whatever the one that loses says is a second writer, and a successor is none.

Each is a process of plain PySpark, as an old script beside a supervised stream is.
"""

import pytest

from streamops.control.records import Outcome
from streamops.failures.classify import DriverEvidence, classify
from streamops.failures.failure_class import FailureClass, Remedy
from support.provoke.two_writers import KINDS, SESSION, UNTRIED, WAYS, Place, meet, python_here, session_of, two_writers

pytestmark = [pytest.mark.spark, pytest.mark.slow]

BY_NAME = {kind.name: kind for kind in KINDS}
HERE = [kind for kind in KINDS if kind.source != "kafka"]
SILENT = {"rate-continuous"}
"""Nothing of Spark looks at the log of epochs: two live side by side, and only the moved checkpoint tells (4.2.0)."""


@pytest.fixture(scope="module")
def writers(tmp_path_factory):
    with two_writers(python_here(), tmp_path_factory.mktemp("writers"), SESSION) as both:
        yield both


def met(writers, folder, kind, way):
    first, second = writers
    return meet(Place(kind, folder, first, second), way)


def judged(failure):
    ending = DriverEvidence(outcome=Outcome.FAILED, text=failure["text"], error_classes=tuple(failure["classes"]))
    found = classify(ending)
    return found.failure_class, found.remedy


def test_one_of_two_drivers_on_a_checkpoint_ends_and_says_why(writers, tmp_path):
    """The file source's own log tells it, mostly without an error class."""
    failures = met(writers, tmp_path, BY_NAME["files"], "overtaken")

    assert failures
    for _, failure in failures:
        assert judged(failure) == (FailureClass.CONCURRENT_WRITER, Remedy.NEVER), failure["text"]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["files", "files-parquet", "state-hdfs", "rate-async"])
def test_a_driver_that_takes_the_place_of_one_that_has_ended_meets_nobody(writers, tmp_path, kind):
    assert met(writers, tmp_path, BY_NAME[kind], "succeeded") == []


@pytest.fixture(scope="module")
def writers_with_delta(tmp_path_factory):
    with two_writers(python_here(), tmp_path_factory.mktemp("writers"), session_of(has_jars=True)) as both:
        yield both


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in HERE])
def test_whatever_one_of_two_drivers_says_is_recognised(writers_with_delta, tmp_path, kind, way):
    if (kind.name, way) in UNTRIED:
        pytest.skip("this kind of query can't be brought to it")

    failures = met(writers_with_delta, tmp_path, kind, way)

    assert failures or kind.name in SILENT
    wrong = [failure["text"] for _, failure in failures if judged(failure)[0] is not FailureClass.CONCURRENT_WRITER]
    assert wrong == []
