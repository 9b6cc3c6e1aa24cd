"""Which commits of a Delta table stop a query that reads it, under which options. Pure.

Delta's streaming source reads rows that were added. On rows that were taken out it stops, unless an option says what to make of
them; on columns that its query does not have it stops each time (DeltaSource, Delta 4.4; tried with Spark 4.2.0).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from streamops.deltalog.pending import NotableCommit, PendingVersions

Options = Sequence[tuple[str, str]]

_ALLOW_CHANGES = frozenset({"ignorechanges", "skipchangecommits", "ignorefiledeletion"})
_ALLOW_DELETES = _ALLOW_CHANGES | {"ignoredeletes"}
_CHANGE_FEED = frozenset({"readchangefeed", "readchangedata"})
_TRACKS_SCHEMA = frozenset({"schematrackinglocation", "schemalocation"})
_KNOWN_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
    }
)
"""Reader features of Delta 4.4 that need nothing of whoever reads the table."""
_NEWEST_READER = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Why the source stops at a commit."""

    what: str
    repair: str
    error: str = ""
    is_doubt: bool = False
    """Whether it only may stop there."""


def stop_of(commit: NotableCommit, pending: PendingVersions, options: Options) -> Stop | None:
    """Why a source with these options stops at one of the commits that it has yet to read; None where it does not."""
    given = {name.lower() for name, value in options if value.strip().lower() != "false"}
    reads_changes = bool(given & _CHANGE_FEED)
    if commit.removes and not reads_changes:
        if commit.adds and not given & _ALLOW_CHANGES:
            return _CHANGED
        if not commit.adds and not given & _ALLOW_DELETES:
            return _DELETED
    if commit.changes_metadata and not given & _TRACKS_SCHEMA:
        return _columns_stop(commit, pending)
    unknown = sorted(set(commit.reader_features) - _KNOWN_FEATURES)
    if commit.reader_version > _NEWEST_READER or unknown:
        named = ", ".join(unknown) or f"reader version {commit.reader_version}"
        return Stop(
            what=f"asks its readers for {named}",
            repair="see whether the Delta of the query knows it, and upgrade it otherwise",
            is_doubt=True,
        )
    return None


def _columns_stop(commit: NotableCommit, pending: PendingVersions) -> Stop | None:
    """A query has the columns of the newest version; what is older must not have others."""
    metadata = [one for one in pending.notable if one.changes_metadata]
    newest = metadata[-1].columns
    place = metadata.index(commit)
    before = pending.columns_before if place == 0 else metadata[place - 1].columns
    if newest is None or before is None or commit.columns is None:
        return None if commit.columns is not None and commit.columns == newest == before else _UNKNOWN_COLUMNS
    kept = dict(newest)
    lost = [name for name, kind in (*before, *commit.columns) if kept.get(name) != kind]
    if not lost:
        return None
    return Stop(
        what=f"changes the columns, {lost[0]!r} among them",
        repair="with columns that were dropped, renamed or retyped the query needs a `schemaTrackingLocation`, or a new"
        " checkpoint with `startingVersion` behind the change",
        error="SCHEMA",
    )


_CHANGED = Stop(
    what="changes or overwrites rows",
    repair="set `skipChangeCommits` on the source, which leaves such commits out; or begin a new checkpoint with"
    " `startingVersion` behind it",
    error="DELTA_SOURCE_TABLE_IGNORE_CHANGES",
)
_DELETED = Stop(
    what="deletes rows",
    repair="set `ignoreDeletes` or `skipChangeCommits` on the source; or begin a new checkpoint with `startingVersion` behind it",
    error="DELTA_SOURCE_IGNORE_DELETE",
)
_UNKNOWN_COLUMNS = Stop(
    what="changes the table's metadata, and which columns it had before is not known",
    repair="compare the columns of the version before with those of the newest one",
    is_doubt=True,
)
