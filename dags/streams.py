"""`stream__<name>`, one for each live stream: waits while the stream is parked, then keeps its driver running.

Marking a task, clearing it or pausing the DAG never stops a stream: `streamops stop` or the form `streamops_ops` does.
"""

from airflow.utils.types import DagRunType

from streamops.airflow.declared_fleet import declared_fleet
from streamops.airflow.explicit_dag import URGENT, explicit_dag
from streamops.airflow.operators import AwaitReleaseOperator, StreamOperator

fleet = declared_fleet(__file__, "streams")

for stream in fleet.live:
    with explicit_dag(
        fleet.dag_id(stream),
        description=stream.description or f"Keeps {stream.name} running",
        schedule="@continuous",
        tags=["stream"],
        weight=URGENT,
        # A manual run would queue for ever behind the one that lives.
        run_types=[DagRunType.SCHEDULED],
    ):
        await_release = AwaitReleaseOperator(task_id="await_release", stream=stream.name, config=fleet.config)
        supervise = StreamOperator(task_id="supervise", stream=stream.name, config=fleet.config)
        await_release >> supervise
