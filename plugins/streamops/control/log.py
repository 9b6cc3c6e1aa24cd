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
    ObjectTooLargeError,
    StorageError,
)
from streamops.storage import ReadableStorage, Storage

_APPEND_TRIES = 3


def read_record(storage: ReadableStorage, control: str, number: int) -> Record:
    """One record. Raises CorruptRecordError, also for the record of another number; NewerRecordError, StorageError."""
    address = record_address(control, number)
    record = codec.decode_record(storage.read(address), address=address)
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

    def read(self, *, after: int = -1) -> tuple[Record, ...]:
        """The records behind a number, in order.

        Raises CorruptRecordError for a record that does not parse or a hole in the numbers (a deleted record, or a
        listing that is not complete: either way the state is not known), NewerRecordError, StorageError.
        """
        last_seen = f"{after:020d}.json" if after >= 0 else ""
        names = self.storage.list(log_folder(self.control), after=last_seen)
        numbers = [int(match[1]) for name in names if (match := RECORD_NAME.match(name))]
        expected = list(range(after + 1, after + 1 + len(numbers)))
        if numbers != expected:
            missing = next(number for number, found in zip(expected, numbers, strict=True) if number != found)
            raise CorruptRecordError(
                f"{record_address(self.control, missing)} is missing although later records exist: restore it from a backup"
            )
        return tuple(read_record(self.storage, self.control, number) for number in numbers)


@dataclass(frozen=True, slots=True)
class ControlLog:
    """The log as a supervisor uses it."""

    storage: Storage
    control: str

    @classmethod
    def of_checkpoint(cls, storage: Storage, checkpoint: str) -> "ControlLog":
        """The log beside a checkpoint, given by its canonical address."""
        return cls(storage, control_folder(checkpoint))

    def read(self, *, after: int = -1) -> tuple[Record, ...]:
        """See LogReader.read."""
        return LogReader(self.storage, self.control).read(after=after)

    def append(self, record: Record) -> Record:
        """Append at exactly `record.number`.

        Never moves on to the next number by itself: a decision that was made on an old fold must not land. Raises
        AppendRefusedError when another writer has the number. When the answer of a create is lost, the same number
        and body are tried again and the record found there is read back: the same nonce means that it is ours.
        StorageError when even that can't be told; reading the log again tells. StorageError, too, where the record
        before it is not there: the volume of the log has gone since it was read, and a record below its bare mount point
        would be one of another log.
        """
        if record.number > 0:
            with suppress(ObjectTooLargeError):  # It is there.
                self.storage.read(record_address(self.control, record.number - 1))
        address = record_address(self.control, record.number)
        content = codec.encode_record(record)
        for attempt in range(1, _APPEND_TRIES + 1):
            try:
                self.storage.create(address, content)
                return record
            except ObjectExistsError as error:
                if self._nonce_at(address) == record.nonce:
                    return record
                raise AppendRefusedError(
                    f"record {record.number} of {self.control} was written by another: observe and decide anew"
                ) from error
            except StorageError:
                # Tried again at once: whoever waits between looks is the supervisor's loop, and it may have to.
                if attempt == _APPEND_TRIES:
                    raise
        raise AssertionError("unreachable: the loop returns or raises")

    def _nonce_at(self, address: str) -> str:
        return codec.decode_record(self.storage.read(address), address=address).nonce
