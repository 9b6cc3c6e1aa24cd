"""Reading and appending records. The next number can be created by one writer only: appending *is* the compare-and-swap."""

from contextlib import suppress
from dataclasses import dataclass

from streamops.control import codec
from streamops.control.layout import RECORD_NAME, control_folder, log_folder, record_address
from streamops.control.records import Record
from streamops.errors import (
    AppendRefusedError,
    CorruptRecordError,
    ObjectExistsError,
    ObjectNotFoundError,
    ObjectTooLargeError,
    StorageError,
)
from streamops.storage import FileKind, ReadableStorage, Storage, create_file, read_file

LOOKED_PAST = 1
"""Numbers behind the first one that is missing, which are tried as well: a record there shows a hole.

Each is a request for an object that is not there, at every look: at a look in 30 s it is 2 880 a day and stream.
"""
LOOKED_PAST_FIRST = 5
"""As many for a process that begins with a snapshot: it has not seen the records behind that come one by one."""

_APPEND_TRIES = 3


def read_record(storage: ReadableStorage, control: str, number: int) -> Record:
    """One record. Raises CorruptRecordError, also for the record of another number; NewerRecordError, StorageError."""
    address = record_address(control, number)
    record = codec.decode_record(read_file(storage, FileKind.RECORD, address), address=address)
    if record.number != number:
        raise CorruptRecordError(f"{address} holds record {record.number}: it was copied or renamed")
    return record


@dataclass(frozen=True, slots=True)
class LogReader:
    """Reads the control log of one checkpoint; all that a driver may do with it."""

    storage: ReadableStorage
    control: str

    @classmethod
    def of_checkpoint(cls, storage: ReadableStorage, checkpoint: str) -> "LogReader":
        """The log beside a checkpoint, given by its canonical address."""
        return cls(storage, control_folder(checkpoint))

    def read(self) -> tuple[Record, ...]:
        """The whole log, in order, by a listing: every hole in the numbers shows.

        Raises CorruptRecordError for a record that does not parse or a hole (a deleted record, or a listing that is not
        complete: either way the state is not known), NewerRecordError, StorageError.
        """
        names = self.storage.list(log_folder(self.control))
        numbers = [int(match[1]) for name in names if (match := RECORD_NAME.match(name))]
        if numbers != list(range(len(numbers))):
            raise self._hole(next(number for number, found in enumerate(numbers) if number != found))
        return tuple(read_record(self.storage, self.control, number) for number in numbers)

    def read_behind(self, number: int, *, look_past: int = LOOKED_PAST) -> tuple[Record, ...]:
        """The records behind a number, in order. No listing: what it costs does not grow with the log.

        The next numbers are asked for until one is missing, and `look_past` further ones. So a hole of up to that many
        records is noticed, at every look; a wider one when the log is read whole (a fold without a snapshot, `history`), and
        when it holds a claim whose driver has left its traces (`Observation.epochs_ahead`). Raises what `read` raises.
        """
        records: list[Record] = []
        while True:
            while (found := self._next(number + 1 + len(records))) is not None:
                records.append(found)
            missing = number + 1 + len(records)
            if not any(self._is_there(missing + step) for step in range(1, 1 + look_past)):
                return tuple(records)
            # Others may have appended meanwhile, number after number.
            if not self._is_there(missing):
                raise self._hole(missing)

    def _next(self, number: int) -> Record | None:
        try:
            return read_record(self.storage, self.control, number)
        except ObjectNotFoundError:
            return None

    def _is_there(self, number: int) -> bool:
        """Asked with a limit that every record is above: a byte is read at most."""
        try:
            self.storage.read(record_address(self.control, number), limit=0)
        except ObjectNotFoundError:
            return False
        except ObjectTooLargeError:
            pass
        return True

    def _hole(self, number: int) -> CorruptRecordError:
        return CorruptRecordError(
            f"{record_address(self.control, number)} is missing although later records exist: restore it from a backup"
        )


@dataclass(frozen=True, slots=True)
class ControlLog:
    """The log as a supervisor uses it."""

    storage: Storage
    control: str

    @classmethod
    def of_checkpoint(cls, storage: Storage, checkpoint: str) -> "ControlLog":
        """The log beside a checkpoint, given by its canonical address."""
        return cls(storage, control_folder(checkpoint))

    def read(self) -> tuple[Record, ...]:
        """See LogReader.read."""
        return LogReader(self.storage, self.control).read()

    def read_behind(self, number: int) -> tuple[Record, ...]:
        """See LogReader.read_behind."""
        return LogReader(self.storage, self.control).read_behind(number)

    def append(self, record: Record) -> Record:
        """Append at exactly `record.number`.

        Never moves on to the next number by itself: a decision that was made on an old fold must not land. Raises
        AppendRefusedError when another writer has the number. When the answer of a create is lost, the same number
        and body are tried again and the record found there is read back: the same nonce means that it is ours.
        ObjectTooLargeError, before anything is written, for a record above its bound. Another StorageError when even that
        can't be told; reading the log again tells. StorageError, too, where the record before it is not there: the volume of
        the log has gone since it was read, and a record below its bare mount point would be one of another log.
        """
        if record.number > 0:
            with suppress(ObjectTooLargeError):  # It is there.
                self.storage.read(record_address(self.control, record.number - 1), limit=0)
        address = record_address(self.control, record.number)
        content = codec.encode_record(record)
        for attempt in range(1, _APPEND_TRIES + 1):
            try:
                create_file(self.storage, FileKind.RECORD, address, content)
                return record
            except ObjectExistsError as error:
                if self._nonce_at(address) == record.nonce:
                    return record
                raise AppendRefusedError(
                    f"record {record.number} of {self.control} was written by another: observe and decide anew"
                ) from error
            except ObjectTooLargeError:
                raise
            except StorageError:
                # Tried again at once: whoever waits between looks is the supervisor's loop, and it may have to.
                if attempt == _APPEND_TRIES:
                    raise
        raise AssertionError("unreachable: the loop returns or raises")

    def _nonce_at(self, address: str) -> str:
        return codec.decode_record(read_file(self.storage, FileKind.RECORD, address), address=address).nonce
