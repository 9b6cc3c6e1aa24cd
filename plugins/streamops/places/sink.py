"""What a query writes to, told by what lies there: a Delta table, or the directory of a file sink with its log."""

from collections.abc import Sequence
from dataclasses import dataclass

from streamops.checkpoint.facts import CheckpointFacts
from streamops.deltalog import DeltaTableFacts, read_delta_table
from streamops.deltalog.log_size import DELTA_LOG, commits_from
from streamops.errors import (
    BrokenDeltaLogError,
    DeltaLogError,
    ForeignDeltaLogError,
    MissingLibraryError,
    ObjectNotFoundError,
    StorageError,
)
from streamops.places.sink_log import SINK_LOG, SinkLogFacts, read_sink_log
from streamops.storage import ReadableStorage, join


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSink:
    """A Delta table, seen from one query."""

    table: DeltaTableFacts
    query_id: str | None
    """Of the query that writes, where its checkpoint tells."""
    applications: tuple[str, ...] = ()
    """Under which else it is said to write."""

    @property
    def address(self) -> str:
        """Where it lies."""
        return self.table.address

    @property
    def newest_batch(self) -> int | None:
        """The highest batch of this query that the table has; None where the table knows nothing of it."""
        names = (*([self.query_id] if self.query_id else []), *self.applications)
        return max((found for name in names if (found := self.table.transaction(name)) is not None), default=None)

    @property
    def recognises_batches(self) -> bool:
        """Whether it is proven that all that this query writes goes through Delta's own sink, which takes no batch twice.

        A foreachBatch with `txnAppId` may write elsewhere as well, without one.
        """
        return self.query_id is not None and self.table.writes_of(self.query_id) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSink:
    """The directory of a file sink. Its log knows no query: it is meant for one checkpoint alone."""

    log: SinkLogFacts

    @property
    def address(self) -> str:
        """Where it lies."""
        return self.log.output

    @property
    def newest_batch(self) -> int | None:
        """The highest batch that the directory has; -1 for a log without entries."""
        return self.log.highest

    @property
    def recognises_batches(self) -> bool:
        """Whether the sink passes over a batch that it has: always, by its log (FileStreamSink, 3.5 to 4.3)."""
        return not self.log.is_empty


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingSink:
    """Nothing that could be told for a sink lies there, or nothing at all."""

    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadSink:
    """Something lies there, or may lie there, and could not be read."""

    address: str
    reason: str
    """Printable."""
    lacks_library: bool = False
    """Whether it is only that this installation can't read such a sink."""
    is_broken: bool = False
    """Whether nothing can read it: a write fails, too."""
    is_foreign: bool = False
    """Whether part of its log is of something else: what a writer makes of it is not known."""


Sink = DeltaSink | FileSink | MissingSink | UnreadSink


def newest_batch(sink: Sink) -> int | None:
    """The highest batch of the query that a sink has; None where nothing tells."""
    return sink.newest_batch if isinstance(sink, DeltaSink | FileSink) else None


def recognises_batches(sink: Sink) -> bool:
    """Whether it is proven that a sink passes over a batch of the query that it has."""
    return isinstance(sink, DeltaSink | FileSink) and sink.recognises_batches


def drops_batch_in_flight(sink: "Sink | None", facts: CheckpointFacts) -> bool:
    """Whether a batch is in flight that the sink was seen to have, and that it drops by its id: nothing of it is read again."""
    if sink is None or not facts.has_pending_batch or not recognises_batches(sink):
        return False
    has = newest_batch(sink)
    return has is not None and has >= facts.last_offset


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkView:
    """A sink beside a checkpoint that may be moving on.

    A query writes its batch between `offsets` and `commits`. So what the sink had before the checkpoint was read, the checkpoint
    has planned; and what the checkpoint has committed, the sink has when it is read afterwards.
    """

    before: Sink
    """Read before the checkpoint: whatever it has beyond the newest plan is wrong."""
    latest: Sink
    """Read after it where the first look fell short: whatever it lacks of the commits is wrong."""


def is_still(storage: ReadableStorage, sink: Sink, *, query_id: str | None) -> bool:
    """Whether a sink that was read for a query is as it was, told without reading it: a Delta table without a newer commit."""
    if not isinstance(sink, DeltaSink) or sink.query_id != query_id:
        return False
    try:
        return not commits_from(storage, sink.address, sink.table.version + 1)
    except StorageError:
        return False


def read_sink(
    storage: ReadableStorage, address: str, *, query_id: str | None, applications: Sequence[str] = ()
) -> Sink:
    """The sink at a canonical address, with what it knows of one query. Raises nothing: what can't be read is an answer."""
    names = (*([query_id] if query_id else []), *applications)
    try:
        # The two folders by name: the table's own may hold a million files.
        if storage.list(join(address, DELTA_LOG)):
            table = read_delta_table(storage, address, applications=names)
            return DeltaSink(table=table, query_id=query_id, applications=tuple(applications))
        if storage.list(join(address, SINK_LOG)):
            return FileSink(log=read_sink_log(storage, address))
    except ObjectNotFoundError:
        return MissingSink(address=address)
    except MissingLibraryError as error:
        return UnreadSink(address=address, reason=str(error), lacks_library=True)
    except (StorageError, DeltaLogError) as error:
        return UnreadSink(
            address=address,
            reason=str(error),
            is_broken=isinstance(error, BrokenDeltaLogError),
            is_foreign=isinstance(error, ForeignDeltaLogError),
        )
    return MissingSink(address=address)
