"""Two real drivers on one checkpoint: whatever either was recorded to say is one class, and no restart follows."""

import json
from collections import Counter

import pytest

from streamops.control.records import Outcome
from streamops.control.state import Failure
from streamops.failures.classify import DriverEvidence, classify
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.policy import RestartPolicy, RestartTiming, advise_restart
from support.clock import START
from support.provoke.case import CORPUS, read_cases

RECORDED = read_cases([CORPUS / "recorded" / "writers.json"])


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in RECORDED])
def test_what_one_of_two_drivers_said_is_recognised(case):
    """All of them, also those that the corpus holds out: here each one counts, not the share."""
    found = classify(case.ending)

    assert (found.failure_class, found.remedy) == (FailureClass.CONCURRENT_WRITER, case.remedy), found


def test_only_what_may_be_two_jobs_that_make_a_table_is_tried_again():
    again = [case.ending.error_classes for case in RECORDED if case.remedy is not Remedy.NEVER]

    assert all("DELTA_PROTOCOL_CHANGED" in classes for classes in again)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        pytest.param(
            "java.lang.IllegalStateException: Concurrent update to the log. Multiple streaming jobs detected for 53",
            "file source and, before 3.5, offsets",
            id="log without an error class",
        ),
        pytest.param(
            "java.lang.IllegalStateException: Concurrent update to the commit log. Multiple streaming jobs detected for 3",
            "SPARK-26425",
            id="commit log without an error class",
        ),
        pytest.param(
            "java.util.ConcurrentModificationException: Multiple streaming queries are concurrently using file:/c/offsets/4",
            "Spark 2 to 3.2",
            id="a log's file",
        ),
        pytest.param(
            "org.apache.hadoop.fs.FileAlreadyExistsException: /c/orders/sources/0/12 already exists",
            "HDFS and object stores that create exclusively",
            id="source log on another store",
        ),
        pytest.param(
            "org.apache.hadoop.fs.FileAlreadyExistsException: s3a://b/out/_spark_metadata/7 already exists",
            "file sink on an object store",
            id="the file sink's log",
        ),
        pytest.param(
            "java.io.FileNotFoundException: File does not exist: /out/_temporary/0/task_1/part-0 (inode 7) Holder x does not"
            " have any open files.",
            "HDFS",
            id="temporary files on HDFS",
        ),
    ],
)
def test_the_same_in_other_places_is_recognised(text, source):
    found = classify(
        DriverEvidence(outcome=Outcome.FAILED, text=f"[STREAM_FAILED] Query terminated with exception: x\n{text}")
    )

    assert (found.failure_class, found.remedy) == (FailureClass.CONCURRENT_WRITER, Remedy.NEVER), source


@pytest.mark.parametrize(
    ("text", "failure_class"),
    [
        pytest.param(
            "org.apache.hadoop.mapred.FileAlreadyExistsException: Output directory hdfs://n/state/out already exists",
            FailureClass.UNKNOWN,
            id="a folder of the job's own",
        ),
        pytest.param(
            "java.io.FileNotFoundException: /out/_temporary/0 does not exist\nCaused by (JVM): java.io.IOException: No space left"
            " on device",
            FailureClass.DISK_FULL,
            id="a job that ended for a reason removes its own files",
        ),
        pytest.param(
            "[DELTA_CONCURRENT_APPEND] Files were added to the root of the table by a concurrent update",
            FailureClass.CONCURRENT_WRITER,
            id="another job on the table",
        ),
    ],
)
def test_what_only_looks_like_it_is_not_parked_for_it(text, failure_class):
    found = classify(DriverEvidence(outcome=Outcome.FAILED, text=text))

    assert found.failure_class is failure_class
    assert found.remedy is not Remedy.NEVER


def test_the_reason_says_both_what_it_is_and_what_reads_the_same():
    """Spark has the same words for a second writer and for a log with a hole: recorded case checkpoint-commits-ahead."""
    failure = Failure(
        epoch=3,
        at=START,
        outcome=Outcome.FAILED,
        has_progressed=True,
        error_classes=(),
        failure_class=str(FailureClass.CONCURRENT_WRITER),
        remedy=str(Remedy.NEVER),
    )

    advice = advise_restart([failure], policy=RestartPolicy(), now=START)

    assert advice.timing is RestartTiming.PARK
    assert "somebody else writes its checkpoint or table" in advice.reason
    assert "a log of the checkpoint is damaged" in advice.reason
    assert "`streamops check`" in advice.reason


def test_no_saying_is_recorded_twice():
    texts = Counter(json.dumps(case.ending.text) for case in RECORDED)

    assert [text for text, count in texts.items() if count > 1] == []
