"""The stream that a backfill is. Pure."""

from dataclasses import replace

from streamops.control.backfill_plan import BackfillPlan, derived_name
from streamops.control.layout import backfill_checkpoint
from streamops.control.records import ClaimMode
from streamops.spec import Mode, SinkSpec, StreamSpec, Trigger, TriggerKind


def backfill_spec(spec: StreamSpec, plan: BackfillPlan) -> StreamSpec:
    """The declared stream's job and policies, the plan's range and sink, the resources of its catch-ups.

    `once` runs exactly the batch that is written down for it: Spark's Kafka source has no ending offsets in a stream.
    """
    return replace(
        spec,
        name=derived_name(spec.name, plan.id),
        description=f"Backfill {plan.id} of {spec.name}: {plan.asked}",
        checkpoint=backfill_checkpoint(spec.checkpoint, plan.id),
        # Nothing but the plan's tables: a topic or an endpoint that was declared later is not for records of the past.
        sink=SinkSpec(table=plan.table, dead_letters=plan.dead_letters, guarantee=spec.sink.guarantee),
        mode=Mode.BACKFILL,
        trigger=Trigger(kind=TriggerKind.ONCE),
        schedule=None,
        launch=spec.as_run(ClaimMode.CATCHUP).launch,
    )
