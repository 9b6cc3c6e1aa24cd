"""The plans of one stream's backfills, as they lie beside its checkpoint."""

import hashlib
import logging
import re
from datetime import datetime

from streamops.control.backfill_plan import BackfillPlan, decode_plan, encode_plan, is_backfill_id
from streamops.control.layout import backfill_checkpoint, backfill_plan_address, backfills_folder
from streamops.control.topics import Topics
from streamops.errors import ObjectNotFoundError, SettingsError, StreamOpsError
from streamops.storage import FileKind, ReadableStorage, Storage, create_file, read_file

log = logging.getLogger(__name__)


def read_plan(storage: ReadableStorage, checkpoint: str, backfill: str) -> BackfillPlan:
    """A plan. SettingsError with those that there are when there is no such one, ControlLogError, StorageError."""
    known = backfill_ids(storage, checkpoint)
    if backfill not in known:
        raise SettingsError(f"no backfill is called {backfill!r}; there are: {', '.join(known) or 'none'}")
    address = backfill_plan_address(backfill_checkpoint(checkpoint, backfill))
    try:
        return decode_plan(read_file(storage, FileKind.BACKFILL_PLAN, address), address=address)
    except ObjectNotFoundError as error:
        raise SettingsError(f"backfill {backfill} has no plan: it was given up before it began") from error


def write_plan(storage: Storage, checkpoint: str, plan: BackfillPlan) -> None:
    """Put a plan there for good. ObjectExistsError where its id is taken, ObjectTooLargeError, StorageError."""
    address = backfill_plan_address(backfill_checkpoint(checkpoint, plan.id))
    create_file(storage, FileKind.BACKFILL_PLAN, address, encode_plan(plan))


def planned_topics(storage: ReadableStorage, own_checkpoint: str) -> Topics:
    """The topics that the backfill with this checkpoint of its own was planned over; none where its plan can't be read."""
    address = backfill_plan_address(own_checkpoint)
    try:
        return decode_plan(read_file(storage, FileKind.BACKFILL_PLAN, address), address=address).topics
    except StreamOpsError as error:
        log.warning("the topics of a backfill are not known: %s", error)
        return ()


def backfill_ids(storage: ReadableStorage, checkpoint: str) -> tuple[str, ...]:
    """All backfills of the stream with that checkpoint, by name. StorageError."""
    return tuple(sorted(name for name in storage.list(backfills_folder(checkpoint)) if is_backfill_id(name)))


def id_at(moment: datetime) -> str:
    """An id for a backfill that is asked for now: `20261128-153012`."""
    return moment.strftime("%Y%m%d-%H%M%S")


def id_from(text: str) -> str:
    """An id from a name that others gave, the same for the same name and no other: for whoever asks again after a crash."""
    told = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_TOLD].strip("-")
    return f"{told}-{hashlib.sha256(text.encode()).hexdigest()[:8]}".lstrip("-")


_TOLD = 31
"""Letters of the name that an id repeats: the name of the derived stream has an end, too."""
