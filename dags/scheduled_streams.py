"""`catchup__<name>`, one for each scheduled stream: at set times, reads all that its source holds then, and ends.

One run at a time; those that were missed become one, since each reads all that there is. Marking the task ends the run between
two batches. Nothing is done where nothing waits.
"""

from airflow.sdk import Asset, CronTriggerTimetable

from streamops.airflow.declared_fleet import declared_fleet
from streamops.airflow.explicit_dag import URGENT, explicit_dag
from streamops.airflow.operators.run import RunOperator
from streamops.airflow.stream_doc import doc_of

fleet = declared_fleet(__file__, "scheduled_streams")

for stream in fleet.scheduled:
    with explicit_dag(
        fleet.dag_id(stream),
        description=stream.description or f"Runs {stream.name} until it has read what there is",
        schedule=CronTriggerTimetable(stream.schedule.cron, timezone=stream.schedule.timezone),
        tags=["catchup"],
        doc=doc_of(stream, form=fleet.dag_id("streamops_ops")),
        shown=stream.airflow,
        weight=URGENT,
    ):
        RunOperator(
            task_id="run",
            stream=stream.name,
            config=fleet.config,
            outlets=[Asset(name=f"streamops {fleet.dag_id(stream.name)}", uri=stream.sink.address)],
        )
