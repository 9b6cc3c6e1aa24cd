"""DAGs of bounded runs: one for each scheduled stream, and a form by which any stream catches up now."""

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Asset, CronTriggerTimetable, Param

from streamops.airflow.run_operator import RunOperator
from streamops.airflow.start_date import START
from streamops.settings import Settings
from streamops.spec import StreamSpec
from streamops.spec.names import catchup_dag_id

CATCHUP_DAG = "streamops_catchup"

RETRY = {"retries": 3, "retry_delay": timedelta(seconds=15)}
"""For worker trouble only: the restarts of a query are the supervisor's and happen inside one try."""

_CATCHUP_DOC = """Lets a stream read all that its source holds now, and end. A live query finishes its batch, yields, and is
started again afterwards; the run has the resources of the stream's `catchup` section.

Marking the task failed ends the run between two batches. Nothing is done where nothing waits.
"""


def scheduled_dag(spec: StreamSpec, settings: Settings) -> DAG:
    """The runs of a scheduled stream. One at a time; those that were missed become one, since each reads all that there is."""
    if spec.schedule is None:
        raise ValueError(f"stream {spec.name} has no schedule")
    with DAG(
        dag_id=catchup_dag_id(spec.name),
        description=spec.description or f"Runs {spec.name} until it has read what there is",
        schedule=CronTriggerTimetable(spec.schedule.cron, timezone=spec.schedule.timezone),
        start_date=START,
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=False,
        default_args=RETRY,
        tags=["streamops", "catchup"],
    ) as dag:
        RunOperator(
            task_id="run",
            stream=spec.name,
            config=str(settings.path),
            outlets=[Asset(name=f"streamops {spec.name}", uri=spec.sink.table)],
        )
    return dag


def catchup_dag(settings: Settings) -> DAG:
    """The form for a run now."""
    streams = [spec.name for spec in settings.streams]
    # A JSON schema knows no empty enum: without streams any name is taken, and the task refuses it.
    choice: dict[str, Any] = {"enum": streams} if streams else {"minLength": 1}
    with DAG(
        dag_id=CATCHUP_DAG,
        description="Let a stream read all that its source holds now",
        schedule=None,
        catchup=False,
        is_paused_upon_creation=False,
        default_args=RETRY,
        params={
            "stream": Param(type="string", title="Stream", **choice),
            "reason": Param(type="string", title="Reason", minLength=1, description="Why, for the record."),
            "budget_hours": Param(
                None,
                type=["null", "number"],
                title="Budget in hours",
                exclusiveMinimum=0,
                description="Then the run is stopped between two batches. Empty: what the stream declares.",
            ),
        },
        doc_md=_CATCHUP_DOC,
        tags=["streamops"],
    ) as dag:
        RunOperator(
            task_id="run",
            stream="{{ params.stream }}",
            config=str(settings.path),
            reason="{{ params.reason }}",
            budget_hours="{{ params.budget_hours or '' }}",
        )
    return dag
