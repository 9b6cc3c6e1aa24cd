"""Acts on one stream, each with a reason that goes into the control log.

`plan` shows what will happen, and fails when the act makes no sense or could only fail; `approve` asks for a person's word,
within half an hour, before what is forced, accepted unsafe, adopted, or rests on somebody's word; `act` puts it on record;
`verify` waits, without a worker slot, for the first batch that the new driver commits, or for the end of the driver. A supervisor
does the rest: the stream's own DAG must not be paused.
"""

from airflow.sdk import Param

from streamops.airflow.declared_fleet import approved_param, declared_fleet, reason_param
from streamops.airflow.explicit_dag import FORMS_AT_ONCE, URGENT, explicit_dag
from streamops.airflow.operators.acts import (
    ActOperator,
    ApproveActOperator,
    PlanActOperator,
    VerifyActOperator,
    act_param,
)

fleet = declared_fleet(__file__, "on_call")

if fleet.has_streams:
    with explicit_dag(
        fleet.dag_id("streamops_ops"),
        description="Start, stop, release, restart, adopt or acknowledge a stream",
        runs_at_once=FORMS_AT_ONCE,
        params={
            "stream": fleet.stream_param(),
            "act": act_param(),
            "reason": reason_param(),
            "force": approved_param("Force", "For restart and stop: kill the driver at once; its batch runs again."),
            "accept_unsafe": approved_param(
                "Accept what is unsafe", "For release: the next start goes ahead though it loses or repeats data."
            ),
            "accept_expired": approved_param(
                "Accept the loss of expired records", "For release: the next start passes over what Kafka has deleted."
            ),
            "confirm_stopped": approved_param(
                "Nobody else runs it", "For start, release and adopt: your word, against signs of another program."
            ),
            "confirm_dead": Param(
                0,
                type="integer",
                minimum=0,
                title="This epoch's driver is dead",
                description="For start: your word, where no machine can tell; 0 for none. Asks for approval.",
            ),
        },
        doc=__doc__,
        weight=URGENT,
    ):
        plan = PlanActOperator(task_id="plan", config=fleet.config)
        approve = ApproveActOperator(task_id="approve", config=fleet.config)
        act = ActOperator(task_id="act", config=fleet.config, approved_by=approve.output)
        verify = VerifyActOperator(task_id="verify", config=fleet.config, awaited=act.output)
        plan >> approve >> act >> verify
