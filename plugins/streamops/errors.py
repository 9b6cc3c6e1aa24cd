"""Everything that streamops raises on purpose.

StreamOpsError
├── SettingsError               the declaration or the call is wrong; the message names the place
│   └── MissingLibraryError     a library that only some commands need is not installed; names the extra
├── StorageError                files could not be read or written
│   ├── ObjectNotFoundError
│   ├── ObjectExistsError       an exclusive create lost its race
│   └── ObjectUnreadableError   the place answers, and this one file can't be read: no right, or a folder in its place
│       ├── ObjectIsNoFileError a folder, a FIFO, a device or a loop of links lies under the name
│       └── ObjectTooLargeError above the bound of its kind: met by a read, or refused by a write
├── ControlLogError             the control log can't be used as asked
│   ├── CorruptRecordError      a record that does not parse; names the file
│   ├── NewerRecordError        a record that asks for a newer streamops
│   └── AppendRefusedError      another writer took the number: observe and decide anew
├── CheckpointError             a checkpoint file that is broken; names file and line
├── DeltaLogError               a Delta table is there, and its log can't be read; names the table
├── BackfillError               a backfill can't go on as it was planned; names what does not fit
├── JobStartsQueriesError       a job starts queries itself, which only the runner does; names the place
├── ReplayError                 dead letters can't be sent again, or not all of them; names what is in the way
├── JobChangedError             the job's file is not the one that was claimed; names file and both hashes
├── LaunchError                 the driver could not be submitted, signalled or looked up
└── SandboxError                a part of the sandbox did not come up or go down

An unhealthy stream is a verdict or a refused start, not an exception.
"""


class StreamOpsError(Exception):
    """Base of all errors of streamops. The message says what was asked, what was found, what to do."""


class SettingsError(StreamOpsError):
    """The declaration or the call is wrong."""


class MissingLibraryError(SettingsError):
    """A library that only some commands need is not installed."""


class StorageError(StreamOpsError):
    """Files could not be read or written."""


class ObjectNotFoundError(StorageError):
    """The file asked for is not there."""


class ObjectExistsError(StorageError):
    """An exclusive create found the file already there."""


class ObjectUnreadableError(StorageError):
    """The place answers, and this one file can't be read. Trouble with the place itself is a plain StorageError."""


class ObjectIsNoFileError(ObjectUnreadableError):
    """Something lies under the name, and it is no file: a folder, a FIFO, a device, a loop of links."""


class ObjectTooLargeError(ObjectUnreadableError):
    """A file is above its bound: a read has met it, or a write would have made it."""


class ControlLogError(StreamOpsError):
    """The control log can't be used as asked."""


class CorruptRecordError(ControlLogError):
    """A control record does not parse."""


class NewerRecordError(ControlLogError):
    """A control record asks for a newer version of streamops than this one."""


class AppendRefusedError(ControlLogError):
    """Another writer took the number: observe and decide anew."""


class CheckpointError(StreamOpsError):
    """A checkpoint file is broken."""


class DeltaLogError(StreamOpsError):
    """A Delta table is there, and its log can't be read."""


class BrokenDeltaLogError(DeltaLogError):
    """A Delta table's log lacks a commit that every reader needs, or has a damaged one: Delta itself refuses the table."""


class ForeignDeltaLogError(DeltaLogError):
    """A commit of a Delta table's log holds no action of Delta, or was taken away: readers may pass over what it held."""


class BackfillError(StreamOpsError):
    """A backfill can't go on as it was planned: another start would find the same."""


class JobStartsQueriesError(StreamOpsError):
    """A job starts queries itself, which only the runner does: they would write without a claim."""


class ReplayError(StreamOpsError):
    """Dead letters can't be sent again, or not all of them. Nothing is lost: it can be tried again."""


class JobChangedError(StreamOpsError):
    """The job's file is not the one that the claim was made for: a deployment came between claim and driver."""

    ERROR_CLASS = "STREAMOPS_JOB_CHANGED"
    """Stands in brackets in the text, as Spark's own classes do, so that the end is classified by it."""


class LaunchError(StreamOpsError):
    """The driver could not be submitted, signalled or looked up."""
