"""The driver compares the job's file with its claim before it runs it."""

import hashlib
import sys

import pytest

from streamops.control.records import Outcome
from streamops.errors import JobChangedError
from streamops.failures.classify import DriverEvidence, classify
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.spark import runner
from streamops.spark.driver_process import refuse_changed_job
from streamops.spark.failure import exit_record
from support.assignments import an_assignment

JOB = "def define(spark, stream):\n    return 'as claimed'\n"


@pytest.fixture
def job(tmp_path):
    file = tmp_path / "job.py"
    file.write_text(JOB)
    yield file
    sys.modules.pop("streamops_job", None)


def claimed(job):
    """The work of a driver whose claim was made for the file as it is now."""
    return an_assignment(job=str(job), job_sha256=hashlib.sha256(job.read_bytes()).hexdigest())


def test_the_file_that_was_claimed_is_run(job):
    assert runner.load_claimed(claimed(job))(None, None) == "as claimed"


def test_another_file_is_not_even_imported_and_the_text_tells_which_and_both_hashes(job):
    assignment = claimed(job)
    job.write_text("raise AssertionError('it was imported')")

    with pytest.raises(JobChangedError) as refusal:
        runner.load_claimed(assignment)

    for told in (str(job), assignment.job_sha256, hashlib.sha256(job.read_bytes()).hexdigest(), "epoch 1"):
        assert told in str(refusal.value)


def test_a_file_that_is_replaced_while_it_is_read_is_found_out(job):
    """The file stands for a deployment that comes between the comparison and the import."""
    job.write_text(f"from pathlib import Path\nPath({str(job)!r}).write_text('# deployed')\n{JOB}")

    with pytest.raises(JobChangedError):
        runner.load_claimed(claimed(job))


def test_only_the_file_itself_is_compared(job):
    """Modules beside it, and a job that is a package, have no hash of their own in a claim."""
    (job.parent / "beside.py").write_text("A = 1")
    assignment = claimed(job)
    (job.parent / "beside.py").write_text("A = 2")

    refuse_changed_job(assignment)


def test_a_file_that_is_gone_is_the_operating_systems_word(job):
    assignment = claimed(job)
    job.unlink()

    with pytest.raises(FileNotFoundError, match=r"job\.py"):
        refuse_changed_job(assignment)


def test_the_end_has_a_class_of_its_own_and_is_worth_a_restart_at_once(job):
    assignment = claimed(job)
    job.write_text("")
    with pytest.raises(JobChangedError) as refusal:
        refuse_changed_job(assignment)
    left = exit_record(
        epoch=1, instance="a", outcome=Outcome.LEASE_LOST, at="", text=str(refusal.value), batch=-1, input_rows=0
    )

    judged = classify(DriverEvidence(outcome=left.outcome, error_classes=left.error_classes, text=left.text))

    assert (judged.failure_class, judged.remedy) == (FailureClass.JOB_CHANGED, Remedy.NOW)


def test_any_other_lost_lease_keeps_its_class():
    judged = classify(DriverEvidence(outcome=Outcome.LEASE_LOST, text="epoch 2 was claimed"))

    assert judged.failure_class is FailureClass.LEASE_LOST
