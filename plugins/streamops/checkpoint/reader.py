"""One look at a checkpoint: exactly the files that Spark itself reads at a start.

Two offset entries, one commit entry and `metadata` decide what the next start does (MicroBatchExecution, 3.5 to 4.3); a
broken one is a fact here, not an exception that hides the rest.
"""

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from streamops.checkpoint.commits import CommitEntry, parse_commit
from streamops.checkpoint.facts import BrokenFile, CheckpointFacts
from streamops.checkpoint.layout import (
    COMMIT_LIMIT,
    COMMITS,
    METADATA,
    METADATA_LIMIT,
    OFFSETS,
    OFFSETS_LIMIT,
    Damage,
    DamagedFileError,
    LogListing,
    batch_id,
    json_value,
    quoted,
    read_listing,
)
from streamops.checkpoint.offsets import OffsetEntry, offset_pairs, parse_offsets
from streamops.checkpoint.source_offsets import UnknownOffset
from streamops.errors import ObjectIsNoFileError, ObjectNotFoundError, ObjectTooLargeError, StorageError
from streamops.storage import ReadableStorage, join
from streamops.storage.side_files import is_stale

T = TypeVar("T")

_MISNAMED = "a batch is listed, but not under this, its own name"

_JAVA_UUID = re.compile(
    r"([0-9a-f]{1,8})-([0-9a-f]{1,4})-([0-9a-f]{1,4})-([0-9a-f]{1,4})-([0-9a-f]{1,12})", re.IGNORECASE
)
"""What Java's UUID.fromString accepts: always four hyphens, leading zeros may be missing."""


def read_checkpoint(storage: ReadableStorage, address: str) -> CheckpointFacts:
    """Read a checkpoint; a folder that does not exist is a new checkpoint.

    Raises StorageError when it can't be asked, or when files vanish while it is read.
    """
    commits_log, offsets_log = _read_logs(storage, address)
    last_offset, last_commit = offsets_log.highest, commits_log.highest
    has_previous = last_offset > 0 and last_offset - 1 in offsets_log.ids
    reader = _Reader(storage, address, offsets_log=offsets_log, commits_log=commits_log)
    query_id = reader.read(METADATA, _query_id, limit=METADATA_LIMIT, is_listed=False)
    newest = reader.read_offsets(last_offset) if last_offset >= 0 else None
    facts = CheckpointFacts(
        address=address,
        query_id=query_id,
        last_offset=last_offset,
        last_commit=last_commit,
        newest=newest,
        has_previous_offset=last_offset <= 0 or has_previous,
        offsets_log=offsets_log,
        commits_log=commits_log,
    )
    is_there = facts.previous_batch >= 0 and facts.previous_batch in offsets_log.ids
    previous = reader.read_offsets(facts.previous_batch) if is_there else None
    commit = reader.read_commit(last_commit) if last_commit >= 0 else None
    needs_earlier = previous is not None and (facts.has_pending_batch or _has_unknown_offsets(previous, newest))
    earlier = _read_earlier(storage, facts) if needs_earlier else None
    return replace(
        facts,
        previous=previous,
        earlier=earlier,
        commit=commit,
        broken=tuple(reader.broken),
        stale=tuple(reader.stale),
    )


def _has_unknown_offsets(before: OffsetEntry, now: OffsetEntry | None) -> bool:
    """Whether neither entry tells of a source whose offsets it holds."""
    return any(
        isinstance(had, UnknownOffset) and isinstance(has, UnknownOffset) for _, had, has in offset_pairs(before, now)
    )


def _read_earlier(storage: ReadableStorage, facts: CheckpointFacts) -> OffsetEntry | None:
    """What is broken or cleaned up there keeps no start from working."""
    below = bisect_left(facts.offsets_log.ids, facts.previous_batch)
    if not below:
        return None
    batch = facts.offsets_log.ids[below - 1]
    file = f"{OFFSETS}/{batch}"
    try:
        return parse_offsets(
            storage.read(join(facts.address, file), limit=OFFSETS_LIMIT),
            batch=batch,
            address=file,
            may_be_continuous=True,
        )
    except (DamagedFileError, ObjectNotFoundError, ObjectIsNoFileError, ObjectTooLargeError):
        return None


def _read_logs(storage: ReadableStorage, address: str) -> tuple[LogListing, LogListing]:
    """Commits first: a batch that ends between the two listings must not look like a commit without its offsets.

    Where several have ended, commits seem to be missing: then once more, for a few times, as long as they still grow.
    """
    commits_log = read_listing(storage, join(address, COMMITS))
    for _ in range(LOOKS):
        offsets_log = read_listing(storage, join(address, OFFSETS))
        if offsets_log.highest <= commits_log.highest + 1:
            break
        before, commits_log = commits_log, read_listing(storage, join(address, COMMITS))
        if commits_log.highest == before.highest:
            break
    return commits_log, offsets_log


LOOKS = 3


class _Reader:
    """Reads files of one checkpoint and keeps what is broken, and what is stale."""

    def __init__(
        self, storage: ReadableStorage, address: str, *, offsets_log: LogListing, commits_log: LogListing
    ) -> None:
        self._storage = storage
        self._address = address
        self._offsets_log = offsets_log
        self._commits_log = commits_log
        self._has_side_files = bool(offsets_log.checksums.count or commits_log.checksums.count)
        self.broken: list[BrokenFile] = []
        self.stale: list[str] = []

    def read(self, file: str, parse: Callable[[bytes, str], T], *, limit: int, is_listed: bool = True) -> T | None:
        """The parsed file; None when it is broken, or not there although Spark would look for it under this name."""
        address = join(self._address, file)
        try:
            content = self._storage.read(address, limit=limit)
            parsed = parse(content, file)
        except ObjectNotFoundError as error:
            if is_listed and not self._is_odd(file):
                raise StorageError(f"{file} vanished between two looks at {self._address}: look again") from error
            if is_listed:
                self.broken.append(BrokenFile(file=file, reason=_MISNAMED, damage=Damage.NOT_UNDER_ITS_NAME))
            return None
        except DamagedFileError as error:
            self.broken.append(BrokenFile(file=file, reason=str(error), damage=error.damage))
            return None
        except ObjectIsNoFileError as error:
            self.broken.append(BrokenFile(file=file, reason=str(error), damage=Damage.NO_FILE))
            return None
        except ObjectTooLargeError as error:
            self.broken.append(BrokenFile(file=file, reason=str(error), damage=Damage.TOO_LARGE))
            return None
        if self._has_side_files and is_stale(self._storage, address, content):
            self.stale.append(file)
        return parsed

    def _is_odd(self, file: str) -> bool:
        """Whether its batch is listed under another spelling: Spark counts `00004`, and then reads `4`."""
        log, _, number = file.partition("/")
        odd = self._offsets_log.odd if log == OFFSETS else self._commits_log.odd
        return any(batch_id(name) == int(number) for name in odd)

    def read_offsets(self, batch: int) -> OffsetEntry | None:
        """A blank header can be read, but a micro-batch query does not start on it (3.5 to 4.3)."""

        def parse(content: bytes, file: str) -> OffsetEntry:
            return parse_offsets(content, batch=batch, address=file, may_be_continuous=True)

        entry = self.read(f"{OFFSETS}/{batch}", parse, limit=OFFSETS_LIMIT)
        if entry and entry.header.is_empty:
            self.broken.append(BrokenFile(file=f"{OFFSETS}/{batch}", reason=_BLANK_HEADER, damage=Damage.BLANK_HEADER))
        return entry

    def read_commit(self, batch: int) -> CommitEntry | None:
        def parse(content: bytes, file: str) -> CommitEntry:
            return parse_commit(content, batch=batch, address=file)

        return self.read(f"{COMMITS}/{batch}", parse, limit=COMMIT_LIMIT)


_BLANK_HEADER = "line 2: the header is blank, as continuous mode writes it: a query of another mode can't go on from it"


def _query_id(content: bytes, file: str) -> str:
    """The id in `metadata`, spelled as Java spells it. Spark class: StreamMetadata, 3.5 to 4.3."""
    if not content.strip():
        raise DamagedFileError(Damage.EMPTY, f"{file} does not hold a query id: it is empty")
    try:
        fields = json_value(content.decode(errors="replace"))
    except ValueError as error:
        raise DamagedFileError(Damage.BODY, f"{file} does not hold a query id: {error}") from error
    if fields is None or (isinstance(fields, dict) and "id" in fields and fields["id"] is None):
        raise DamagedFileError(Damage.NULL_QUERY_ID, f"{file} does not hold a query id: it says null")
    query_id = fields.get("id") if isinstance(fields, dict) else None
    if type(query_id) in (int, float):
        query_id = str(query_id)  # Spark makes a text of it, too, and then it is no id.
    if not isinstance(query_id, str):
        raise DamagedFileError(Damage.NO_QUERY_ID, f"{file} does not hold a query id: no text under `id`")
    parts = _JAVA_UUID.fullmatch(query_id)
    if parts is None:
        raise DamagedFileError(Damage.QUERY_ID, f"{file} does not hold a query id: {quoted(query_id)} is none")
    return "-".join(part.lower().zfill(width) for part, width in zip(parts.groups(), (8, 4, 4, 4, 12), strict=True))
