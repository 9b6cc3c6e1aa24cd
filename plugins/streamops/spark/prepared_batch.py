"""Batches that are planned by us and run by Spark: an offset entry that is not committed is run exactly as it stands.

Spark's streaming Kafka source has no ending offsets. But a query that finds an uncommitted entry runs that range, and with the
trigger `once` nothing after it (MicroBatchExecution.populateStartOffsets and SingleBatchExecutor, seen with 4.2.0). So a
backfill writes one entry after the other: `offsets/<n>` for step n, and only when step n-1 is committed.

What an entry must have, seen with 4.2.0: the checkpoint's `metadata` lies beside it (else
STREAMING_CHECKPOINT_MISSING_METADATA_FILE), and its header has `spark.sql.shuffle.partitions` (else the next start ends with
`None.get` in OfflineStateRepartitionUtils.isRepartitionBatch).

Delta's source needs no more than the entry and, for its begin, the option `startingVersion` (seen with delta-spark 4.4.0).
Spark's file source needs its own log's entry as well, `sources/0/<n>`; it passes over files that are gone without a word, so
they are looked for before each step.
"""

import json
import re
import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from streamops.control.backfill_places import FilesPlace, PlannedFile, altered_files
from streamops.control.backfill_plan import BackfillPlan, Place
from streamops.control.kafka_offsets import Offsets
from streamops.errors import BackfillError, ObjectNotFoundError
from streamops.storage import ReadableStorage, WritableStorage, join

_BATCH = re.compile(r"-?\d+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
INITIAL = "sources/0/0"
"""Where a query that has one Kafka source keeps its begin."""
_SHOWN = 200
"""Characters of a file that a message repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedFacts:
    """What lies in the checkpoint of one query of a backfill."""

    checkpoint: str
    offset: int
    """Newest batch that is planned, -1 for none."""
    commit: int
    """Newest batch that is committed, -1 for none."""
    entries: tuple[tuple[int, bytes], ...] = ()
    """The two entries that a start reads: the newest and the one before."""
    initial: bytes | None = None
    """Where the source began, as long as that counts: until the first batch is committed. None where nothing says it."""


def read_prepared(storage: ReadableStorage, checkpoint: str, *, keeps_begin: bool = True) -> PreparedFacts:
    """What a start of the query would read. Raises StorageError, BackfillError where an entry that it needs is missing.

    `keeps_begin`: whether the source writes down where it began, as Kafka's alone does.
    """
    offset, commit = (_newest(storage.list(join(checkpoint, name))) for name in ("offsets", "commits"))
    try:
        entries = tuple(
            (batch, storage.read(join(checkpoint, "offsets", str(batch))))
            for batch in (offset - 1, offset)
            if batch >= 0
        )
    except ObjectNotFoundError as error:
        raise BackfillError(
            f"checkpoint {checkpoint}: a start needs two entries, and {error}; make a new plan"
        ) from error
    initial = None
    if commit < 0 and keeps_begin:
        with suppress(ObjectNotFoundError):
            initial = storage.read(join(checkpoint, INITIAL))
    return PreparedFacts(checkpoint=checkpoint, offset=offset, commit=commit, entries=entries, initial=initial)


def next_step(facts: PreparedFacts, plan: BackfillPlan) -> int:
    """The first step of the plan that is not committed; the number of steps when all are.

    Raises BackfillError where the checkpoint holds anything that does not come of the plan: to go on would read something
    twice, or something else.
    """
    place = f"checkpoint {facts.checkpoint} of backfill {plan.id}"
    if facts.offset >= len(plan.chunks):
        raise BackfillError(
            f"{place} holds batch {facts.offset}, the plan ends with batch {len(plan.chunks) - 1}: something else has"
            " run on it; make a new plan"
        )
    if not facts.offset - 1 <= facts.commit <= facts.offset:
        raise BackfillError(
            f"{place} has planned batch {facts.offset} and committed batch {facts.commit}: no backfill leaves that"
            " behind; make a new plan"
        )
    for batch, content in facts.entries:
        if not _ends_at(content, plan.chunks[batch]):
            raise BackfillError(
                f"{place}: offsets/{batch} is not step {batch} of the plan, which ends at"
                f" {plan.chunks[batch].source_text:.{_SHOWN}}; make a new plan"
            )
    if facts.initial is not None and _begin_in(facts.initial) != plan.start:
        raise BackfillError(
            f"{place}: {INITIAL} is not where the plan begins: something else has run on it; make a new plan"
        )
    return facts.commit + 1


def prepare_step(
    storage: WritableStorage,
    facts: PreparedFacts,
    plan: BackfillPlan,
    *,
    conf: Mapping[str, str],
    now: datetime,
) -> None:
    """Write the entry of the next step; before the first also the checkpoint's `metadata` and where the source begins.

    What is there stays. Raises StorageError.

    `conf` are the confs of the session that Spark pins for a query; from the second step on those of the step before
    count, as in any query.
    """
    if "metadata" not in storage.list(facts.checkpoint):
        # A new id each: Delta drops the batches of a query id that it has seen with a higher number.
        query_id = json.dumps({"id": str(uuid.uuid4())}, separators=(",", ":"))
        storage.write(join(facts.checkpoint, "metadata"), query_id.encode())
    if isinstance(plan.start, Offsets) and facts.commit < 0 and facts.initial is None:
        # Spark would write the same at its first start; a driver killed before that would leave a batch without a begin.
        storage.write(join(facts.checkpoint, INITIAL), _initial(plan.start))
    step = next_step(facts, plan)
    end = plan.chunks[step]
    if isinstance(end, FilesPlace):
        _require_files(storage, end.files, plan)
    if facts.offset > facts.commit:
        return
    if isinstance(end, FilesPlace):
        storage.write(join(facts.checkpoint, "sources/0", str(step)), end.source_log)
    if facts.entries:
        conf = _header(facts.entries[-1][1])["conf"]
    header = {
        "batchWatermarkMs": _watermark(storage, facts),
        "batchTimestampMs": (now - _EPOCH) // _MILLISECOND,
        "conf": dict(conf),
    }
    lines = ("v1", json.dumps(header, separators=(",", ":")), end.source_text)
    storage.write(join(facts.checkpoint, "offsets", str(step)), "\n".join(lines).encode())


def _watermark(storage: ReadableStorage, facts: PreparedFacts) -> int:
    """What the step before has left: an entry that is run again takes it from its own header (WatermarkTracker, 4.2)."""
    if facts.commit < 0:
        return 0
    address = join(facts.checkpoint, "commits", str(facts.commit))
    _, _, text = storage.read(address).decode(errors="replace").partition("\n")
    try:
        return int(json.loads(text).get("nextBatchWatermarkMs", 0))
    except (ValueError, TypeError, AttributeError) as error:
        raise BackfillError(f"{address} is no commit of Spark's: {text:.{_SHOWN}}; make a new plan") from error


def _require_files(storage: ReadableStorage, files: Collection[PlannedFile], plan: BackfillPlan) -> None:
    """BackfillError where one is gone, or is another than the plan saw. Right before the step: Spark says nothing of either."""
    altered = altered_files(storage, files)
    if altered:
        first = altered[0]
        raise BackfillError(
            f"backfill {plan.id}: {len(altered)} files of the next step are gone or written over since it was planned, the first"
            f" is {first.address:.{_SHOWN}} ({'gone' if first.is_gone else 'written over'}): bring them back and go on, or make"
            " a new plan"
        )


def _initial(start: Offsets) -> bytes:
    """The initial offsets as Spark keeps them: a byte 0, a version line, JSON (KafkaSourceInitialOffsetWriter, 2.2 to 4.3)."""
    return b"\0v1\n" + start.kafka_json().encode()


def _begin_in(content: bytes) -> Offsets | None:
    """Where a source began by Spark's file or ours; None for what is neither."""
    version, _, text = content.partition(b"\n")
    try:
        return Offsets.from_kafka(text.decode()) if version == b"\0v1" else None
    except ValueError:
        return None


def _newest(names: Collection[str]) -> int:
    return max((int(name) for name in names if _BATCH.fullmatch(name)), default=-1)


def _ends_at(content: bytes, end: Place) -> bool:
    """Whether an entry is ours and ends there: not another version, another number of sources, another source."""
    lines = content.decode(errors="replace").split("\n")
    if len(lines) != 3 or lines[0] != "v1":
        return False
    try:
        if isinstance(end, Offsets):
            return Offsets.from_kafka(lines[2]) == end
        return bool(json.loads(lines[2]) == json.loads(end.source_text))
    except (ValueError, RecursionError):
        return False


def _header(content: bytes) -> dict[str, dict[str, str]]:
    """Of an entry that was compared with the plan, so it is ours."""
    header: dict[str, dict[str, str]] = json.loads(content.split(b"\n")[1])
    return header
