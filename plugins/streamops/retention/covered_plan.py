"""A restart plan, and what is told of a lag, as they are once Kafka was asked. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from streamops.diagnosis.plan import RestartPlan, Safety
from streamops.engines import Engine, engine_after
from streamops.retention import Coverage
from streamops.retention.kafka_needs import CheckpointNeeds
from streamops.retention.start_effect import Effect, beyond_the_end, changed_since_planned, start_effect, told
from streamops.spec import Trigger, TriggerKind

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


def with_coverage(
    plan: RestartPlan, coverage: Coverage, *, fails_on_data_loss: bool, way_out: str = _WAY_OUT
) -> RestartPlan:
    """What the checkpoint alone forbids stays forbidden; what it allows may still find its records gone."""
    if plan.safety in _SETTLED:
        return plan
    found = start_effect([coverage], fails_on_data_loss=fails_on_data_loss)
    if found.effect is Effect.FAILS:
        summary = f"{found.summary}; {way_out}"
        return replace(plan, safety=Safety.FUTILE, summary=summary, expected_error=found.expected_error)
    if found.effect is Effect.LOSES:
        return replace(plan, safety=Safety.UNSAFE, summary=found.summary)
    if found.effect is Effect.UNCONFIRMED and plan.safety is not Safety.UNSAFE:
        return replace(plan, safety=Safety.UNKNOWN, summary=found.summary)
    return plan


_SETTLED = (Safety.FUTILE, Safety.BLOCKED)
