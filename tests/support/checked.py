"""A checkpoint as `streamops check` judges it, in memory."""

from datetime import UTC, datetime

from streamops.catalogue.watch import Watch
from streamops.diagnosis.checkup import check
from streamops.engines import engine_of
from streamops.storage import join
from support.base_checkpoint import ADDRESS, stored

NOW = datetime(2026, 3, 1, 13, tzinfo=UTC)
"""An hour after the base checkpoint's batches were planned."""


def checked(found, *, version="4.2", address=ADDRESS, storage=None, watch=None, **more):
    """The checkup of a checkpoint with these files, for a start with a version of Spark."""
    storage = storage or stored({})
    for name, content in found.items():
        storage.write(join(address, name), content)
    return check(storage, address, engine=engine_of(version), watch=watch or Watch(now=NOW), **more)


def told(checkup):
    """Rule and severity of each finding, in order."""
    return [(finding.rule, str(finding.severity)) for finding in checkup.findings]


def start(checkup):
    """What a start would mean, and with which batch it would begin."""
    return str(checkup.restart.safety), checkup.restart.next_batch
