"""A changed verdict in the control log of its stream, for whoever reads the stream's history."""

from streamops.clock import Clock
from streamops.control.drivers import driver_instances, highest_epoch
from streamops.control.layout import control_folder
from streamops.control.log import ControlLog
from streamops.control.records import Author, VerdictChanged
from streamops.control.snapshot import load_and_keep, save_snapshot_if_due
from streamops.errors import AppendRefusedError
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.supervision.act import new_record
from streamops.verdict import Verdict

_LOOKS = 2
"""One anew where another writer took the number; a log that is so busy gets the record in the next round."""


def record_verdict(
    spec: StreamSpec, verdict: Verdict, rules: tuple[str, ...], *, storage: Storage, clock: Clock, author: Author
) -> bool:
    """Whether the control log holds the verdict now: it did already, or was given it.

    False where that is not for us: there is no log (a log that began with a verdict would make a stranger's checkpoint
    look like ours), it is another stream's, or drivers have left traces that it knows nothing of, so that the missing
    records may come back. Raises ControlLogError where the log can't be folded, StorageError.
    """
    control = control_folder(spec.checkpoint)
    for _ in range(_LOOKS):
        seen = highest_epoch(driver_instances(storage, control))
        state = load_and_keep(storage, control)
        if state.is_empty or state.stream != spec.name or seen >= state.next_epoch:
            return False
        if state.newest and state.newest.is_open and not state.newest.submission:
            return False  # A submit is under way: a record that takes its number would cost it its driver.
        if str(verdict) == (state.verdict or Verdict.OK):
            return True
        body = VerdictChanged(before=state.verdict, after=str(verdict), rules=rules)
        record = new_record(
            body, number=state.next_number, clock=clock, author=author, reason="the checkpoint was checked"
        )
        try:
            ControlLog(storage, control).append(record)
        except AppendRefusedError:
            continue
        save_snapshot_if_due(storage, control, state, record)
        return True
    return False
