"""The progress of the driver that was the last to run a batch: what a stream gets through, by its own words."""

from streamops.control.drivers import driver_instances
from streamops.control.layout import PROGRESS, driver_folder
from streamops.progress import ProgressHistory, read_progress
from streamops.storage import ReadableStorage, join

_LOOKED_AT = 10
"""Drivers that are asked, the newest first: one that died early tells nothing."""


def last_progress(storage: ReadableStorage, control: str) -> ProgressHistory:
    """The history with a batch in it; none where the newest drivers ran none. StorageError."""
    for number, instance in reversed(driver_instances(storage, control)[-_LOOKED_AT:]):
        history = read_progress(storage, join(driver_folder(control, number, instance), PROGRESS))
        if any(event.has_run for event in history.events):
            return history
    return ProgressHistory()
