"""Rules about the files of state that a start loads: gone, broken, in the place of others, or of a batch that no log has.

Codes in brackets name the damage of the matrix that was tried on real Spark 3.5 to 4.3.
"""

from collections.abc import Iterator

from streamops.catalogue.expectations import Expectations
from streamops.catalogue.file_rules import BACKUP, FAILS
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import COMMITS, OFFSETS, quoted
from streamops.checkpoint.state_snapshots import BrokenStateFile
from streamops.formatting import listed
from streamops.verdict import AtStart, Finding, Severity, StartEffect

SHOWN = 5
_SIDE_FILES = "and delete the hidden `.crc` beside each"


def lost_operators(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """The whole state of an operator is gone: operators are numbered from 0 on, and the last batch told how many there are."""
    state = snapshot.state
    if state is None or state.version <= 0 or snapshot.facts.is_new:
        return
    present = {operator.operator for operator in state.operators}
    known = max(max(present, default=-1) + 1, expected.stateful_operators, int(_has_run_for_state(snapshot.facts)))
    gone = [number for number in range(known) if number not in present]
    if not gone:
        return
    folders = ", ".join(f"state/{number}" for number in gone[:SHOWN])
    yield Finding(
        rule="lost-operators",
        severity=Severity.CRITICAL,
        file=f"state/{gone[0]}",
        evidence=f"{folders} {'is' if len(gone) == 1 else 'are'} not there; the query has {known} operators with state",
        meaning=f"their state can't be loaded: {FAILS}",
        repair=f"restore the folders {BACKUP}; otherwise build the state anew from the source, in a new checkpoint",
        not_when="do not go back to the first batch in this checkpoint: a sink that knows batches drops what comes then",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"{folders} {'is' if len(gone) == 1 else 'are'} not there, and the query keeps state there",
            error=expected.engine.missing_operator_error,
        ),
    )


def _has_run_for_state(facts: CheckpointFacts) -> bool:
    """Whether a batch had no input and another watermark than the one before: only state makes Spark plan one."""
    return any(
        before.sources == now.sources
        and None not in (before.header.watermark_ms, now.header.watermark_ms)
        and before.header.watermark_ms != now.header.watermark_ms
        for before, now in facts.steps
    )


OPERATORS = frozenset(
    {
        "applyInPandasWithState",
        "dedupe",
        "dedupeWithinWatermark",
        "defaultName",
        "flatMapGroupsWithState",
        "globalLimit",
        "sessionWindowStateStoreSaveExec",
        "stateStoreSave",
        "symmetricHashJoin",
        "transformWithStateExec",
        "transformWithStateInPandasExec",
        "transformWithStateInPySparkExec",
    }
)
"""All names that operators have (StatefulOperatorsUtils and StateStoreWriter of 4.2)."""


def unknown_operators(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """The state's metadata names an operator that no query has: a start compares it with the query's (tried on 4.2.0)."""
    if snapshot.state is None or not expected.engine.compares_operators:
        return
    strange = [one for one in snapshot.state.operators if one.name and one.name not in OPERATORS]
    for one in strange:
        file = f"state/{one.operator}/_metadata"
        yield Finding(
            rule="unknown-operators",
            severity=Severity.CRITICAL,
            file=file,
            evidence=f"it names the operator {quoted(one.name)}, which Spark {expected.engine.version} has not",
            meaning=f"a start compares it with what the query has there: {FAILS}",
            repair=f"restore the file below {file} {BACKUP}, or put the right name there {_SIDE_FILES}",
            start=StartEffect(
                kind=AtStart.FAILS,
                summary=f"{file} names the operator {quoted(one.name)}, which no query has",
                error="STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
            ),
        )


def emptied_state(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """The folder of the state is there and holds no operator: a query without state makes no such folder (4.2.0)."""
    state = snapshot.state
    if state is None or not state.is_emptied or state.version <= 0 or snapshot.facts.is_new:
        return
    if expected.stateful_operators or _has_run_for_state(snapshot.facts):
        return
    yield Finding(
        rule="emptied-state",
        severity=Severity.CRITICAL,
        file="state",
        evidence="the folder is there, and there is no operator in it",
        meaning=f"a query with state can't load it: {FAILS}; one without never made that folder",
        repair=f"restore what was in it {BACKUP}; if the query keeps no state, delete the empty folder",
        start=StartEffect(
            kind=AtStart.UNDECIDED, summary="state is there and empty: if the query keeps state, each start fails"
        ),
    )


def unloadable_state(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """Files are missing that the state of the next batch is loaded from."""
    state = snapshot.state
    if state is None or not state.unloadable_total or snapshot.facts.is_new:
        return
    first = state.unloadable[0]
    where = f"state/{first.operator}/{first.partition}" + (f"/{first.store}" if first.store != "default" else "")
    left = [name for store in state.unloadable for name in store.left_as_temporary]
    commit = _commit_of_ids(snapshot)
    yield Finding(
        rule="unloadable-state",
        severity=Severity.CRITICAL,
        file=where,
        evidence=f"{state.unloadable_total} of {state.stores_checked} stores lack files for version {state.version}, here"
        f" {', '.join(first.missing.names[:SHOWN])}{' …' if first.missing.total > SHOWN else ''}",
        meaning=f"the tasks of the next batch can't load their state: {FAILS}",
        repair=f"restore {COMMITS}/{commit} {BACKUP}: files of state have ids here, and it is what names them"
        if commit is not None
        else f"rename the temporary files that hold {', '.join(left[:SHOWN])}: they may be the only copies"
        if left
        else f"restore the files {BACKUP}, {_SIDE_FILES}{_or_the_commit(snapshot)}; otherwise go back to a version that all"
        " partitions still have, or build the state anew from the source",
        not_when="do not empty the partition alone: its earlier versions are then asked for",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"the state that batch {state.version} needs can't be loaded: {where} lacks"
            f" {', '.join(first.missing.names[:SHOWN])}",
            error=expected.engine.missing_state_error,
        ),
    )


def _commit_of_ids(snapshot: CheckpointSnapshot) -> int | None:
    """The commit that should name the files of state to load, where it is gone or names none; None for state without ids."""
    facts, state = snapshot.facts, snapshot.state
    if state is None or not any(operator.has_unique_ids for operator in state.operators):
        return None
    if facts.last_commit < facts.next_batch - 1:
        return facts.next_batch - 1
    return facts.last_commit if facts.commit is not None and not facts.commit.has_state_ids else None


def _or_the_commit(snapshot: CheckpointSnapshot) -> str:
    """Files with ids are those that the newest commit names: where a copy has none of them, the commit is of another time."""
    facts = snapshot.facts
    if facts.commit is None or not facts.commit.has_state_ids:
        return ""
    return f", or where it has none of these names, {COMMITS}/{facts.last_commit}, which gives them"


def broken_state_file(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """A file of the state is empty, cut or changed, or refers to files that are missing (SPARK-51717, SPARK-46796)."""
    kinds = ((snapshot.snapshots, "snapshots"), (snapshot.changes, "files of changes"))
    opened = " and ".join(f"{found.checked} of {found.total} {kind}" for found, kind in kinds if found.total)
    for broken in snapshot.broken_state[:SHOWN]:
        is_passed = broken.is_spare and expected.engine.goes_round_snapshots
        yield Finding(
            rule="broken-state-file",
            severity=Severity.WARNING if is_passed else Severity.CRITICAL,
            file=broken.file,
            evidence=f"{broken.reason} ({opened} were opened)",
            meaning="Spark 4.2 and later go round it, by the changes below it; with older ones each start fails"
            if is_passed
            else f"the tasks of the next batch can't load their state: {FAILS}",
            repair=f"delete {broken.file}"
            if broken.is_left_behind
            else f"restore the files {BACKUP}, {_SIDE_FILES}; otherwise go back to a batch whose state is whole, or build the"
            " state anew from the source",
            not_when="do not delete the partition's folder: its earlier versions are then asked for. Where the sink knows"
            " batches by id there is no way back: a batch that it drops writes no state",
            start=None if is_passed else _at_broken_state(broken, snapshot, expected),
        )


def _at_broken_state(broken: BrokenStateFile, snapshot: CheckpointSnapshot, expected: Expectations) -> StartEffect:
    engine = expected.engine
    known = "" if broken.is_schema else engine.missing_state_error if broken.lacks_files else engine.broken_state_error
    what = f"{broken.file}: {broken.reason}"
    if broken.may_stay_unread:
        return StartEffect(
            kind=AtStart.UNDECIDED,
            summary=f"{what}: the batch that looks for a row in there fails, and so does RocksDB when it writes its files anew",
        )
    return StartEffect(
        kind=AtStart.FAILS,
        summary=f"the state that batch {snapshot.facts.next_batch} needs can't be loaded: {what}",
        error=known or what,
    )


def state_ahead(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """State was written by a batch that the logs do not have: their newest entries are gone, or an older copy is there.

    A batch is planned before its tasks write state (MicroBatchExecution, 3.5 to 4.3).
    """
    facts, state = snapshot.facts, snapshot.state
    if state is None or facts.is_new or state.newest_version <= facts.last_offset + 1:
        return
    batch = facts.last_offset + 1
    yield Finding(
        rule="state-ahead",
        severity=Severity.CRITICAL,
        file="state",
        evidence=f"there is state of version {state.newest_version}, which batch {state.newest_version - 1} writes; offsets reach"
        f" batch {facts.last_offset}",
        meaning=f"batch {batch} has run before, and comes again with other rows: a sink that knows batches drops them, another"
        " one has its rows twice",
        repair=f"restore the newest entries of {OFFSETS} and {COMMITS} {BACKUP}",
        not_when="when somebody went back on purpose, and the sink with it",
        start=StartEffect(
            kind=AtStart.UNDECIDED,
            summary=f"state was written by batch {state.newest_version - 1}, offsets reach {facts.last_offset}: batch {batch} has"
            " run before, and comes again with other rows",
        ),
    )


def unchecked_state_file(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """A file of state that is loaded lacks the side file that Hadoop writes with it, and its neighbours have theirs."""
    lacking = sorted(snapshot.state.checksums.lacking if snapshot.state else ())
    if not lacking:
        return
    yield Finding(
        rule="unchecked-state-file",
        severity=Severity.WARNING,
        file=lacking[0],
        evidence=f"{listed(lacking, SHOWN)}: no hidden `.crc`, which older and newer files have",
        meaning="something other than Spark wrote it there: Spark goes on with whatever state is in it, and no error tells",
        repair=f"compare the files {BACKUP}; of one that was restored, this ends when Spark cleans it up",
        not_when="where only the `.crc` was deleted",
    )


def changed_state_file(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """A file of state can be loaded, and is not what Hadoop's side file was written for: another file was put in its place."""
    stale = (*(snapshot.state.stale_schemas if snapshot.state else ()), *snapshot.changes.stale)
    if not stale:
        return
    names = listed(stale, SHOWN)
    yield Finding(
        rule="changed-state-file",
        severity=Severity.CRITICAL,
        file=stale[0],
        evidence=f"the side files of {names} do not fit",
        meaning="Spark does not ask them: it goes on with whatever state is in there, and no error tells; a schema of another"
        " query ends each start",
        repair=f"restore the files {BACKUP}, {_SIDE_FILES}; where they are known to be right, delete those alone",
        start=StartEffect(
            kind=AtStart.UNDECIDED,
            summary=f"{names} are not what was written there: their side files do not fit, which Spark does not notice",
        ),
    )
