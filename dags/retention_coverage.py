"""The DAG `streamops_retention_coverage`: every few minutes, whether what streams need is still in Kafka, and how long.

A few tasks share the streams. Each reads the checkpoints of its own and asks each Kafka cluster once for all of them: for
living queries and for dead ones alike, since Spark tells no consumer group where it stands. Then each stream that is not ok
has a task of its own, with its name as label and the report of `streamops lag` in its log.

Such a task looks once more and goes by what it sees. It fails where the verdict is critical: records are lost, or the time
to act so that none are is over. It succeeds with the report in its log on `warning` (act within twelve hours) and on
`unknown`, which is mostly a cluster that does not answer for a moment. An answer that could pass by itself, such as an end
below the offset that was read, is `unknown` until the next round has found it as well. Nothing is tried again: the next
round comes by itself.

No task touches a stream or a topic. What was seen of the offsets is kept beside the control log of each stream, in
`coverage.json`, for the forecasts of the rounds to come and of `streamops lag`.
"""

from typing import Any

from airflow.sdk import task

from streamops.airflow.declared_fleet import declared_fleet
from streamops.airflow.explicit_dag import explicit_dag
from streamops.airflow.retention_coverage import run_report, run_shard
from streamops.airflow.verdict_rounds import run_gather, run_limit, shards_of

fleet = declared_fleet(__file__, "retention_coverage")
rounds = fleet.settings.retention_coverage
shards = shards_of(rounds, fleet.settings)

if fleet.has_streams:
    with explicit_dag(
        fleet.dag_id("streamops_retention_coverage"),
        description="Tells until when what the streams need is still in Kafka: red when it is lost, or about to be",
        schedule=rounds.every,
        run_limit=run_limit(rounds),
        slice_limit=rounds.every,
        doc=__doc__,
    ):

        @task
        def check(shard: int) -> dict[str, Any]:
            """Look at what a part of the streams needs of Kafka."""
            return run_shard(fleet.config, shard=shard, shards=shards)

        # Shards that failed must not hide what the others have found.
        @task(trigger_rule="all_done")
        def gather(answers: Any) -> list[dict[str, Any]]:
            """Say which streams are not ok."""
            return run_gather(answers, shards=shards)

        @task(map_index_template="{{ task.op_kwargs['shown']['label'] }}")
        def report(shown: dict[str, Any]) -> None:
            """Look at one of them once more, and show its report."""
            run_report(fleet.config, shown)

        report.expand(shown=gather(check.expand(shard=list(range(shards)))))
