"""Whether the job's file is still the one that was claimed: a driver runs what its claim says, or nothing."""

import hashlib
from pathlib import Path

from streamops.control.assignment import Assignment
from streamops.errors import JobChangedError


def refuse_changed_job(assignment: Assignment) -> None:
    """JobChangedError where the file has another hash than the claim; OSError where it can't be read.

    The file itself is compared, and nothing that it imports: modules beside it are the deployment's own business.
    """
    found = hashlib.sha256(Path(assignment.job).read_bytes()).hexdigest()
    if found != assignment.job_sha256:
        raise JobChangedError(
            f"[{JobChangedError.ERROR_CLASS}] {assignment.job} has changed since epoch {assignment.epoch} was claimed for it:"
            f" the claim says sha256 {assignment.job_sha256 or 'nothing'}, the file has {found}."
            " Nothing was run; the next claim takes the file as it is then"
        )
