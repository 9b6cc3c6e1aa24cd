"""The names in one state store's folder, and whether a version can be loaded from them.

Spark classes: HDFSBackedStateStoreProvider (`7.delta`, `7.snapshot`), RocksDBFileManager (`7.zip`, `7.changelog`; with
checkpoint format v2, 4.0+, `7_<uuid>.zip`, `7_<uuid>.changelog`); 3.5 to 4.3. Names prove that a file is there, not
that it is whole.
"""

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from enum import StrEnum

SHOWN_MISSING = 20
FOLDERS_OF_A_STORE = frozenset({"SSTs", "logs", "_metadata"})

_STATE_FILE = re.compile(r"(0|[1-9][0-9]{0,17})(?:_(.+))?\.(delta|snapshot|changelog|zip)")
"""In the spelling that Spark looks for; longer numbers may not fit into Java's long, and no query comes near."""
_CHANGES = frozenset({"delta", "changelog"})
_HDFS_KINDS = ("delta", "snapshot")
_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.TID[0-9]+)?\.tmp", re.ASCII)

FileVersion = tuple[int, str]
"""A version and the unique id behind it; no id before checkpoint format v2."""


class Provider(StrEnum):
    """Who wrote a store's files."""

    HDFS = "hdfs"
    ROCKSDB = "rocksdb"
    MIXED = "mixed"
    """Files of both: Spark reads those of the provider that the offset log pins."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """The files that a load needs and does not find."""

    names: tuple[str, ...] = ()
    """The first SHOWN_MISSING. `7_*.changelog` stands for any unique id."""
    total: int = 0

    def __bool__(self) -> bool:
        return self.total > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFiles:
    """One listing of a store's folder."""

    deltas: frozenset[FileVersion] = frozenset()
    snapshots: frozenset[FileVersion] = frozenset()
    changelogs: frozenset[FileVersion] = frozenset()
    zips: frozenset[FileVersion] = frozenset()
    temporary_of: frozenset[str] = frozenset()
    """Final names of files that lie here under a temporary name; where the final one is missing, it may be the only copy."""
    spark_checked: frozenset[str] = frozenset()
    """Names of files beside which Spark's own checksum lies, `7.delta.crc` (4.1+)."""
    hadoop_checked: frozenset[str] = frozenset()
    """Names beside which Hadoop's lies, `.7.delta.crc`, on local file systems."""
    foreign: int = 0

    @property
    def provider(self) -> Provider:
        """Recognised from the names."""
        if self.deltas or self.snapshots:
            return Provider.MIXED if self.changelogs or self.zips else Provider.HDFS
        return Provider.ROCKSDB if self.changelogs or self.zips else Provider.UNKNOWN

    @property
    def checked_versions(self) -> range:
        """From the oldest to the newest version of whose changes Hadoop's side file is there."""
        found = [_state_file(name) for name in self.hadoop_checked]
        versions = [known[1][0] for known in found if known and known[0] in _CHANGES]
        return range(min(versions), max(versions) + 1) if versions else range(0)

    def unchecked(self, names: Iterable[str], *, upto: int) -> Iterator[str]:
        """Those of changes that lack Hadoop's side file, of versions between the oldest that has one and `upto`.

        Spark's renames write both or none (ChecksumFs, Hadoop 3.4), before the batch is committed.
        """
        oldest = self.checked_versions.start if self.checked_versions else upto
        for name in names:
            kind, (version, _) = _state_file(name) or ("", (0, ""))
            if kind in _CHANGES and name not in self.hadoop_checked and oldest < version <= upto:
                yield name

    @property
    def newest_version(self) -> int:
        """The highest version that any file is of; 0 for none."""
        kinds = (self.deltas, self.snapshots, self.changelogs, self.zips)
        return max((max(known)[0] for known in kinds if known), default=0)

    @property
    def count(self) -> int:
        """How many files of state there are."""
        return len(self.deltas) + len(self.snapshots) + len(self.changelogs) + len(self.zips)

    @property
    def has_unique_ids(self) -> bool:
        """Whether any file is of checkpoint format v2: then only the commit log tells which file counts."""
        return any(unique_id for _, unique_id in self.changelogs | self.zips)

    def loadable(self, version: int, unique_id: str = "", *, provider: Provider = Provider.UNKNOWN) -> Missing:
        """What is missing to load a version; nothing for version 0, which is empty.

        `provider` says whose names to miss where the folder itself does not tell. With a unique id the way back to the
        snapshot stands inside the changelogs; by names alone any file of a version counts, except for the version itself.
        """
        if version <= 0:
            return Missing()
        if unique_id:
            return self._missing_by_id(version, unique_id)
        own = self.provider
        if own is Provider.MIXED:
            # The chain that goes further: a left-over of the other provider must not look like damage.
            return min(
                self._missing_deltas(version), self._missing_changelogs(version), key=lambda missing: missing.total
            )
        known = provider if own is Provider.UNKNOWN else own
        return self._missing_changelogs(version) if known is Provider.ROCKSDB else self._missing_deltas(version)

    def snapshot_for(self, version: int, unique_id: str = "") -> str:
        """The RocksDB snapshot that a load of a version begins with; empty for none, or where names do not tell."""
        if unique_id:
            return f"{version}_{unique_id}.zip" if (version, unique_id) in self.zips else ""
        newest = _newest(_plain(self.zips), version)
        return f"{newest}.zip" if newest and self.provider is Provider.ROCKSDB else ""

    def changes_for(
        self, version: int, unique_id: str = "", *, provider: Provider = Provider.UNKNOWN
    ) -> tuple[str, ...]:
        """The files of changes that a load of a version reads, those of HDFS with the snapshot that it begins with.

        With a unique id all that the versions before it may be: which of them count stands in the file of the version itself.
        None where names do not tell whose files count.
        """
        if version <= 0:
            return ()
        if unique_id:
            return self._changes_by_id(version, unique_id)
        own = provider if self.provider is Provider.UNKNOWN else self.provider
        if own is Provider.HDFS:
            start = _newest(_plain(self.snapshots), version)
            first = (f"{start}.snapshot",) if start else ()
            return (*first, *_between(_plain(self.deltas), start, version, ".delta"))
        if own is Provider.ROCKSDB:
            return _between(_plain(self.changelogs), _newest(_plain(self.zips), version), version, ".changelog")
        return ()

    def _changes_by_id(self, version: int, unique_id: str) -> tuple[str, ...]:
        if (version, unique_id) not in self.changelogs or (version, unique_id) in self.zips:
            return ()
        start = _newest({known for known, _ in self.zips}, version - 1)
        before = sorted((known, one) for known, one in self.changelogs if one and start < known < version)
        return tuple(f"{known}_{one}.changelog" for known, one in (*before, (version, unique_id)))

    def spare_for(self, version: int) -> str:
        """The snapshot that a load begins with and could do without: all changes since the one before it are there.

        Empty for none. Spark 4.2 and later go round a broken one so, with both providers (SPARK-54121; tried on 4.2.0).
        """
        kinds = {
            Provider.HDFS: (self.snapshots, self.deltas, ".snapshot"),
            Provider.ROCKSDB: (self.zips, self.changelogs, ".zip"),
        }
        if self.provider not in kinds:
            return ""
        snapshots, changes, suffix = kinds[self.provider]
        start = _newest(_plain(snapshots), version)
        below = _newest(_plain(snapshots), start - 1)
        is_whole = len(_between(_plain(changes), below, start, "")) == start - below
        return f"{start}{suffix}" if start and is_whole else ""

    def _missing_deltas(self, version: int) -> Missing:
        start = _newest(_plain(self.snapshots), version)
        return _absent(_plain(self.deltas), start=start, end=version, suffix=".delta")

    def _missing_changelogs(self, version: int) -> Missing:
        start = _newest(_plain(self.zips), version)
        return _absent(_plain(self.changelogs), start=start, end=version, suffix=".changelog")

    def _missing_by_id(self, version: int, unique_id: str) -> Missing:
        if (version, unique_id) in self.zips:
            return Missing()
        start = _newest({known for known, _ in self.zips}, version - 1)
        chain = {known for known, _ in self.changelogs}
        before = _absent(chain, start=start, end=version - 1, suffix="_*.changelog")
        if (version, unique_id) in self.changelogs:
            return before
        last = f"{version}_{unique_id}.changelog"
        return Missing(names=(*before.names[: SHOWN_MISSING - 1], last), total=before.total + 1)


def store_files(names: Iterable[str]) -> StoreFiles:
    """The files behind the names in a store's folder; sub-folders of the store itself and other stores are no strangers."""
    versions: dict[str, set[FileVersion]] = {"delta": set(), "snapshot": set(), "changelog": set(), "zip": set()}
    others = []
    for name in names:
        file = _state_file(name)
        if file is None:
            others.append(name)
        else:
            kind, version = file
            versions[kind].add(version)
    temporaries = [match[1] for name in others if (match := _TEMPORARY.fullmatch(name))]
    hadoop = frozenset(name[1:-4] for name in others if name.startswith(".") and name.endswith(".crc"))
    spark = frozenset(name[:-4] for name in others if name.endswith(".crc") and _state_file(name[:-4]) is not None)
    folders = sum(name in FOLDERS_OF_A_STORE for name in others)
    return StoreFiles(
        deltas=frozenset(versions["delta"]),
        snapshots=frozenset(versions["snapshot"]),
        changelogs=frozenset(versions["changelog"]),
        zips=frozenset(versions["zip"]),
        temporary_of=frozenset(temporaries),
        spark_checked=spark,
        hadoop_checked=hadoop,
        foreign=len(others) - len(temporaries) - len(hadoop) - len(spark) - folders,
    )


def _state_file(name: str) -> tuple[str, FileVersion] | None:
    """`7.delta` → ("delta", (7, "")), `7_<uuid>.zip` → ("zip", (7, uuid)); None for everything else."""
    match = _STATE_FILE.fullmatch(name)
    if match is None:
        return None
    digits, unique_id, kind = match.groups()
    return None if unique_id and kind in _HDFS_KINDS else (kind, (int(digits), unique_id or ""))


def _plain(versions: Set[FileVersion]) -> set[int]:
    return {version for version, unique_id in versions if not unique_id}


def _newest(versions: Set[int], limit: int) -> int:
    """The newest version that is not above a limit; 0, the empty state, when there is none."""
    return max((version for version in versions if version <= limit), default=0)


def _between(present: Set[int], start: int, end: int, suffix: str) -> tuple[str, ...]:
    return tuple(f"{version}{suffix}" for version in sorted(present) if start < version <= end)


def _absent(present: Set[int], *, start: int, end: int, suffix: str) -> Missing:
    """The versions after start, up to end, that are not present; a version may be any number, so nothing counts up to it."""
    total = end - start - sum(start < version <= end for version in present)
    names: list[str] = []
    candidate = start
    while len(names) < min(total, SHOWN_MISSING):
        candidate += 1
        if candidate not in present:
            names.append(f"{candidate}{suffix}")
    return Missing(names=tuple(names), total=max(total, 0))
