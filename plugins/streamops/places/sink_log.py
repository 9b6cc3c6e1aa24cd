"""The log beside a file sink's output, `<output>/_spark_metadata`: which batches the directory holds.

Spark classes: FileStreamSinkLog, FileStreamSink, MetadataLogFileIndex, 3.5 to 4.3. It lies outside the checkpoint, yet
decides: the sink skips each batch up to the highest here, and a reader of the directory believes nothing else.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streamops.checkpoint.compact_log import (
    DEFAULT_INTERVAL,
    CompactLog,
    IdRange,
    compact_bytes,
    compact_log,
    entry_lines,
    json_object,
)
from streamops.errors import CheckpointError, ObjectNotFoundError, ObjectTooLargeError, ObjectUnreadableError
from streamops.storage import ReadableStorage, join

SINK_LOG = "_spark_metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkLogFacts:
    """The sink's log, from its names alone; -1 for a log without entries."""

    output: str
    lowest: int = -1
    highest: int = -1
    """Batches up to here are skipped by the sink without a word."""
    compact_ids: tuple[int, ...] = ()
    missing: tuple[IdRange, ...] = ()
    """What a reader of the directory needs and does not find: it fails with FileNotFoundException."""
    interval: int = DEFAULT_INTERVAL
    """Every how many batches Spark compacts the log, told from its names."""
    broken: tuple[str, ...] = ()
    """Why entries that the next compaction reads can't be read, the file in front."""
    repeated: tuple[str, ...] = ()
    """Files that are named twice in what is read of it: a reader takes their rows twice (MetadataLogFileIndex)."""
    compact_bytes: int | None = None
    """Of the newest compact file, which lists every file ever written; None where there is none."""
    odd: int = 0
    temporaries: int = 0
    foreign: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether the directory has no log, or one without entries."""
        return self.highest < 0

    @property
    def next_compaction(self) -> int:
        """The next batch that is to write all entries anew."""
        return (self.highest + 1) // self.interval * self.interval + self.interval - 1


def read_sink_log(storage: ReadableStorage, output: str) -> SinkLogFacts:
    """The log of the output directory at an address. Raises StorageError when it can't be asked.

    A listing is no snapshot: while the query runs it may show an entry and not the one before. So what seems to be missing
    is looked for once more.
    """
    folder = join(output, SINK_LOG)
    log = compact_log(storage.list(folder))
    if not log.needed_for(log.latest).is_complete:
        log = compact_log(storage.list(folder))
    highest = log.latest
    broken, repeated = _read_newest(storage, folder, log)
    return SinkLogFacts(
        output=output,
        lowest=min(log.plain | log.compact, default=-1),
        highest=highest,
        compact_ids=tuple(sorted(log.compact)),
        missing=log.needed_for(highest).missing if highest >= 0 else (),
        interval=log.interval,
        broken=broken,
        repeated=repeated,
        compact_bytes=compact_bytes(storage, folder, log),
        odd=log.odd,
        temporaries=log.temporaries,
        foreign=log.foreign,
    )


def _read_newest(storage: ReadableStorage, folder: str, log: CompactLog) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of the newest compact file and the entries behind it why any can't be read, and which files are named twice.

    One that is large, or was cleaned up meanwhile, is passed over.
    """
    broken: list[str] = []
    named: Counter[str] = Counter()
    for log_id in range(max(log.newest_compact, 0), log.latest + 1)[-MAX_READ:]:
        name = log.file_name(log_id)
        if not log.holds(log_id):
            continue
        try:
            lines = entry_lines(storage.read(join(folder, name), limit=MAX_COMPARED), address=f"{SINK_LOG}/{name}")
            for number, line in enumerate(lines, start=2):
                place = f"{SINK_LOG}/{name} line {number}"
                status = json_object(line, place=place)
                _refuse_partial(status, place)
                named[str(status["path"])] += 1
        except CheckpointError as error:
            broken.append(str(error))
        except (ObjectNotFoundError, ObjectTooLargeError):
            continue
        except ObjectUnreadableError as error:
            broken.append(f"{SINK_LOG}/{name}: {error}")
    return tuple(broken), tuple(sorted(path for path, times in named.items() if times > 1))


def _refuse_partial(status: Mapping[str, Any], place: str) -> None:
    """CheckpointError for an entry that Spark can't make a SinkFileStatus of (`No usable value for …`, tried on 4.2.0)."""
    for field, kind in _STATUS.items():
        value = status.get(field)
        is_of_kind = field in status if kind is str else isinstance(value, kind)
        if not is_of_kind or (kind is int and isinstance(value, bool)):
            raise CheckpointError(f"{place} has no usable value for {field}")


_STATUS: dict[str, type] = {
    "path": str,
    "size": int,
    "isDir": bool,
    "modificationTime": int,
    "blockReplication": int,
    "blockSize": int,
    "action": str,
}
"""The fields of an entry. A number under the name of a text is read as text."""
MAX_COMPARED = 1 << 20
"""Bytes of an entry up to which it is read: a compact file lists every file ever written."""
MAX_READ = 100
"""Entries that are read: Spark keeps ten, or as many as `fileSink.log.compactInterval` says."""
