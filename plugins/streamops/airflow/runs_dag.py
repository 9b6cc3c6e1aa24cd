"""DAGs of bounded runs: one for each scheduled stream, and two forms: to catch up now, and to read a range once more."""

from typing import Any

from airflow.sdk import DAG, Asset, CronTriggerTimetable, Param

from streamops.airflow.backfill_operators import BackfillOperator, PlanBackfillOperator
from streamops.airflow.explicit_dag import FORMS_AT_ONCE, URGENT, explicit_dag
from streamops.airflow.forms import reason_param, stream_param
from streamops.airflow.run_operator import RunOperator
from streamops.backfill.asked import EXPECTED
from streamops.backfill.backfill_service import CHUNK
from streamops.settings import Settings
from streamops.spec import StreamSpec
from streamops.spec.wire import dag_id_of, namespaced

BACKFILL_DAG = "streamops_backfill"
CATCHUP_DAG = "streamops_catchup"

_CATCHUP_DOC = """Lets a stream read all that its source holds now, and end. A live query finishes its batch, yields, and is
started again afterwards; the run has the resources of the stream's `catchup` section.

Marking the task failed ends the run between two batches. Nothing is done where nothing waits.
"""


_BACKFILL_DOC = """Reads a range of a stream's source once more, through its own job, exact to the record, on a checkpoint
of its own beside the live query.

`plan` shows what is read of each partition, what of it is deleted already, and what the table does with rows that it has; it
fails where the backfill is refused. `run` goes from step to step without a worker slot; marking it failed stops it between two
steps, and clearing it goes on. It begins as a dry run: untick that when the plan is what you want.
"""


def scheduled_dag(spec: StreamSpec, settings: Settings) -> DAG:
    """The runs of a scheduled stream. One at a time; those that were missed become one, since each reads all that there is."""
    if spec.schedule is None:
        raise ValueError(f"stream {spec.name} has no schedule")
    with explicit_dag(
        dag_id_of(spec),
        description=spec.description or f"Runs {spec.name} until it has read what there is",
        schedule=CronTriggerTimetable(spec.schedule.cron, timezone=spec.schedule.timezone),
        tags=["catchup"],
        weight=URGENT,
    ) as dag:
        RunOperator(
            task_id="run",
            stream=spec.name,
            config=str(settings.path),
            outlets=[Asset(name=f"streamops {namespaced(spec.namespace, spec.name)}", uri=spec.sink.address)],
        )
    return dag


def catchup_dag(settings: Settings) -> DAG:
    """The form for a run now."""
    with explicit_dag(
        namespaced(settings.namespace, CATCHUP_DAG),
        description="Let a stream read all that its source holds now",
        runs_at_once=FORMS_AT_ONCE,
        params={
            "stream": stream_param(settings),
            "reason": reason_param(),
            "budget_hours": Param(
                None,
                type=["null", "number"],
                title="Budget in hours",
                exclusiveMinimum=0,
                description="Then the run is stopped between two batches. Empty: what the stream declares.",
            ),
        },
        doc=_CATCHUP_DOC,
    ) as dag:
        RunOperator(
            task_id="run",
            stream="{{ params.stream }}",
            config=str(settings.path),
            reason="{{ params.reason }}",
            budget_hours="{{ params.budget_hours or '' }}",
        )
    return dag


def backfill_dag(settings: Settings) -> DAG:
    """The form for a range of a stream's source once more."""
    text: dict[str, Any] = {"type": ["null", "string"]}
    with explicit_dag(
        namespaced(settings.namespace, BACKFILL_DAG),
        description="Read a range of a stream's source once more",
        runs_at_once=FORMS_AT_ONCE,
        params={
            "stream": stream_param(settings),
            "from": Param(type="string", title="From", minLength=1, description=f"The first record: {EXPECTED}."),
            "to": Param(type="string", title="To", minLength=1, description="Behind the last record, as From."),
            "reason": reason_param(),
            "table": Param(
                None, title="Table", description="Empty: the stream's own, if it knows rows by their key.", **text
            ),
            "dead_letters": Param(None, title="Dead letters", description="Empty: beside the table.", **text),
            "chunk": Param(CHUNK, type="integer", title="Records of a step", minimum=1),
            "slack_minutes": Param(
                0, type="number", title="Slack in minutes", minimum=0, description="How late records came."
            ),
            "accept_expired": Param(False, type="boolean", title="Go on although records are deleted"),
            "approximate": Param(False, type="boolean", title="Run a job that keeps state on the range alone"),
            "dry_run": Param(True, type="boolean", title="Dry run", description="Show the plan and do nothing."),
        },
        doc=_BACKFILL_DOC,
    ) as dag:
        config = str(settings.path)
        PlanBackfillOperator(task_id="plan", config=config) >> BackfillOperator(task_id="run", config=config)
    return dag
