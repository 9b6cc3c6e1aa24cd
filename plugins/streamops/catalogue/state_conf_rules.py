"""Rules about the settings that an offset entry pins: values that Spark refuses, and those that the state was not written with.

A start takes them from the newest entry, whatever the session has. Of those that are absent it takes an old value (formats), or
the session's (OffsetSeqMetadata.setSessionConf, 3.5 to 4.3). What comes of each was tried on 4.2.0 with both providers,
aggregations with and without keys, joins and drops of duplicates.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from streamops.catalogue.expectations import Expectations
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import SHUFFLE_PARTITIONS, STATE_CODEC, CheckpointSnapshot
from streamops.checkpoint.layout import COMMITS, OFFSETS, quoted
from streamops.checkpoint.offsets import OffsetEntry
from streamops.checkpoint.state import JOIN_STORES, OperatorFacts
from streamops.checkpoint.state_files import Provider
from streamops.verdict import AtStart, Finding, Severity, StartEffect

_STATE_STORE = "spark.sql.streaming.stateStore."
PROVIDER_CLASS = f"{_STATE_STORE}providerClass"
ROW_CHECKSUM = f"{_STATE_STORE}rowChecksum.enabled"
ENCODING = f"{_STATE_STORE}encodingFormat"
EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
AGGREGATION_FORMAT = "spark.sql.streaming.aggregation.stateFormatVersion"
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
LEGACY_FORMAT = "1"
WRITTEN_FORMAT = "2"
"""Spark's own since 2.4, where nobody has set another."""
AGGREGATION = "stateStoreSave"

_PROVIDERS = {
    f"org.apache.spark.sql.execution.streaming.state.{name}": provider
    for name, provider in (
        ("HDFSBackedStateStoreProvider", Provider.HDFS),
        ("RocksDBStateStoreProvider", Provider.ROCKSDB),
    )
}
_CODECS = frozenset({"lz4", "lzf", "snappy", "zstd"})
"""Short names that Spark knows (CompressionCodec, 3.5 to 4.3); a class has a dot in its name."""


def _is_flag(text: str) -> bool:
    return text.strip().lower() in ("true", "false")


def _is_whole(text: str) -> bool:
    return text.strip().isascii() and text.strip().isdecimal() and len(text) <= 12


def _is_positive(text: str) -> bool:
    number = text.strip().removeprefix("+")
    return number.isascii() and number.isdecimal() and 0 < int(number[:12]) < 2**31 and len(number) <= 12


_POSSIBLE: Mapping[str, Callable[[str], bool]] = {
    SHUFFLE_PARTITIONS: _is_positive,
    AGGREGATION_FORMAT: lambda text: text.strip() in ("1", "2"),
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": lambda text: text.strip() in ("1", "2"),
    "spark.sql.streaming.multipleWatermarkPolicy": lambda text: text.strip().lower() in ("min", "max"),
    "spark.sql.streaming.statefulOperator.useStrictDistribution": _is_flag,
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan": _is_flag,
    ROW_CHECKSUM: _is_flag,
    JOIN_FORMAT: _is_whole,
    f"{_STATE_STORE}rocksdb.formatVersion": _is_whole,
    f"{_STATE_STORE}rocksdb.mergeOperatorVersion": _is_whole,
    ENCODING: lambda text: text.strip().lower() in ("unsaferow", "avro"),
    "spark.sql.function.protobufExtensions.enabled": _is_flag,
    EVOLUTION: _is_flag,
}
"""What Spark takes, with state or without. Which number of a format a store can read differs from version to version."""


def impossible_confs(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The newest entry pins a value that no Spark takes: it was edited, or a disk has changed it."""
    if facts.newest is None:
        return
    impossible = [
        (key, quoted(value), "INVALID_CONF_VALUE")
        for key, value in facts.newest.header.conf
        if key in _POSSIBLE and expected.engine.pins(key) and not _POSSIBLE[key](value)
    ]
    has_evolution = (facts.newest.header.pinned(EVOLUTION) or "").strip().lower() == "true"
    if has_evolution and not facts.newest.source_ids:
        impossible.append((EVOLUTION, "'true' where sources have no names", "All sources should be named"))
    impossible += [
        (key, "null", "value cannot be null for key") for key in facts.newest.header.null_confs if key.startswith(SQL)
    ]
    file = f"{OFFSETS}/{facts.newest.batch}"
    for key, value, error in impossible:
        yield Finding(
            rule="impossible-confs",
            severity=Severity.CRITICAL,
            file=file,
            evidence=f"{key} is {value}",
            meaning="a start refuses it, the same way each time",
            repair=f"put the value of {OFFSETS}/{facts.newest.batch - 1} in its place",
            start=StartEffect(kind=AtStart.FAILS, summary=f"{file} pins {key} to {value}", error=error),
        )


SQL = "spark.sql."
"""What all settings that Spark pins begin with (OffsetSeqMetadata, 3.5 to 4.3); others it leaves alone."""


def unpinned_partitions(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The batch in flight, or the one below it, does not pin its shuffle partitions: Spark 4.2 compares them, state or not."""
    entries = _compared_entries(facts, expected)
    if expected.runs_continuously(facts):
        return
    lacking = [entry for entry in entries if entry.header.pinned(SHUFFLE_PARTITIONS) is None]
    known = next((entry for entry in entries if entry not in lacking), None)
    source = f"the value of {OFFSETS}/{known.batch}" if known else "the value that the query was started with"
    for entry in lacking:
        file = f"{OFFSETS}/{entry.batch}"
        yield Finding(
            rule="unpinned-partitions",
            severity=Severity.CRITICAL,
            file=file,
            evidence=f"its settings have no {SHUFFLE_PARTITIONS}",
            meaning="Spark 4.2 and later run no batch again whose own entry or the one below lacks it: each start fails",
            repair=f"add {SHUFFLE_PARTITIONS} to `conf` in the second line, with {source}; up to Spark 4.1 a start works without",
            start=StartEffect(
                kind=AtStart.FAILS,
                summary=f"{file} lacks {SHUFFLE_PARTITIONS}, and batch {facts.last_offset} is in flight",
                error="None.get",
            ),
        )


def changed_partitions(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """The batch in flight pins other shuffle partitions than the one below: Spark 4.2 takes it for an unfinished repartition."""
    entries = _compared_entries(facts, expected)
    if not entries or entries[0].header.has_control_batch:
        return
    now, before = (entry.header.pinned(SHUFFLE_PARTITIONS) for entry in entries)
    if now is None or before is None or now == before:
        return
    file, below = (f"{OFFSETS}/{entry.batch}" for entry in entries)
    yield Finding(
        rule="changed-partitions",
        severity=Severity.CRITICAL,
        file=file,
        evidence=f"{SHUFFLE_PARTITIONS} is {quoted(now)}, {quoted(before)} in {below}",
        meaning="Spark 4.2 and later take the batch for a repartition of the state that was broken off: each start fails",
        repair=f"put the value of {below} in its place, unless state was being repartitioned: then run that again",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"{file} pins {SHUFFLE_PARTITIONS} to {quoted(now)}, {below} to {quoted(before)}, and is in flight",
            error="STREAMING_UNFINISHED_REPARTITION_DETECTED",
        ),
    )


def _compared_entries(facts: CheckpointFacts, expected: Expectations) -> tuple[OffsetEntry, ...]:
    """The entry of the batch in flight and the one below it, where a start compares their partitions; else none."""
    if not facts.has_pending_batch or not expected.engine.asks_for_partitions:
        return ()
    return () if facts.newest is None or facts.previous is None else (facts.newest, facts.previous)


def unsaid_checkpoint_format(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """Files of state have unique ids, which a start asks for where the run's own setting says so, and nowhere else.

    It is no setting that the offset log pins. Without it 4.2.0 looks for files without ids, and fails.
    """
    state, commit = snapshot.state, snapshot.facts.commit
    if state is None or not state.has_files or commit is None or not commit.has_state_ids:
        return
    said = dict(expected.confs).get(CHECKPOINT_FORMAT, "").strip()
    if said == WITH_IDS:
        return
    told = (
        f"{CHECKPOINT_FORMAT} is {quoted(said)}"
        if said
        else f"{CHECKPOINT_FORMAT} is not among the settings of the run"
    )
    yield Finding(
        rule="unsaid-checkpoint-format",
        severity=Severity.CRITICAL if said else Severity.NOTE,
        file=f"{COMMITS}/{commit.batch}",
        evidence=f"it names files of state by their ids; {told}",
        meaning=f"without {CHECKPOINT_FORMAT}={WITH_IDS} a start looks for files without ids, and fails each time",
        repair=f"start the query with {CHECKPOINT_FORMAT}={WITH_IDS}, and say so to the check (`--conf`, or launch.conf)",
        not_when="do not delete the commit: nothing else names the files",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"{told}, and {COMMITS}/{commit.batch} names files of state by their ids",
            error="CANNOT_LOAD_STATE_STORE",
        )
        if said
        else None,
    )


CHECKPOINT_FORMAT = f"{_STATE_STORE}checkpointFormatVersion"
WITH_IDS = "2"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """A setting as the next start takes it, and as the state was written with it."""

    key: str
    now: str | None
    """None where the session decides, and nobody has said what it has."""
    is_absent: bool
    before: str | None
    """In the entry below; None where it does not say."""

    @property
    def told(self) -> str:
        if not self.is_absent:
            return f"{self.key} is {quoted(self.now or '')}"
        return f"{self.key} is absent, a start takes {quoted(self.now) if self.now else 'the value of its session'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unfit:
    """Why state and setting do not go together."""

    kind: AtStart
    reason: str
    error: str = ""


def unfit_state_confs(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """A setting that a start takes from the newest entry is not the one that the state was written with."""
    newest, state = snapshot.facts.newest, snapshot.state
    if newest is None or state is None or not state.has_files or state.version <= 0:
        return
    previous = snapshot.facts.previous
    if not newest.header.conf and not (previous and previous.header.conf):
        # Entries that pin nothing at all were not cut: Spark before 2.2 wrote such, and each start since took the same.
        return
    for key, rule in _FITTING.items():
        taken = _taken(key, newest, previous, expected)
        unfit = next(filter(None, (rule(taken, operator) for operator in state.operators)), None)
        if unfit is None:
            continue
        file = f"{OFFSETS}/{newest.batch}"
        summary = f"{file}: {taken.told}, {unfit.reason}"
        yield Finding(
            rule="unfit-state-confs",
            severity=Severity.UNKNOWN if unfit.kind is AtStart.UNREAD else Severity.CRITICAL,
            file=file,
            evidence=f"{taken.told}, {unfit.reason}",
            meaning=_MEANINGS[unfit.kind],
            repair=f"put {key} back as {_where_it_is_well(taken, previous)}it was when the state was written",
            not_when="do not delete a committed entry: its input would be read again",
            start=StartEffect(kind=unfit.kind, summary=summary, error=unfit.error),
        )


def _where_it_is_well(taken: _Taken, previous: OffsetEntry | None) -> str:
    """The entry below, unless it says the same: then it is of no use."""
    is_there = previous is not None and taken.before is not None and taken.before != taken.now
    return f"it is in {OFFSETS}/{previous.batch}, or as " if previous and is_there else ""


_MEANINGS = {
    AtStart.FAILS: "the tasks of the next batch can't load their state: each start fails, the same way each time",
    AtStart.LOSES: "the keys of the partitions beyond begin anew, results are wrong from then on, and no error tells",
    AtStart.UNREAD: "whether a start works depends on its session",
}


def _taken(key: str, newest: OffsetEntry, previous: OffsetEntry | None, expected: Expectations) -> _Taken:
    pinned, below = dict(newest.header.conf), dict(previous.header.conf) if previous else {}
    legacy = LEGACY_FORMAT if key in (AGGREGATION_FORMAT, JOIN_FORMAT) else None
    now = pinned.get(key) or legacy or dict(expected.confs).get(key)
    # What no Spark takes, the state was not written with either: the entry below is the one that was edited.
    before = below.get(key)
    is_possible = before is None or key not in _POSSIBLE or _POSSIBLE[key](before)
    return _Taken(key=key, now=now, is_absent=key not in pinned, before=before if is_possible else None)


def _partitions(taken: _Taken, operator: OperatorFacts) -> _Unfit | None:
    """Where nothing tells how many there were, folders beyond those of the setting do; one that lacks may be lost."""
    there = operator.partitions_present + operator.partitions_beyond
    written = operator.partitions_written or (there if operator.partitions_beyond or taken.now is None else 0)
    if operator.is_keyless or not written:
        return None
    if taken.now is None:
        return _unread(taken, f"the state has {written} partitions")
    if not _is_positive(taken.now) or int(taken.now) == written:
        return None
    if int(taken.now) < written:
        return _Unfit(
            kind=AtStart.LOSES, reason=f"the state has {written} partitions: those above are never read again"
        )
    return _Unfit(
        kind=AtStart.FAILS, reason=f"the state has {written} partitions only", error="CANNOT_LOAD_STATE_STORE"
    )


def _provider(taken: _Taken, operator: OperatorFacts) -> _Unfit | None:
    files = operator.provider
    if files not in (Provider.HDFS, Provider.ROCKSDB):
        return None
    reason = f"the files of state are those of {files}"
    if taken.now is None:
        return _unread(taken, reason)
    known = _PROVIDERS.get(taken.now)
    if known is None:
        # A class of one's own may read whatever it has written; one that came with this entry has not.
        is_new = taken.before is not None and taken.before != taken.now
        return _Unfit(kind=AtStart.FAILS, reason=f"{taken.before} in the entry below") if is_new else None
    return None if known is files else _Unfit(kind=AtStart.FAILS, reason=reason, error="CANNOT_LOAD_STATE_STORE")


def _unread(taken: _Taken, reason: str) -> _Unfit | None:
    """Nothing where the entry below lacks it as well: then no start so far has failed on it."""
    return _Unfit(kind=AtStart.UNREAD, reason=reason) if taken.before is not None else None


def _format(taken: _Taken, *, is_certain: bool) -> _Unfit | None:
    written = taken.before or WRITTEN_FORMAT
    if taken.now == written:
        return None
    reason = f"the state was written with {written}"
    if not is_certain:
        return _unread(taken, reason)
    return _Unfit(kind=AtStart.FAILS, reason=reason, error="SCHEMA_NOT_COMPATIBLE")


def _aggregation_format(taken: _Taken, operator: OperatorFacts) -> _Unfit | None:
    """Without keys both formats are one; before 4.0 nothing says what an operator is."""
    is_other = operator.name not in ("", AGGREGATION) or bool({*operator.stores} & {*JOIN_STORES})
    return None if is_other or operator.is_keyless else _format(taken, is_certain=operator.name == AGGREGATION)


def _join_format(taken: _Taken, operator: OperatorFacts) -> _Unfit | None:
    return _format(taken, is_certain=True) if {*operator.stores} & {*JOIN_STORES} else None


def _row_checksum(taken: _Taken, operator: OperatorFacts) -> _Unfit | None:
    return _changed(taken)


def _encoding(taken: _Taken, operator: OperatorFacts) -> _Unfit | None:
    """The HDFS provider knows one encoding."""
    return _changed(taken) if operator.provider is Provider.ROCKSDB else None


def _changed(taken: _Taken) -> _Unfit | None:
    if taken.before is None or taken.is_absent or taken.now is None:
        return None
    is_same = taken.now.strip().lower() == taken.before.strip().lower()
    return None if is_same else _Unfit(kind=AtStart.FAILS, reason=f"{quoted(taken.before)} in the entry below")


def _codec(taken: _Taken, operator: OperatorFacts) -> _Unfit | None:
    """What files were packed with is told by themselves, see `broken-state-file`; RocksDB's snapshots are packed otherwise."""
    if taken.is_absent or taken.now is None or operator.provider is not Provider.HDFS:
        return None
    if taken.now.strip().lower() in _CODECS or "." in taken.now:
        return None
    return _Unfit(kind=AtStart.FAILS, reason="which no Spark knows", error="CODEC_NOT_AVAILABLE")


_FITTING: Mapping[str, Callable[[_Taken, OperatorFacts], _Unfit | None]] = {
    SHUFFLE_PARTITIONS: _partitions,
    PROVIDER_CLASS: _provider,
    AGGREGATION_FORMAT: _aggregation_format,
    JOIN_FORMAT: _join_format,
    ROW_CHECKSUM: _row_checksum,
    ENCODING: _encoding,
    STATE_CODEC: _codec,
}
