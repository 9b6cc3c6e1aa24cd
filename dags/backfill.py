"""Reads a range of a stream's source once more, through its own job, exact to the record, on a checkpoint of its own beside the
live query.

`plan` shows what is read of each partition, what of it is deleted already, and what the table does with rows that it has; it
fails where the backfill is refused. `run` goes from step to step without a worker slot; marking it failed stops it between two
steps, and clearing it goes on. It begins as a dry run: untick that when the plan is what you want.
"""

from airflow.sdk import Param

from streamops.airflow.declared_fleet import declared_fleet, reason_param
from streamops.airflow.explicit_dag import FORMS_AT_ONCE, explicit_dag
from streamops.airflow.operators.backfill import CHUNK, RANGE_FORM, BackfillOperator, PlanBackfillOperator

fleet = declared_fleet(__file__, "backfill")

if fleet.has_streams:
    with explicit_dag(
        fleet.dag_id("streamops_backfill"),
        description="Read a range of a stream's source once more",
        runs_at_once=FORMS_AT_ONCE,
        params={
            "stream": fleet.stream_param(),
            "from": Param(type="string", title="From", minLength=1, description=f"The first record: {RANGE_FORM}."),
            "to": Param(type="string", title="To", minLength=1, description="Behind the last record, as From."),
            "reason": reason_param(),
            "table": Param(
                None,
                type=["null", "string"],
                title="Table",
                description="Empty: the stream's own, if it knows rows by their key.",
            ),
            "dead_letters": Param(
                None, type=["null", "string"], title="Dead letters", description="Empty: beside the table."
            ),
            "chunk": Param(CHUNK, type="integer", title="Records of a step", minimum=1),
            "slack_minutes": Param(
                0, type="number", title="Slack in minutes", minimum=0, description="How late records came."
            ),
            "accept_expired": Param(False, type="boolean", title="Go on although records are deleted"),
            "approximate": Param(False, type="boolean", title="Run a job that keeps state on the range alone"),
            "dry_run": Param(True, type="boolean", title="Dry run", description="Show the plan and do nothing."),
        },
        doc=__doc__,
    ):
        plan = PlanBackfillOperator(task_id="plan", config=fleet.config)
        run = BackfillOperator(task_id="run", config=fleet.config)
        plan >> run
