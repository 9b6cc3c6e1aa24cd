"""Lets a stream read all that its source holds now, and end. A live query finishes its batch, yields, and is
started again afterwards; the run has the resources of the stream's `catchup` section.

Marking the task failed ends the run between two batches. Nothing is done where nothing waits.
"""

from airflow.sdk import Param

from streamops.airflow.declared_fleet import declared_fleet, reason_param
from streamops.airflow.explicit_dag import FORMS_AT_ONCE, explicit_dag
from streamops.airflow.operators.run import RunOperator

fleet = declared_fleet(__file__, "catchup")

if fleet.has_streams:
    with explicit_dag(
        fleet.dag_id("streamops_catchup"),
        description="Let a stream read all that its source holds now",
        runs_at_once=FORMS_AT_ONCE,
        params={
            "stream": fleet.stream_param(),
            "reason": reason_param(),
            "budget_hours": Param(
                None,
                type=["null", "number"],
                title="Budget in hours",
                exclusiveMinimum=0,
                description="Then the run is stopped between two batches. Empty: what the stream declares.",
            ),
        },
        doc=__doc__,
    ):
        RunOperator(
            task_id="run",
            stream="{{ params.stream }}",
            config=fleet.config,
            reason="{{ params.reason }}",
            budget_hours="{{ params.budget_hours or '' }}",
        )
