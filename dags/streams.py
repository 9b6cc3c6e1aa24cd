"""`stream__<name>`, one for each live stream: keeps its driver running, and is red while the stream does not get on.

A run begins as soon as one is of use: the asset of the stream is watched for that. Marking a task, clearing it or pausing the DAG
never stops a stream: `streamops stop` or the form `streamops_ops` does.
"""

from airflow.utils.types import DagRunType

from streamops.airflow.declared_fleet import declared_fleet
from streamops.airflow.explicit_dag import URGENT, explicit_dag
from streamops.airflow.operators import StreamOperator
from streamops.airflow.stream_doc import doc_of
from streamops.airflow.triggers.run_due import run_due

fleet = declared_fleet(__file__, "streams")

for stream in fleet.live:
    dag_id = fleet.dag_id(stream)
    with explicit_dag(
        dag_id,
        description=stream.description or f"Keeps {stream.name} running",
        schedule=[run_due(dag_id, stream=stream.name, config=fleet.config)],
        tags=["stream"],
        doc=doc_of(stream, form=fleet.dag_id("streamops_ops")),
        shown=stream.airflow,
        weight=URGENT,
        # A manual run would queue for ever behind the one that lives.
        run_types=[DagRunType.ASSET_TRIGGERED],
    ):
        StreamOperator(task_id="supervise", stream=stream.name, config=fleet.config)
