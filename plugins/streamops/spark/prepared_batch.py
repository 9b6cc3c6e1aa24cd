"""Batches that are planned by us and run by Spark: an offset entry that is not committed is run exactly as it stands.

Spark's streaming Kafka source has no ending offsets. But a query that finds an uncommitted entry runs that range, and with the
trigger `once` nothing after it (MicroBatchExecution.populateStartOffsets and SingleBatchExecutor, seen with 4.2.0). So a
backfill writes one entry after the other: `offsets/<n>` for step n, and only when step n-1 is committed.

What an entry must have, seen with 4.2.0: the checkpoint's `metadata` lies beside it (else
STREAMING_CHECKPOINT_MISSING_METADATA_FILE), and its header has `spark.sql.shuffle.partitions` (else the next start ends with
`None.get` in OfflineStateRepartitionUtils.isRepartitionBatch).
"""

import json
import re
import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from streamops.control.backfill_plan import BackfillPlan, Offsets
from streamops.errors import BackfillError, ObjectNotFoundError
from streamops.storage import ReadableStorage, WritableStorage, join

_BATCH = re.compile(r"-?\d+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
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


def read_prepared(storage: ReadableStorage, checkpoint: str) -> PreparedFacts:
    """What a start of the query would read. Raises StorageError, BackfillError where an entry that it needs is missing."""
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
    if commit < 0:
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
        if _offsets_in(content) != plan.chunks[batch]:
            raise BackfillError(
                f"{place}: offsets/{batch} is not step {batch} of the plan, which ends at"
                f" {plan.chunks[batch].kafka_json():.{_SHOWN}}; make a new plan"
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
    if facts.commit < 0 and facts.initial is None:
        # Spark would write the same at its first start; a driver killed before that would leave a batch without a begin.
        storage.write(join(facts.checkpoint, INITIAL), _initial(plan))
    if facts.offset > facts.commit:
        return
    step = next_step(facts, plan)
    if facts.entries:
        conf = _header(facts.entries[-1][1])["conf"]
    header = {
        "batchWatermarkMs": _watermark(storage, facts),
        "batchTimestampMs": (now - _EPOCH) // timedelta(milliseconds=1),
        "conf": dict(conf),
    }
    lines = ("v1", json.dumps(header, separators=(",", ":")), plan.chunks[step].kafka_json())
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


def _initial(plan: BackfillPlan) -> bytes:
    """The initial offsets as Spark keeps them: a byte 0, a version line, JSON (KafkaSourceInitialOffsetWriter, 2.2 to 4.3)."""
    return b"\0v1\n" + plan.start.kafka_json().encode()


def _begin_in(content: bytes) -> Offsets | None:
    """Where a source began by Spark's file or ours; None for what is neither."""
    version, _, text = content.partition(b"\n")
    try:
        return Offsets.from_kafka(text.decode()) if version == b"\0v1" else None
    except ValueError:
        return None


def _newest(names: Collection[str]) -> int:
    return max((int(name) for name in names if _BATCH.fullmatch(name)), default=-1)


def _offsets_in(content: bytes) -> Offsets | None:
    """Where an entry ends; None for one that is not ours: another version, another number of sources, another source."""
    lines = content.decode(errors="replace").split("\n")
    if len(lines) != 3 or lines[0] != "v1":
        return None
    try:
        return Offsets.from_kafka(lines[2])
    except ValueError:
        return None


def _header(content: bytes) -> dict[str, dict[str, str]]:
    """Of an entry that was compared with the plan, so it is ours."""
    header: dict[str, dict[str, str]] = json.loads(content.split(b"\n")[1])
    return header
