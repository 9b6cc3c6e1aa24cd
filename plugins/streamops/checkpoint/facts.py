"""A checkpoint as it stood at one moment, as plain values. Pure."""

from bisect import bisect_left
from dataclasses import dataclass, field, replace

from streamops.checkpoint.commits import CommitEntry
from streamops.checkpoint.layout import METADATA, Damage, LogListing
from streamops.checkpoint.offsets import OffsetEntry, spark_fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenFile:
    """A file that Spark would read and could not."""

    file: str
    """Relative to the checkpoint: `offsets/41`."""
    reason: str
    damage: Damage = Damage.BODY


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFacts:
    """A checkpoint as it stood at one moment; -1 for a log without entries."""

    address: str
    query_id: str | None
    last_offset: int
    last_commit: int
    newest: OffsetEntry | None = None
    """The newest offset entry, when it could be read."""
    has_previous_offset: bool = True
    """Whether the entry below the newest is there; true where none is needed."""
    broken: tuple[BrokenFile, ...] = ()
    stale: tuple[str, ...] = ()
    """Files that can be read, and that Hadoop's side file beside them was not written for."""
    previous: OffsetEntry | None = None
    """The entry of `previous_batch`, where a pending batch starts; None when there is none or it could not be read."""
    earlier: OffsetEntry | None = None
    """The entry below `previous`: Spark does not read it, but it tells whether the batch in flight starts where the one before
    it ended, and whose offsets these are where neither newer entry does. None where neither is asked, where there is none, and
    where it can't be read."""
    commit: CommitEntry | None = None
    """The newest commit, when it could be read."""
    offsets_log: LogListing = field(default_factory=LogListing)
    commits_log: LogListing = field(default_factory=LogListing)

    @property
    def has_metadata(self) -> bool:
        """Whether the file `metadata` is there, readable or not."""
        return self.query_id is not None or any(broken.file == METADATA for broken in self.broken)

    @property
    def steps(self) -> tuple[tuple[OffsetEntry, OffsetEntry], ...]:
        """Pairs of entries that follow on one another, of which the later one decides where a batch to run begins."""
        earlier = self.earlier if self.has_pending_batch else None
        pairs = ((earlier, self.previous), (self.previous, self.newest))
        return tuple((before, now) for before, now in pairs if before is not None and now is not None)

    @property
    def spark_fingerprint(self) -> str:
        """The Spark that seems to have written the newest entry, see `fingerprint`; empty where nothing tells."""
        return spark_fingerprint(key for key, _ in self.newest.header.conf) if self.newest else ""

    @property
    def looks_async(self) -> bool:
        """Whether both logs hold the same batches, with holes: only async progress tracking leaves that (SPARK-39591).

        A batch in flight is no part of the comparison, nor is the hole right below it: that one may be damage. Nor is what
        one of the logs has purged and the other not yet (minBatchesToRetain, 3.5 to 4.3).
        """
        if not self.offsets_log.has_holes:
            return False
        offsets = self.offsets_log.ids[:-1] if self.has_pending_batch else self.offsets_log.ids
        commits = self.commits_log.ids
        if not offsets or not commits:
            return False
        lowest = max(offsets[0], commits[0])
        kept = offsets[bisect_left(offsets, lowest) :]
        return kept == commits[bisect_left(commits, lowest) :] and LogListing(ids=kept).has_holes

    @property
    def looks_continuous(self) -> bool:
        """Whether both newest entries have a blank header, which continuous mode writes and no other (4.2.0).

        A single entry says too little: an edited one of another mode looks the same.
        """
        return all(entry is not None and entry.header.is_empty for entry in (self.newest, self.previous))

    def as_continuous(self) -> "CheckpointFacts":
        """As a continuous query sees it: blank headers are no damage."""
        return replace(self, broken=tuple(one for one in self.broken if one.damage is not Damage.BLANK_HEADER))

    @property
    def previous_batch(self) -> int:
        """The entry that a start reads below the newest; -1 for none.

        The one right before it. With async progress tracking the next lower one that is there (seen on 4.1.4, 4.2.0): holes in
        the commits tell of that where an entry of the offsets was lost besides.
        """
        below = self.offsets_log.ids[:-1]
        if below and self.last_offset - 1 not in below and (self.looks_async or self.commits_log.has_holes):
            return below[-1]
        return self.last_offset - 1

    @property
    def is_new(self) -> bool:
        """Whether no batch was ever planned here. `metadata` alone is no history: an availableNow run without input leaves it."""
        return self.last_offset < 0 and self.last_commit < 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a query is there, readable or not."""
        return self.is_new and not self.query_id and not self.broken

    @property
    def next_batch(self) -> int:
        """What a start runs first, and the version of the state that it loads: the newest planned batch, unless exactly that
        one is committed (MicroBatchExecution, 3.5 to 4.3)."""
        return self.last_offset + 1 if self.last_offset == self.last_commit else max(self.last_offset, 0)

    @property
    def has_pending_batch(self) -> bool:
        """Whether the newest planned batch is not committed: the next start runs it again."""
        return self.last_offset > self.last_commit
