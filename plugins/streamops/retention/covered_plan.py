"""What missing records make of a start. Pure.

With `failOnDataLoss` (true unless the source says otherwise) Spark's Kafka source fails, the same way each time; without it it
warns in a log, goes on at what is there, and the records between are gone for good (KafkaMicroBatchStream.reportDataLoss, 3.5 to
4.3). Texts in errors as recorded on 4.2.0 (`tests/data/exceptions/recorded/kafka.json`); 3.5 has others for the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from streamops.diagnosis.restart_plan import RestartPlan, Safety
from streamops.engines import Engine, engine_after
from streamops.retention.cover import Coverage, PartitionCoverage, PartitionState
from streamops.retention.needs import CheckpointNeeds
from streamops.spec import Trigger, TriggerKind


class Effect(StrEnum):
    """What comes of a start."""

    READS_ALL = "reads-all"
    """As far as the broker says, nothing that is needed is missing."""
    UNCONFIRMED = "unconfirmed"
    """The broker said something that counts only when it is said twice."""
    LOSES = "loses"
    """It runs, and records are passed over in silence."""
    FAILS = "fails"
    """It fails, each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageEffect:
    """One answer."""

    effect: Effect
    summary: str = ""
    expected_error: str = ""
    """A piece of Spark's text; empty where the start does not fail."""


_SHOWN = 3

_NO_TOPIC = "UnknownTopicOrPartitionException"
_NEW_BEHIND_ZERO = "instead of 0"
_ERRORS = {
    PartitionState.GONE: "have been deleted",
    PartitionState.UNSUBSCRIBED: "have been deleted",
    PartitionState.RESET: "offset was changed from",
    PartitionState.PARTLY_LOST: "Could not read records in offset",
    PartitionState.LOST: "Could not read records in offset",
}


def start_effect(coverages: Iterable[Coverage], *, fails_on_data_loss: bool) -> CoverageEffect:
    """The effect of a start now, over all queries of a driver."""
    partitions = [one for coverage in coverages for one in coverage.partitions]
    lossy = [one for one in partitions if one.standing.is_lossy]
    # Spark notices nothing of these, whatever it is told to fail on.
    unseen = [one for one in lossy if one.standing is PartitionState.RECREATED]
    seen = [one for one in lossy if one.standing is not PartitionState.RECREATED]
    if seen and fails_on_data_loss:
        return CoverageEffect(effect=Effect.FAILS, summary=told(seen), expected_error=_error(seen, partitions))
    if lossy:
        return CoverageEffect(
            effect=Effect.LOSES, summary=f"{told([*unseen, *seen])}: it goes on without them, and no error tells"
        )
    suspected = [one for one in partitions if one.suspected]
    if suspected:
        return CoverageEffect(effect=Effect.UNCONFIRMED, summary=told(suspected))
    return CoverageEffect(effect=Effect.READS_ALL)


def changed_since_planned(coverage: Coverage) -> list[PartitionCoverage]:
    """Partitions that a batch in flight has and its topics have not, or the other way round; none without such a batch."""
    if coverage.pending_batch is None:
        return []
    gone = (PartitionState.GONE, PartitionState.UNSUBSCRIBED)
    return [one for one in coverage.partitions if one.standing in gone or one.start is None]


def beyond_the_end(coverage: Coverage) -> list[PartitionCoverage]:
    """Partitions that end before a batch in flight does; none without such a batch."""
    return [one for one in coverage.partitions if one.standing is PartitionState.RESET and one.end is not None]


def told(partitions: list[PartitionCoverage], *, most: int = _SHOWN) -> str:
    """Why each of them is as it is, in words; those beyond `most` are counted."""
    each = [f"{one.topic}-{one.partition}: {one.reason}" for one in partitions[:most]]
    more = len(partitions) - most
    return "; ".join([*each, *([f"and {more} partitions more"] if more > 0 else [])])


def _error(partitions: list[PartitionCoverage], all_of_them: list[PartitionCoverage]) -> str:
    """Of what Spark comes across first: topics, then partitions, then ends, and the records themselves in its tasks."""
    whole = {one.topic for one in partitions} - {
        one.topic for one in all_of_them if one.standing is not PartitionState.GONE
    }
    errors = {_ERRORS[one.standing] for one in partitions if one.start is not None}
    # Of a partition that no batch has read, only what lies before its first record can be lost.
    errors |= {_NEW_BEHIND_ZERO for one in partitions if one.start is None}
    return _NO_TOPIC if whole else min(errors, key=_ORDER.index)


_ORDER = (
    "have been deleted",
    _NEW_BEHIND_ZERO,
    "offset was changed from",
    "Could not read records in offset",
)


_WAY_OUT_OF_EXPIRED = "to go on without them, release the stream with --accept-expired, or with that tick in the form"
_WAY_OUT = (
    'to go on without them, set `failOnDataLoss: "false"` in the options of the source, release the stream with'
    " --accept-unsafe, and take it back after the first batch"
)
ANOTHER_BACKFILL = (
    "to go on without them, ask for another backfill of what is left, with --accept-expired, and end this one"
)
FINISH_FIRST = (
    "finish that batch with another trigger, `processingTime` or `once`, which don't compare, and then go back, as"
    " `streamops catchup STREAM --finish-batch --reason …` does; or start it with Spark 3.5.7, 4.0.2 or newer"
)
"""The way out of the crash loop of `retry_trouble`."""
_MISMATCHED = "should provide the same topic partitions in pre-fetched offset"
_BEYOND = "lower or equal offset per each topic partition than pre-fetched offset"
"""The text goes without its error class: so seen on 4.0.1, and on 4.2.0 with guards of the same family."""


def with_retry(plan: RestartPlan, coverage: Coverage, *, is_available_now: bool, engine: Engine) -> RestartPlan:
    """The plan with what `retry_trouble` says. Ask this before `with_coverage`: Spark comes across it first.

    Where nobody knows the engine it is said, and decides nothing.
    """
    trouble = retry_trouble(coverage, is_available_now=is_available_now, engine=engine)
    if not trouble or plan.safety in _SETTLED:
        return plan
    if engine.finishes_changed_batch is None:
        return replace(plan, summary=f"{plan.summary}; {trouble}")
    error = _MISMATCHED if changed_since_planned(coverage) else _BEYOND
    return replace(plan, safety=Safety.FUTILE, summary=trouble, expected_error=error)


def retry_trouble(coverage: Coverage, *, is_available_now: bool, engine: Engine) -> str:
    """Why a batch in flight whose topics have other partitions now never ends under availableNow; empty where it does.

    Before SPARK-53560 Spark asked Kafka for the end of all partitions first, and refused a batch that had others than those or
    went further, whatever `failOnDataLoss` said: each start failed in the same way (seen on 4.0.1; 4.0.2 and 4.2.0 go on).
    """
    changed = changed_since_planned(coverage) or beyond_the_end(coverage)
    if not is_available_now or engine.finishes_changed_batch or not changed:
        return ""
    what = f"since batch {coverage.pending_batch} was planned, partitions have changed: {told(changed)}"
    return f"{what}; {failing_engine(engine)} (SPARK-53560): {FINISH_FIRST}"


def first_retry_trouble(needs: Iterable[CheckpointNeeds], covered: Mapping[str, Coverage], trigger: Trigger) -> str:
    """The first batch in flight of a driver's queries that such a trigger may never get past; empty where none is.

    `covered`: by the addresses of `needs`.
    """
    is_available_now = trigger.kind is TriggerKind.AVAILABLE_NOW
    each = (
        retry_trouble(covered[one.address], is_available_now=is_available_now, engine=engine_after(one.written_by))
        for one in needs
    )
    return next(filter(None, each), "")


def failing_engine(engine: Engine) -> str:
    """Which engine fails on such a batch, or may where its patch release decides and is not known."""
    if engine.finishes_changed_batch is None:
        first = f"{engine.version}.{engine.first_finishing}"
        return f"if its Spark is {engine.version} from before {first}, availableNow fails on that each time"
    return f"availableNow of Spark {engine.release} fails on that each time"


def with_coverage(plan: RestartPlan, coverage: Coverage, *, fails_on_data_loss: bool, way_out: str = "") -> RestartPlan:
    """What the checkpoint alone forbids stays forbidden; what it allows may still find its records gone."""
    if plan.safety in _SETTLED:
        return plan
    found = start_effect([coverage], fails_on_data_loss=fails_on_data_loss)
    if found.effect is Effect.FAILS:
        summary = f"{found.summary}; {way_out or _way_out(coverage)}"
        return replace(plan, safety=Safety.FUTILE, summary=summary, expected_error=found.expected_error)
    if found.effect is Effect.LOSES:
        before = f"{plan.summary}; " if plan.safety is Safety.UNSAFE else ""
        return replace(plan, safety=Safety.UNSAFE, summary=f"{before}{found.summary}")
    if found.effect is Effect.UNCONFIRMED and plan.safety is not Safety.UNSAFE:
        return replace(plan, safety=Safety.UNKNOWN, summary=found.summary)
    return plan


def _way_out(coverage: Coverage) -> str:
    lossy = [one for one in coverage.partitions if one.standing.is_lossy]
    return _WAY_OUT_OF_EXPIRED if all(one.standing.is_expired for one in lossy) else _WAY_OUT


_SETTLED = (Safety.FUTILE, Safety.BLOCKED)
