"""How large state gets, and the figures for estimates that a driver's progress tells. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from streamops.cost.figure import Estimate, Figure, Origin, Unit, lasting
from streamops.liveness.pace import percentile_95
from streamops.progress import ProgressEvent, ProgressHistory, StateProgress

LARGE_SHARE = 0.2
"""Of a batch, from which on it is worth to look at how state is committed."""

CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def state_size(rate: Figure, window: Figure, lateness: Figure, row: Figure) -> Estimate:
    """State that holds each event until its window is over and the watermark has passed.

    An upper bound for aggregations, which keep a row for each key and window, not for each event.
    """
    kept = window.duration + lateness.duration
    rows = rate.number * kept.total_seconds()
    return Estimate(
        inputs=(rate, window, lateness, row),
        results=(
            Figure(name="rows", value=rows, unit=Unit.RECORDS, origin=Origin.ESTIMATED),
            Figure(name="state", value=rows * row.number, unit=Unit.BYTES, origin=Origin.ESTIMATED),
        ),
        formula="state = rate x (window + allowed lateness) x bytes of a row",
        notes=(
            "an aggregation keeps a row for each key and window: less, the more events share one",
            "sliding windows keep an event in each window that it belongs to: take window / slide times as much",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """The state of one operator of a query, as its last batches tell."""

    query: str
    operator: str
    rows: int
    kept_bytes: int | None
    """What the rows take: in memory of the HDFS-backed store, in its files of RocksDB, which compresses them and writes them
    late. None where progress does not tell."""
    memory_bytes: int
    partitions: int
    """0 where progress does not tell."""
    store: str
    """`RocksDB`, `RocksDB with changelog`, `HDFS-backed`, or empty for what is not known."""
    commit: timedelta
    """Of one partition, half of the batches took longer."""
    batch: timedelta
    """The whole batch, half of them took longer."""
    share: float
    """Of the time of the batches, that one partition's commits took: all partitions at once, so it is at least so much."""
    batches: int

    @property
    def is_candidate(self) -> bool:
        """Whether another way to commit is worth a look."""
        return self.share >= LARGE_SHARE

    @property
    def advice(self) -> str:
        """What to set, by the store; empty where its commits are no large part."""
        return _ADVICE[self.store] if self.is_candidate else ""


_VENDOR = "asynchronous state checkpointing is a vendor's (Databricks): Spark itself has none up to 4.2"
_ADVICE = {
    "RocksDB": f"set state.changelog: true ({CHANGELOG}): each batch then writes what has changed instead of all files; the"
    f" checkpoint takes it from the next start on. {_VENDOR}",
    "RocksDB with changelog": "the changelog is on already: fewer partitions (state.shuffle_partitions, for a new checkpoint)"
    f" or a faster file system are left. {_VENDOR}",
    "HDFS-backed": "each batch writes what has changed already, a file for each partition: fewer partitions"
    " (state.shuffle_partitions) or state.store: rocksdb with state.changelog: true, either for a new checkpoint only."
    f" {_VENDOR}",
    "": f"which store it is, progress does not tell; the changelog is for RocksDB ({CHANGELOG}). {_VENDOR}",
}


def operator_states(history: ProgressHistory, *, last: int) -> tuple[OperatorState, ...]:
    """Each operator with state of each query of a driver, by the last batches; none for a query without state."""
    queries = dict.fromkeys(event.query_id for event in history.events)
    return tuple(state for query in queries for state in _of_query(history.of_query(query), last))


def _of_query(history: ProgressHistory, last: int) -> Iterator[OperatorState]:
    batches = [event for event in history.events if event.has_run and event.duration][-last:]
    if not batches:
        return
    for number, newest in enumerate(batches[-1].state):
        # By its place: Spark lists the operators of a plan in one order, and two of a kind have one name.
        seen = [event for event in batches if len(event.state) > number]
        yield _operator(newest, seen, [event.state[number] for event in seen])


def _operator(
    newest: StateProgress, batches: Sequence[ProgressEvent], states: Sequence[StateProgress]
) -> OperatorState:
    whole = [event.duration or timedelta(0) for event in batches]
    commits = [state.commit_time / max(1, state.partitions) for state in states]
    return OperatorState(
        query=batches[-1].name,
        operator=newest.operator,
        rows=newest.rows,
        kept_bytes=_kept(dict(newest.metrics)),
        memory_bytes=newest.memory_bytes,
        partitions=newest.partitions,
        store=_store(states),
        commit=median_of(commits),
        batch=median_of(whole),
        share=sum(commits, timedelta(0)) / sum(whole, timedelta(0)),
        batches=len(batches),
    )


def _store(states: Sequence[StateProgress]) -> str:
    """By the metrics that each store brings (RocksDBStateStoreProvider, HDFSBackedStateStoreProvider, 3.5 to 4.2)."""
    metrics = [dict(state.metrics) for state in states]
    names = {name for one in metrics for name in one}
    if "stateOnCurrentVersionSizeBytes" in names:
        return "HDFS-backed"
    if not any(name.startswith("rocksdb") for name in names):
        return ""
    logs = any(one.get("rocksdbChangeLogWriterCommitLatencyMs", 0) > 0 for one in metrics)
    # 3.5 does not time the changelog; there, too, its commits leave the checkpoint of RocksDB to every tenth batch or so.
    snapshots = sum(1 for one in metrics if one.get("rocksdbCommitCheckpointLatency", 0) > 0)
    return "RocksDB with changelog" if logs or 2 * snapshots <= len(metrics) else "RocksDB"


def _kept(metrics: Mapping[str, int]) -> int | None:
    """Bytes of the newest version; RocksDB that has written no file yet tells nothing."""
    return metrics.get("stateOnCurrentVersionSizeBytes") or metrics.get("rocksdbSstFileSize") or None


def median_of(durations: Sequence[timedelta]) -> timedelta:
    """The median of at least one duration."""
    return timedelta(seconds=median(one.total_seconds() for one in durations))


BATCHES = 50
"""As many as a driver keeps."""


def of_stream(history: ProgressHistory, stream: str) -> ProgressHistory:
    """The part of the stream's own query, which bears its name; companions have other names, and inputs of their own."""
    events = tuple(event for event in history.events if event.name == stream)
    return ProgressHistory(events=events, broken=history.broken, is_readable=history.is_readable)


def processing_time(history: ProgressHistory) -> Figure | None:
    """How long a batch with input takes: 95 % of the last ones took so long or less."""
    taken = [event.duration for event in _batches(history) if event.input_rows and event.duration]
    if not taken:
        return None
    note = f"95 % of {len(taken)} batches took so long or less"
    return lasting("processing", percentile_95(taken), Origin.MEASURED, note)


def input_rate(history: ProgressHistory) -> Figure | None:
    """Records a second that came in: what all batches but the first have read, since the first began."""
    batches = _batches(history)
    if len(batches) < 2:
        return None
    took = (batches[-1].started_at - batches[0].started_at).total_seconds()
    rows = sum(event.input_rows for event in batches[1:])
    if took <= 0 or rows < 0:
        return None
    behind = any(event.has_backlog for event in batches)
    note = f"{rows} in {took:.0f} s" + ("; it left records behind, so more were written" if behind else "")
    return Figure(name="rate", value=rows / took, unit=Unit.RECORDS_PER_SECOND, origin=Origin.MEASURED, note=note)


def bytes_per_row(history: ProgressHistory) -> Figure | None:
    """What a row of state takes, over all operators of the newest batch that tell."""
    states = [(state.kept_bytes, state) for state in operator_states(history, last=BATCHES)]
    known = [(kept, state) for kept, state in states if kept and kept > 0 and state.rows > 0]
    if not known:
        return None
    kept, rows = sum(kept for kept, _ in known), sum(state.rows for _, state in known)
    stores = ", ".join(sorted({state.store for _, state in known}))
    files = "; its files are compressed" if "RocksDB" in stores else ""
    note = f"{kept} bytes for {rows} rows ({stores}{files})"
    return Figure(name="bytes of a row", value=kept / rows, unit=Unit.BYTES, origin=Origin.MEASURED, note=note)


def dropped_late(history: ProgressHistory) -> tuple[int, int, int] | None:
    """Rows that came behind the watermark, rows that came in at all, and batches; None without operators with state."""
    batches = [event for event in _batches(history) if event.state]
    if not batches:
        return None
    dropped = sum(state.late_rows for event in batches for state in event.state)
    return dropped, sum(event.input_rows for event in batches), len(batches)


def _batches(history: ProgressHistory) -> Sequence[ProgressEvent]:
    return [event for event in history.events if event.has_run][-BATCHES:]
