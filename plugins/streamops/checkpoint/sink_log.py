"""The log beside a file sink's output, `<output>/_spark_metadata`: which batches the directory holds.

Spark classes: FileStreamSinkLog, FileStreamSink, MetadataLogFileIndex, 3.5 to 4.3. It lies outside the checkpoint, yet
decides: the sink skips each batch up to the highest here, and a reader of the directory believes nothing else.
"""

from dataclasses import dataclass

from streamops.checkpoint.compact_log import IdRange, compact_bytes, compact_log
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
    compact_bytes: int | None = None
    """Of the newest compact file, which lists every file ever written; None where there is none."""
    odd: int = 0
    temporaries: int = 0
    foreign: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether the directory has no log, or one without entries."""
        return self.highest < 0


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
    return SinkLogFacts(
        output=output,
        lowest=min(log.plain | log.compact, default=-1),
        highest=highest,
        compact_ids=tuple(sorted(log.compact)),
        missing=log.needed_for(highest).missing if highest >= 0 else (),
        compact_bytes=compact_bytes(storage, folder, log),
        odd=log.odd,
        temporaries=log.temporaries,
        foreign=log.foreign,
    )
