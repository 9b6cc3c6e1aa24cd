"""Whether the volumes of a stream are there, before anything is written for a person: what is asked for, a backfill, a replay.

A supervisor finds out by its own look. A request is one record, and the first record of a log makes its folder: below a bare
mount point it would keep the real log out once that is back.
"""

from streamops.control.registry import RegistryEntry, read_entry
from streamops.control.state import LogState
from streamops.control.state_root import require_state_root
from streamops.errors import StorageError
from streamops.spec import StreamSpec
from streamops.storage import ReadableStorage
from streamops.supervision.cli_hints import called, to_adopt, to_forget


def refuse_unmounted(spec: StreamSpec, state: LogState, *, storage: ReadableStorage, state_root: str) -> None:
    """StorageError where the state root is not there, or where the registry knows a driver and no log has its claim.

    `state`: of the control log. One with a claim is proof enough.
    """
    require_state_root(storage, state_root)
    if state.position is not None:
        return
    entry = read_entry(storage, state_root, spec.name)
    if isinstance(entry, RegistryEntry) and entry.had_driver_on(spec.checkpoint):
        raise StorageError(
            f"{called(spec)}: the registry knows a driver on {spec.checkpoint}, and its control log is not there: mount its"
            f" volume, or restore the log. Where that can't be done: `{to_adopt(spec)} --reason …` for a checkpoint that is"
            f" there, `{to_forget(spec)} --reason …` to start anew"
        )
