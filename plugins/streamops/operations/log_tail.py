"""The newest records of a control log, without the others: a log lives as long as its checkpoint.

Numbers come from one listing of names; then a record is read only when it is asked for. A broken record is a fact here:
whoever looks into the history of a log that nothing can fold must see what is around the damage.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from streamops.control import codec
from streamops.control.layout import RECORD_NAME, log_folder, record_address
from streamops.control.records import Record
from streamops.errors import ControlLogError, StorageError
from streamops.storage import FileKind, ReadableStorage, read_file


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableRecord:
    """A record that is missing, broken, or of a newer version."""

    number: int
    trouble: str


def records_backwards(storage: ReadableStorage, control: str) -> Iterator[Record | UnreadableRecord]:
    """The records, the newest first, each read when it is asked for. StorageError when the log can't be listed."""
    names = storage.list(log_folder(control))
    present = {int(match[1]) for name in names if (match := RECORD_NAME.match(name))}
    for number in range(max(present, default=-1), -1, -1):
        if number in present:
            yield _read(storage, control, number)
        else:
            yield UnreadableRecord(number=number, trouble="it is missing although later records exist")


def _read(storage: ReadableStorage, control: str, number: int) -> Record | UnreadableRecord:
    address = record_address(control, number)
    try:
        record = codec.decode_record(read_file(storage, FileKind.RECORD, address), address=address)
    except (ControlLogError, StorageError) as error:
        return UnreadableRecord(number=number, trouble=str(error))
    if record.number != number:
        return UnreadableRecord(number=number, trouble=f"{address} holds record {record.number}: copied or renamed")
    return record
